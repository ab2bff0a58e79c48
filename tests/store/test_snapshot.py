"""Snapshots that readers share always show the last commit, and never delay the writer."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import sonicpy
from sonicpy._native.name_map import name_hash
from sonicpy._native.plan import BRINGS, REQUIRED, Clause, Plan, Slot
from sonicpy._native.term_rows import TermInfo
from sonicpy.config import Config
from sonicpy.index.search.parts import bind, find
from sonicpy.store.changing.mutations import FlushBucket
from sonicpy.store.disk import background_sync
from sonicpy.store.disk.environment import IDLE_MAX
from sonicpy.store.rows.bucket_state import BucketState
from sonicpy.store.store import Store
from sonicpy.store.views import read_cache as snapshot
from sonicpy.store.views.bucket_reader import BucketReader
from sonicpy.store.views.read_cache import Snapshot, SnapshotCache
from tests.store.shorthand import push
from tests.support.patience import WAIT_S


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """A store with one word in three objects."""
    store = Store(tmp_path / "store", {}, map_bytes=1 << 28)
    try:
        for number in range(3):
            store.apply(push(f"o{number}", f"shared own{number}"))
        store.commit()
        yield store
    finally:
        store.close()


def names_of(store: Store, word: bytes) -> list[str]:
    """Return the names that a reader with shared caches finds, after comparing them with those of a reader of the
    tables.
    """
    with store.snapshot() as view:
        state = view.bucket("c", "b")
        assert state is not None
        sharing, plain = view.reader(state), BucketReader(view, state)
        (row,), (again,) = sharing.words([word]), plain.words([word])
        if row is None or again is None:
            assert row is again
            return []
        assert row.df == again.df
        assert newest(sharing, word) == newest(plain, word) != []
        iids = list(range(state.next_iid))
        names = sharing.oids(iids)
        assert names == plain.oids(iids)
        return names


def newest(reader: BucketReader, word: bytes) -> list[int]:
    clause = Clause(0, BRINGS | REQUIRED, 0.0, [Slot((word,), 0.0)])
    plan = Plan([clause], 1.0, 0.0, full_first=False, left_out={}, enough=None)
    return [iid for iid, _, _ in find(bind(plan, reader), 1000).found]


def test_readers_between_two_commits_share_one_snapshot(store: Store) -> None:
    with store.snapshot() as first:
        pass
    with store.snapshot() as second:
        assert second is first
        with store.snapshot() as third:
            assert third is not first
            assert third.transaction.number == first.transaction.number
        number = first.transaction.number
    store.apply(push("o3", "shared"))
    store.commit()
    with store.snapshot() as fourth:
        assert fourth.transaction.number > number


def test_what_is_asked_for_again_and_again_is_read_once(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot, "WORDS_MAX", 2)
    read = noted_reads(monkeypatch)
    for word in (b"own0", b"own1", b"own2", b"nothing", b"own0"):
        names_of(store, b"shared")
        names_of(store, word)
    assert read == [b"shared", b"own0", b"own1", b"own2", b"nothing", b"own0"]


def test_postings_that_are_asked_for_again_and_again_are_read_once(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    with store.snapshot() as view:
        state = view.bucket("c", "b")
        assert state is not None
        reader = view.reader(state)
        words = reader.words([b"shared", b"own0", b"own1", b"own2"])
        sizes = [reader.postings(word).size_bytes for word in words if word is not None]  # type: ignore[union-attr]
    monkeypatch.setattr(SnapshotCache, "changes_since", lambda *given: None)  # nothing outlives the commit
    store.apply(push("o3", "other"))
    store.commit()
    with store.snapshot() as view:
        view.snapshot_cache.postings_max_bytes = 2 * max(sizes)
    with store.snapshot() as view:
        reader = view.reader(state)
        shared, *others = [word for word in reader.words([b"shared", b"own0", b"own1", b"own2"]) if word is not None]
        kept, first = reader.postings(shared), reader.postings(others[0])
        for word in others[1:]:
            assert reader.postings(shared) is kept
            reader.postings(word)
        assert reader.postings(shared) is kept
        assert reader.postings(others[0]) is not first, "it made room"


def test_postings_in_use_stay_beside_many_that_are_read_once(store: Store) -> None:
    used, passing = [f"used{number}" for number in range(24)], [f"once{number}" for number in range(300)]
    store.apply(push("all", " ".join(used + passing)))
    store.commit()
    with store.snapshot() as view:
        state, cache = view.bucket("c", "b"), view.snapshot_cache
        assert state is not None
        reader = view.reader(state)
        rows = dict(zip(used + passing, reader.words([word.encode() for word in used + passing]), strict=True))
        size_bytes = reader.postings(rows[used[0]]).size_bytes  # type: ignore[arg-type, union-attr]
        cache.postings_max_bytes = 32 * size_bytes
        held, read_again = {}, 0
        for word in passing:
            for again in used:
                found = reader.postings(rows[again])  # type: ignore[arg-type]
                read_again += found is not held.get(again)
                held[again] = found
            reader.postings(rows[word])  # type: ignore[arg-type]
            ((_, of_bucket),) = cache.buckets.values()
            assert of_bucket.posting_bytes()[0] <= cache.postings_max_bytes + size_bytes, "and the list just read"
    assert read_again < len(used) * len(passing) // 50, "these are three quarters of the most bytes"


def noted_reads(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """Return a list that gets the terms whose rows are read because a cache lacks them."""
    read: list[bytes] = []
    original = snapshot.SnapshotSource.words

    def note(self: snapshot.SnapshotSource, terms: list[bytes]) -> list[TermInfo | None]:
        read.extend(terms)
        return original(self, terms)

    monkeypatch.setattr(snapshot.SnapshotSource, "words", note)
    return read


def test_every_commit_is_seen_by_the_next_reader(store: Store) -> None:
    for number in range(3, 300):
        assert names_of(store, b"shared") == [f"o{n}" for n in range(number)]
        store.apply(push(f"o{number}", "shared"))
        store.commit()


def test_caches_are_bounded(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("WORDS_MAX", "NAME_ROWS_MAX", "BUCKETS_MAX"):
        monkeypatch.setattr(snapshot, name, 2)
    with store.snapshot() as view:
        view.snapshot_cache.postings_max_bytes = 4
    for word in (b"shared", b"own0", b"own1", b"own2", b"nothing", b"shared"):
        expected = [] if word == b"nothing" else ["o0", "o1", "o2"]
        assert names_of(store, word) == expected
    with store.snapshot() as view:
        ((_, cache),) = view.snapshot_cache.buckets.values()
    words, postings, names = cache.sizes
    assert words <= 4 and names <= 2 and postings <= 2, "two newer words, and two older ones"


def test_rows_of_many_buckets_are_bounded_together(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    buckets = [f"b{number}" for number in range(40)]
    for bucket in buckets:
        store.apply(push("o", "one two three", bucket=bucket))
    store.commit()
    monkeypatch.setattr(snapshot, "ROWS_MAX_BYTES", 20 * snapshot.CACHED_WORD_BYTES)
    for number in range(3):  # a commit leaves alone what was cached of other buckets
        with store.snapshot() as view:
            for bucket in buckets:
                state = view.bucket("c", bucket)
                assert state is not None
                reader = view.reader(state)
                assert [word.df for word in reader.words([b"one", b"two", b"three"]) if word is not None] == [1, 1, 1]
                assert reader.oids([0]) == ["o"]
            sizes = [cache.sizes for _, cache in view.snapshot_cache.buckets.values()]
        assert len(sizes) >= len(buckets)
        assert 0 < sum(words for words, _, _ in sizes) <= 2 * 20
        assert sum(names for _, _, names in sizes) * snapshot.CACHED_NAMES_BYTES <= snapshot.ROWS_MAX_BYTES
        store.apply(push("o", "other", bucket=f"more{number}"))
        store.commit()


def test_buckets_that_nobody_asks_for_are_forgotten(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot, "IDLE_COMMITS", 8)
    assert names_of(store, b"shared") == ["o0", "o1", "o2"]
    for number in range(40):  # as restores do: the same name gets another bucket again and again
        store.apply(FlushBucket("c", "b"))
        store.apply(push("o", f"shared own{number}"))
        store.commit()
        assert names_of(store, b"shared") == ["o"]
        with store.snapshot() as view:
            assert list(view.named(known(view), b"o", name_hash(b"o"))) == [0]
            assert set(view.pending_words(known(view))) == {b"shared", f"own{number}".encode()}
            cache = view.snapshot_cache
        assert all(len(rows) <= 2 * 8 + 1 for rows in (cache.buckets, cache.names, cache.pending, cache.new_names))


def known(view: Snapshot) -> BucketState:
    state = view.bucket("c", "b")
    assert state is not None
    return state


def test_names_are_cached_by_rows_of_sixteen(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(3, 80):
        store.apply(push(f"o{number}", f"one{number} shared"))
    store.commit()
    monkeypatch.setattr(snapshot, "NAME_ROWS_MAX", 2)
    read: list[int] = []
    original = snapshot.SnapshotSource.record_rows
    monkeypatch.setattr(
        snapshot.SnapshotSource, "record_rows", lambda self, iids: read.extend(iids) or original(self, iids)
    )
    with store.snapshot() as view:
        state = view.bucket("c", "b")
        assert state is not None
        reader = view.reader(state)
        assert reader.oids([40, 41, 70]) == ["o40", "o41", "o70"]
        assert reader.oids([47, 64, 32]) == ["o47", "o64", "o32"], "each is in a row that was read"
        assert read == [40, 41, 70]
        assert reader.oids([5, 32, 5]) == ["o5", "o32", "o5"], "a third row takes the place of both"
        ((_, cache),) = view.snapshot_cache.buckets.values()
        assert cache.sizes[2] <= 2
    for number in (80, 81):
        store.apply(push(f"o{number}", f"one{number} shared"))
        store.commit()
        assert names_of(store, b"shared")[-1] == f"o{number}", "a row that was cached has one name more"


def test_idle_snapshots_do_not_let_the_file_grow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background_sync, "SYNC_AFTER_S", WAIT_S)  # a checkpoint keeps pages from being used again
    sizes = []
    for reads in (False, True):
        store = Store(tmp_path / f"reads {reads}", {}, map_bytes=1 << 28, durability="commit")
        for number in range(400):
            store.apply(push("o", " ".join(f"word{number}x{n}" for n in range(20))))
            store.apply(push(f"p{number % 10}", f"word{number}"))
            store.commit()
            if number % 10 == 0:
                store.sync()
            if reads:
                assert names_of(store, f"word{number}".encode())
        sizes.append(store.size_bytes())
        store.close()
    without, with_readers = sizes
    assert with_readers <= without * 1.5, "pages that a snapshot keeps would make it many times as large"


def test_the_map_grows_though_snapshots_are_idle(tmp_path: Path) -> None:
    store = Store(tmp_path / "store", {}, map_bytes=1 << 20)
    for number in range(3_000):
        store.apply(push(f"o{number}", " ".join(["shared", *(f"word{number}x{n}" for n in range(20))])))
        if number % 50 == 0:
            store.commit()
            with store.snapshot() as view:
                assert view.bucket("c", "b") is not None
    store.commit()
    assert store.map_bytes() > 1 << 20
    assert len(names_of(store, b"shared")) == 3_000
    store.close()


def test_threads_hand_snapshots_on(store: Store) -> None:
    faults = []
    started = threading.Barrier(2 * IDLE_MAX + 1)

    def read() -> None:
        started.wait()
        try:
            for _ in range(200):
                assert len(names_of(store, b"shared")) >= 3
        except BaseException as fault:
            faults.append(fault)
            raise

    threads = [threading.Thread(target=read) for _ in range(2 * IDLE_MAX)]
    for thread in threads:
        thread.start()
    started.wait()
    for number in range(3, 60):
        store.apply(push(f"o{number}", "shared"))
        store.commit()
    for thread in threads:
        thread.join()
    assert faults == []


@pytest.mark.parametrize("is_reader", [False, True])
def test_the_setting_bounds_what_is_cached(tmp_path: Path, is_reader: bool) -> None:
    settings = Config.model_validate({"store": {"kv": {"query_cache_mb": 1}}})
    with sonicpy.open(tmp_path / "store", settings) as index:
        index.push("c", "b", "o", "word")
    with sonicpy.open(tmp_path / "store", settings, read_only=is_reader) as index:
        for _ in range(2):  # a commit hands it on
            index.query("c", "b", "word")
            with index.engine.store.snapshot() as view:
                assert view.snapshot_cache.postings_max_bytes == 1 << 20
            if not is_reader:
                index.push("c", "b", "p", "word")
