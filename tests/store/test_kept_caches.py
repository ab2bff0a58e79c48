"""The caches of readers outlive commits, and agree with the tables."""

import random
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sonicpy._native import find
from sonicpy._native.query_state import QueryState
from sonicpy.errors import StoreFull
from sonicpy.store import reader
from sonicpy.store.changing.mutations import FlushObject, PopTerms
from sonicpy.store.rows import changes
from sonicpy.store.rows.bucket_state import BucketState
from sonicpy.store.rows.known_pending import KnownPending
from sonicpy.store.rows.meta import CHANGES
from sonicpy.store.store import Store
from sonicpy.store.views import read_cache as snapshot
from sonicpy.store.views.bucket_reader import BucketReader
from sonicpy.store.views.read_cache import SnapshotCache
from sonicpy.store.views.view import View
from sonicpy.store.views.write_view import WriteView
from tests.store.shorthand import push, terms
from tests.support.examples import some

OBJECTS = 9_000
"""The number of objects, which fill three windows."""
WORDS = ["common", "usual", "often", *(f"w{number}" for number in range(40))]
ASKED = [["common"], ["usual", "often"], ["often", "w3"], ["w1", "w2"], ["w30"]]
FAMILIES = [["common", "usual"], ["usual", "often", "w5"], ["w1", "w2"], ["w30", "w31", "w32"]]


def text(chance: random.Random) -> str:
    """Return a text in which the first words are common, some of them twice."""
    held = [word for word, share in zip(WORDS, (0.9, 0.6, 0.4), strict=False) if chance.random() < share]
    counts = Counter(held + chance.choices(WORDS, k=chance.randint(1, 6)))
    return " ".join(f"{word}*{count}" for word, count in counts.items())


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """A store with a few windows of objects."""
    store = Store(tmp_path_factory.mktemp("store"), {}, map_bytes=1 << 28)
    chance = random.Random(1)
    for number in range(OBJECTS):
        store.apply(push(f"o{number}", text(chance)))
    store.commit()
    yield store
    store.close()


def best(reader: BucketReader, lists: list[list[str]]) -> list[tuple[int, int, float]]:
    """Return the best objects for terms, each of which is a family of words."""
    top = QueryState(reader.length_masks(), reader.state.average_length, 1.2, 0.75, 1.0)
    for words in lists:
        rows = [row for row in reader.words([word.encode() for word in words]) if row is not None]
        find.add_term(top, 1.0)
        find.add_words(top, [reader.postings(row) for row in rows], 1.0)
    find.begin(top, 20)
    while keys := find.run(top):
        find.give(top, reader.read_blocks(keys))
    return find.best(top, 0)


def answers(reader: BucketReader) -> list[object]:
    """Return the results of a reader, and its lengths of objects."""
    found: list[object] = [best(reader, [[word] for word in words]) for words in ASKED]
    found += [best(reader, [family, ["w7"]]) for family in FAMILIES]
    return [*found, bytes(reader.lengths()).rstrip(b"\0")]


def bucket_of(view: View) -> BucketState:
    """Return the state of the bucket."""
    state = view.bucket("c", "b")
    assert state is not None
    return state


def words_of(known: KnownPending | None) -> list[bytes]:
    """Return the words in a list of known pending words."""
    assert known is not None
    return known.words


def check(view: View) -> list[object]:
    """Ask a reader that shares caches, and one that reads the tables; return the answers."""
    state = bucket_of(view)
    found = answers(view.reader(state))
    assert found == answers(BucketReader(view, state))
    return found


def change(store: Store, chance: random.Random, next_number: int, rewrites: bool) -> int:
    """Make some changes; return the number for the next new object."""
    for _ in range(chance.choice((1, 5, 40))):
        kind = chance.random()
        name = f"o{chance.randrange(next_number)}"
        if not rewrites or kind < 0.5:
            store.apply(push(f"o{next_number}", text(chance)))
            next_number += 1
        elif kind < 0.75:
            store.apply(push(name, text(chance)))
        elif kind < 0.9:
            store.apply(PopTerms("c", "b", name, terms(chance.choice(WORDS))))
        else:
            store.apply(FlushObject("c", "b", name))
    return next_number


