"""Tests of sonicpy._native.postings: keys that sort, packing both ways, and damaged bytes."""

import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sonicpy._native.add_terms import AddTerms
from sonicpy._native.keys import IID_MAX, block_key, bucket_key, object_key, term_key, word_key
from sonicpy._native.object_record import ObjectRecord
from sonicpy._native.postings import POSTINGS_PER_BLOCK, pack_block, unpack_block
from sonicpy._native.remove_terms import RemoveTerms
from sonicpy._native.term_cache import TermCache
from sonicpy._native.term_rows import WORD_BYTES_MAX, TermInfo, common_keys, with_common
from sonicpy._native.terms import STOP, Terms
from sonicpy._native.varint import DamagedBytes, pack_varints, unpack_varints
from sonicpy.store.rows.keys import block_position
from tests.support.examples import examples
from tests.support.patience import WAIT_S

ROOT = Path(__file__).resolve().parents[2]

uint64 = st.integers(0, 2**64 - 1) | st.sampled_from([0, 127, 128, 2**14, 2**32, 2**63, 2**64 - 1])
iids = st.integers(0, IID_MAX) | st.integers(0, 300)
frequencies = st.integers(1, 255) | st.integers(1, 2**32 - 1)
blocks = st.lists(st.tuples(iids, frequencies), max_size=POSTINGS_PER_BLOCK)


def test_the_constants_are_those_of_the_format() -> None:
    assert (POSTINGS_PER_BLOCK, WORD_BYTES_MAX, IID_MAX) == (128, 160, 2**32 - 2)


# -- keys ------------------------------------------------------------------------------------------------------------


def test_keys_are_big_endian() -> None:
    assert bucket_key(0x01020304) == b"\1\2\3\4"
    assert word_key(1, b"word") == b"\0\0\0\1word"
    assert term_key(1, 0x0203040506) == object_key(1, 0x0203040506) == b"\0\0\0\1\2\3\4\5\6"
    assert block_key(1, 2, 0x03040506) == b"\0\0\0\1\0\0\0\0\2\3\4\5\6"


@given(
    st.lists(st.tuples(st.integers(0, 2**32 - 1), st.integers(0, 2**40 - 1), st.integers(0, 2**32 - 1)), max_size=20)
)
def test_keys_sort_as_their_numbers(numbers: list[tuple[int, int, int]]) -> None:
    assert [block_key(*one) for one in sorted(numbers)] == sorted(block_key(*one) for one in numbers)
    assert [term_key(*one[:2]) for one in sorted(numbers)] == sorted(term_key(*one[:2]) for one in numbers)


@given(st.lists(st.text(min_size=1, max_size=12).map(str.encode), max_size=20))
def test_keys_of_words_sort_as_the_words(words: list[bytes]) -> None:
    assert [word_key(7, word)[4:] for word in sorted(words)] == sorted(words)


@pytest.mark.parametrize(
    ("term", "size", "why"),
    [
        (b"x" * 500, 504, "the longest that is kept as it is"),
        (b"x" * 501, 4 + 466 + 1 + 32, "head, 0xFF and hash"),
        (b"x" * 20_000, 4 + 466 + 1 + 32, "never more than LMDB's 511"),
        ("é".encode() * 250, 504, "500 bytes of two-byte letters"),
    ],
)
def test_long_terms_have_keys_of_bounded_size(term: bytes, size: int, why: str) -> None:
    assert len(word_key(0, term)) == size, why
    assert word_key(0, term)[4:470] == term[:466]


def test_long_terms_that_begin_alike_have_keys_of_their_own() -> None:
    terms = [b"h" * 466 + tail for tail in (b"x" * 35, b"y" * 35, b"x" * 36, b"x" * 5000)]
    keys = {word_key(0, term) for term in terms}
    assert len(keys) == len(terms)
    assert all(key[470] == 0xFF for key in keys), "no byte of UTF-8, so no short term is in the way"
    assert word_key(0, terms[0]) == word_key(0, bytes(terms[0]))


@pytest.mark.parametrize("call", [lambda: bucket_key(-1), lambda: bucket_key(2**32), lambda: block_key(0, 0, 2**32)])
def test_numbers_that_do_not_fit_are_refused(call: Callable[[], bytes]) -> None:
    with pytest.raises(OverflowError):
        call()


