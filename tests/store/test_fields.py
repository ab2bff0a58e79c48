"""Records of kind 6: fields that are added or replaced, live and in replay, compared with a reference implementation;
the table of fields.
"""

import json
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sonicpy._native.object_record import ObjectRecord
from sonicpy._native.records import pack_terms
from sonicpy._native.terms import Terms
from sonicpy.errors import StoreDamaged, StoreError
from sonicpy.index.report.export import lines
from sonicpy.store.care.verify_tables import table_faults
from sonicpy.store.changing.mutations import ChangeFields, FlushObject, Mutation, PopTerms, pack_mutation
from sonicpy.store.disk.log import Log
from sonicpy.store.disk.table_numbers import BUCKET_TABLES, FACTS
from sonicpy.store.disk.transaction import Transaction
from sonicpy.store.fields.all_fields import FIELDS, TERMS
from sonicpy.store.fields.facts import pack_facts, unpack_facts
from sonicpy.store.fields.field import FieldMode, FieldWriter
from sonicpy.store.rows.bucket_state import BucketState
from sonicpy.store.rows.meta import BY_OBJECT, FORMAT
from sonicpy.store.rows.uses import KNOWN
from sonicpy.store.store import Store
from sonicpy.store.views.bucket_reader import BucketReader
from sonicpy.store.views.view import View
from tests.reference.store import Bucket, Model
from tests.store.consistency import check_consistent
from tests.store.shorthand import ORDERS, found, open_store, picture, push, terms


def change(oid: str, given: Terms, mode: FieldMode) -> ChangeFields:
    return ChangeFields("c", "b", oid, mode, ((TERMS.id, pack_terms(given)),))


def facts(facts: dict[int, bytes], mode: FieldMode = FieldMode.ADD) -> ChangeFields:
    return ChangeFields("c", "b", "", mode, ((2, pack_facts(facts)),))


def facts_of(store: Store) -> dict[int, bytes]:
    with store.reading() as view:
        state = view.bucket("c", "b")
        return {} if state is None else view.facts(state.bucket)


def test_the_table_of_fields() -> None:
    assert [field.id for field in FIELDS.values()] == [*FIELDS]
    for field in FIELDS.values():
        assert field.name is None or field.name in KNOWN
        assert set(field.tables) <= set(BUCKET_TABLES)
    assert next(iter(FIELDS)) == TERMS.id


@pytest.mark.parametrize("order", ORDERS)
def test_replaced_terms_are_those_of_a_new_object_with_the_same_number(tmp_path: Path, order: str) -> None:
    dice = random.Random(6)
    store = open_store(tmp_path / "store", order=order)
    twin = Model(order != BY_OBJECT)
    for step in range(250):
        oid = f"o{dice.randrange(25)}"
        words = dice.sample([f"w{number}" for number in range(12)] + ["x" * 600, "common"], dice.randrange(6))
        given = terms(" ".join(f"{word}*{dice.randrange(1, 4)}{dice.choice(['', '', '!'])}" for word in words))
        mode = dice.choice([FieldMode.ADD, FieldMode.REPLACE, FieldMode.REPLACE])
        changes: list[Mutation] = [
            FlushObject("c", "b", oid),
            PopTerms("c", "b", oid, given),
            *[change(oid, given, mode)] * 8,
        ]
        mutation = dice.choice(changes)
        assert store.apply(mutation) == twin.apply(mutation)
        if isinstance(mutation, ChangeFields) and mode is FieldMode.REPLACE:
            fresh = Bucket()
            fresh.push(oid, given)
            assert twin.buckets["c", "b"].objects[oid] == fresh.objects[oid], "REPLACE leaves nothing of before"
        if step % 40 == 0:
            store.commit()
    expected = twin.buckets["c", "b"].picture()
    with store.reading() as view:
        assert picture(view, "c", "b") == expected
    check_consistent(store)
    store.seal()
    copy = shutil.copytree(tmp_path / "store", tmp_path / "as a killed process leaves it")
    store.close()
    again = open_store(copy, order=order)
    with again.reading() as view:
        assert picture(view, "c", "b") == expected
        assert FORMAT.read(view.transaction) == "5", "no row is of a newer format"
    again.close()


