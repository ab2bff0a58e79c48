"""Large objects that grow: a text adds the same as in small objects, and no text reads or writes the others."""

import random
from pathlib import Path

import pytest

from sonicpy._native.growing_record import GrowingRecord
from sonicpy.store.changing.bucket_writer import writer_of
from sonicpy.store.changing.mutations import FlushObject, Mutation, PopTerms
from sonicpy.store.store import Store
from sonicpy.store.views import write_cache
from sonicpy.store.views.bucket_reader import BucketReader
from sonicpy.store.views.write_view import WriteView
from tests.reference.store import Model
from tests.store.consistency import check_consistent
from tests.store.shorthand import ORDERS, open_store, picture, push, terms
from tests.support.examples import some

OBJECTS = 40
GROWING = ("o3", "o4", "o17", "o39")
"""Two in one row of records, one in a row of its own, and one in the newest row."""
WORDS = 900
MANY = 100


def texts_of(random_: random.Random, words: int) -> str:
    numbers = random_.sample(range(WORDS), words)
    return " ".join(f"w{number}{random_.choice(['', '', '!', '*3', '?'])}" for number in numbers)


def check_against(store: Store, model: Model) -> None:
    check_consistent(store)
    with store.reading() as view:
        assert picture(view, "c", "b") == model.buckets["c", "b"].picture()


def some_change(random_: random.Random, round_: int) -> Mutation:
    oid, chance = random_.choice(GROWING), random_.random()
    if chance < 0.04:
        return FlushObject("c", "b", oid)
    if chance < 0.15:
        return PopTerms("c", "b", oid, terms(texts_of(random_, 5)))
    if chance < 0.25:
        return push(f"o{random_.randrange(OBJECTS)}", texts_of(random_, 5))
    return push(oid, f"{texts_of(random_, random_.randint(1, 12))} new{round_}")


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("seed", some(range(4), 4))
def test_they_change_as_small_ones_do(tmp_path: Path, order: str, seed: int) -> None:
    random_ = random.Random(seed)
    store, model = open_store(tmp_path, order=order), Model(order == ORDERS[1])
    first = [push(f"o{number}", texts_of(random_, 3)) for number in range(OBJECTS)]
    first += [push(oid, texts_of(random_, 600)) for oid in GROWING]
    for change in first:
        assert store.apply(change) == model.apply(change)
    for round_ in range(250):
        change = some_change(random_, round_)
        assert store.apply(change) == model.apply(change)
        if random_.random() < 0.05:
            store.commit()
        if random_.random() < 0.03:  # queries in the open transaction read the records of objects
            store.maintain(lambda view: check_names(view, model))
        if round_ % 80 == 79:
            check_against(store, model)
    store.close()
    store = open_store(tmp_path, order=order)
    check_against(store, model)
    store.close()


def check_names(view: WriteView, model: Model) -> None:
    state = view.bucket("c", "b")
    assert state is not None
    reader = BucketReader(view, state)
    objects = model.buckets["c", "b"].picture()["objects"]
    assert isinstance(objects, dict)
    for oid in GROWING:
        found = reader.object(oid)
        assert (found is None) == (oid not in objects)
        assert found is None or len(found) == len(objects[oid])
        iid = reader.number_of(oid)
        assert reader.oids([] if iid is None else [iid]) == ([oid] if oid in objects else [])


def test_a_recovery_loses_nothing(tmp_path: Path) -> None:
    """The log holds the texts that a growing record has taken since the last commit."""
    store, model = open_store(tmp_path), Model(False)
    random_ = random.Random(3)
    for change in [push("o1", texts_of(random_, 600)), push("o2", "w1")]:
        store.apply(change)
        model.apply(change)
    store.commit()
    for round_ in range(9):
        change = push("o1", f"new{round_} {texts_of(random_, 4)}")
        store.apply(change)
        model.apply(change)
    store.seal()
    store._recover(None)
    check_against(store, model)
    store.close()


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("oid", ["o0", f"o{OBJECTS - 1}"])
def test_a_text_changes_no_bytes_of_the_others(tmp_path: Path, order: str, oid: str) -> None:
    """The record of a large object takes each text beside its bytes, in the newest row of records and in others; so do
    changes that only need the number of the object."""
    store = open_store(tmp_path, order=order)
    for number in range(OBJECTS):
        store.apply(push(f"o{number}", "anders"))
    store.apply(push(oid, " ".join(f"w{number}" for number in range(WORDS))))
    store.apply(push(oid, "first"))

    def growing(view: WriteView) -> tuple[GrowingRecord, bytes]:
        writer = writer_of(view, "c", "b")
        iid = writer.iid_of(oid)
        assert iid is not None
        row = writer._tables._record_row(iid // 16)
        record = row.growing(iid % 16)
        assert record is not None
        return record, row.names

    before = store.maintain(growing)
    for number in range(20):
        store.apply(push(oid, f"w{number} next{number}"))
        assert store.maintain(growing)[0] is before[0]
        assert store.maintain(growing)[1] is before[1]
    assert before[0].is_changed
    assert len(before[0]) == WORDS + 22
    store.close()


@pytest.mark.full
def test_rows_of_large_objects_do_not_fill_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write_cache, "RECENT_BYTES_MAX", 5_000)
    random_ = random.Random(4)
    store, model = open_store(tmp_path), Model(False)
    changes = [push(f"o{number}", texts_of(random_, 500)) for number in range(MANY)]
    changes += [push(f"o{number}", f"new{number}") for number in range(MANY)]
    for change in changes:
        assert store.apply(change) == model.apply(change)
        waiting = store.maintain(lambda view: writer_of(view, "c", "b")._tables._held)
        assert waiting is not None
        assert len(waiting.recent) < 3
    check_against(store, model)
    store.close()