# -- numbers, blocks, terms: there and back ---------------------------------------------------------------------------


@given(st.lists(uint64, max_size=20))
def test_numbers_come_back(numbers: list[int]) -> None:
    assert unpack_varints(pack_varints(numbers)) == numbers


@pytest.mark.parametrize(
    ("number", "packed"),
    [(0, b"\0"), (127, b"\x7f"), (128, b"\x80\x01"), (300, b"\xac\x02"), (2**64 - 1, b"\xff" * 9 + b"\x01")],
)
def test_numbers_have_seven_bits_a_byte(number: int, packed: bytes) -> None:
    assert pack_varints([number]) == packed


@pytest.mark.parametrize("packed", [b"\x80", b"\xff" * 9, b"\xff" * 10, b"\x80" * 10 + b"\1", b"\x80" * 9 + b"\2"])
def test_numbers_that_are_cut_off_or_too_long_are_damage(packed: bytes) -> None:
    with pytest.raises(DamagedBytes):
        unpack_varints(packed)
    with pytest.raises(DamagedBytes):
        unpack_varints(b"\1\2" + packed)


@pytest.mark.parametrize("number", [-1, 2**64])
def test_numbers_beyond_64_bits_are_refused(number: int) -> None:
    with pytest.raises(OverflowError):
        pack_varints([number])


@given(blocks)
@example([])
@example([(IID_MAX, 1), (0, 2**32 - 1)] * 64)
def test_blocks_come_back(postings: list[tuple[int, int]]) -> None:
    block = pack_block(postings)
    assert unpack_block(block) == postings
    assert block[0] == len(postings)


def test_a_block_is_small() -> None:
    """A posting of objects pushed in a row takes two bytes, or one byte if its tf is 1: 100,000 messages take 10 to 12
    MB.
    """
    assert len(pack_block([(number, 1) for number in range(128)])) == 1 + 128
    assert pack_block([(5, 1), (6, 3), (4, 1)]) == bytes((3, 20, 5, 3, 6))


def test_a_block_holds_no_more_than_128() -> None:
    with pytest.raises(ValueError, match="at most 128"):
        pack_block([(number, 1) for number in range(129)])


# -- rows and records -------------------------------------------------------------------------------------------------

FIELDS = ["term_id", "df", "hidden_df", "position"]


@given(
    st.lists(uint64, min_size=4, max_size=4).filter(lambda numbers: numbers[1] or not numbers[2]), st.binary(max_size=5)
)
def test_rows_of_words_come_back(numbers: list[int], tail: bytes) -> None:
    row = TermInfo(pack_varints(numbers) + tail, 3)
    assert [getattr(row, name) for name in FIELDS] == numbers
    assert row.tail == tail


@pytest.mark.parametrize(
    ("df", "hidden", "size", "live", "why"),
    [
        (1, 0, 40, True, "held by one"),
        (1, 0, 41, False, "too long to be shown"),
        (2, 2, 3, False, "hidden for all"),
        (2, 1, 3, True, "a stop word of some"),
        (0, 0, 3, False, "held by none"),
    ],
)
def test_live_words(df: int, hidden: int, size: int, live: bool, why: str) -> None:
    assert TermInfo(pack_varints([0, df, hidden, 0]), size).live == live, why


Held = list[tuple[int, int, bool, int]]


def record_of(oid: bytes, held: Held, has_blocks: bool = False) -> bytes:
    """Return a record in its documented layout: the OID, then term ids as differences with two flags, tf where it is
    not 1, and the block if lists are in the order of association.
    """
    numbers = [len(held)]
    before = 0
    for term_id, tf, stop, block in held:
        numbers += [(term_id - before) << 2 | stop << 1 | (tf > 1), *([tf] if tf > 1 else [])]
        numbers += [block] if has_blocks else []
        before = term_id
    return bytes((len(oid),)) + oid + pack_varints(numbers)


holdings = st.lists(
    st.tuples(st.integers(0, 2**40 - 1), st.integers(1, 2**31 - 1), st.booleans(), st.integers(0, 2**32 - 1)),
    max_size=12,
    unique_by=lambda held: held[0],
).map(sorted)


