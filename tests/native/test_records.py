"""Tests of sonicpy._native.records: the bytes that a reference implementation in Python writes, refusals of other
bytes, and frames.
"""

import random
import zlib
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sonicpy._native.records import RECORD_BYTES_MAX, RecordCodec, frame_records
from sonicpy._native.terms import Terms
from sonicpy._native.varint import DamagedBytes, pack_varints
from sonicpy.store.changing.mutations import (
    KINDS,
    ChangeFields,
    ChangeSynonyms,
    FlushBucket,
    FlushCollection,
    FlushObject,
    Mutation,
    PopTerms,
    PushTerms,
    PushWith,
    UpsertTerms,
)
from tests.support.examples import examples

Row = tuple[bytes, int, int]

LONGEST = b"x" * 20_000  # of a line, so of a word

names = st.text(min_size=1, max_size=40) | st.sampled_from(["x" * 127, "x" * 128, "x" * 129, "é" * 64, "x" * 20_000])
words = st.binary(max_size=300) | st.sampled_from([b"x" * 127, b"x" * 128, LONGEST])
rows = st.lists(st.tuples(words, st.integers(0, 255), st.integers(0, 7)), max_size=200)
windows = st.integers(0, 2**64 - 1) | st.sampled_from([0, 127, 128, 1000, 2**32, 2**64 - 1])


def terms_of(rows: list[Row], languages: bytes = b"") -> Terms:
    words, counts, flags = [row[0] for row in rows], bytes(row[1] for row in rows), bytes(row[2] for row in rows)
    return Terms(words, counts, flags, languages=languages)


counted = st.builds(terms_of, rows, st.sampled_from([b"", b"eng", b"eng 12,deu 3", b"x" * 200]))
fields = st.lists(st.tuples(st.integers(0, 255), st.binary(max_size=300)), max_size=6).map(tuple)
changes = st.one_of(
    st.builds(PushTerms, names, names, names, rows.map(terms_of), windows, st.just(1)),
    st.builds(PushTerms, names, names, names, counted, st.just(0), st.sampled_from([2, 8, 300])),
    st.builds(PushWith, names, names, names, counted.filter(lambda one: not one.languages), fields, st.just(1)),
    st.builds(PushWith, names, names, names, counted, fields, st.sampled_from([2, 8, 300])),
    st.builds(UpsertTerms, names, names, names, counted, st.sampled_from([1, 2, 8, 300]), fields),
    st.builds(PopTerms, names, names, names, rows.map(terms_of)),
    st.builds(FlushObject, names, names, names),
    st.builds(FlushBucket, names, names),
    st.builds(FlushCollection, names),
    st.builds(ChangeSynonyms, names, st.sampled_from(["set", "add"]), names),
    st.builds(ChangeFields, names, names, names | st.just(""), st.integers(0, 255), fields),
)
codec = RecordCodec(KINDS)
pack_record, unpack_record = codec.pack, codec.unpack


# -- fields to records ------------------------------------------------------------------------------------------------


def twin(mutation: Mutation) -> bytes:
    """Return the record of a mutation as `RecordCodec.pack` does, piece by piece."""
    if isinstance(mutation, PushWith):
        push = twin(PushTerms(*mutation[:4], rules=mutation.rules))
        return b"\x0c" + pack_varints([len(push)]) + push + fields_of(mutation.fields)
    if isinstance(mutation, ChangeSynonyms):
        packed = [pack_varints([len(text.encode())]) + text.encode() for text in mutation]
        return b"\x0a" + b"".join(packed)
    kinds = [PushTerms, PopTerms, FlushObject, FlushBucket, FlushCollection, ChangeFields, None, UpsertTerms]
    kind = kinds.index(type(mutation)) + 1
    if isinstance(mutation, PushTerms) and mutation.rules > 1:
        kind = 7
    pieces = [bytes((kind,))]
    for field in mutation._fields:
        if field in ("collection", "bucket", "oid"):
            name = getattr(mutation, field).encode()
            pieces += [pack_varints([len(name)]), name]
    if isinstance(mutation, PushTerms | UpsertTerms):
        pieces.append(pack_varints([mutation.window if kind == 1 else mutation.rules]))
    if kind in (7, 8):
        pieces += [pack_varints([len(mutation.terms.languages)]), mutation.terms.languages]
    if isinstance(mutation, UpsertTerms):
        given = fields_of(mutation.fields)
        pieces += [pack_varints([len(given)]), given]
    if isinstance(mutation, PushTerms | PopTerms | UpsertTerms):
        terms = mutation.terms
        pieces.append(pack_varints([len(terms)]))
        for word, count, flags in zip(terms.words, terms.counts, terms.flags, strict=True):
            pieces += [pack_varints([len(word)]), word, bytes((count, flags))]
    if isinstance(mutation, ChangeFields):
        pieces.append(bytes((mutation.mode,)))
        pieces.append(fields_of(mutation.fields))
    return b"".join(pieces)


