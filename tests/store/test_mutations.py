"""Mutations are read back from their bytes in the log, and other bytes are refused."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sonicpy._native.terms import Terms
from sonicpy._native.varint import pack_varints
from sonicpy.errors import StoreDamaged, StoreError
from sonicpy.store.changing.mutations import (
    ChangeFields,
    FlushBucket,
    FlushCollection,
    FlushObject,
    Mutation,
    PopTerms,
    PushTerms,
    PushWith,
    UpsertTerms,
    pack_mutation,
    unpack_mutation,
)
from sonicpy.store.fields.all_fields import FIELDS
from sonicpy.store.fields.field import FieldMode
from tests.store.shorthand import terms
from tests.support.examples import examples

names = st.text(st.characters(max_codepoint=127), min_size=1, max_size=128) | st.sampled_from(["x" * 127, "x" * 128])
texts = st.lists(st.tuples(st.binary(max_size=300), st.integers(0, 255), st.integers(0, 7)), max_size=6).map(
    lambda rows: Terms([row[0] for row in rows], bytes(row[1] for row in rows), bytes(row[2] for row in rows))
)
fields = st.lists(st.tuples(st.sampled_from([*FIELDS]), st.binary(max_size=300)), max_size=4).map(tuple)
mutations = st.one_of(
    st.builds(PushTerms, names, names, names, texts, st.integers(0, 2**40), st.just(1)),
    st.builds(
        PushWith,
        names,
        names,
        names,
        texts,
        st.sampled_from([(), ((5, b"red"),), ((5, b""), (6, b"\1a\0"))]),
        st.sampled_from([1, 8]),
    ),
    st.builds(PopTerms, names, names, names, texts),
    st.builds(FlushObject, names, names, names),
    st.builds(FlushBucket, names, names),
    st.builds(FlushCollection, names),
    st.builds(UpsertTerms, names, names, names, texts, st.sampled_from([1, 8]), fields),
    st.builds(ChangeFields, names, names, names | st.just(""), st.sampled_from(FieldMode), fields),
)

SAMPLES: list[Mutation] = [
    PushTerms("collection", "bucket", "x" * 128, terms("alpha beta*255 the!"), 1000),
    PushTerms("c", "b", "o", terms(""), 0),
    PopTerms("c", "b", "o", terms("alpha")),
    FlushObject("c", "\0", "o"),
    FlushBucket("c", "b"),
    FlushCollection("c"),
    ChangeFields("c", "b", "", FieldMode.REPLACE, ()),
    UpsertTerms("c", "b", "o", terms("alpha"), 8, ((3, b"12345678"),)),
]


@settings(deadline=None, max_examples=examples(200))
@given(mutations)
def test_mutations_come_back(mutation: Mutation) -> None:
    again = unpack_mutation(pack_mutation(mutation))
    assert type(again) is type(mutation)
    assert again == mutation


def test_the_layout_is_the_documented_one() -> None:
    push = PushTerms("c", "bu", "o" * 128, terms("alpha*3 the!"), 1000)
    assert pack_mutation(push) == (
        b"\x01" + b"\x01c" + b"\x02bu" + b"\x80\x01" + b"o" * 128 + pack_varints([1000])
        + b"\x02" + b"\x05alpha\x03\x00" + b"\x03the\x01\x02"
    )  # fmt: skip
    assert pack_mutation(FlushCollection("c")) == b"\x05\x01c"
    change = ChangeFields("c", "bu", "", FieldMode.REPLACE, ((1, b"x" * 128), (2, b"")))
    assert pack_mutation(change) == b"\x06\x01c\x02bu\x00\x01" + b"\x01\x80\x01" + b"x" * 128 + b"\x02\x00"
    text = terms("alpha*3")
    text.languages = b"eng"
    upsert = UpsertTerms("c", "bu", "o", text, 8, ((3, b"12345678"),))
    assert pack_mutation(upsert) == (
        b"\x08\x01c\x02bu\x01o\x08" + b"\x03eng" + b"\x0a\x03\x0812345678" + b"\x01\x05alpha\x03\x00"
    )


@pytest.mark.parametrize(
    ("tail", "says"),
    [(b"\x00\xc8\x00", "field 200"), (b"\x07", "mode 7"), (b"\x01\x01\x00\xc8\x00", "field 200")],
)
def test_an_unknown_field_or_mode_is_named(tail: bytes, says: str) -> None:
    with pytest.raises(StoreError, match=f"^a record of the log uses '{says}', unknown to this sonicpy: install"):
        unpack_mutation(b"\x06\x01c\x01b\x01o" + tail)


@pytest.mark.parametrize("mutation", SAMPLES, ids=lambda mutation: type(mutation).__name__)
def test_every_truncation_and_every_tail_is_damage(mutation: Mutation) -> None:
    record = pack_mutation(mutation)
    for size in range(len(record)):
        with pytest.raises(StoreDamaged):
            unpack_mutation(record[:size])
    for tail in (b"\0", b"\x80", b"more"):
        with pytest.raises(StoreDamaged):
            unpack_mutation(record + tail)


@pytest.mark.parametrize(
    ("kind", "says"),
    [
        (0, "^a record of the log cannot be read: it has the unknown kind 0$"),
        *((kind, f"^a record of the log uses 'records of kind {kind}', unknown to this") for kind in (9, 127, 255)),
    ],
)
def test_an_unknown_kind_is_named(kind: int, says: str) -> None:
    with pytest.raises(StoreError, match=says):
        unpack_mutation(bytes((kind,)) + b"\x01c\x01b\x01o" + b"\0")


@settings(deadline=None, max_examples=examples(300))
@given(st.sampled_from(range(1, 9)), st.binary(max_size=40))
def test_random_bytes_are_a_mutation_or_damage(kind: int, noise: bytes) -> None:
    try:
        mutation = unpack_mutation(bytes((kind,)) + noise)
    except StoreError:
        return
    assert unpack_mutation(pack_mutation(mutation)) == mutation
