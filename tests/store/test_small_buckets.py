"""Small buckets: rows that share one row read and change as those in tables do."""

import random
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sonicpy
from sonicpy._native.small_rows import SmallRows
from sonicpy._native.varint import DamagedBytes
from sonicpy.errors import StoreError
from sonicpy.index.maintenance.maintainer import BACKLOG_WORDS
from sonicpy.store.care.verify_tables import table_faults
from sonicpy.store.disk import transaction as transactions
from sonicpy.store.disk.environment import Environment
from sonicpy.store.disk.table_numbers import FACTS, META, SMALL, SMALL_COUNTS, SMALL_TABLES, WORDS
from sonicpy.store.disk.table_rows import TableRows
from sonicpy.store.disk.transaction import KEPT_MAX, Transaction
from tests.store.test_verify import twin_finds_a_fault
from tests.support.examples import examples

MAP_BYTES = 1 << 26
NUMBER = (7).to_bytes(4, "big")
TABLES = (*SMALL_TABLES[:3], FACTS)
BUCKETS = [number.to_bytes(4, "big") for number in (1, 2, 3, 255, 256, 2**31)]

Model = dict[tuple[int, bytes], bytes]
rows_of_tables = st.dictionaries(
    st.tuples(st.sampled_from(SMALL_TABLES), st.binary(max_size=40)), st.binary(max_size=300), max_size=40
)


@contextmanager
def changing(environment: Environment) -> Iterator[Transaction]:
    """Yield a write transaction, and commit it as a store does."""
    transaction = environment.begin()
    try:
        yield transaction
        transaction.write_small()
        environment.commit(transaction)
    finally:
        environment.abort(transaction)


@settings(max_examples=examples(200))
@given(rows_of_tables)
def test_rows_come_back_packed(rows: Model) -> None:
    small = SmallRows(NUMBER, None)
    for (table, key), value in rows.items():
        small.put(table, NUMBER + key, value)
    packed = small.pack()
    again = SmallRows(NUMBER, packed)
    found = {(table, key[4:]): value for table in again.tables() for key, value in again.rows(table)}
    assert found == rows
    assert not again.changed
    assert again.pack() == packed
    assert again.size == len(packed)
    for table in SMALL_TABLES:
        assert again.keys(table) == sorted(NUMBER + key for of, key in rows if of == table)
        assert again.stored((table,)) == [again.count(table)] == [len(again.keys(table))]


changes_of_tables = st.lists(
    st.tuples(
        st.sampled_from(SMALL_TABLES[:2]),
        st.text("ab\xff", max_size=4).map(str.encode),
        st.none() | st.binary(max_size=200),
    ),
    max_size=30,
)


@settings(max_examples=examples(300))
@given(st.lists(changes_of_tables, max_size=6), st.booleans())
def test_changes_merge_into_the_row_that_all_rows_would_make(
    rounds: list[list[tuple[int, bytes, bytes | None]]], reads: bool
) -> None:
    small, model = SmallRows(NUMBER, None), dict[tuple[int, bytes], bytes]()
    for changes in rounds:
        for table, key, value in changes:
            if value is None:
                assert small.delete(table, NUMBER + key) == (model.pop((table, key), None) is not None)
            else:
                small.put(table, NUMBER + key, value)
                model[table, key] = value
            if reads:
                assert small.keys(table) == sorted(NUMBER + key for of, key in model if of == table)
            assert small.get(table, NUMBER + key) == value
        anew = SmallRows(NUMBER, None)
        for (table, key), value in model.items():
            anew.put(table, NUMBER + key, value)
        assert small.pack() == anew.pack()
        for table in SMALL_TABLES[:2]:
            held = sorted((NUMBER + key, value) for (of, key), value in model.items() if of == table)
            assert small.rows(table) == held
            assert small.get_many(table, [key for key, _ in held]) == held


@settings(max_examples=examples(200))
@given(rows_of_tables, st.data())
def test_a_damaged_row_is_refused_or_reads_as_another(rows: Model, data: st.DataObject) -> None:
    small = SmallRows(NUMBER, None)
    for (table, key), value in rows.items():
        small.put(table, NUMBER + key, value)
    packed = bytearray(small.pack())
    for _ in range(data.draw(st.integers(1, 3))):
        if packed:
            packed[data.draw(st.integers(0, len(packed) - 1))] = data.draw(st.integers(0, 255))
    cut = bytes(packed[: data.draw(st.integers(0, len(packed)))])
    try:
        read = SmallRows(NUMBER, cut)
    except DamagedBytes:
        return
    for table in read.tables():
        keys = read.keys(table)
        assert keys == sorted(set(keys))