@given(st.binary(min_size=1, max_size=255), holdings, st.booleans())
def test_records_come_back(oid: bytes, held: Held, has_blocks: bool) -> None:
    packed = record_of(oid, held, has_blocks)
    record = ObjectRecord.unpack(packed, has_blocks)
    expected = held if has_blocks else [(*one[:3], 0) for one in held]
    assert (record.oid, record.terms(), len(record)) == (oid, expected, len(held))
    assert record.pack() == packed
    assert record.length == sum(tf for _, tf, _, _ in held)
    assert record.shown == sum(not stop for _, _, stop, _ in held)


def test_an_empty_record_holds_its_name() -> None:
    record = ObjectRecord.empty(b"oid")
    assert (record.oid, record.terms(), record.length, record.shown) == (b"oid", [], 0, 0)
    assert ObjectRecord.unpack(record.pack()).oid == b"oid"
    for oid in (b"", b"x" * 256):
        with pytest.raises(ValueError, match="1 to 255 bytes"):
            ObjectRecord.empty(oid)


# -- damage -----------------------------------------------------------------------------------------------------------

BLOCK = pack_block([(IID_MAX, 1), (3, 200), (4, 1), (2**30, 70_000)])
RECORD = (b"object:1", [(1, 2, False, 0), (300, 70_000, True, 9), (2**40 - 1, 1, False, 2**32 - 1)])
ROW = pack_varints([300, 2, 0, 700])

READERS: dict[str, tuple[Callable[[bytes], object], bytes]] = {
    "block": (unpack_block, BLOCK),
    "record": (ObjectRecord.unpack, record_of(*RECORD)),
    "record with blocks": (lambda record: ObjectRecord.unpack(record, True), record_of(*RECORD, has_blocks=True)),
    "row": (lambda row: TermInfo(row, 1), ROW),
}


@pytest.mark.parametrize("kind", READERS)
def test_every_truncation_is_damage(kind: str) -> None:
    read, whole = READERS[kind]
    read(whole)
    for size in range(len(whole)):
        with pytest.raises(DamagedBytes):
            read(whole[:size])


@pytest.mark.parametrize("kind", [kind for kind in READERS if kind != "row"])
def test_bytes_behind_the_end_are_damage(kind: str) -> None:
    read, whole = READERS[kind]
    for tail in (b"\0", b"\1", b"\x80", b"more"):
        with pytest.raises(DamagedBytes):
            read(whole + tail)


@pytest.mark.parametrize("kind", READERS)
@settings(deadline=None, max_examples=examples(300))
@given(st.binary(max_size=60), st.randoms(use_true_random=False))
def test_random_bytes_are_read_or_damage(kind: str, noise: bytes, dice: random.Random) -> None:
    read, whole = READERS[kind]
    changed = bytearray(whole)
    changed[dice.randrange(len(whole))] = dice.randrange(256)
    for packed in (noise, whole[: dice.randrange(len(whole))] + noise, bytes(changed), b"\x80" * 3 + noise):
        try:
            read(packed)
        except DamagedBytes:
            continue


@pytest.mark.parametrize(
    ("packed", "why"),
    [
        (b"\x81" + b"\0" * 129, "129 postings"),
        (b"\xff" + b"\0" * 255, "255 postings"),
        (b"\2\0", "one posting less than it says"),
    ],
)
def test_blocks_that_say_too_much_are_damage(packed: bytes, why: str) -> None:
    with pytest.raises(DamagedBytes):
        unpack_block(packed)


def test_a_list_that_says_it_is_huge_takes_no_memory() -> None:
    for count in (2**20, 2**40, 2**64 - 1):
        with pytest.raises(DamagedBytes):
            ObjectRecord.unpack(b"\1o" + pack_varints([count]) + b"\0" * 30)


# -- changes on damaged rows ------------------------------------------------------------------------------------------

HELD_ROW = pack_varints([5, 1, 0, 9])
HELD_BLOCK = pack_block([(9, 1)])
HELD_RECORD = record_of(b"o", [(5, 1, False, 0)])


def text(*words: bytes, tf: int = 1, flags: int = 0) -> Terms:
    return Terms(list(words), bytes((tf,)) * len(words), bytes((flags,)) * len(words))


