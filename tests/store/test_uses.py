"""The list of the features that a store uses beyond format 5, its refusals, and the table `facts`."""

import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sonicpy import Index, StoreError
from sonicpy.errors import SonicError
from sonicpy.index.maintenance.verify import verify_backup, verify_folder
from sonicpy.store.care.check_rows import first_fault
from sonicpy.store.care.restore import Restoration
from sonicpy.store.care.verify_tables import table_faults
from sonicpy.store.changing.mutations import FlushBucket
from sonicpy.store.disk.table_numbers import FACTS, META
from sonicpy.store.read_only_store import ReadOnlyStore
from sonicpy.store.rows.meta import FORMAT, USES, require
from sonicpy.store.store import Store
from sonicpy.store.views.read_cache import Snapshot
from sonicpy.store.views.write_view import WriteView
from tests.store.shorthand import ANALYSER, MAP_BYTES, open_store, push
from tests.support.paths import ROOT

SENTENCE = "uses 'colours', unknown to this sonicpy: install the version that wrote it, or a later one"
KIND = 3


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """A store with one object in c/b."""
    store = open_store(tmp_path / "store")
    store.apply(push("o1", "alpha"))
    store.commit()
    yield store
    store.close()


def meta_of(store: Store) -> tuple[str | None, object]:
    """Return the format and the list of features as the last commit shows them."""
    with store.snapshot() as view:
        return FORMAT.read(view.transaction), USES.read(view.transaction)


def noting(value: bytes | None, kind: int = KIND, bucket: str = "b") -> Callable[[WriteView], None]:
    """Return a function that notes a fact of a bucket in the collection c."""

    def work(view: WriteView) -> None:
        view.set_fact(view.bucket_to_change("c", bucket).bucket, kind, value)

    return work


def fact_of(store: Store, bucket: str = "b", kind: int = KIND) -> bytes | None:
    """Return a fact of a bucket as a query reads it; None: the bucket has no such fact."""
    with store.reading() as view:
        state = view.bucket("c", bucket)
        return None if state is None else view.reader(state).fact(kind)


# -- the list ----------------------------------------------------------------------------------------------------------


def test_a_store_that_uses_nothing_new_has_format_5(store: Store) -> None:
    store.apply(FlushBucket("c", "b"))
    store.commit()
    assert meta_of(store) == ("5", None)


def test_the_first_use_is_noted_in_its_transaction(store: Store, tmp_path: Path) -> None:
    store.maintain(noting(b"value"))
    assert meta_of(store) == ("5", None), "nothing is committed yet"
    store.commit()
    assert meta_of(store) == ("6", {"facts"})
    store.close()
    store = open_store(tmp_path / "store")
    store.apply(push("o2", "alpha"))
    store.commit()
    assert meta_of(store) == ("6", {"facts"})
    store.close()