@pytest.mark.parametrize("kept", [1, KEPT_MAX])
def test_transactions_answer_as_if_all_rows_were_in_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept: int
) -> None:
    monkeypatch.setattr(transactions, "KEPT_MAX", kept)
    chance = random.Random(20261127)
    environment = Environment(tmp_path / "store", MAP_BYTES)
    model: Model = {}
    try:
        with changing(environment) as transaction:
            for number in BUCKETS[::2]:
                transaction.begin_small(number)
        for step in range(60):
            with changing(environment) as transaction:
                for _ in range(chance.randrange(1, 25)):
                    change(transaction, model, chance)
                    compare(transaction, model, chance)
            with environment.reading() as reader:
                for _ in range(10):
                    compare(reader, model, chance)
                for table in TABLES:
                    assert list(reader.rows(table, b"")) == held(model, table), step
                    assert reader.count(table) == len(held(model, table)), step
    finally:
        environment.close()


def test_a_transaction_that_is_over_holds_no_rows(tmp_path: Path) -> None:
    """Garbage may refer to transactions for long where the collector runs rarely, as in a server."""
    environment = Environment(tmp_path / "store", MAP_BYTES)
    try:
        with changing(environment) as transaction:
            transaction.begin_small(BUCKETS[0])
            transaction.put(WORDS, BUCKETS[0] + b"word", b"row")
            assert transaction._small
        assert not transaction._small
    finally:
        environment.close()


def held(model: Model, table: int, start: bytes = b"", prefix: bytes = b"") -> list[tuple[bytes, bytes]]:
    """Return the rows of a table from `start` on up to the first one without `prefix`."""
    found = []
    for key in sorted(key for of, key in model if of == table and key >= start):
        if not key.startswith(prefix):
            break
        found.append((key, model[table, key]))
    return found


def change(transaction: Transaction, model: Model, chance: random.Random) -> None:
    """Make a random change of rows in the transaction and the model."""
    table, number = chance.choice(TABLES), chance.choice(BUCKETS)
    keys = [number + some_key(chance) for _ in range(chance.randrange(1, 8))]
    match chance.randrange(7):
        case 0:
            transaction.put(table, keys[0], value := chance.randbytes(chance.choice((0, 3, 60, 700))))
            model[table, keys[0]] = value
        case 1 | 2 | 3:
            mixed = keys + [chance.choice(BUCKETS) + some_key(chance) for _ in range(3)]
            rows = [(key, chance.randbytes(chance.choice((1, 5, 90)))) for key in mixed]
            transaction.put_many(table, rows)
            model.update({(table, key): value for key, value in rows})
        case 4:
            assert transaction.delete(table, keys[0]) == ((table, keys[0]) in model)
            model.pop((table, keys[0]), None)
        case 5:
            transaction.delete_many(table, keys)
            for key in keys:
                model.pop((table, key), None)
        case 6:
            prefix = keys[0][: chance.choice((4, 5))]
            gone = held(model, table, prefix, prefix)[:3]
            assert transaction.delete_rows(table, prefix, 3) == len(gone)
            for key, _ in gone:
                del model[table, key]


def some_key(chance: random.Random) -> bytes:
    return bytes(chance.choices(b"abc", k=chance.randrange(1, 5)))


def compare(transaction: Transaction, model: Model, chance: random.Random) -> None:
    """Compare one read of the transaction with the model."""
    table, number = chance.choice(TABLES), chance.choice(BUCKETS)
    key = number + some_key(chance)
    start, limit = key[: chance.randrange(6)], chance.randrange(1, 12)
    prefix = start[: chance.randrange(len(start) + 1)]
    match chance.randrange(9):
        case 0:
            assert transaction.get(table, key) == transaction.getter(table)(key) == model.get((table, key))
        case 1:
            keys = [chance.choice((number, *BUCKETS)) + some_key(chance) for _ in range(5)]
            assert transaction.get_many(table, keys) == [
                (key, model[table, key]) for key in keys if (table, key) in model
            ]
        case 2:
            before = [row for row in held(model, table) if row[0] <= key]
            is_near = before and before[-1][0][:5] == key[:5]
            assert transaction.floor_many(table, [key], 5) == [before[-1] if is_near else None]
        case 3:
            assert transaction.first(table, start) == next(iter(held(model, table, start)), None)
        case 4:
            wanted = held(model, table, start)[:limit]
            assert transaction.some_rows(table, start, limit) == wanted
            assert transaction.some_keys(table, start, limit) == [key for key, _ in wanted]
        case 5:
            with_prefix = held(model, table, start, prefix)[:limit]
            found = transaction.some_rows(table, start, limit, prefix)
            assert found[: len(with_prefix)] == with_prefix
            assert [key for key, _ in found] == transaction.some_keys(table, start, limit, prefix)
        case 6:
            assert list(transaction.rows(table, prefix, start)) == held(model, table, start, prefix)
        case 7:
            values = [value for _, value in held(model, table, key[:5], key[:5])]
            assert transaction.rows_of(table, key[:5]) == values
            assert transaction.keys(table, key[:5]) == [row[0] for row in held(model, table, key[:5], key[:5])]
        case 8:
            assert list(transaction.newest_first(table, key[:5])) == held(model, table, key[:5], key[:5])[::-1]