def test_a_push_onto_damaged_rows_or_blocks_is_damage() -> None:
    for cut in range(len(HELD_ROW + HELD_BLOCK)):
        if cut == len(HELD_ROW):
            continue  # a tail without postings
        link = AddTerms(0, 9, text(b"a"), ObjectRecord.empty(b"o"), 6, TermCache())
        with pytest.raises(DamagedBytes):
            link.take_rows([(word_key(0, b"a"), (HELD_ROW + HELD_BLOCK)[:cut])])
    row = pack_varints([5, 2, 0, 100]) + pack_block([(100, 1)])  # and a block for the IIDs before 100
    for cut in range(1, len(HELD_BLOCK)):
        for record in (ObjectRecord.unpack(HELD_RECORD), ObjectRecord.empty(b"o")):
            link = AddTerms(0, 9, text(b"a", tf=2), record, 6, TermCache())
            (needed,) = link.take_rows([(word_key(0, b"a"), row)])
            assert needed == block_key(0, 5, 9)
            with pytest.raises(DamagedBytes):
                link.take_blocks([(block_key(0, 5, 0), HELD_BLOCK[:cut])])


@pytest.mark.parametrize("by_association", [False, True])
@pytest.mark.parametrize("tail", [b"", pack_block([(8, 1)])], ids=["none", "another's"])
def test_a_posting_that_is_missing_where_a_record_names_it_is_damage(by_association: bool, tail: bytes) -> None:
    record = record_of(b"o", [(5, 1, False, 3)], by_association)
    for block in (3, 4):  # the posting belongs into the tail, or into a block before it
        position = block if by_association else 10 * (block - 3)
        row = [(word_key(0, b"a"), pack_varints([5, 1, 0, position]) + tail)]
        found = [] if block == 3 else [(block_key(0, 5, 3), pack_block([(7, 1)]))]
        for blocks_given in (found, [None] * len(found)):
            held = ObjectRecord.unpack(record, by_association)
            link = AddTerms(0, 9, text(b"a", tf=2), held, 6, TermCache(), by_association)
            assert len(link.take_rows(row)) == len(blocks_given)
            with pytest.raises(DamagedBytes):
                link.take_blocks(blocks_given)
            unlink = RemoveTerms(0, 9, [b"a"], held, by_association)
            assert len(unlink.take_rows(row)) == len(blocks_given)
            with pytest.raises(DamagedBytes):
                unlink.take_blocks(blocks_given)


def test_a_pop_of_an_object_that_its_block_does_not_hold_is_damage() -> None:
    unlink = RemoveTerms(0, 10, [b"a"], ObjectRecord.unpack(HELD_RECORD))
    assert unlink.take_rows([(word_key(0, b"a"), HELD_ROW + HELD_BLOCK)]) == []
    with pytest.raises(DamagedBytes, match="object 10 is not in the block"):
        unlink.take_blocks([])


def test_a_posting_that_came_late_goes_into_the_block_it_belongs_to() -> None:
    """A late posting goes into the last block that begins at or before its object; without such a block, into a new
    block that begins at 0.
    """
    row = pack_varints([5, 300, 0, 900]) + pack_block([(900, 1)])
    full = [(iid, 1) for iid in range(200, 456, 2)]
    cases = {
        "into a block": ((200, full[1:]), [(200, sorted([*full[1:], (301, 2)]))]),
        "a block splits": ((150, full), [(326, full[63:]), (150, sorted([*full[:63], (301, 2)]))]),
        "no block is left before it": (None, [(0, [(301, 2)])]),
    }
    for why, (found, expected) in cases.items():
        link = AddTerms(0, 301, text(b"a", tf=2), ObjectRecord.empty(b"o"), 6, TermCache())
        assert link.take_rows([(word_key(0, b"a"), row)]) == [block_key(0, 5, 301)]
        link.take_blocks([None if found is None else (block_key(0, 5, found[0]), pack_block(found[1]))])
        assert {block_position(key): unpack_block(block) for key, block in link.blocks} == dict(expected), why


