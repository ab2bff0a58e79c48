"""FLUSHO of large objects and FLUSHC of many buckets happen in steps: the tables agree after each step, and with the
reference implementation at the end.
"""

import random
import shutil
from pathlib import Path

import pytest

from sonicpy._native.object_record import ObjectRecord
from sonicpy.index.index import Index
from sonicpy.store.care.verify_tables import table_faults
from sonicpy.store.changing import remove_steps
from sonicpy.store.changing.mutations import FlushBucket, FlushCollection, FlushObject, Mutation, PopTerms
from sonicpy.store.store import Store
from sonicpy.store.views.bucket_reader import BucketReader
from sonicpy.store.views.write_view import WriteView
from tests.reference.store import Model
from tests.store.shorthand import ORDERS, open_store, picture, push, terms

TERMS_PER_STEP = 7
BUCKETS_PER_STEP = 3
LARGE = 2_500
"""The number of terms of a record that is so large that PUSH does not unpack it."""


@pytest.fixture(autouse=True)
def short_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remove_steps, "TERMS_PER_STEP", TERMS_PER_STEP)
    monkeypatch.setattr(remove_steps, "BUCKETS_PER_STEP", BUCKETS_PER_STEP)


def text(random_: random.Random, words: int) -> str:
    """Return words that are frequent in other texts, some as stop words and some several times."""
    numbers = random_.sample(range(60), words)
    return " ".join(f"w{number}{random_.choice(['', '!', '*3', '?'])}" for number in numbers)


def some_pushes(random_: random.Random, model: Model, store: Store, buckets: int, objects: int) -> None:
    for number in range(objects):
        mutation = push(f"o{number % 9}", text(random_, random_.randint(1, 40)), bucket=f"b{number % buckets}")
        assert store.apply(mutation) == model.apply(mutation)


def check(store: Store) -> None:
    """Check that the tables agree with each other."""

    def faults(view: WriteView) -> list[str]:
        view.flush()
        return list(table_faults(view.transaction))

    assert store.maintain(faults) == []


def check_against(store: Store, model: Model) -> None:
    check(store)
    with store.reading() as view:
        assert {tuple(scope) for scope, _ in view.all_states()} == set(model.buckets)
        for (collection, bucket), expected in model.buckets.items():
            assert picture(view, collection, bucket) == expected.picture()


def finish(store: Store, random_: random.Random) -> int:
    """Take all steps, with commits in between; return the number of steps."""
    steps = 0
    while store.has_removals:
        store.take_step()
        check(store)
        if random_.random() < 0.3:
            store.commit()
        steps += 1
    return steps


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("seed", range(2))
def test_an_object_goes_in_steps(tmp_path: Path, order: str, seed: int) -> None:
    random_ = random.Random(seed)
    store, model = open_store(tmp_path, order=order), Model(order == ORDERS[1])
    some_pushes(random_, model, store, buckets=2, objects=30)
    large = push("o3", text(random_, 40), bucket="b1")
    assert store.apply(large) == model.apply(large)
    for oid in ("o3", "o4", "o99", "o3"):
        expected = model.apply(FlushObject("c", "b1", oid))
        assert store.apply(FlushObject("c", "b1", oid), in_steps=True) == expected
        check(store)
        assert finish(store, random_) > 1 or expected < 40
        check_against(store, model)
    some_pushes(random_, model, store, buckets=2, objects=20)
    check_against(store, model)
    store.close()


CHANGES: list[Mutation] = [
    push("o1", "w1 neu", bucket="b0"),
    push("o2", "w1 neu", bucket="b0"),
    PopTerms("c", "b0", "o1", terms("w1 w2 w3")),
    FlushObject("c", "b0", "o1"),
    FlushBucket("c", "b0"),
    FlushCollection("c"),
]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: type(change).__name__)
@pytest.mark.parametrize("begun", [FlushObject("c", "b0", "o1"), FlushCollection("c")], ids=["object", "collection"])
def test_a_change_of_what_is_half_gone_comes_after_the_removal(
    tmp_path: Path, change: Mutation, begun: FlushObject | FlushCollection
) -> None:
    random_ = random.Random(7)
    store, model = open_store(tmp_path), Model()
    for number in range(10):
        mutation = push("o1", text(random_, 30), bucket=f"b{number}")
        assert store.apply(mutation) == model.apply(mutation)
    assert store.apply(begun, in_steps=True) == model.apply(begun)
    store.take_step()
    assert store.has_removals
    assert store.apply(change) == model.apply(change)
    check(store)
    finish(store, random_)
    check_against(store, model)
    store.close()