def in_tables(index: sonicpy.Index) -> tuple[int, int]:
    """Return the numbers of rows in the tables `words` and `small` themselves."""
    with index.engine.store.snapshot() as view:
        return TableRows.count(view.transaction, WORDS), TableRows.count(view.transaction, SMALL)


def test_buckets_of_few_texts_take_one_row_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transactions, "KEPT_MAX", 100)
    with sonicpy.open(tmp_path / "store") as index:
        for number in range(600):
            index.push("shops", f"shop:{number}", "offer:1", f"blue bicycle number {number}")
        for number in range(0, 600, 3):
            index.push("shops", f"shop:{number}", "offer:2", "a red bicycle")
        index.commit()
        assert in_tables(index) == (0, 600)
        assert index.verify() == []
    with sonicpy.open(tmp_path / "store") as index:
        for number in (0, 1, 299, 300, 599):
            bucket = index.bucket("shops", f"shop:{number}")
            offers = ["offer:2", "offer:1"] if number % 3 == 0 else ["offer:1"]
            for text in ("bicycle", "bycicle"):  # compared without a graph
                assert sorted(bucket.query(text)) == sorted(offers)
            assert bucket.suggest("bicy") == ["bicycle"]


def test_a_bucket_that_grows_moves_into_the_tables(tmp_path: Path) -> None:
    with sonicpy.open(tmp_path / "store") as index:
        bucket = index.bucket("shops", "one")
        for number in range(10):
            bucket.push(f"offer:{number}", f"offer {number}")
        index.commit()
        assert in_tables(index)[1] == 1
        bucket.push_many((f"offer:{number}", f"offer {number} of article{number}") for number in range(10, 1_000))
        index.commit()
        words, small = in_tables(index)
        assert small == 0
        assert words > 1_900
        assert bucket.query("article777") == ["offer:777"]
        assert index.engine.store.pending_buckets() == {0}
        newest = bucket.query("offer")
        assert bucket.query("ofer") == newest, "words from before the move are compared"
        assert index.verify() == []
        index.consolidate()
        assert bucket.stats()["graph"]["words"] == bucket.stats()["words"]
        assert bucket.query("ofer") == newest
        for number in range(1_000):
            bucket.flush(f"offer:{number}")
        index.commit()
        assert in_tables(index)[1] == 0, "it does not go back"
        assert index.verify() == []


def test_a_flushed_bucket_leaves_no_row(tmp_path: Path) -> None:
    with sonicpy.open(tmp_path / "store") as index:
        for name in ("one", "two"):
            index.push("shops", name, "offer", "a blue bicycle")
        index.commit()
        index.flush("shops", "one")
        index.commit()
        index.engine.finish()
        assert in_tables(index) == (0, 1)
        assert index.verify() == []
        assert index.query("shops", "two", "bicycle") == ["offer"]


@pytest.mark.parametrize("texts", [150, 900])
def test_a_bucket_filled_at_once_gets_a_graph(tmp_path: Path, texts: int) -> None:
    with sonicpy.open(tmp_path / "store") as index:
        bucket = index.bucket("shops", "one")
        bucket.push_many(
            (f"offer:{number}", f"offer {number} of brand{number} blue{number}") for number in range(texts)
        )
    with sonicpy.open(tmp_path / "store") as index:
        index.consolidate()
        figures = index.stats("shops", "one")
        assert figures["graph"]["words"] == figures["words"] > 2 * texts


def test_a_damaged_bucket_can_be_flushed(tmp_path: Path) -> None:
    with sonicpy.open(tmp_path / "store") as index:
        for name in ("one", "two"):
            index.push("shops", name, "offer", "a blue bicycle")
    environment = Environment(tmp_path / "store", MAP_BYTES)
    with changing(environment) as transaction:
        (key, row), _ = transaction.rows(SMALL, b"")
        TableRows.put(transaction, SMALL, key, b"\xff" * 5 + row[5:])
    environment.close()
    with sonicpy.open(tmp_path / "store") as index:
        assert index.verify()
        index.flush("shops", "one")
        index.push("shops", "three", "offer", "a red bicycle")
        index.consolidate()
        assert index.query("shops", "two", "bicycle") == index.query("shops", "three", "bicycle") == ["offer"]
        assert index.verify() == []