def test_a_full_tail_splits_where_a_posting_comes_late_and_else_moves_whole() -> None:
    full = [(iid, 1) for iid in range(0, 256, 2)]
    for iid, position, blocks, tail in (
        (300, 255, [(0, full)], [(300, 1)]),
        (131, 128, [(0, full[:64])], sorted([*full[64:], (131, 1)])),
        (3, 126, [(0, sorted([*full[:63], (3, 1)]))], full[63:]),
    ):
        cache = TermCache()
        link = AddTerms(0, iid, text(b"a"), ObjectRecord.empty(b"o"), 6, cache)
        assert link.take_rows([(word_key(0, b"a"), pack_varints([5, 128, 0, 0]) + pack_block(full))]) == []
        link.take_blocks([])
        link.finish()
        assert [(block_position(key), unpack_block(block)) for key, block in link.blocks] == blocks, iid
        ((_, row),) = cache.rows()[1]
        word = TermInfo(row, 1)
        assert (word.df, word.position, unpack_block(word.tail)) == (129, position, tail), iid


def test_lists_in_the_order_of_association_name_the_block_of_each_posting() -> None:
    cache = TermCache()
    for iid in range(300):
        link = linked(cache, 299 - iid, b"a", by_association=True)
        ((_, _, _, block),) = ObjectRecord.unpack(link.record(), True).terms()
        assert block == iid // POSTINGS_PER_BLOCK
        if link.blocks:
            ((key, full),) = link.blocks
            assert block_position(key) == block - 1
            newest = 299 - iid + POSTINGS_PER_BLOCK
            assert unpack_block(full) == [(newest - at, 1) for at in range(POSTINGS_PER_BLOCK)]
    ((_, row),) = cache.rows()[1]
    assert (TermInfo(row, 1).df, TermInfo(row, 1).position) == (300, 2)


def linked(
    cache: TermCache,
    iid: int,
    *words: bytes,
    rows: list[tuple[bytes, bytes]] | None = None,
    by_association: bool = False,
) -> AddTerms:
    record = ObjectRecord.empty(b"o%d" % iid, by_association)
    link = AddTerms(0, iid, text(*words), record, 10 * iid, cache, by_association)
    link.take_rows([row for row in rows or [] if row[0] in link.word_keys])
    link.take_blocks([])
    link.finish()
    return link


def test_a_cache_gives_rows_that_changed_once_and_by_key() -> None:
    cache = TermCache()
    linked(cache, 1, b"b", b"a", b"x" * 600)
    assert (cache.changed, len(cache)) == (3, 3)
    linked(cache, 2, b"b")
    rows, common = cache.rows()
    assert [key for key, _ in rows] == sorted(word_key(0, word) for word in (b"a", b"b", b"x" * 600))
    assert common == []
    assert cache.rows() == ([], [])
    assert [TermInfo(row, 1).df for _, row in rows] == [1, 2, 1]
    assert unpack_block(TermInfo(rows[1][1], 1).tail) == [(1, 1), (2, 1)]
    linked(cache, 3, b"x" * 600)
    (((_, row),), _) = cache.rows()
    assert TermInfo(row, 600).df == 2, "long words are found again"


def test_the_row_of_a_word_with_two_blocks_is_written_by_its_number() -> None:
    cache = TermCache()
    for iid in range(POSTINGS_PER_BLOCK):
        linked(cache, iid, b"b", *([b"a"] if iid else []))
    assert [key for key, _ in cache.rows()[0]] == [word_key(0, b"a"), word_key(0, b"b")]
    number = 0  # of "b", which came first
    for iid in (1_000, 1_001):
        linked(cache, iid, b"b")
        rows, common = cache.rows()
        assert rows == ([(word_key(0, b"b"), pack_varints([number]))] if iid == 1_000 else []), "referred to once"
        ((key, row),) = common
        assert key == term_key(0, number) and TermInfo(row, 1).position == POSTINGS_PER_BLOCK
    rows = [(word_key(0, b"a"), b"whatever it is"), (word_key(0, b"b"), pack_varints([number]))]
    assert common_keys(rows) == [key]
    assert with_common(list(rows), common) == [rows[0], (word_key(0, b"b"), row)]
    for wrong in ([], [(term_key(0, 7), row)]):
        with pytest.raises(DamagedBytes, match="row of a common word is missing"):
            with_common(list(rows), wrong)


def test_a_forgotten_row_is_read_again() -> None:
    cache = TermCache()
    linked(cache, 1, b"a", b"b")
    with pytest.raises(ValueError, match="2 rows of words have to be written first"):
        cache.forget([word_key(0, b"a")])
    rows, _ = cache.rows()
    cache.forget([word_key(0, b"a"), word_key(0, b"never there")])
    link = linked(cache, 2, b"a", b"b", rows=rows)
    assert link.word_keys == [word_key(0, b"a")]
    assert [TermInfo(row, 1).df for _, row in cache.rows()[0]] == [2, 2]
    cache.clear()
    assert (len(cache), cache.changed) == (0, 0)
    assert linked(cache, 3, b"a", b"b", rows=rows).new_terms() == []