def fields_of(given: tuple[tuple[int, bytes], ...]) -> bytes:
    return b"".join(bytes((id,)) + pack_varints([len(value)]) + value for id, value in given)


@settings(deadline=None, max_examples=examples(200))
@given(changes)
@example(PushTerms("x" * 128, "x" * 128, "x" * 128, terms_of([(LONGEST, 255, 7)] * 3), 1000))
@example(PushTerms("c", "b", "o", terms_of([(b"%d" % number, 255, 7) for number in range(20_000)]), 0))
@example(PopTerms("c", "b", "o", terms_of([(b"", 0, 0)])))
def test_records_are_those_of_the_twin_and_come_back(mutation: Mutation) -> None:
    record = pack_record(mutation)
    assert record == twin(mutation)
    again = unpack_record(record)
    assert (type(again), again) == (type(mutation), mutation)
    if isinstance(mutation, PushTerms):
        assert codec.pack_push(*mutation[:4], mutation.rules) == twin(mutation._replace(window=0))
    if isinstance(mutation, UpsertTerms):
        assert codec.pack_upsert(*mutation) == twin(mutation)


class Like(PopTerms):
    """A class that is not a kind of change, although it has the fields of one."""


@pytest.mark.parametrize(
    "mutation",
    [
        (),
        ("c", "b"),
        ["c", "b"],
        None,
        Like("c", "b", "o", terms_of([])),
        FlushCollection(b"c"),
        FlushCollection(None),
        FlushBucket("c", 1),
        PopTerms("c", "b", "o", None),
        PopTerms("c", "b", "o", [b"word"]),
        PushTerms("c", "b", "o", terms_of([]), None),
        tuple.__new__(FlushObject, ("c", "b")),
        tuple.__new__(FlushBucket, ("c", "b", "o")),
        ChangeFields("c", "b", "o", None, ()),
        ChangeFields("c", "b", "o", 0, None),
        ChangeFields("c", "b", "o", 0, [(1, b"")]),
        ChangeFields("c", "b", "o", 0, ((1, "text"),)),
        ChangeFields("c", "b", "o", 0, ((1,),)),
        ChangeFields("c", "b", "o", 0, ([1, b""],)),
        ChangeFields("c", "b", "o", 0, ((None, b""),)),
    ],
)
def test_what_is_no_mutation_is_refused(mutation: Any) -> None:
    with pytest.raises(TypeError):
        pack_record(mutation)


@pytest.mark.parametrize(("mode", "id"), [(256, 0), (-1, 0), (0, 256), (0, -1)])
def test_modes_and_ids_are_bytes(mode: int, id: int) -> None:
    with pytest.raises(OverflowError):
        pack_record(ChangeFields("c", "b", "o", mode, ((id, b""),)))


@pytest.mark.parametrize(
    "classes", [{0: FlushBucket}, {6: FlushBucket}, {7: FlushBucket}, {3: FlushBucket}, {4: FlushObject}], ids=repr
)
def test_a_class_has_the_fields_of_its_kind(classes: Any) -> None:
    with pytest.raises(ValueError, match="kind"):
        RecordCodec(classes)


def test_a_kind_without_a_class_is_damage() -> None:
    with pytest.raises(DamagedBytes, match="unknown kind 1"):
        RecordCodec({5: FlushCollection}).unpack(pack_record(PushTerms("c", "b", "o", terms_of([]), 0)))


@pytest.mark.parametrize(("window", "fault"), [(-1, OverflowError), (2**64, OverflowError), ("1", TypeError)])
def test_windows_are_numbers_of_64_bits(window: Any, fault: type[Exception]) -> None:
    with pytest.raises(fault):
        pack_record(PushTerms("c", "b", "o", terms_of([]), window))


def test_names_have_to_be_text_that_can_be_written() -> None:
    with pytest.raises(UnicodeEncodeError):
        pack_record(FlushBucket("c", "\ud800"))


@pytest.mark.parametrize(("counts", "flags"), [(b"", b""), (b"\1", b"\0\0"), (b"\1\1", b"\0")])
def test_terms_need_a_count_and_flags_each(counts: bytes, flags: bytes) -> None:
    """Without the check of the lengths, bytes behind the arguments would be read."""
    with pytest.raises(ValueError):  # noqa: PT011
        Terms([b"a", b"b"], counts, flags)


@pytest.mark.parametrize("words", [[], [b"a"], [b"a", b"b", b"c"]])
def test_words_that_have_changed_since_are_refused(words: list[bytes]) -> None:
    """Terms give access to their list of words: after a change of that list, no bytes behind the counts may be read."""
    terms = Terms([b"a", b"b"], b"\1\1", b"\0\0")
    terms.words[:] = words
    with pytest.raises(ValueError, match="need as many counts"):
        pack_record(PopTerms("c", "b", "o", terms))


