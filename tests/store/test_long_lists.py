"""Long postings lists compared with a reference implementation: blocks and rows of impacts fill, split and go."""

import random
from pathlib import Path

import pytest

from sonicpy._native.impact_rows import BLOCKS_PER_ROW
from sonicpy._native.keys import term_key
from sonicpy._native.postings import POSTINGS_PER_BLOCK, posting_count
from sonicpy.store.care.verify_tables import table_faults
from sonicpy.store.changing.mutations import FlushObject, Mutation, PopTerms, PushTerms
from sonicpy.store.disk import table_numbers as tables
from sonicpy.store.rows.keys import block_position
from sonicpy.store.rows.meta import BY_ASSOCIATION
from sonicpy.store.store import Store
from sonicpy.store.views.bucket_reader import BucketReader
from tests.reference.store import Model
from tests.store.consistency import check_consistent
from tests.store.shorthand import ORDERS, open_store, picture, push, terms
from tests.support.examples import some

pytestmark = pytest.mark.usefixtures("few_names_wait")


@pytest.mark.parametrize("order", some(ORDERS, 2))
@pytest.mark.parametrize("window", [0, pytest.param(300, marks=pytest.mark.full)])
def test_one_word_over_many_blocks_with_objects_going_in_between(tmp_path: Path, order: str, window: int) -> None:
    """The window in a record changes nothing in the store; it only limits the reading of queries."""
    seed = 20_240_600 + window
    dice = random.Random(seed)
    store, model = open_store(tmp_path, order=order), Model(order == BY_ASSOCIATION)
    for number in range(2000):
        text = "word" if number % 3 else f"word*{number % 9 + 1} other{number % 4}"
        if number > 20 and dice.random() < 0.5:
            oid = f"o{dice.randrange(max(0, number - dice.choice([5, 200, 1500])), number)}"
            extra = dice.choice(
                [
                    PopTerms("c", "b", oid, terms("word")),
                    FlushObject("c", "b", oid),
                    push(oid, f"word*{dice.randrange(1, 20)} late", window),
                ]
            )
            assert store.apply(extra) == model.apply(extra), seed
        assert store.apply(push(f"o{number}", text, window)) == model.apply(push(f"o{number}", text, window)), seed
        if number % 400 == 399:
            store.commit()
            _compare_one_bucket(store, model, seed)
    _flush_all(store, model, dice, 2000)
    store.close()