class Held:
    """A snapshot that is read for longer than a `with` block."""

    def __init__(self, store: Store) -> None:
        self._reading = store.snapshot()
        self.view = self._reading.__enter__()

    def give_back(self) -> None:
        self._reading.__exit__(None, None, None)


@pytest.mark.parametrize("rewrites", [False, True])
def test_cached_answers_are_those_of_the_tables(filled: Store, rewrites: bool) -> None:
    chance = random.Random(2 + rewrites)
    with filled.snapshot() as view:
        next_number = bucket_of(view).next_iid
        check(view)
    held: Held | None = None
    before: list[object] = []
    for number in range(40):
        next_number = change(filled, chance, next_number, rewrites)
        filled.commit()
        with filled.snapshot() as view:
            found = check(view)
        if held is not None:  # a reader of an older commit sees what it saw
            assert check(held.view) == before
            held.give_back()
            held = None
        if number % 4 == 0:
            held, before = Held(filled), found
            check(held.view)


@pytest.mark.parametrize("rewrites", some([True, False], 2))
def test_cached_answers_inside_a_transaction_are_those_of_its_tables(filled: Store, rewrites: bool) -> None:
    chance = random.Random(4 + rewrites)
    with filled.reading() as view:
        next_number = bucket_of(view).next_iid
    held: Held | None = None
    before: list[object] = []
    for number in range(60):
        next_number = change(filled, chance, next_number, rewrites)
        with filled.reading() as view:
            assert isinstance(view, WriteView)
            found = check(view)
        if number % 7 == 0:
            if held is not None:
                held.give_back()
            held = Held(filled)  # of the last commit, while the transaction goes on
            before = check(held.view)
        assert held is not None and check(held.view) == before
        if chance.random() < 0.3:
            if chance.random() < 0.5:  # what came since the last query is left to the commit
                next_number = change(filled, chance, next_number, rewrites)
                with filled.reading() as view:
                    found = answers(BucketReader(view, bucket_of(view)))
            filled.commit()
            with filled.snapshot() as view:
                assert check(view) == found
    assert held is not None
    held.give_back()
    filled.commit()


