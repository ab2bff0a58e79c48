"""Rows of words that are written at the next commit: readers on the writer's thread see them as if they were
written.
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sonicpy._native.term_rows import TermInfo
from sonicpy.errors import StoreError
from sonicpy.store.changing.mutations import PopTerms
from sonicpy.store.disk import table_numbers as tables
from sonicpy.store.disk.pages import pages
from sonicpy.store.disk.table_rows import MapFull
from sonicpy.store.disk.transaction import Transaction
from sonicpy.store.store import Store
from sonicpy.store.views.bucket_reader import BucketReader
from tests.store.consistency import check_consistent
from tests.store.shorthand import found, open_store, push, terms
from tests.support.examples import examples

WORDS = [f"{first}{second}" for first in "abc" for second in ("", "a", "ab", "b", "bb", "c")]
TEXTS = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6, unique=True).map(" ".join)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("push"), st.integers(0, 5), TEXTS),
        st.tuples(st.just("pop"), st.integers(0, 5), TEXTS),
        st.tuples(st.just("settle"), st.just(0), st.just("")),
        st.tuples(st.just("commit"), st.just(0), st.just("")),
    ),
    max_size=25,
)


def seen(store: Store) -> list[object]:
    """Return all answers of a reader about words."""
    with store.reading() as view:
        state = view.bucket("c", "b")
        if state is None:
            return []
        reader = BucketReader(view, state)
        prefixes = [b"", b"a", b"ab", b"c", b"d"]
        for prefix in prefixes:
            check_prefix(reader, prefix)
            check_likely(view.reader(state), prefix, dict(reader.lexicon(b"")))
        return [
            [row and (row.df, reader.blocks(row)) for row in reader.words([word.encode() for word in WORDS])],
            [[(word, row.df) for word, row in reader.lexicon(prefix)] for prefix in prefixes],
            [reader.likely_words(prefix, limit, 9) for prefix in prefixes for limit in (1, 3, 100)],
        ]


def check_prefix(reader: BucketReader, prefix: bytes) -> None:
    """Check that the words that begin with `prefix` are those that a comparison with every word finds."""
    every = {word: row for word, row in reader.lexicon(b"") if word.startswith(prefix)}
    assert [word for word, _ in reader.lexicon(prefix)] == list(every)
    assert reader.words_with(prefix, 100) == list(every)
    check_likely(reader, prefix, every)


def check_likely(reader: BucketReader, prefix: bytes, every: dict[bytes, TermInfo]) -> None:
    """Check the likely words that begin with `prefix`, which a reader with caches may have read for a shorter
    prefix.
    """
    begun = [word for word in every if word.startswith(prefix)]
    for limit, examined in ((1, 2), (0, 9), (1, 9), (3, 4), (100, 100)):
        live = [word for word in begun[:examined] if every[word].live]
        live.sort(key=lambda word: (word != prefix, -every[word].df, len(word), word))
        assert reader.likely_words(prefix, limit, examined) == live[:limit]


@pytest.fixture(scope="module")
def twins(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Store, Store]]:
    """Two stores with the same content; each example continues from the content that the one before has left."""
    first, second = (open_store(tmp_path_factory.mktemp(name)) for name in ("waiting", "written"))
    yield first, second
    first.close()
    second.close()


@settings(deadline=None, max_examples=examples(80))
@given(steps=STEPS)
def test_what_waits_is_read_as_written_rows_are(twins: tuple[Store, Store], steps: list[tuple[str, int, str]]) -> None:
    waiting, written = twins
    with mock.patch("sonicpy.store.views.bucket_reader.pages", partial(pages, size=3)):
        for what, number, text in steps:
            if what == "settle":
                waiting.flush_term_rows()
            elif what == "commit":
                waiting.commit()
            else:
                change = push(f"o{number}", text) if what == "push" else PopTerms("c", "b", f"o{number}", terms(text))
                assert waiting.apply(change) == written.apply(change)
            written.flush_term_rows()
            assert seen(waiting) == seen(written)
    for store in twins:
        check_consistent(store)
        store.commit()


def test_what_is_written_does_not_wait_any_longer(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.flush_term_rows()
    for number in range(4):
        store.apply(push(f"o{number}", f"word{number} shared"))
    original, written = Transaction.put_many, list[tuple[int, list[bytes]]]()

    def noted(self: Transaction, table: int, rows: list[tuple[bytes, bytes]]) -> None:
        written.append((table, [key[4:] for key, _ in rows]))
        original(self, table, rows)

    words = [b"shared", b"word0", b"word1", b"word2", b"word3"]
    with mock.patch.object(Transaction, "put_many", noted):
        store.flush_term_rows()
        assert [rows for table, rows in written if table == tables.WORDS] == [words]
        assert [rows for table, rows in written if table == tables.PENDING] == [words]
        written.clear()
        store.flush_term_rows()
        assert not written
    assert found(store, "shared") == ["o3", "o2", "o1", "o0"]
    store.close()


def test_a_fault_while_rows_are_written_loses_nothing(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.apply(push("o1", "alpha beta"))
    store.seal()
    with (
        mock.patch.object(Transaction, "put_many", side_effect=StoreError("the disk is on fire")),
        pytest.raises(StoreError, match="on fire"),
    ):
        store.flush_term_rows()
    assert found(store, "alpha") == ["o1"]
    original, faults = Transaction.put_many, iter([MapFull("full")])

    def full_once(self: Transaction, table: int, rows: list[tuple[bytes, bytes]]) -> None:
        for fault in faults:
            raise fault
        original(self, table, rows)

    with mock.patch.object(Transaction, "put_many", full_once):
        store.flush_term_rows()
    store.apply(push("o2", "alpha"))
    store.commit()
    assert found(store, "alpha") == ["o2", "o1"]
    check_consistent(store)
    store.close()


def test_objects_are_read_before_they_are_committed(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    for number in range(40):
        store.apply(push(f"o{number}", "alpha"))
        with store.reading() as view:
            state = view.bucket("c", "b")
            assert state is not None
            records = list(BucketReader(view, state).objects())
        assert [(iid, record.oid.decode()) for iid, record in records] == [(n, f"o{n}") for n in range(number + 1)]
    check_consistent(store)
    store.close()