@pytest.mark.full
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("seed", range(4))
def test_words_that_come_late_and_go_again_in_the_middle_of_long_lists(tmp_path: Path, order: str, seed: int) -> None:
    """Blocks split, empty and fill again; objects become shorter than the impacts of their blocks allow."""
    dice = random.Random(seed)
    count = 1200
    store, model = open_store(tmp_path, order=order), Model(order == BY_ASSOCIATION)

    def apply(change: Mutation) -> None:
        assert store.apply(change) == model.apply(change), seed

    for number in range(count):
        apply(push(f"o{number}", "early" if number % 5 else "early seed"))
    for _ in range(3):
        for number in dice.sample(range(count), count // 2):  # late, in any order
            apply(push(f"o{number}", f"word*{dice.choice((1, 1, 3, 255))} long*{dice.randrange(1, 200)}"))
        _compare_one_bucket(store, model, seed)
        if dice.random() < 0.5:
            store.commit()
        start = dice.randrange(count - 300)
        for number in dice.sample(range(start, start + 300), 300):  # whole blocks go
            apply(PopTerms("c", "b", f"o{number}", terms(dice.choice(("word", "word seed", "early")))))
        for number in dice.sample(range(count), 200):  # they become shorter
            apply(PopTerms("c", "b", f"o{number}", terms("long")))
        _compare_one_bucket(store, model, seed)
        for number in dice.sample(range(start, start + 300), 150):
            apply(push(f"o{number}", "word early"))
        _compare_one_bucket(store, model, seed)
    _flush_all(store, model, dice, count)
    store.close()


def _flush_all(store: Store, model: Model, dice: random.Random, count: int) -> None:
    """Flush the objects one by one, until nothing is left."""
    for step, number in enumerate(dice.sample(range(count), count)):
        extra = FlushObject("c", "b", f"o{number}")
        assert store.apply(extra) == model.apply(extra)
        if step % 500 == 0:
            _compare_one_bucket(store, model, step)
    _compare_one_bucket(store, model, count)
    with store.reading() as view:
        emptied = (tables.WORDS, tables.COMMON, tables.TERMS, tables.POSTINGS, tables.IMPACTS)
        assert [view.transaction.count(table) for table in emptied] == [0, 0, 0, 0, 0]


def _compare_one_bucket(store: Store, model: Model, seed: int) -> None:
    with store.reading() as view:
        assert picture(view, "c", "b") == model.buckets["c", "b"].picture(), seed
        assert list(table_faults(view.transaction)) == [], seed
    check_consistent(store)


@pytest.mark.full
def test_rows_of_impacts_split_and_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A row of impacts covers 128 blocks; its first block may be removed, and another block may take the place."""
    store, model = open_store(tmp_path), Model()
    count = 2 * BLOCKS_PER_ROW * POSTINGS_PER_BLOCK + 1000

    def apply(change: PushTerms | PopTerms) -> None:
        store.apply(change)
        model.apply(change)

    store.apply_pushes([push(f"o{number}", "word long*9") for number in range(count)])
    for number in range(count):
        model.apply(push(f"o{number}", "word long*9"))
    assert impact_lowers(store, b"word") == [0, 128 * 128, 2 * 128 * 128]
    for number in range(128 * 128, 128 * 129):  # the first block of the second row
        apply(PopTerms("c", "b", f"o{number}", terms("word")))
    assert impact_lowers(store, b"word") == [0, 128 * 129, 2 * 128 * 128]
    late = f"o{128 * 128 + 7}"  # goes into the last block of the first row, and then becomes shorter
    apply(push(late, "word"))
    apply(PopTerms("c", "b", late, terms("long")))
    for number in range(0, 128 * 8, 2):  # every second of the first blocks goes and comes back
        apply(PopTerms("c", "b", f"o{number}", terms("word")))
    for number in range(0, 128 * 8, 2):
        apply(push(f"o{number}", "word*2"))
    for number in range(128 * 128):  # the first row goes, but for what came late
        apply(PopTerms("c", "b", f"o{number}", terms("word")))
    middle = 128 * 127 + 64  # the late postings split the block and are in its second half
    assert impact_lowers(store, b"word") == [middle, 128 * 129, 2 * 128 * 128]
    _compare_one_bucket(store, model, 0)
    for number in range(100):
        apply(push(f"o{number}", "word"))
    assert impact_lowers(store, b"word") == [0, middle, 128 * 129, 2 * 128 * 128]
    _compare_one_bucket(store, model, 1)
    store.close()


def impact_lowers(store: Store, word: bytes) -> list[int]:
    """Return the numbers in the keys of a word's rows of impacts."""
    with store.reading() as view:
        state = view.bucket("c", "b")
        assert state is not None
        (row,) = BucketReader(view, state).words([word])
        assert row is not None
        return [
            block_position(key) for key in view.transaction.keys(tables.IMPACTS, term_key(state.bucket, row.term_id))
        ]


@pytest.mark.parametrize("order", some(ORDERS, 2))
def test_blocks_are_filled_to_the_brim(tmp_path: Path, order: str) -> None:
    store = open_store(tmp_path, order=order)
    for number in range(300):
        store.apply(push(f"o{number}", "word"))
    with store.reading() as view:
        state = view.bucket("c", "b")
        assert state is not None
        reader = BucketReader(view, state)
        (word,) = reader.words([b"word"])
        assert word is not None
        assert [posting_count(block) for block in reader.blocks(word)] == [128, 128, 44]
    store.close()
