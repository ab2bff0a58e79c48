"""Transactions over LMDB: ranges of rows, growth, and faults that are raised as StoreError."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import lmdb
import pytest

from sonicpy.errors import StoreError, StoreFull
from sonicpy.store.disk.environment import Environment
from sonicpy.store.disk.table_numbers import META, OBJECTS, OIDS, POSTINGS, WORDS
from sonicpy.store.disk.table_rows import MapFull
from sonicpy.store.disk.transaction import Transaction
from tests.support.patience import WAIT_S

PREFIX = b"\0\0\0\7"
NEIGHBOURS = [b"\0\0\0\6\xff", PREFIX + b"a", PREFIX + b"b", PREFIX + b"\xff\xff", b"\0\0\0\x08", b"\xff\xff\xff\xff"]


@pytest.fixture
def environment(tmp_path: Path) -> Iterator[Environment]:
    held = Environment(tmp_path, 1 << 20)
    yield held
    held.close()


@pytest.fixture
def transaction(environment: Environment) -> Iterator[Transaction]:
    open_one = environment.begin()
    yield open_one
    environment.abort(open_one)


def test_keys_with_a_prefix(transaction: Transaction) -> None:
    for key in reversed(NEIGHBOURS):
        transaction.put(OIDS, key, b"")
    assert transaction.keys(OIDS, PREFIX) == NEIGHBOURS[1:4]
    assert transaction.keys(OIDS, PREFIX + b"aa") == [key for key in NEIGHBOURS if key.startswith(PREFIX + b"aa")]
    assert transaction.keys(OIDS, b"\xff\xff\xff\xff\xff") == []
    assert transaction.keys(WORDS, PREFIX) == []


def test_rows_end_with_their_prefix(transaction: Transaction) -> None:
    for key in reversed(NEIGHBOURS):
        transaction.put(WORDS, key, key[::-1])
    assert [key for key, _ in transaction.rows(WORDS, PREFIX)] == NEIGHBOURS[1:4]
    assert [key for key, _ in transaction.rows(WORDS, PREFIX, PREFIX + b"aa")] == NEIGHBOURS[2:4]
    assert [key for key, _ in transaction.rows(WORDS, b"")] == NEIGHBOURS
    assert [key for key, _ in transaction.rows(WORDS, b"\xff")] == NEIGHBOURS[5:]
    assert list(transaction.rows(WORDS, b"\xff\xff\xff\xff\xff")) == []
    assert list(transaction.rows(OIDS, b"")) == []
    assert transaction.first(WORDS, PREFIX + b"c") == (NEIGHBOURS[3], NEIGHBOURS[3][::-1])
    assert transaction.first(WORDS, b"\xff\xff\xff\xff\xff") is None


FLOORS = [
    (PREFIX + b"a", PREFIX + b"a", "the row itself"),
    (PREFIX + b"az", PREFIX + b"a", "between two rows"),
    (PREFIX + b"c", PREFIX + b"b", "before the last one of the prefix"),
    (PREFIX + b"\xff\xff\xff", PREFIX + b"\xff\xff", "behind all of the prefix"),
    (PREFIX + b"A", None, "before all of the prefix"),
    (b"\xff\xff\xff\xff\xff", b"\xff\xff\xff\xff", "behind all rows of the table"),
    (b"\xff\xff\xff\xff", b"\xff\xff\xff\xff", "the last row of the table"),
    (b"\xff\xff\xfe\xff", None, "another prefix is before it"),
    (b"\0\0\0\0", None, "before all rows of the table"),
]


def test_the_last_rows_not_behind_keys(transaction: Transaction) -> None:
    keys = [key for key, _, _ in FLOORS]
    assert transaction.floor_many(WORDS, keys, 4) == [None] * len(keys), "an empty table"
    for key in NEIGHBOURS:
        transaction.put(WORDS, key, key[::-1])
    expected = [None if key is None else (key, key[::-1]) for _, key, _ in FLOORS]
    for (key, _, why), row, found in zip(FLOORS, expected, transaction.floor_many(WORDS, keys, 4), strict=True):
        assert found == row, (key, why)
    assert transaction.floor_many(WORDS, keys[::-1], 4) == expected[::-1]
    assert transaction.floor_many(WORDS, [b"\0\0\0\7az"], 5) == [(PREFIX + b"a", (PREFIX + b"a")[::-1])]
    assert transaction.floor_many(WORDS, [b"\0\0\0\7z"], 5) == [None]
    assert transaction.floor_many(WORDS, [], 4) == []


def test_rows_from_the_last_one_to_the_first(transaction: Transaction) -> None:
    for prefix in (PREFIX, b"\xff\xff\xff\xff", b"\0\0\0\0"):
        assert list(transaction.newest_first(WORDS, prefix)) == [], "an empty table"
    rows = [(prefix + bytes((number,)), b"%d" % number) for prefix in FIRST_BYTES for number in (0, 1, 0xFF)]
    transaction.put_many(WORDS, rows)
    for prefix in FIRST_BYTES:
        expected = [row for row in rows if row[0].startswith(prefix)]
        assert list(transaction.newest_first(WORDS, prefix)) == expected[::-1], prefix
    assert list(transaction.newest_first(WORDS, b"\0\0\0\x09")) == []
    assert list(transaction.newest_first(WORDS, b"\xff\xff\xff\xfe")) == []


FIRST_BYTES = [b"\0\0\0\0", b"\0\0\0\7", b"\0\0\0\x08", b"\0\0\0\xff", b"\0\0\1\0", b"\xff\xff\xff\xff"]


@pytest.mark.parametrize(("limit", "left"), [(0, 3), (1, 2), (2, 1), (3, 0), (100, 0)])
def test_rows_are_deleted_within_their_prefix_and_limit(transaction: Transaction, limit: int, left: int) -> None:
    for key in NEIGHBOURS:
        transaction.put(WORDS, key, b"")
    assert transaction.delete_rows(WORDS, PREFIX, limit) == 3 - left
    assert len(list(transaction.rows(WORDS, PREFIX))) == left
    assert transaction.count(WORDS) == len(NEIGHBOURS) - 3 + left


def test_the_last_rows_of_a_table_can_be_deleted(transaction: Transaction) -> None:
    for key in NEIGHBOURS:
        transaction.put(WORDS, key, b"")
    assert transaction.delete_rows(WORDS, b"\xff", 10) == 1
    assert transaction.delete_rows(WORDS, b"", 10) == 5
    assert transaction.delete_rows(WORDS, b"", 10) == 0


def test_many_rows_come_in_the_order_of_their_keys_asked_for(transaction: Transaction) -> None:
    transaction.put_many(OBJECTS, [(b"b", b"2"), (b"a", b"1"), (b"d", b"4")])
    assert transaction.get_many(OBJECTS, [b"d", b"c", b"a"]) == [(b"d", b"4"), (b"a", b"1")]
    assert transaction.get_many(OBJECTS, []) == []
    transaction.put_many(OBJECTS, [(b"a", b"new")])
    assert transaction.get(OBJECTS, b"a") == b"new"
    assert (transaction.delete(OBJECTS, b"a"), transaction.delete(OBJECTS, b"a")) == (True, False)


def test_appending_takes_rows_in_any_order(transaction: Transaction) -> None:
    for key in (b"b", b"d", b"a", b"c", b"d"):
        transaction.append(OBJECTS, key, key)
    assert [key for key, _ in transaction.rows(OBJECTS, b"")] == [b"a", b"b", b"c", b"d"]


def test_values_outlive_their_transaction(environment: Environment) -> None:
    with_values = environment.begin()
    with_values.put(META, b"key", b"value" * 100)
    rows = list(with_values.rows(META, b""))
    value = with_values.get(META, b"key")
    environment.commit(with_values)
    environment.grow()
    other = environment.begin()
    other.put(META, b"key", b"x" * 500)
    environment.commit(other)
    assert value == b"value" * 100 == rows[0][1]


def test_a_full_map_is_a_map_full_and_passes_after_growth(environment: Environment) -> None:
    full = environment.begin()
    with pytest.raises(MapFull):
        for number in range(10_000):
            full.put(POSTINGS, b"%d" % number, b"x" * 400)
    environment.abort(full)
    before = environment.map_bytes()
    environment.grow()
    assert environment.map_bytes() == 2 * before
    assert issubclass(MapFull, StoreFull)
    again = environment.begin()
    again.put(POSTINGS, b"key", b"value")
    environment.commit(again)
    with environment.reading() as transaction:
        assert transaction.count(POSTINGS) == 1


def test_growth_waits_for_readers_and_readers_for_growth(environment: Environment) -> None:
    reading, release, grown = threading.Event(), threading.Event(), threading.Event()

    def read() -> None:
        with environment.reading():
            reading.set()
            release.wait(WAIT_S)

    def grow() -> None:
        environment.grow()
        grown.set()

    threads = [threading.Thread(target=read), threading.Thread(target=grow)]
    threads[0].start()
    assert reading.wait(WAIT_S)
    threads[1].start()
    assert not grown.wait(0.05), "a reader is inside"
    release.set()
    assert grown.wait(WAIT_S)
    with environment.reading() as transaction:
        assert transaction.count(META) == 0
    for thread in threads:
        thread.join()


@pytest.mark.timeout(3)
def test_growth_inside_ones_own_reader_is_refused(environment: Environment) -> None:
    """A thread that would wait for its own reader to end gets an error, instead of waiting for ever."""
    with environment.reading(), pytest.raises(StoreError):
        environment.grow()
    environment.grow()
    with environment.reading() as transaction:
        assert transaction.count(META) == 0


def test_faults_leave_the_file_as_store_errors(environment: Environment) -> None:
    with environment.reading() as transaction, pytest.raises(StoreError):
        transaction.put(META, b"key", b"value")
    writing = environment.begin()
    for call in (
        lambda: writing.put(META, b"k" * 512, b""),
        lambda: writing.put(META, b"", b""),
        lambda: writing.put_many(META, [(b"k" * 512, b"")]),
        lambda: writing.append(META, b"k" * 512, b""),
    ):
        with pytest.raises(StoreError):
            call()
    environment.abort(writing)


def test_a_transaction_that_has_ended_is_refused(environment: Environment) -> None:
    ended = environment.begin()
    environment.commit(ended)
    for call in (
        lambda: ended.get(META, b"key"),
        lambda: ended.put(META, b"key", b""),
        lambda: ended.get_many(META, [b"key"]),
        lambda: ended.first(META, b""),
        lambda: list(ended.newest_first(META, b"key")),
        lambda: ended.floor_many(META, [b"key"], 1),
        lambda: list(ended.rows(META, b"")),
        lambda: ended.delete(META, b"key"),
        lambda: ended.count(META),
        lambda: ended.delete_rows(META, b"", 1),
    ):
        with pytest.raises(StoreError):
            call()
    environment.grow()


def test_needs_room_long_before_the_map_is_full(environment: Environment) -> None:
    assert not environment.needs_room()
    number = 0
    while not environment.needs_room():
        transaction = environment.begin()
        transaction.put(POSTINGS, b"%d" % number, b"x" * 8000)
        environment.commit(transaction)
        number += 1
    assert environment.used_bytes() < environment.map_bytes()
    environment.grow()
    assert not environment.needs_room()


GROWER = """
import sys, lmdb
env = lmdb.open(sys.argv[1], map_size=1 << 28, max_dbs=20, max_readers=512)
for _ in sys.stdin:
    size = env.info()["last_pgno"] * env.stat()["psize"]
    with env.begin(write=True) as transaction:
        transaction.put(b"x" * 8 + str(size).encode(), bytes(size + (2 << 20)))
    print("grown", flush=True)
"""


@pytest.mark.parametrize("read_only", [True, False])
def test_opens_a_file_that_another_process_grows_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read_only: bool
) -> None:
    # The other process commits beyond the map of this one behind lmdb.open, and again behind the first transaction.
    folder = tmp_path / "store"
    Environment(folder, 1 << 20, sync=False).close()
    command = [sys.executable, "-c", GROWER, str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdin and other.stdout
        orders, answers = other.stdin, other.stdout

        def grow() -> None:
            orders.write("\n")
            orders.flush()
            assert answers.readline() == "grown\n"

        opened, has_left_slots = lmdb.open, Environment._has_left_slots

        def open_and_grow(*args: Any, **options: Any) -> lmdb.Environment:
            env = opened(*args, **options)
            grow()
            return env

        def look_and_grow(environment: Environment) -> bool:
            answer = has_left_slots(environment)
            grow()
            return answer

        monkeypatch.setattr(lmdb, "open", open_and_grow)
        monkeypatch.setattr(Environment, "_has_left_slots", look_and_grow)
        environment = Environment(folder, 1 << 20, sync=False, read_only=read_only)
        assert environment.used_bytes() > 6 << 20
        environment.close()
        orders.close()