def test_counts_below_the_rows_are_damage_that_a_flush_mends(tmp_path: Path) -> None:
    with sonicpy.open(tmp_path / "store") as index:
        for name in ("one", "two"):
            index.push("shops", name, "offer", "a blue bicycle")
    environment = Environment(tmp_path / "store", MAP_BYTES)
    with changing(environment) as transaction:
        TableRows.delete(transaction, META, SMALL_COUNTS)
    environment.close()
    shutil.copytree(tmp_path / "store", tmp_path / "copy")
    with sonicpy.open(tmp_path / "store") as index:
        assert index.verify()
        index.flush("shops", "one")
        index.consolidate()
        assert index.query("shops", "two", "bicycle") == ["offer"]
        assert index.verify() == []
    with pytest.raises(StoreError, match="counted"), sonicpy.open(tmp_path / "copy") as index:
        index.pop("shops", "one", "offer", "blue")
        index.commit()


def test_words_wait_for_graphs_where_only_graphs_are_read(tmp_path: Path) -> None:
    settings = {"search": {"live_words": False}}
    with sonicpy.open(tmp_path / "store", settings) as index:
        index.push("shops", "one", "offer", "a blue bicycle")
        assert (index.count_words("shops", "one"), index.words("shops", "one")) == (0, [])
        index.consolidate()
        assert index.words("shops", "one") == ["a", "bicycle", "blue"]
    with sonicpy.open(tmp_path / "other") as index:
        index.push("shops", "one", "offer", "a blue bicycle")
    with sonicpy.open(tmp_path / "other", settings, read_only=True) as index:
        assert (index.count_words("shops", "one"), index.words("shops", "one")) == (0, [])
    with sonicpy.open(tmp_path / "other", settings) as index:
        index.consolidate()
        assert index.words("shops", "one") == ["a", "bicycle", "blue"]
        index.flush("shops", "one", "offer")
    with sonicpy.open(tmp_path / "other") as index:
        index.push("shops", "one", "offer", "a wonderful day")
        assert index.query("shops", "one", "wonderfl") == ["offer"]
        assert index.verify() == []


@pytest.mark.parametrize("texts", [3, 900])
def test_a_backup_brings_buckets_back_as_they_were(tmp_path: Path, texts: int) -> None:
    with sonicpy.open(tmp_path / "store") as index:
        for number in range(texts):
            index.push("shops", "one", f"offer:{number}", f"bicycle of brand{number}")
        index.commit()
        before = in_tables(index)
        index.backup(tmp_path / "backup")
        index.flush("shops")
        index.restore(tmp_path / "backup")
        assert in_tables(index) == before
        assert index.query("shops", "one", "brand2 ") == ["offer:2"]
        assert index.verify() == []


def test_a_damaged_row_is_named(tmp_path: Path) -> None:
    chance, noticed = random.Random(3), 0
    with sonicpy.open(tmp_path / "store") as index:
        for number in range(12):
            index.push("shops", f"shop:{number % 3}", f"offer:{number}", f"blue bicycle number {number}")
    environment = Environment(tmp_path / "store", MAP_BYTES)
    try:
        with environment.reading() as reader:
            rows = list(reader.rows(SMALL, b""))
        for _ in range(examples(80)):
            key, row = chance.choice(rows)
            at = chance.randrange(len(row))
            transaction = environment.begin()
            try:
                damaged = bytes((*row[:at], row[at] ^ chance.choice((1, 64)), *row[at + 1 :]))
                TableRows.put(transaction, SMALL, key, damaged)
                if twin_finds_a_fault(transaction):
                    noticed += 1
                    assert list(table_faults(transaction))
            finally:
                environment.abort(transaction)
    finally:
        environment.close()
    assert noticed > examples(80) // 2


def test_a_first_graph_has_the_words_of_changes_that_no_commit_holds_yet(tmp_path: Path) -> None:
    with sonicpy.open(tmp_path) as index:
        for _ in range(BACKLOG_WORDS // 2):
            index.push("c", "b", "o", "anker", lang="none")
            index.pop("c", "b", "o", "anker")
        index.engine.commit()
        index.push("c", "b", "o", "birne", lang="none")
        index.maintainer.consolidate_backlogged({("c", "b")})

        assert index.verify() == []
        assert index.suggest("c", "b", "bir") == ["birne"]