def test_thousands_of_rows_fit_into_a_cache() -> None:
    cache = TermCache()
    words = [b"word%d" % number for number in range(5_000)]
    for at in range(0, len(words), 50):
        linked(cache, at, *words[at : at + 50])
    assert (len(cache), cache.changed) == (5_000, 5_000)
    assert [key for key, _ in cache.rows()[0]] == sorted(word_key(0, word) for word in words)
    assert linked(cache, 9_999, *words).word_keys == []


def test_stop_flags_and_counts_reach_the_record() -> None:
    link = AddTerms(0, 9, Terms([b"b", b"a"], b"\0\xff", bytes((STOP, 0))), ObjectRecord.empty(b"o"), 6, TermCache())
    assert link.take_rows([]) == []
    link.take_blocks([])
    assert link.new_terms() == [(6, b"b"), (7, b"a")]
    assert ObjectRecord.unpack(link.record()).terms() == [(6, 1, True, 0), (7, 255, False, 0)]
    assert (link.next_term, link.length_change, link.changed) == (8, 256, True)


UNSAFE = {
    "a list of words that grew": (
        "t = Terms([b'a'], b'\\1', b'\\0'); t.words.extend([b'x'] * 100_000)\n"
        "AddTerms(0, 1, t, ObjectRecord.empty(b'o'), 0, TermCache()).take_rows([])"
    ),
    "blocks that nobody asked for": (
        "link = AddTerms(0, 1, Terms([b'a'], b'\\1', b'\\0'), ObjectRecord.empty(b'o'), 0, TermCache())\n"
        "link.take_rows([]); link.take_blocks([None])"
    ),
    "blocks that are missing": (
        "row = (b'\\0' * 4 + b'a', b'\\5\\1\\0\\x09\\1\\x24')\n"
        "link = AddTerms(0, 1, Terms([b'a'], b'\\1', b'\\0'), ObjectRecord.empty(b'o'), 0, TermCache())\n"
        "assert link.take_rows([row]); link.take_blocks([])"
    ),
    "blocks of a pop that nobody asked for": (
        "u = RemoveTerms(0, 1, [b'a'], ObjectRecord.empty(b'o')); u.take_rows([]); u.take_blocks([None])"
    ),
    "a cache that was cleared meanwhile": (
        "c = TermCache(); link = AddTerms(0, 1, Terms([b'a'], b'\\1', b'\\0'), ObjectRecord.empty(b'o'), 0, c)\n"
        "link.take_rows([]); c.clear(); link.take_blocks([])"
    ),
    "a cache that was cleared before the words are told": (
        "c = TermCache(); link = AddTerms(0, 1, Terms([b'a'], b'\\1', b'\\0'), ObjectRecord.empty(b'o'), 0, c)\n"
        "link.take_rows([]); c.clear(); link.changed_words()"
    ),
    "a record without a name": "ObjectRecord().pack()",
    "no record": "AddTerms(0, 1, Terms([b'a'], b'\\1', b'\\0'), None, 0, TermCache())",
}


@pytest.mark.parametrize("why", UNSAFE)
def test_wrong_use_raises_and_does_not_crash(why: str) -> None:
    """The test runs in a process of its own, because a fault here corrupts memory."""
    script = (
        "from sonicpy._native.add_terms import *\nfrom sonicpy._native.remove_terms import *\n"
        "from sonicpy._native.object_record import *\nfrom sonicpy._native.postings import *\n"
        "from sonicpy._native.term_cache import *\nfrom sonicpy._native.terms import Terms\n"
        f"try:\n    {UNSAFE[why].replace(chr(10), chr(10) + '    ')}\n"
        "except (ValueError, IndexError, TypeError) as fault: print(type(fault).__name__)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False, timeout=WAIT_S
    )
    assert done.returncode == 0, f"exit status {done.returncode}: {done.stderr}"
    assert done.stdout.strip().endswith("Error"), "an exception is due, not an answer"
