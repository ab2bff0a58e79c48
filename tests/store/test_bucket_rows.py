"""The rows of a bucket, one fact in a test: windows, stop words, damage, used up numbers, lengths."""

from pathlib import Path

import pytest

from sonicpy._native.keys import IID_MAX
from sonicpy._native.plan import BRINGS, Clause, Plan, Slot
from sonicpy._native.postings import POSTINGS_PER_BLOCK
from sonicpy._native.sonic_table import SonicTable
from sonicpy._native.varint import pack_varints
from sonicpy.errors import StoreDamaged, StoreError
from sonicpy.index.search.parts import bind, find
from sonicpy.store.changing.mutations import FlushBucket, FlushObject, PopTerms
from sonicpy.store.disk import table_numbers as tables
from sonicpy.store.rows.bucket_state import FIELD_NAMES, BucketState
from sonicpy.store.rows.lengths import OBJECTS_PER_ROW
from sonicpy.store.store import Store
from sonicpy.store.views.bucket_reader import BucketReader
from sonicpy.store.views.write_view import WriteView
from tests.store.consistency import check_consistent
from tests.store.shorthand import ORDERS, found, open_store, push, terms
from tests.store.trouble import roll_back

pytestmark = pytest.mark.usefixtures("few_names_wait")


@pytest.fixture(params=ORDERS)
def store(tmp_path: Path, request: pytest.FixtureRequest) -> Store:
    return open_store(tmp_path / "store", order=request.param)


def test_the_window_of_a_record_changes_nothing(store: Store) -> None:
    """Lists are complete; the setting limits the objects that a query reads, and others take the place of removed
    ones.
    """
    for number in range(6):
        store.apply(push(f"o{number}", "word extra", 3))
    assert found(store, "word") == ["o5", "o4", "o3", "o2", "o1", "o0"]
    with store.reading() as view:
        state = view.bucket("c", "b")
        assert state is not None
        (row,) = BucketReader(view, state).words([b"word"])
        assert row is not None and row.df == 6
    assert newest(store, "word", 3) == ["o5", "o4", "o3"]
    assert store.apply(PopTerms("c", "b", "o4", terms("word"))) == 1
    assert newest(store, "word", 3) == ["o5", "o3", "o2"]
    store.apply(push("o4", "word", 3))
    again = ["o4", "o5", "o3"] if by_association(store) else ["o5", "o4", "o3"]
    assert newest(store, "word", 3) == again, "late words count by the order of the list"
    check_consistent(store)
    store.close()


@pytest.mark.parametrize("window", [1, 43, 44, 45, 171, 172, 173, 299, 300, 301, 0])
def test_a_window_ends_anywhere_in_a_block(store: Store, window: int) -> None:
    for number in range(300):
        store.apply(push(f"o{number}", "word"))
    assert newest(store, "word", window) == [f"o{number}" for number in reversed(range(300))][: window or 300]
    store.close()


def newest(store: Store, word: str, window: int) -> list[str]:
    """Return the objects that a query for a word finds within a window, checked in both ways in which queries read
    them.
    """
    with store.reading() as view:
        state = view.bucket("c", "b")
        assert state is not None
        reader = BucketReader(view, state)
        (row,) = reader.words([word.encode()])
        assert row is not None
        postings, skipped = reader.newest_postings(row, window)
        table = SonicTable(1, 0)
        table.visit(0, postings, skipped, 1.0, -1)
        table.finish(False)
        iids = [iid for iid, _, _ in table.best_scored(0, 1_000_000)]
        clause = Clause(0, BRINGS, 1.0, [Slot((word.encode(),), 1.0)])
        plan = Plan([clause], 1.0, 1.0, full_first=True, left_out={}, enough=None)
        part = find(bind(plan, reader, window), 1_000_000, total=True)
        assert sorted(iid for iid, _, _ in part.found) == sorted(iids)
        assert part.total == len(iids)
        return reader.oids(iids)


def by_association(store: Store) -> bool:
    with store.reading() as view:
        return view.by_association


def test_pushing_a_text_twice_changes_nothing(store: Store) -> None:
    store.apply(push("o1", "alpha beta*2", 0))
    store.apply(push("o2", "alpha", 0))
    store.commit()
    with store.reading() as view:
        before = [
            list(view.transaction.rows(table, b"")) for table in range(tables.DROPPED + 1) if table != tables.META
        ]
    store.apply(push("o1", "alpha beta*2", 0))
    store.apply(push("o1", "beta", 0))
    store.commit()
    with store.reading() as view:
        after = [list(view.transaction.rows(table, b"")) for table in range(tables.DROPPED + 1) if table != tables.META]
    assert before == after
    assert found(store, "alpha") == ["o2", "o1"]
    store.close()


def test_an_old_object_that_gains_a_term_stands_at_its_head_or_in_its_place(store: Store) -> None:
    store.apply(push("o1", "alpha"))
    store.apply(push("o2", "alpha beta"))
    store.apply(push("o1", "beta"))
    expected = ["o1", "o2"] if by_association(store) else ["o2", "o1"]
    assert (found(store, "alpha"), found(store, "beta")) == (["o2", "o1"], expected)
    store.close()


def test_a_word_is_a_stop_word_of_an_object_only_if_all_its_texts_say_so(store: Store) -> None:
    store.apply(push("o1", "the! fox"))
    store.apply(push("o2", "the!"))
    assert store.apply(FlushObject("c", "b", "o2")) == 0, "an object of stop words only counts none"
    store.apply(push("o1", "the"))
    store.apply(push("o1", "the!"))
    assert store.apply(PopTerms("c", "b", "o1", terms("the! fox"))) == 2
    check_consistent(store)
    store.close()


