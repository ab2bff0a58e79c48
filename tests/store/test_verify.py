"""Verify finds the faults of a store: it is compared with the checks in consistency.py, which were written
independently.
"""

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest import mock

import pytest

from sonicpy._native.impact_rows import ImpactRow
from sonicpy._native.postings import pack_block, unpack_block
from sonicpy.errors import StoreError
from sonicpy.store.care.verify_tables import table_faults
from sonicpy.store.changing import remove_steps
from sonicpy.store.changing.mutations import ChangeFields, FlushBucket, FlushObject, PopTerms, PushWith
from sonicpy.store.disk import table_numbers as tables
from sonicpy.store.disk.log import HEADER, RECORD, Log, log_faults
from sonicpy.store.disk.table_numbers import TABLE_NAMES
from sonicpy.store.disk.transaction import Transaction
from sonicpy.store.fields.all_fields import VECTORS
from sonicpy.store.fields.field import FieldMode
from sonicpy.store.fields.tag_field import pack_tags
from sonicpy.store.fields.value_field import pack_values
from sonicpy.store.rows import names
from sonicpy.store.rows.bucket_state import BucketState
from sonicpy.store.rows.keys import term_key
from sonicpy.store.rows.meta import BY_OBJECT
from sonicpy.store.rows.vector_columns import pack_vectors
from sonicpy.store.store import Store
from sonicpy.store.views.bucket_reader import BucketReader
from sonicpy.store.views.view import View
from sonicpy.values import GivenValue
from tests.store import consistency
from tests.store.shorthand import ORDERS, open_store, push, terms
from tests.support.examples import examples, some

WORDS = [f"word{number}" for number in range(12)] + ["x" * 60, "y" * 600]
TAGS = [f"tag {number}" for number in range(9)]
PLACES = examples(40)
"""The number of bytes of a row that are damaged, one at a time; rows of names have a thousand."""