def test_facts_are_logged(tmp_path: Path) -> None:
    store = open_store(tmp_path / "store")
    store.apply(facts({1: b"one", 2: b""}))
    store.apply(push("o1", "alpha"))
    store.apply(facts({2: b"two", 255: b"x" * 1000}))
    assert facts_of(store) == {1: b"one", 2: b"two", 255: b"x" * 1000}
    store.apply(facts({1: b"only"}, FieldMode.REPLACE))
    assert facts_of(store) == {1: b"only"}
    store.seal()
    copy = shutil.copytree(tmp_path / "store", tmp_path / "as a killed process leaves it")
    store.close()
    again = open_store(copy)
    assert (facts_of(again), found(again, "alpha")) == ({1: b"only"}, ["o1"])
    again.commit()
    with again.snapshot() as view:
        assert (FORMAT.read(view.transaction), sorted(view.uses())) == ("6", ["facts"])
    check_consistent(again)
    again.close()


def test_facts_have_no_object_and_a_layout(tmp_path: Path) -> None:
    packed = pack_facts({7: b"ab", 1: b""})
    assert packed == b"\x01\0\0\0\0\x07\x02\0\0\0ab"
    assert unpack_facts(packed) == {7: b"ab", 1: b""}
    store = open_store(tmp_path)
    for value, oid in ((packed, "o1"), (packed[:-1], ""), (packed[:3], "")):
        with pytest.raises(StoreDamaged):
            store.apply(ChangeFields("c", "b", oid, FieldMode.ADD, ((2, value),)))
        assert (store.uncommitted, facts_of(store)) == (0, {})
    store.close()