def test_terms_that_share_their_head_stay_apart(store: Store) -> None:
    one, other = "h" * 466 + "x" * 50, "h" * 466 + "y" * 50
    store.apply(push("o1", one))
    store.apply(push("o2", other))
    assert (found(store, one), found(store, other)) == (["o1"], ["o2"])
    assert store.apply(PopTerms("c", "b", "o1", terms(one))) == 1
    assert (found(store, one), found(store, other)) == ([], ["o2"])
    assert store.apply(FlushObject("c", "b", "o2")) == 1
    check_consistent(store)
    store.close()


def test_a_flushed_bucket_starts_anew_at_once(store: Store) -> None:
    store.apply(push("o1", "alpha"))
    assert store.apply(FlushBucket("c", "b")) == 1
    # In compat mode, which orders lists by association, a bucket is there as long as its collection.
    with store.reading() as view:
        assert store.apply(FlushBucket("c", "b")) == int(view.by_association)
    store.apply(push("o2", "alpha"))
    assert found(store, "alpha") == ["o2"]
    while store.sweep(1):
        check_consistent(store)
    assert found(store, "alpha") == ["o2"]
    check_consistent(store)
    store.close()


def test_an_object_without_words_exists_until_it_is_flushed(store: Store) -> None:
    store.apply(push("o1", ""))
    with store.reading() as view:
        state = view.bucket("c", "b")
        assert state is not None and state.objects == 1
        assert BucketReader(view, state).object("o1") is not None
    assert store.apply(FlushObject("c", "b", "o1")) == 0
    with store.reading() as view:
        state = view.bucket("c", "b")
        assert state is not None and state.objects == 0
    check_consistent(store)
    store.close()


DAMAGED = {tables.WORDS: b"\xff" * 11, tables.COMMON: b"\xff" * 11, tables.IMPACTS: b"\0"}


@pytest.mark.parametrize(
    "table", [tables.WORDS, tables.COMMON, tables.POSTINGS, tables.IMPACTS, tables.OBJECTS, tables.SCOPES]
)
def test_damaged_rows_are_named_as_damage(store: Store, table: int) -> None:
    """Callers get StoreDamaged, whichever layer reads the damaged rows first, and the store continues."""
    if table == tables.IMPACTS and by_association(store):
        pytest.skip("only lists in the order of objects have impacts")
    store.apply(push("o1", "alpha beta"))
    for number in range(POSTINGS_PER_BLOCK):
        store.apply(push(f"other{number}", "alpha beta"))
    store.commit()

    def damage(view: WriteView) -> None:
        for key, row in list(view.transaction.rows(table, b"")):
            damaged = DAMAGED.get(table) or (b"\0\1" + row[2:] if table == tables.OBJECTS else row[:-1] + b"\xff")
            view.transaction.put(table, key, damaged)

    store.maintain(damage)
    store.commit()
    roll_back(store)  # nothing is cached
    for mutation in (
        push("o1", "alpha*3 gamma"),
        PopTerms("c", "b", "o1", terms("alpha")),
        *([] if table == tables.IMPACTS else [FlushObject("c", "b", "o1")]),  # it needs no impacts
    ):
        with pytest.raises(StoreDamaged):
            store.apply(mutation)
    with pytest.raises(StoreDamaged):
        store.apply_pushes([push("o1", "alpha*3 gamma")])
    assert store.apply(push("o1", "alpha", bucket="b2")) == 0
    assert found(store, "alpha", bucket="b2") == ["o1"]
    store.close()


def test_a_bucket_whose_object_numbers_are_used_up_takes_texts_for_those_it_has(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.apply(push("o1", "alpha"))

    def use_up(view: WriteView) -> None:
        view.bucket_to_change("c", "b").next_iid = IID_MAX + 1

    store.maintain(use_up)
    store.commit()
    with pytest.raises(StoreError, match="bucket 0 has used up its 4294967295 object numbers"):
        store.apply(push("o2", "alpha"))
    with pytest.raises(StoreError, match="used up"):
        store.apply_pushes([push("o1", "beta"), push("o2", "alpha")])
    assert (found(store, "alpha"), found(store, "beta")) == (["o1"], [])
    store.apply(push("o1", "beta"))
    assert found(store, "beta") == ["o1"]
    store.close()


def rows_of_lengths(store: Store) -> int:
    with store.reading() as view:
        return view.transaction.count(tables.LENGTHS)


def test_rows_of_lengths_go_with_their_objects(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    count = 3 * OBJECTS_PER_ROW
    store.apply_pushes([push(f"o{number}", "alpha") for number in range(count)])
    store.commit()
    for gone in (range(OBJECTS_PER_ROW, 2 * OBJECTS_PER_ROW), range(2 * OBJECTS_PER_ROW, count)):
        for number in gone:
            store.apply(FlushObject("c", "b", f"o{number}"))
        store.commit()
    assert rows_of_lengths(store) == 1
    store.close()
    store = open_store(tmp_path)
    store.apply(push("late", "beta*7"))
    store.commit()
    assert rows_of_lengths(store) == 2
    check_consistent(store)
    with store.reading() as view:
        state = view.bucket("c", "b")
        assert state is not None
        assert bytes(view.lengths(state)) == bytes([1] * OBJECTS_PER_ROW + [0] * 2 * OBJECTS_PER_ROW + [7])
    store.close()


def test_counters_come_back_from_their_row() -> None:
    numbers = [2**32 - 1, 2**32 - 1, 127, 128, 300, 2**32, 2**48 - 1, 0, 5, 6, 7, 2**47]
    row = BucketState(*numbers).pack()
    assert row == pack_varints(numbers)
    assert [getattr(BucketState.unpack(row), name) for name in FIELD_NAMES] == numbers