def test_a_use_in_the_first_transaction_of_a_store(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.maintain(noting(b"value"))
    store.commit()
    assert meta_of(store) == ("6", {"facts"})
    assert list_faults(store) == []
    store.close()


def test_a_store_of_format_4_becomes_one_of_format_6(store: Store, tmp_path: Path) -> None:
    store.maintain(lambda view: FORMAT.write(view.transaction, "4"))
    store.close()
    store = open_store(tmp_path / "store")
    assert meta_of(store) == ("5", None)
    store.close()
    store = open_store(tmp_path / "store")
    store.maintain(lambda view: FORMAT.write(view.transaction, "4"))
    store.maintain(noting(b"value"))
    store.commit()
    assert meta_of(store) == ("6", {"facts"})
    store.close()


def test_a_recovery_forgets_a_use_that_was_not_committed(store: Store) -> None:
    store.maintain(noting(b"value"))
    store._recover(None)
    store.apply(push("o2", "alpha"))
    store.commit()
    assert (meta_of(store), fact_of(store)) == (("5", None), None)
    store.maintain(noting(b"again"))
    store.commit()
    assert (meta_of(store), fact_of(store)) == (("6", {"facts"}), b"again")


def test_a_name_has_to_be_known(store: Store) -> None:
    with pytest.raises(KeyError):
        store.maintain(lambda view: require(view.transaction, "colours"))


def list_faults(store: Store) -> list[str]:
    with store.snapshot() as view:
        return list(table_faults(view.transaction))


@pytest.mark.parametrize(
    ("damage", "fault"),
    [
        (
            lambda view: FORMAT.write(view.transaction, "5"),
            "meta has format version 5, and its row 'uses' names 'facts'",
        ),
        (lambda view: view.transaction.delete(META, USES.name), "its row 'uses' names nothing"),
        (lambda view: view.transaction.delete(META, USES.name), "facts has 1 rows, and the row 'uses' of meta"),
        (lambda view: view.transaction.put(META, USES.name, b"{}"), "the row 'uses' of meta cannot be read"),
        (lambda view: view.transaction.put(FACTS, bytes(6), b"value"), "facts has rows with the keys 0000, 03; a kind"),
    ],
)
def test_verify_compares_the_list(store: Store, damage: Callable[[WriteView], None], fault: str) -> None:
    store.maintain(noting(b"value"))
    store.commit()
    assert list_faults(store) == []
    store.maintain(damage)
    store.commit()
    assert any(fault in found for found in list_faults(store))


# -- refusals ----------------------------------------------------------------------------------------------------------


def strange(view: WriteView) -> None:
    """Note a name that only a later version has."""
    USES.write(view.transaction, {"facts", "colours"})
    FORMAT.write(view.transaction, "6")


def test_a_store_that_uses_something_unknown_is_refused_as_it_is(store: Store, tmp_path: Path) -> None:
    folder = tmp_path / "store"
    store.maintain(strange)
    store.close()
    before = (folder / "data.mdb").read_bytes()
    refused: list[Callable[[], object]] = [
        lambda: open_store(folder),
        lambda: ReadOnlyStore(folder, ANALYSER, map_bytes=MAP_BYTES),
        lambda: verify_folder(folder),
    ]
    for opening in refused:
        with pytest.raises(StoreError, match=f"^the store {SENTENCE}$"):
            opening()
    assert (folder / "data.mdb").read_bytes() == before
    assert first_fault(folder, compare=True) is None, "rows that are not known are not compared"


def test_a_backup_that_uses_something_unknown_is_refused(store: Store, tmp_path: Path) -> None:
    store.maintain(strange)
    store.commit()
    store.backup(tmp_path / "backup")
    with pytest.raises(StoreError, match=f"^the backup {SENTENCE}$"):
        verify_backup(tmp_path / "backup")
    with Index(tmp_path / "index") as index:
        index.push("c", "b", "o", "text")
        with pytest.raises(SonicError, match=SENTENCE):
            index.restore(tmp_path / "backup")
        assert index.query_ids("c", "b", "text") == ["o"]


def written_elsewhere(folder: Path, work: str) -> None:
    """Open a store for writing in another process and change it, because LMDB opens a folder only once in a process."""
    program = f"""
from pathlib import Path
from tests.store.shorthand import open_store
from tests.store.test_uses import noting, strange
store = open_store(Path({str(folder)!r}))
store.maintain({work})
store.close()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr


def test_a_reader_refuses_what_a_newer_writer_begins_to_use(store: Store, tmp_path: Path) -> None:
    folder = tmp_path / "store"
    store.close()
    reader = ReadOnlyStore(folder, ANALYSER, map_bytes=MAP_BYTES)
    with reader.reading() as view:
        assert view.uses() == frozenset()
    written_elsewhere(folder, "strange")
    with pytest.raises(StoreError, match=SENTENCE), reader.reading():
        pass
    reader.close()


# -- facts -------------------------------------------------------------------------------------------------------------


def test_a_fact_is_read_from_the_moment_it_is_noted(store: Store, tmp_path: Path) -> None:
    assert fact_of(store) is None
    store.maintain(noting(b"first"))
    store.maintain(noting(b"\0" * 300, kind=255))
    assert (fact_of(store), fact_of(store, kind=255)) == (b"first", b"\0" * 300)
    with store.snapshot() as view:
        assert view.facts(0) == {}
    store.commit()
    with store.snapshot() as view:
        assert isinstance(view, Snapshot)
        assert view.facts(0) == {KIND: b"first", 255: b"\0" * 300}
    assert fact_of(store) == b"first"
    store.maintain(noting(None))
    assert fact_of(store) is None
    store.close()
    store = open_store(tmp_path / "store")
    assert (fact_of(store), fact_of(store, kind=255)) == (None, b"\0" * 300)
    store.close()


def test_facts_follow_a_twin(tmp_path: Path) -> None:
    """A twin follows notes, flushes, commits, lost transactions and starts in any order."""
    dice = random.Random(15)
    store = open_store(tmp_path)
    now: dict[tuple[str, int], bytes] = {}
    kept: dict[tuple[str, int], bytes] = {}
    for step in range(300):
        bucket, kind = dice.choice("xyz"), dice.choice([0, 1, 255])
        match dice.randrange(10):
            case 0:
                store.commit()
                kept = dict(now)
            case 1:
                store.apply(FlushBucket("c", bucket))
                now = {key: value for key, value in now.items() if key[0] != bucket}
                store.commit()
                kept = dict(now)
            case 2 if dice.random() < 0.3:
                store.seal()
                store._recover(None)
                now = dict(kept)
            case 3 if dice.random() < 0.2:
                store.close()
                store, kept = open_store(tmp_path), dict(now)
            case 4:
                store.maintain(noting(None, kind, bucket))
                now.pop((bucket, kind), None)
            case _:
                now[bucket, kind] = b"%d" % step
                store.maintain(noting(now[bucket, kind], kind, bucket))
        assert {(b, k): v for b in "xyz" for k in (0, 1, 255) if (v := fact_of(store, b, k)) is not None} == now
    while store.sweep(100):
        pass
    store.commit()
    assert list_faults(store) == []
    with store.snapshot() as view:
        assert view.transaction.count(FACTS) == len(now)
    store.close()


def test_a_backup_takes_the_facts_along(store: Store, tmp_path: Path) -> None:
    store.maintain(noting(b"value"))
    store.maintain(noting(b"other", bucket="second"))
    store.commit()
    target = open_store(tmp_path / "target")
    target.apply(push("old", "alpha", collection="elsewhere"))
    target.commit()
    with store.snapshot() as source:
        restoration = Restoration(target, source, target.commit)
        for _ in restoration.fill():
            pass
        assert meta_of(target) == ("6", {"facts"})
        with target.reading() as view:
            staged = [number for number in restoration.staged_buckets() if view.facts(number)]
        assert len(staged) == 2
        target.maintain(give_graphs)
        restoration.switch()
    assert (fact_of(target), fact_of(target, "second")) == (b"value", b"other")
    target.close()


def give_graphs(view: WriteView) -> None:
    """Make staged buckets complete, as their word graphs do."""
    for scope, state in list(view.all_states()):
        state.lexicon_version = 1
        view.set_bucket(scope, state)


def test_an_environment_without_the_table_is_read_as_empty(store: Store, tmp_path: Path) -> None:
    """A store without the table is like one of 1.0.0 that no later version has opened for writing."""
    folder = tmp_path / "store"
    transaction = store._environment.begin()
    transaction._txn.drop(transaction._tables[FACTS], delete=True)
    store._environment.commit(transaction)
    store.close()
    reader = ReadOnlyStore(folder, ANALYSER, map_bytes=MAP_BYTES)
    with reader.reading() as view:
        assert view.fact(0, KIND) is None
        assert view.facts(0) == {}
        assert view.transaction.count(FACTS) == 0
        assert list(table_faults(view.transaction)) == []
    reader.close()
    assert verify_folder(folder) == []
    reader = ReadOnlyStore(folder, ANALYSER, map_bytes=MAP_BYTES)
    written_elsewhere(folder, "noting(b'value')")
    with pytest.raises(StoreError, match="a newer sonicpy has changed the store .*: open it again"), reader.reading():
        pass
    reader.close()
