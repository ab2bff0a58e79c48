"""Common words have rows in a table of their own; reads and changes give the same results."""

from pathlib import Path

import pytest

from sonicpy._native.postings import POSTINGS_PER_BLOCK
from sonicpy._native.term_rows import only_refers
from sonicpy.errors import StoreDamaged, StoreError
from sonicpy.graph.graph_pool import GraphPool
from sonicpy.index.maintenance.consolidate import GraphLimits, read_words
from sonicpy.store.changing.mutations import FlushObject, PopTerms
from sonicpy.store.disk import table_numbers as tables
from sonicpy.store.store import Store
from sonicpy.store.views.bucket_reader import BucketReader
from sonicpy.store.views.view import View
from sonicpy.store.views.write_view import WriteView
from tests.store.consistency import check_consistent
from tests.store.shorthand import found, open_store, push, terms
from tests.store.trouble import roll_back

COUNT = 2 * POSTINGS_PER_BLOCK + 10


def filled(folder: Path) -> Store:
    """Return a store in which every object holds `shared`, and a few objects hold another word."""
    store = open_store(folder)
    for number in range(COUNT):
        store.apply(push(f"o{number}", f"shared seldom{number % 100}"))
    return store


def common_rows(view: View) -> int:
    return view.transaction.count(tables.COMMON)


@pytest.mark.parametrize("is_committed", [True, False])
def test_they_are_read_as_others(tmp_path: Path, is_committed: bool) -> None:
    store = filled(tmp_path)
    if is_committed:
        store.commit()
    with store.reading() as view:
        assert isinstance(view, WriteView) is not is_committed
        state = view.bucket("c", "b")
        assert state is not None
        reader = BucketReader(view, state)
        (row, missing, other) = reader.words([b"shared", b"nowhere", b"seldom7"])
        assert row is not None and other is not None and missing is None
        assert (row.df, other.df) == (COUNT, 3)
        lexicon = {word: row.df for word, row in reader.lexicon(b"s")}
        assert len(lexicon) == 101 and lexicon[b"shared"] == COUNT
        assert reader.likely_words(b"s", 2, 1_000) == [b"shared", b"seldom0"]
        words = read_words(view, GraphPool(tmp_path / "graphs"), state.bucket, GraphLimits())
        assert words is not None and words.words == sorted(lexicon)
    assert found(store, "shared") == [f"o{number}" for number in reversed(range(COUNT))]
    store.close()


def test_their_rows_alone_stand_apart_and_are_referred_to(tmp_path: Path) -> None:
    store = filled(tmp_path)
    store.commit()
    with store.snapshot() as view:
        assert common_rows(view) == 1
        rows = {key[4:]: row for key, row in view.transaction.rows(tables.WORDS, b"")}
    assert {word for word, row in rows.items() if only_refers(row)} == {b"shared"}
    check_consistent(store)
    store.close()


def test_a_change_writes_the_row_that_stands_apart_alone(tmp_path: Path) -> None:
    store = filled(tmp_path)
    store.commit()
    with store.snapshot() as view:
        words = dict(view.transaction.rows(tables.WORDS, b""))
        common = dict(view.transaction.rows(tables.COMMON, b""))
    store.apply(push("new", "shared"))
    store.apply(PopTerms("c", "b", "o5", terms("shared")))
    store.commit()
    with store.snapshot() as view:
        assert dict(view.transaction.rows(tables.WORDS, b"")) == words
        assert dict(view.transaction.rows(tables.COMMON, b"")) != common
    check_consistent(store)
    store.close()


def test_they_go_with_their_last_object_and_may_come_again(tmp_path: Path) -> None:
    store = filled(tmp_path)
    for number in range(COUNT - 1):
        store.apply(FlushObject("c", "b", f"o{number}"))
    store.close()
    store = open_store(tmp_path)
    with store.snapshot() as view:
        assert common_rows(view) == 1, "rare by now, but it keeps its place"
    assert found(store, "shared") == [f"o{COUNT - 1}"]
    store.apply(PopTerms("c", "b", f"o{COUNT - 1}", terms("shared")))
    store.commit()
    with store.snapshot() as view:
        assert common_rows(view) == 0
    check_consistent(store)
    store.apply(push("again", "shared"))
    store.commit()
    with store.snapshot() as view:
        assert common_rows(view) == 0
    assert found(store, "shared") == ["again"]
    check_consistent(store)
    store.close()


def test_a_row_that_is_missing_is_damage(tmp_path: Path) -> None:
    store = filled(tmp_path)
    store.commit()
    store.maintain(lambda view: view.transaction.delete_rows(tables.COMMON, b"", 10))
    store.commit()
    roll_back(store)  # nothing is cached
    with pytest.raises(StoreDamaged, match="row of a common word is missing"):
        store.apply(push("new", "shared"))
    with pytest.raises((StoreError, ValueError), match="row of a common word is missing"):
        found(store, "shared")
    assert found(store, "seldom7") == ["o207", "o107", "o7"]
    store.close()


def test_the_row_of_another_word_is_damage(tmp_path: Path) -> None:
    store = filled(tmp_path)
    store.commit()
    with store.snapshot() as view:
        ((key, row),) = view.transaction.rows(tables.COMMON, b"")
    other = bytes((row[0] ^ 1, *row[1:]))
    store.maintain(lambda view: view.transaction.put(tables.COMMON, key, other))
    store.commit()
    roll_back(store)  # nothing is cached
    with pytest.raises((StoreError, ValueError), match="the row of the common word 0 is that of 1"):
        found(store, "shared")
    store.close()