@pytest.mark.parametrize("word", ["text", None, bytearray(b"a"), 1])
def test_words_have_to_be_bytes(word: Any) -> None:
    terms = Terms([b"a", b"b"], b"\1\1", b"\0\0")
    terms.words[1] = word
    with pytest.raises(TypeError, match="a word is bytes"):
        pack_record(PopTerms("c", "b", "o", terms))


def test_terms_that_were_never_filled_are_refused() -> None:
    with pytest.raises(TypeError):
        pack_record(PopTerms("c", "b", "o", Terms.__new__(Terms)))


def test_a_window_that_changes_the_words_changes_no_more() -> None:
    """Converting the window to a number may run Python code, which has to end before the words are measured."""
    terms = terms_of([(b"a", 1, 0)])

    class Window:
        def __int__(self) -> int:
            terms.words[0] = b"x" * 1000
            return 7

        __index__ = __int__

    pushed = PushTerms("c", "b", "o", terms, Window())  # type: ignore[arg-type]
    assert pack_record(pushed) == twin(pushed._replace(window=7))


# -- records to fields ------------------------------------------------------------------------------------------------

TERMS = terms_of([(b"alpha", 1, 0), (b"x" * 200, 2, 1), (b"", 3, 2)])
CHANGES: list[Mutation] = [
    PushTerms("collection", "bucket", "x" * 128, TERMS, 1000),
    PopTerms("collection", "bucket", "object", TERMS),
    FlushObject("collection", "bucket", "object"),
    FlushBucket("collection", "bucket"),
    FlushCollection("collection"),
    ChangeFields("collection", "bucket", "object", 1, ()),
]


@pytest.mark.parametrize("mutation", CHANGES, ids=len)
def test_every_truncation_and_every_tail_is_damage(mutation: Mutation) -> None:
    record = pack_record(mutation)
    for size in range(len(record)):
        with pytest.raises(DamagedBytes):
            unpack_record(record[:size])
    for tail in (b"\0", b"\1", b"\x80", b"more"):
        with pytest.raises(DamagedBytes):
            unpack_record(record + tail)


@pytest.mark.parametrize("kind", [0, 7, 127, 128, 255])
def test_an_unknown_kind_is_damage(kind: int) -> None:
    with pytest.raises(DamagedBytes):
        unpack_record(bytes((kind,)) + b"\x01c\x01b\x01o\0")


@pytest.mark.parametrize("count", [2**20, 2**40, 2**63, 2**64 - 1])
def test_what_says_it_is_huge_takes_no_memory(count: int) -> None:
    for head in (b"\2\1c\1b\1o", b"\2\1c\1b\1o\1", b"\2", b"\2\1c"):
        with pytest.raises(DamagedBytes):
            unpack_record(head + pack_varints([count]) + b"\0" * 30)


@pytest.mark.parametrize("mutation", CHANGES, ids=len)
@settings(deadline=None, max_examples=examples(300))
@given(st.binary(max_size=60), st.randoms(use_true_random=False))
def test_random_bytes_are_read_or_damage(mutation: Mutation, noise: bytes, dice: random.Random) -> None:
    whole = pack_record(mutation)
    changed = bytearray(whole)
    changed[dice.randrange(len(whole))] = dice.randrange(256)
    for record in (whole[:1] + noise, whole[: dice.randrange(len(whole))] + noise, bytes(changed)):
        try:
            found = unpack_record(record)
        except (DamagedBytes, UnicodeDecodeError):
            continue
        assert unpack_record(pack_record(found)) == found


# -- frames -----------------------------------------------------------------------------------------------------------


def framed(record: bytes) -> bytes:
    return len(record).to_bytes(4, "little") + zlib.crc32(record).to_bytes(4, "little") + record


@settings(deadline=None)
@given(st.lists(st.binary(max_size=300), max_size=20))
@example([])
@example([b""])
@example([bytes(range(256)) * 300, b"x"])
def test_frames_tell_size_and_checksum(records: list[bytes]) -> None:
    assert frame_records(records) == b"".join(map(framed, records))


def test_the_checksum_is_that_of_zlib_whatever_the_length() -> None:
    """The checksum is computed over eight bytes at a time, then over the remaining bytes."""
    noise = random.Random(8).randbytes(300)
    for size in range(len(noise)):
        for start in range(min(8, len(noise) - size)):
            record = noise[start : start + size]
            assert frame_records([record]) == framed(record), size


def test_a_record_that_is_too_long_is_named() -> None:
    longest = b"x" * RECORD_BYTES_MAX
    assert frame_records([longest]) == framed(longest)
    with pytest.raises(ValueError, match=r"^a record of 16777217 bytes is refused: at most 16777216 are taken$"):
        frame_records([b"short", longest + b"x"])


@pytest.mark.parametrize("record", ["text", None, bytearray(b"a"), 1])
def test_records_have_to_be_bytes(record: Any) -> None:
    with pytest.raises(TypeError):
        frame_records([b"a", record])