def test_a_change_inside_a_transaction_leaves_the_rest_cached(filled: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    filled.apply(push("first", "common"))
    with filled.reading() as view:
        check(view)
    read: list[int] = []
    original = snapshot.SnapshotSource.read_postings
    monkeypatch.setattr(
        snapshot.SnapshotSource,
        "read_postings",
        lambda self, word, *more: read.append(word.term_id) or original(self, word, *more),
    )
    filled.apply(push("one more", "common usual w1"))
    with filled.reading() as view:
        check(view)
    assert read == [], "lists only grow"
    filled.apply(push("first", "w31"))
    with filled.reading() as view:
        check(view)
        (row,) = BucketReader(view, bucket_of(view)).words([b"w31"])
    assert row is not None and read == [row.term_id]
    filled.commit()
    with filled.snapshot() as view:
        check(view)
    assert read == [row.term_id], "the commit takes over what was read of the transaction"


def _full(records: object) -> None:
    raise StoreFull("no room")


def test_what_was_undone_is_in_no_cache(filled: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next object gets the number of an object that was undone, and its words get the numbers of undone words."""
    filled.commit()
    with filled.snapshot() as view:
        check(view)
    filled.apply(push("undone", "common undonely"))
    with filled.reading() as view:
        state = bucket_of(view)
        assert view.reader(state).oids([state.next_iid - 1]) == ["undone"]
        assert b"undonely" in view.pending_words(state)
        check(view)

    with monkeypatch.context() as patched:
        patched.setattr(filled._log, "append", _full)
        with pytest.raises(StoreFull):
            filled.seal()
    filled.apply(push("other", "usual otherly"))
    for _ in range(2):
        with filled.reading() as view:
            state = bucket_of(view)
            assert view.reader(state).oids([state.next_iid - 1]) == ["other"]
            assert b"undonely" not in view.pending_words(state)
            check(view)
        filled.commit()


def test_a_reader_brings_back_no_cache_that_a_recovery_dropped(filled: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread takes over the cache of the second last commit while the changes after it are undone."""
    filled.commit()
    with filled.snapshot() as view:
        check(view)
    filled.apply(push("committed", "common"))
    filled.commit()
    reads, goes_on = threading.Event(), threading.Event()
    original = reader.SnapshotCache

    def slowly(*given: Any) -> SnapshotCache:
        reads.set()
        goes_on.wait(0.2)
        return original(*given)

    def read() -> None:
        with filled.snapshot() as view:
            check(view)

    filled.apply(push("undone again", "common"))
    with monkeypatch.context() as patched:
        patched.setattr(reader, "SnapshotCache", slowly)
        thread = threading.Thread(target=read)
        thread.start()
        reads.wait()
        with filled.reading() as view:
            state = bucket_of(view)
            assert view.reader(state).oids([state.next_iid - 1]) == ["undone again"]
        patched.setattr(filled._log, "append", _full)
        with pytest.raises(StoreFull):
            filled.seal()
        goes_on.set()
        thread.join()
    filled.apply(push("instead", "common"))
    filled.commit()
    with filled.snapshot() as view:
        state = bucket_of(view)
        assert view.reader(state).oids([state.next_iid - 1]) == ["instead"]
        check(view)


def test_what_a_commit_left_alone_is_not_read_again(filled: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    with filled.snapshot() as view:
        check(view)
    read: list[str] = []

    def note(kind: str) -> None:
        original = getattr(snapshot.SnapshotSource, kind)

        def noted(self: snapshot.SnapshotSource, *given: object) -> object:
            read.append(kind)
            return original(self, *given)

        monkeypatch.setattr(snapshot.SnapshotSource, kind, noted)

    for kind in ("read_postings", "read_lengths", "words", "record_rows"):
        note(kind)
    filled.apply(push("elsewhere", "common usual often w1 w2 w3 w30", bucket="other"))
    filled.commit()
    with filled.snapshot() as view:
        state = view.bucket("c", "b")
        assert state is not None
        answers(view.reader(state))
    assert read == []
    filled.apply(push("one more", "common usual w1"))
    filled.commit()
    with filled.snapshot() as view:
        state = view.bucket("c", "b")
        assert state is not None
        answers(view.reader(state))
    assert set(read) == {"words"}, "rows of words are read again, lists and lengths only grow"


def test_commits_that_change_very_many_buckets_leave_the_rest_cached(
    filled: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The row of changes has no room for very many buckets; the process that commits keeps these changes in memory."""
    with filled.snapshot() as view:
        check(view)
    read: list[object] = []
    monkeypatch.setattr(snapshot.SnapshotSource, "read_postings", lambda *given: read.append(given))
    for number in range(3):
        for bucket in range(300):
            filled.apply(
                push(f"tenant{number}", f"common own{bucket}of{number} other{bucket}", bucket=f"tenant{bucket}")
            )
        filled.commit()
    with filled.snapshot() as view:
        last, row = view.transaction.number, CHANGES.read(view.transaction)
        assert changes.changes_since(last - 2, last, row) is None
        state = bucket_of(view)
        answers(view.reader(state))
    assert read == []


def test_what_is_kept_of_commits_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes, "KEPT_WEIGHT", 5 * (changes.BUCKET_WEIGHT + 2))
    recent = changes.RecentChanges()
    for commit in range(1, 9):
        recent.note(commit, {commit % 2: changes.Touched({commit}, set(), [b"word%d" % commit])})
    assert recent.since(3, 9) is None and recent.since(2, 8) is None, "only the last five commits are kept"
    kept = recent.since(3, 8)
    assert kept is not None
    assert kept.get(0) == changes.Touched({4, 6, 8}, set(), [b"word4", b"word6", b"word8"])
    assert kept.get(1) == changes.Touched({5, 7}, set(), [b"word5", b"word7"]) and kept.get(2) is None
    between = recent.since(5, 6)
    assert between is not None and between.get(0) == changes.Touched({6}, set(), [b"word6"])
    recent.note(11, {1: changes.Touched({9}, set(), [])})
    assert recent.since(8, 11) is None and recent.since(10, 11) is not None, "two commits before it are not known"


def test_only_rewritten_lists_are_read_again(filled: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    with filled.snapshot() as view:
        check(view)
    read = []
    original = snapshot.SnapshotSource.read_postings
    monkeypatch.setattr(
        snapshot.SnapshotSource,
        "read_postings",
        lambda self, word, *more: read.append(word.term_id) or original(self, word, *more),
    )
    filled.apply(push("o7", "w30"))
    filled.commit()
    with filled.snapshot() as view:
        check(view)
        state = view.bucket("c", "b")
        assert state is not None
        (row,) = BucketReader(view, state).words([b"w30"])
    assert row is not None and read == [row.term_id]


def test_changes_are_read_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(tmp_path / "store", {}, map_bytes=1 << 28)
    store.apply(push("o0", "one two"))
    store.commit()
    first = store.last_commit()
    store.apply(push("o1", "one three"))
    store.commit()
    store.apply(push("o0", "three", bucket="b"))
    store.commit()
    with store.snapshot() as view:
        state = view.bucket("c", "b")
        assert state is not None
        (three,) = BucketReader(view, state).words([b"three"])
        assert three is not None
        last, row = view.transaction.number, CHANGES.read(view.transaction)
        assert changes.changes_since(last, last, row) == {}
        expected = {state.bucket: changes.Touched({three.term_id}, {0}, [b"three"])}
        assert changes.changes_since(first, last, row) == expected
        assert changes.changes_since(first - 100, last, row) is None, "the row holds no commits before the store"
        assert changes.changes_since(last + 1, last, row) is None
    store.close()


def test_too_many_changes_are_not_named() -> None:
    recent = changes.RecentChanges()
    recent.note(6, {1: changes.Touched({3}, {9}, [b"alpha"])})
    words = [b"word%03d" % number for number in range(300)]
    row = recent.note(7, {1: changes.Touched({4}, {5}, words)})
    assert changes.changes_since(6, 7, row) == {1: changes.Touched({4}, {5}, words)}
    assert changes.changes_since(5, 7, row) == {1: changes.Touched({3, 4}, {5, 9}, [b"alpha", *words])}
    assert changes.changes_since(4, 7, row) is None
    row = recent.note(8, {1: changes.Touched({2}, {5}, [])})
    assert len(row) < 100
    assert changes.changes_since(5, 8, row) == {1: changes.Touched({2, 3, 4}, {5, 9}, None)}, (
        "older entries have fewer words"
    )
    row = recent.note(9, {1: changes.Touched(set(range(0, 3 * changes.ENTRY_BYTES, 2)), {4}, words)})
    assert len(row) < 100 and changes.changes_since(8, 9, row) == {1: changes.Touched(None, {4}, None)}
    assert recent.note(10, {1: changes.Touched({7}, {4}, words * 50)}).startswith(changes.NEWEST.pack(10))
    row = recent.note(11, {})
    assert changes.changes_since(9, 11, row) == {1: changes.Touched({7}, {4}, None)}, (
        "words of more than 64 KB are left out"
    )
    row = recent.note(12, {1: changes.Touched(set(), set(range(changes.ENTRY_BYTES)), [])})
    assert row == changes.NEWEST.pack(12), "readers of older commits begin afresh"
    assert changes.changes_since(11, 12, row) is None
    row = recent.note(13, {})
    assert changes.changes_since(12, 13, row) == {} and changes.changes_since(11, 13, row) is None
    assert changes.changes_since(13, 15, recent.note(15, {})) is None, "14 is not known"


def test_pending_words_grow_from_commit_to_commit(filled: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot, "PENDING_READ_MAX", 0)
    monkeypatch.setattr(changes, "KEPT_WEIGHT", 0)  # as in a process that only reads
    with filled.snapshot() as view:
        state = view.bucket("c", "b")
        assert state is not None
        words = view.pending_words(state)
        assert set(words) == set(View(view.transaction).pending_words(state)) != set()
    for number in range(3):
        filled.apply(push(f"more{number}", f"fresh{number} common"))
        filled.apply(push("elsewhere", f"strange{number}", bucket="other"))
        filled.commit()
        with filled.snapshot() as view:
            state = view.bucket("c", "b")
            assert state is not None
            assert words_of(view.growing_pending_words(state)) is words
            assert words[-1] == b"fresh%d" % number
    for number in range(2_000):  # their words are too many for an entry
        filled.apply(push(f"many{number}", f"word{number}of{number}"))
    filled.commit()
    with filled.snapshot() as view:
        state = view.bucket("c", "b")
        assert state is not None
        assert view.growing_pending_words(state) is None
        assert view.pending_words(state) is words
        assert set(words) == set(View(view.transaction).pending_words(state))
    for number in range(3):
        filled.apply(push(f"open{number}", f"opened{number} common"))
        with filled.reading() as view:
            assert isinstance(view, WriteView)
            found = words_of(view.growing_pending_words(bucket_of(view)))
            assert found is words, "a transaction adds to the list of the commits"
            assert words[-1] == b"opened%d" % number
    filled.apply(push("unread", "unreadly common"))
    filled.commit()
    with filled.snapshot() as view:
        assert words_of(view.growing_pending_words(bucket_of(view))) is words
        assert words[-1] == b"unreadly" and len(words) == len(set(words))


def test_who_still_reads_an_older_commit_keeps_what_he_has(filled: Store) -> None:
    with filled.snapshot() as view:
        check(view)
        state = view.bucket("c", "b")
        assert state is not None
        reader = view.reader(state)
        (row,) = reader.words([b"common"])
        assert row is not None
        stored, masks, lengths = reader.postings(row), reader.length_masks(), reader.lengths()
    before = stored.df, len(stored), bytes(lengths)
    for number in range(200):
        filled.apply(push(f"later{number}", "common"))
    filled.commit()
    with filled.snapshot() as view:
        check(view)
        state = view.bucket("c", "b")
        assert state is not None
        reader = view.reader(state)
        (row,) = reader.words([b"common"])
        assert row is not None and row.df == before[0] + 200
        assert reader.postings(row) is not stored
        assert reader.length_masks() is not masks and reader.lengths() is not lengths
    assert (stored.df, len(stored), bytes(lengths)) == before


@pytest.mark.parametrize("is_open", [True, False])
def test_another_thread_that_reads_fewer_pending_words_leaves_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_open: bool
) -> None:
    """One reader reads pending words of an older state, after another one has read newer ones and before it caches
    them.
    """
    store = Store(tmp_path, {}, map_bytes=1 << 24)
    store.apply(push("one", "older"))
    store.commit()
    held = Held(store)
    older = held.view
    store.apply(push("two", "newer"))
    if not is_open:
        store.commit()
    original = View.pending_since

    def interrupted(*given: Any) -> list[bytes]:
        found: list[bytes] = original(*given)
        with monkeypatch.context() as patched:
            patched.setattr(View, "pending_since", original)
            assert older.pending_words(bucket_of(older)) == [b"older"]
        return found

    monkeypatch.setattr(View, "pending_since", interrupted)
    with store.reading() as view:
        assert isinstance(view, WriteView) == is_open
        assert set(view.pending_words(bucket_of(view))) == {b"older", b"newer"}
    held.give_back()
    store.close()