@pytest.fixture(scope="module", params=ORDERS)
def store(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[Store]:
    """A store with every kind of row: late words, popped words, flushed objects and buckets.

    All tests of an order of postings share it: they damage it in a transaction that they abort.
    """
    store = open_store(tmp_path_factory.mktemp("store"), order=request.param)
    with mock.patch.object(names, "WAITING_MIN", 100):
        use(store)
        yield store
    store.close()


def store_is_by_association(store: Store) -> bool:
    with store.reading() as view:
        return view.by_association


def values(chance: random.Random) -> bytes:
    given = [chance.randrange(-5, 5) * 100, chance.randrange(-(2**63), 2**63), None]
    return pack_values({chance.choice("ab"): GivenValue(chance.choice(given))})


def use(store: Store) -> None:
    """Change a store in all ways."""
    chance = random.Random(7)
    for number in range(300):
        oid = f"o{chance.randrange(40)}"
        words = chance.sample(WORDS, chance.randrange(1, 6))
        text = " ".join(word + chance.choice(["", "*3", "!", "?"]) for word in words)
        match chance.randrange(8):
            case 0:
                store.apply(PopTerms("c", "b", oid, terms(chance.choice(WORDS))))
            case 1:
                store.apply(FlushObject("c", "b", oid))
            case _:
                store.apply(push(oid, text, bucket=chance.choice("bd")))
        if number % 3 == 0 and not store_is_by_association(store):
            fields = ((5, pack_tags(chance.sample(TAGS, chance.randrange(5)))), (6, values(chance)))
            store.apply(ChangeFields("c", "b", f"o{chance.randrange(40)}", FieldMode.ADD, fields))
        if number == 100:
            store.apply(FlushBucket("c", "d"))
    for number in range(300):  # more than a word's row holds
        store.apply(push(f"many{number}", "many", bucket="b"))
        if number % 20 == 0:
            store.commit()  # so that names are stored
    for number in range(0, 300, 7):
        store.apply(push(f"many{number}", "many*2 late", bucket="b"))
    for number in range(0, 300, 5):
        store.apply(PushWith("c", "b", f"many{number}", terms("many"), vector("\1" * 16, "m")))
        store.apply(FlushObject("c", "b", f"many{number + 1}"))
    store.apply(FlushObject("c", "b", "many10"))
    huge = FlushObject("c", "b", "huge")
    store.apply(push("huge", " ".join(f"{word}*2" for word in WORDS)))
    with mock.patch.object(remove_steps, "TERMS_PER_STEP", 5):
        store.apply(huge, in_steps=True)
        store.take_step()
    store.commit()


def test_nothing_is_wrong_with_a_store_that_was_used(store: Store) -> None:
    with store.snapshot() as view:
        assert list(table_faults(view.transaction)) == []
        assert list(consistency.faults(view)) == []


def vector(bits: str, column: str) -> tuple[tuple[int, bytes], ...]:
    return ((VECTORS.id, pack_vectors(((column, bits.encode()),))),)


def twin_finds_a_fault(transaction: Transaction) -> bool:
    try:
        return any(True for _ in consistency.faults(View(transaction)))
    except (StoreError, ValueError, LookupError, OverflowError):
        return True  # a row that cannot be read


@pytest.mark.parametrize("table", some(range(len(TABLE_NAMES)), 3), ids=[name.decode() for name in TABLE_NAMES])
def test_every_damaged_row_that_the_twin_notices_is_named(store: Store, table: int) -> None:
    chance = random.Random(table)
    with store.snapshot() as view:
        rows = list(view.transaction.rows(table, b""))
    if table == tables.DROPPED:
        rows = [(b"\0\0\0\0", b"")]  # the bucket that is in use
    if table in (tables.IMPACTS, tables.TAGS, tables.COLUMNS, tables.SMALL) and not rows:
        return  # lists in the order of association have no impacts; tests/store/test_small_buckets.py damages `small`
    noticed = 0
    for key, row in chance.sample(rows, min(len(rows), examples(6))):
        damaged: list[bytes | None] = [None, row[:-1], row + b"\1", row + b"\x80"] if row else [None, b""]
        places = chance.sample(range(len(row)), min(len(row), PLACES))
        damaged += [bytes((*row[:at], row[at] ^ flip, *row[at + 1 :])) for at in places for flip in (1, 0x40)]
        for value in damaged:
            transaction = store._environment.begin()
            try:
                if value is None:
                    transaction.delete(table, key)
                else:
                    transaction.put(table, key, value)
                found = list(table_faults(transaction))
                if twin_finds_a_fault(transaction):
                    noticed += 1
                    assert found, f"{TABLE_NAMES[table].decode()}: {key!r} is {value!r} instead of {row!r}"
                    assert all("\n" not in fault for fault in found)
            finally:
                store._environment.abort(transaction)
    # No text was replaced here: tests/index/test_upsert.py damages digests, tests/index/test_phrases.py orders.
    assert noticed or table in (tables.META, tables.FACTS, tables.DIGESTS, tables.ORDERS), "some of it has to matter"


class Rows:
    """The rows of one word, in a write transaction that is aborted."""

    def __init__(self, transaction: Transaction, state: BucketState) -> None:
        self.transaction, self.state = transaction, state
        (row,) = BucketReader(View(transaction), state).words([b"many"])
        assert row is not None
        self.prefix = term_key(state.bucket, row.term_id)
        self.blocks = list(transaction.rows(tables.POSTINGS, self.prefix))
        ((self.impact_key, self.impacts),) = transaction.rows(tables.IMPACTS, self.prefix)


def lose_a_block(rows: Rows) -> None:
    rows.transaction.delete(tables.POSTINGS, rows.blocks[1][0])


def swap_two_postings(rows: Rows) -> None:
    key, block = rows.blocks[0]
    first, second, *others = unpack_block(block)
    rows.transaction.put(tables.POSTINGS, key, pack_block([second, first, *others]))


def swap_two_blocks(rows: Rows) -> None:
    (key, block), (other_key, other_block), *_ = rows.blocks
    rows.transaction.put(tables.POSTINGS, key, other_block)
    rows.transaction.put(tables.POSTINGS, other_key, block)


def let_a_block_begin_too_late(rows: Rows) -> None:
    key, block = rows.blocks[1]
    rows.transaction.delete(tables.POSTINGS, key)
    rows.transaction.put(tables.POSTINGS, key[:-1] + bytes((key[-1] + 1,)), block)


def narrow_impacts(rows: Rows) -> None:
    row = ImpactRow(rows.impacts)
    row.put(row.lowers()[1], [(1, 200)])
    rows.transaction.put(tables.IMPACTS, rows.impact_key, row.pack())


def forget_impacts(rows: Rows) -> None:
    row = ImpactRow(rows.impacts)
    row.remove(row.lowers()[1])
    rows.transaction.put(tables.IMPACTS, rows.impact_key, row.pack())


def invent_impacts(rows: Rows) -> None:
    row = ImpactRow(rows.impacts)
    row.put(row.lowers()[1] + 3, [(255, 0)])
    rows.transaction.put(tables.IMPACTS, rows.impact_key, row.pack())


def move_impacts(rows: Rows) -> None:
    rows.transaction.delete(tables.IMPACTS, rows.impact_key)
    rows.transaction.put(tables.IMPACTS, rows.impact_key[:-1] + bytes((rows.impact_key[-1] + 1,)), rows.impacts)


LIST_FAULTS: dict[Callable[[Rows], None], str] = {
    lose_a_block: "impacts has 2 blocks, postings has 1",
    swap_two_postings: "is out of order in block 0",
    swap_two_blocks: "is out of order in block",
    let_a_block_begin_too_late: "is out of order in block",
    narrow_impacts: "do not bound its postings",
    forget_impacts: "impacts has 1 blocks, postings has 2",
    invent_impacts: "impacts has 3 blocks, postings has 2",
    move_impacts: "the row of impacts from 0 on has the key of 1",
}


@pytest.mark.parametrize("store", [BY_OBJECT], indirect=True)
@pytest.mark.parametrize("damage", LIST_FAULTS, ids=lambda damage: damage.__name__)
def test_what_is_wrong_with_a_list_and_its_impacts_is_named(store: Store, damage: Callable[[Rows], None]) -> None:
    with store.snapshot() as view:
        state = view.bucket("c", "b")
        assert state is not None
    transaction = store._environment.begin()
    try:
        damage(Rows(transaction, state))
        found = list(table_faults(transaction))
        assert any(LIST_FAULTS[damage] in fault for fault in found), found
        assert twin_finds_a_fault(transaction)
    finally:
        store._environment.abort(transaction)


@pytest.mark.parametrize("table", tables.BUCKET_TABLES)
def test_rows_of_nobody_are_named(store: Store, table: int) -> None:
    transaction = store._environment.begin()
    try:
        transaction.put(table, b"\0\0\x09\x09strange", b"\1")
        faults = list(table_faults(transaction))
    finally:
        store._environment.abort(transaction)
    assert faults == [f"table {TABLE_NAMES[table].decode()} has rows of bucket {0x0909}, which does not exist"]


@pytest.mark.timeout(60)
@pytest.mark.parametrize("table", tables.BUCKET_TABLES)
@pytest.mark.parametrize("key", [b"\x80", b"\x80\0\0"])
def test_a_key_without_a_bucket_is_named(store: Store, table: int, key: bytes) -> None:
    transaction = store._environment.begin()
    try:
        transaction.put(table, key, b"\1")
        faults = list(table_faults(transaction))
    finally:
        store._environment.abort(transaction)
    assert f"table {TABLE_NAMES[table].decode()} has the key {key!r}, which names no bucket" in faults


# -- the log ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A closed log with two segments of three records each."""
    log = Log(tmp_path / "log")
    log.start(0)
    log.append([b"one", b"two", b"three"])
    log.rotate()
    log.append([b"four", b"five", b"six"])
    log.close()
    return tmp_path / "log"


def test_a_whole_log_has_no_faults_however_much_the_tables_cover(log: Path) -> None:
    for position in (0, 11, 22, 35, 1000):
        assert list(log_faults(log, position)) == []


def test_half_a_record_at_the_end_is_no_fault(log: Path) -> None:
    last = sorted(log.iterdir())[-1]
    whole = last.read_bytes()
    for length in range(HEADER.size + 3 * RECORD.size + 9, len(whole)):
        last.write_bytes(whole[:length])
        assert list(log_faults(log, 0)) == []


def test_a_damaged_record_is_a_fault_where_the_tables_need_it(log: Path) -> None:
    first, last = sorted(log.iterdir())
    for path in (first, last):
        whole = path.read_bytes()
        path.write_bytes(whole[: HEADER.size + RECORD.size] + b"X" + whole[HEADER.size + RECORD.size + 1 :])
        (fault,) = log_faults(log, 0)
        assert "is damaged at position" in fault
        assert path.name in fault
        path.write_bytes(whole)
    first.write_bytes(first.read_bytes()[:-1])
    for position in (int(last.stem, 16), 10_000):
        assert list(log_faults(log, position)) == [], "the tables hold all of the first segment"
    other_version = first.read_bytes()[:8] + b"\7" + first.read_bytes()[9:]
    first.write_bytes(other_version)
    (fault,) = log_faults(log, 0)
    assert "has format version 7" in fault
    first.unlink()
    assert "begins at" in next(log_faults(log, 0))