def copied(store: Store, folder: Path) -> Store:
    """Return a copy of the store as the death of its process would leave it."""
    store.seal()
    shutil.copytree(store.folder, folder)
    return open_store(folder)


@pytest.mark.parametrize("mutation", [FlushObject("c", "b0", "o1"), FlushCollection("c")], ids=["object", "collection"])
def test_steps_go_on_after_a_restart_and_a_replay_removes_the_same(
    tmp_path: Path, mutation: FlushObject | FlushCollection
) -> None:
    random_ = random.Random(11)
    store, model = open_store(tmp_path / "store"), Model()
    some_pushes(random_, model, store, buckets=8, objects=70)
    large = push("o1", text(random_, 40), bucket="b0")
    assert store.apply(large) == model.apply(large)
    store.commit()
    assert store.apply(mutation, in_steps=True) == model.apply(mutation)
    store.take_step()
    with_record = copied(store, tmp_path / "replayed")
    assert not with_record.has_removals
    check_against(with_record, model)
    with_record.close()
    store.commit()
    half = copied(store, tmp_path / "half")
    assert half.has_removals
    check(half)
    finish(half, random_)
    check_against(half, model)
    half.close()
    finish(store, random_)
    check_against(store, model)
    store.close()


def test_an_index_that_is_opened_finishes_what_was_begun(tmp_path: Path) -> None:
    index = Index(tmp_path / "store", autocommit=False)
    index.push("c", "b", "huge", " ".join(f"wort{number}" for number in range(50)), "none")
    index.push("c", "b", "small", "wort1 wort2", "none")
    assert index.flush_object("c", "b", "huge") == 50
    assert index.engine.store.has_removals
    index.engine.remove_step()
    index.engine.commit()
    shutil.copytree(tmp_path / "store", tmp_path / "copy")
    index.close()
    for folder in ("store", "copy"):
        with Index(tmp_path / folder) as again:
            assert again.verify() == []
            assert (again.count_words("c", "b"), again.count_objects("c", "b")) == (2, 1)
            assert again.words("c", "b") == ["wort1", "wort2"]


def test_a_backup_of_what_is_half_gone_is_restored_and_finished(tmp_path: Path) -> None:
    index = Index(tmp_path / "store", autocommit=False)
    index.push("c", "b", "huge", " ".join(f"wort{number}" for number in range(50)), "none")
    index.push("c", "b", "small", "wort1 wort2", "none")
    index.flush_object("c", "b", "huge")
    index.engine.remove_step()
    index.engine.commit()
    index.engine.store.backup(tmp_path / "backup")
    index.close()
    with Index(tmp_path / "other") as other:
        other.restore(tmp_path / "backup")
        assert other.query("c", "b", "wort49") == []
        assert other.verify() == []
        assert (other.count_words("c", "b"), other.count_objects("c", "b")) == (2, 1)


@pytest.mark.parametrize("order", ORDERS)
def test_a_large_record_changes_as_a_small_one_does(tmp_path: Path, order: str) -> None:
    """PUSH copies the unchanged part of a record that has very many terms."""
    random_ = random.Random(5)
    store, model = open_store(tmp_path, order=order), Model(order == ORDERS[1])
    for first in range(0, LARGE, 500):
        mutation = push("large", " ".join(f"w{number}*{number % 4 + 1}" for number in range(first, first + 500)))
        assert store.apply(mutation) == model.apply(mutation)
    for round_ in range(40):
        words = [
            f"w{random_.randrange(LARGE + 300)}{random_.choice(['', '!', '*9'])}" for _ in range(random_.randint(1, 9))
        ]
        mutation = push("large", " ".join(dict.fromkeys([*words, f"neu{round_}", "w0", f"w{LARGE - 1}*200"])))
        assert store.apply(mutation) == model.apply(mutation)
        if round_ % 10 == 0:
            store.apply(push(f"o{round_}", "w7 anders"))
            model.apply(push(f"o{round_}", "w7 anders"))
            pop = PopTerms("c", "b", "large", terms("w3 w4 w2000"))
            assert store.apply(pop) == model.apply(pop)
    check_against(store, model)
    with store.reading() as view:
        state = view.bucket("c", "b")
        assert state is not None
        record = BucketReader(view, state).object("large")
        assert record is not None and len(record) > LARGE
        parts = [ObjectRecord.unpack(part, view.by_association) for part in record.parts(1_000)]
        assert [term for part in parts for term in part.terms()] == record.terms()
        assert ObjectRecord.unpack(record.pack(), view.by_association).terms() == record.terms()
    store.close()
