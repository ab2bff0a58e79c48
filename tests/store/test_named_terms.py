"""The terms of named texts in records: the native code compared with plain sets and sorting."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sonicpy._native.named_terms import names_of_named, pack_ids, pack_named, unpack_named
from sonicpy._native.records import pack_terms
from sonicpy._native.terms import PART, Terms
from sonicpy._native.varint import DamagedBytes
from sonicpy.store.fields.text_field import pack_texts
from sonicpy.store.rows.id_row import IdRow
from sonicpy.store.rows.named_words import frequency_of, whole_word, whole_words
from tests.support.examples import examples

WORDS = st.text(st.characters(min_codepoint=0x30, exclude_categories=["Cs"]), min_size=1, max_size=6).map(str.encode)
NAMES = st.sampled_from([b"a", b"ab", b"a-", b"a.b", b"_", b"title"])


@st.composite
def texts(draw: st.DrawFn) -> Terms:
    words = draw(st.lists(WORDS, unique=True, max_size=20))
    flags = bytes(draw(st.lists(st.sampled_from([0, PART]), min_size=len(words), max_size=len(words))))
    return Terms(words, b"\1" * len(words), flags)


@settings(max_examples=examples(60))
@given(st.dictionaries(NAMES, texts(), max_size=4))
def test_named_texts_are_packed_as_sorted_terms(given: dict[bytes, Terms]) -> None:
    packed = pack_named(sorted(given.items()))
    held = {}
    for name, terms in given.items():
        whole = whole_word(whole_words(terms))
        held[name.decode()] = [*terms.words, *([] if whole is None else [whole])]
    assert packed == pack_texts(held)
    terms, names = unpack_named(packed)
    assert terms.words == sorted({name.encode() + b"\1" + word for name, words in held.items() for word in words})
    assert list(terms.counts) == [frequency_of(term) for term in terms.words]
    assert names == names_of_named(packed) == tuple(sorted(name.encode() for name, words in held.items() if words))


@pytest.mark.parametrize(
    "terms", [[b"a\1b", b"a\1b"], [b"b\1b", b"a\1b"], [b"ab"], [b"a\1"], [b"\1a"], [b""], [b"a\1b", b"a"]]
)
def test_terms_without_names_or_order_are_refused(terms: list[bytes]) -> None:
    packed = pack_terms(Terms(terms, b"\1" * len(terms), bytes(len(terms))))
    for read in unpack_named, names_of_named:
        with pytest.raises(DamagedBytes, match="do not rise, or lack a name"):
            read(packed)


def test_bytes_that_are_cut_off_are_refused() -> None:
    packed = pack_named([(b"title", Terms([b"java", b"tools"], b"\1\1", b"\0\0"))])
    for end in range(len(packed)):
        with pytest.raises(DamagedBytes):
            unpack_named(packed[:end])
    with pytest.raises(DamagedBytes, match="behind its end"):
        unpack_named(packed + b"\0")


@settings(max_examples=examples(60))
@given(st.lists(st.integers(0, 2**40), unique=True, max_size=40))
def test_ids_are_packed_as_a_row(ids: list[int]) -> None:
    row = IdRow(b"")
    row.put(0, sorted(ids))
    assert pack_ids(ids) == row.pack()