def test_a_change_that_fails_in_its_second_field_leaves_nothing_of_its_first(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.apply(push("o1", "alpha"))
    fields = ((TERMS.id, pack_terms(terms("beta"))), (2, b"no facts"))
    with pytest.raises(StoreDamaged):
        store.apply(ChangeFields("c", "b", "o1", FieldMode.REPLACE, fields))
    assert (found(store, "alpha"), found(store, "beta")) == (["o1"], [])
    check_consistent(store)
    store.close()


@pytest.mark.parametrize(
    ("record", "says"),
    [
        (b"\x06\x01c\x01b\x01o\x00\xc8\x03red", "field 200"),
        (b"\x06\x01c\x01b\x01o\x09", "mode 9"),
        (b"\x63\x01c\x01b\x01o", "records of kind 99"),
    ],
)
def test_a_log_that_uses_something_unknown_is_refused_and_kept(tmp_path: Path, record: bytes, says: str) -> None:
    store = open_store(tmp_path)
    store.apply(push("o1", "alpha"))
    store.close()
    with Path(next((tmp_path / "log").iterdir())).open("rb") as file:
        start = int.from_bytes(file.read(18)[10:], "little")
    log = Log(tmp_path / "log")
    log.start(start)
    log.append([pack_mutation(push("o2", "alpha")), record])
    log.close()
    segments = {path.name: path.read_bytes() for path in (tmp_path / "log").iterdir()}
    for _ in range(2):
        with pytest.raises(
            StoreError, match=f"^a record of the log uses '{says}', unknown to this sonicpy: install the "
        ):
            open_store(tmp_path)
        assert {path.name: path.read_bytes() for path in (tmp_path / "log").iterdir()} == segments


# -- a field more ------------------------------------------------------------------------------------------------------


class Colours:
    """A made-up field: a colour of each object, stored in fact 200 of the bucket."""

    id = 200
    name = "colours"
    tables = (FACTS,)

    def apply(self, writer: FieldWriter, oid: str, mode: FieldMode, value: bytes) -> None:
        writer.view.require(self.name)
        with_it = json.loads(writer.view.fact(writer.state.bucket, self.id) or b"{}") | {oid: value.decode()}
        writer.view.set_fact(writer.state.bucket, self.id, json.dumps(with_it).encode())

    def remove(self, writer: FieldWriter, iid: int, record: ObjectRecord) -> None:
        left = json.loads(writer.view.fact(writer.state.bucket, self.id) or b"{}")
        if left.pop(record.oid.decode(), None) is not None:
            writer.view.set_fact(writer.state.bucket, self.id, json.dumps(left).encode())

    def faults(self, transaction: Transaction, state: BucketState) -> Iterator[str]:
        colours = json.loads(View(transaction).fact(state.bucket, self.id) or b"{}").values()
        yield from (f"{colour} is no colour" for colour in colours if colour not in ("red", "blue"))

    def export(self, reader: BucketReader, iid: int, record: ObjectRecord) -> dict[str, Any]:
        colour = json.loads(reader.fact(self.id) or b"{}").get(record.oid.decode())
        return {} if colour is None else {"colours": colour}


@pytest.fixture
def with_colours(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Make this process a version with one more field, until the patch is undone."""
    monkeypatch.setitem(FIELDS, Colours.id, Colours())
    monkeypatch.setitem(KNOWN, Colours.name, "a colour of each object")
    return monkeypatch


def coloured(oid: str, text: str, colour: str, mode: FieldMode = FieldMode.ADD) -> ChangeFields:
    fields = ((TERMS.id, pack_terms(terms(text))), (Colours.id, colour.encode()))
    return ChangeFields("c", "b", oid, mode, fields)


def colours_of(store: Store) -> dict[str, str]:
    found: dict[str, str] = json.loads(facts_of(store).get(Colours.id, b"{}"))
    return found


def test_a_field_more_is_a_row_of_the_table(tmp_path: Path, with_colours: pytest.MonkeyPatch) -> None:
    store = open_store(tmp_path / "store")
    store.apply(coloured("o1", "alpha beta", "red"))
    store.apply(coloured("o2", "alpha", "blue"))
    store.apply(coloured("o3", " ".join(f"w{number}" for number in range(700)), "red"))
    store.apply(coloured("o1", "gamma", "blue", FieldMode.REPLACE))
    assert colours_of(store) == {"o1": "blue", "o2": "blue", "o3": "red"}
    assert (found(store, "alpha"), found(store, "gamma")) == (["o2"], ["o1"])
    store.seal()
    copy = shutil.copytree(tmp_path / "store", tmp_path / "as a killed process leaves it")
    store.apply(PopTerms("c", "b", "o2", terms("alpha")))
    store.apply(FlushObject("c", "b", "o3"), in_steps=True)
    assert colours_of(store) == {"o1": "blue", "o3": "red"}, "its last step is to come"
    while store.take_step():
        pass
    assert colours_of(store) == {"o1": "blue"}
    store.apply(FlushObject("c", "b", "o1"))
    assert colours_of(store) == {}
    store.apply(coloured("o4", "alpha", "rod"))
    store.commit()
    with store.snapshot() as view:
        assert view.uses() == {"colours", "facts"}
        assert list(table_faults(view.transaction)) == ["c/b: rod is no colour"]
        line = {"collection": "c", "bucket": "b", "object": "o4", "fields": {"terms": {"alpha": 1}, "colours": "rod"}}
        assert [one for one in lines(view, None, None) if "object" in one] == [line]
    store.close()
    again = open_store(copy)
    assert colours_of(again) == {"o1": "blue", "o2": "blue", "o3": "red"}
    again.close()
    with_colours.undo()
    for folder, says in ((tmp_path / "store", "the store uses 'colours'"), (copy, "the store uses 'colours'")):
        with pytest.raises(StoreError, match=says):
            open_store(folder)
