"""Tags and values of objects: random changes compared with dicts, live, in replay and from the caches of readers."""

import random
import shutil
from pathlib import Path
from typing import Any

import pytest

from sonicpy._native.find import add_term, add_words, begin, best, give, run
from sonicpy._native.postings import unpack_block
from sonicpy._native.query_state import QueryState
from sonicpy._native.varint import DamagedBytes
from sonicpy.errors import InvalidArgument, StoreDamaged
from sonicpy.store.care.verify_tables import table_faults
from sonicpy.store.changing.mutations import (
    ChangeFields,
    FlushBucket,
    FlushObject,
    Mutation,
    PopTerms,
    PushTerms,
    PushWith,
)
from sonicpy.store.fields.tag_field import pack_tags, unpack_tags
from sonicpy.store.fields.value_field import pack_values, unpack_values
from sonicpy.store.rows.meta import FORMAT
from sonicpy.store.store import Store
from sonicpy.store.views.bucket_reader import BucketReader, find_object
from sonicpy.store.views.view import View
from sonicpy.values import GivenValue, pack_point
from tests.store.consistency import check_consistent
from tests.store.shorthand import open_store, push, terms
from tests.support.examples import examples

TAGS = [*(f"t{number}" for number in range(6)), "all", "é", "Ben & Jerry's", "x" * 128, "NOT"]
NAMES = ["price", "time", "place"]


class Twin:
    """The objects of a bucket, each with its words, tags and values, in the order of their first push."""

    def __init__(self) -> None:
        self.objects: dict[str, tuple[set[bytes], set[str], dict[str, int]]] = {}

    def apply(self, mutation: Mutation) -> int:
        match mutation:
            case PushTerms() | PushWith():
                self.objects.setdefault(mutation.oid, (set(), set(), {}))[0].update(mutation.terms.words)
                self._take(mutation.oid, mutation.fields if isinstance(mutation, PushWith) else ())
                return 0
            case ChangeFields():
                if mutation.oid not in self.objects:
                    return 0
                self._take(mutation.oid, mutation.fields)
                return 1
            case PopTerms():
                words, tags, values = self.objects.get(mutation.oid, (set(), set(), {}))
                gone = words & set(mutation.terms.words)
                words -= gone
                if not words and not tags and not values:
                    self.objects.pop(mutation.oid, None)
                return len(gone)
            case FlushObject():
                return len(self.objects.pop(mutation.oid, ((), 0, 0))[0])
        assert isinstance(mutation, FlushBucket)
        was_there = bool(self.objects)
        self.objects.clear()
        return int(was_there)

    def _take(self, oid: str, fields: tuple[tuple[int, bytes], ...]) -> None:
        _, tags, values = self.objects[oid]
        for id, packed in fields:
            if id == 5:
                tags.clear()
                tags.update(tag.decode() for tag in unpack_tags(packed))
                continue
            for name, (value, _) in unpack_values(packed).items():
                values.pop(name, None)
                if value is not None:
                    values[name] = value


def some_fields(dice: random.Random) -> tuple[tuple[int, bytes], ...]:
    tags = dice.sample(TAGS, dice.randrange(5))
    numbers = [dice.randrange(-9, 9) * 250, dice.randrange(10**9), dice.randrange(-(2**63), 2**63), None]
    values = {"price": GivenValue(dice.choice(numbers)), "time": GivenValue(dice.choice(numbers))}
    if dice.random() < 0.3:
        values["place"] = GivenValue(pack_point(dice.randrange(-9, 9) * 10**7, dice.randrange(-18, 18) * 10**8), True)
    found = [(5, pack_tags(tags)), (6, pack_values(dict(dice.sample([*values.items()], dice.randrange(1, 3)))))]
    return tuple(dice.sample(found, dice.randrange(1, 3)))


def some_change(dice: random.Random) -> Mutation:
    oid = f"o{dice.randrange(260)}"
    given = terms(" ".join(dice.sample(["a", "b", "c", "d"], dice.randrange(4))))
    changes: list[Mutation] = [
        FlushObject("c", "b", oid),
        PopTerms("c", "b", oid, given),
        *[ChangeFields("c", "b", oid, dice.randrange(2), some_fields(dice))] * 4,
        *[PushWith("c", "b", oid, given, fields=some_fields(dice))] * 6,
        PushTerms("c", "b", oid, given),
    ]
    return dice.choice(changes)


def iids_of(reader: Any, row: Any, main: Any) -> list[int]:
    """Return the holders of a tag as a query finds them."""
    query = QueryState(main.lengths(), 1.0, 1.2, 0.75, 1.0)
    add_term(query, 1.0)
    add_words(query, [reader.postings(row)], 1.0)
    begin(query, 10_000)
    while wanted := run(query):
        give(query, main.read_blocks(wanted))
    return sorted(iid for iid, *_ in best(query, 0))


def check(view: View, twin: Twin, *, cached: bool) -> None:
    """Compare all answers about tags and values with the reference implementation."""
    state = view.bucket("c", "b")
    if state is None:
        assert not twin.objects
        return
    reader: Any = view.reader(state) if cached else BucketReader(view, state)  # type: ignore[attr-defined]
    iids = {oid: found[0] for oid in twin.objects if (found := find_object(view, state, oid)) is not None}
    assert iids.keys() == twin.objects.keys()
    holders: dict[str, list[int]] = {}
    for oid, (_, tags, _) in twin.objects.items():
        for tag in tags:
            holders.setdefault(tag, []).append(iids[oid])
    tags, columns = reader.tags, reader.columns
    assert (tags is None) == (not holders)
    if tags is not None:
        assert tags.live == len(holders)
        rows = dict(tags.starting(b""))
        assert [tag.decode() for tag in rows] == sorted(holders, key=str.encode)
        assert [tag for tag, _ in tags.starting(b"t", b"t2")] == [tag for tag in rows if b"t2" < tag < b"u"]
        for tag, row in zip(holders, tags.words([tag.encode() for tag in holders]), strict=True):
            assert row.df == len(holders[tag])
            assert sorted(iid for block in tags.blocks(row) for iid, _ in unpack_block(block)) == sorted(holders[tag])
            assert iids_of(tags, row, reader) == sorted(holders[tag]), tag
        given = tags.tags_of([*iids.values()])
        assert given == [sorted(twin.objects[oid][1], key=str.encode) for oid in iids]
        assert [tags.tags_numbered(ids) for ids in tags.tag_ids_of([*iids.values()])] == [
            sorted(found, key=ids_by_tag(tags, found).__getitem__) for found in given
        ]
    expected = {oid: values for oid, (_, _, values) in twin.objects.items() if values}
    assert (columns is None) == (not expected)
    if columns is not None:
        assert {oid: columns.all_of(iid) for oid, iid in iids.items() if columns.all_of(iid)} == expected
        for name, column in columns.names.items():
            held = {iids[oid]: values[name] for oid, values in expected.items() if name in values}
            assert columns.count(column) == len(held)
            found = {}
            for number, window in enumerate(columns.windows(column)):
                if window is None:
                    continue
                inside = {4096 * number + at: value for at, value in enumerate(window.values()) if value is not None}
                assert (window.lowest, window.highest) == (min(inside.values()), max(inside.values()))
                assert window.count == len(inside)
                found |= inside
            assert found == held
            assert columns.values_of(column, [*iids.values()]) == [held.get(iid) for iid in iids.values()]


def ids_by_tag(tags: Any, found: list[str]) -> dict[str, int]:
    return {tag: tags.words([tag.encode()])[0].term_id for tag in found}


def check_all(store: Store, twin: Twin) -> None:
    with store.reading() as view:
        check(view, twin, cached=True)
        check(view, twin, cached=False)
    check_consistent(store)


@pytest.mark.parametrize("seed", range(examples(3)))
def test_random_changes(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    store, twin = open_store(tmp_path / "store"), Twin()
    for step in range(400):
        mutation = some_change(dice)
        assert store.apply(mutation) == twin.apply(mutation), mutation
        if step == 200:
            store.apply(FlushBucket("c", "b"))
            twin.objects.clear()
            store.sweep(100)
        if dice.random() < 0.04:
            with store.reading() as view:
                check(view, twin, cached=True)
        if dice.random() < 0.04:
            store.commit()
            with store.snapshot() as snapshot:
                check(snapshot, twin, cached=True)
    check_all(store, twin)
    store.seal()
    copy = shutil.copytree(tmp_path / "store", tmp_path / "as a killed process leaves it")
    store.commit()
    with store.snapshot() as snapshot:
        assert list(table_faults(snapshot.transaction)) == []
        assert FORMAT.read(snapshot.transaction) == "6"
    store.close()
    again = open_store(copy)
    check_all(again, twin)
    again.apply(FlushBucket("c", "b"))
    while again.sweep(1000):
        pass
    check_consistent(again)
    again.commit()
    with again.snapshot() as snapshot:
        assert list(table_faults(snapshot.transaction)) == []
    again.close()


@pytest.mark.full
def test_lists_of_many_blocks(tmp_path: Path) -> None:
    dice = random.Random(9)
    store, twin = open_store(tmp_path), Twin()
    for number in range(6_000):
        fields = (
            ()
            if number % 3 == 2
            else ((5, pack_tags(["all", f"n{number % 5}"])), (6, pack_values({"n": GivenValue(number)})))
        )
        mutation = PushWith("c", "b", f"o{number}", terms("a"), fields=fields)
        store.apply(mutation)
        twin.apply(mutation)
        if number == 4_500:
            store.commit()
            with store.snapshot() as view:
                check(view, twin, cached=True)
    for number in dice.sample(range(6_000), 300):
        mutation = ChangeFields("c", "b", f"o{number}", 0, ((5, pack_tags(["all", "new"] if number % 2 else [])),))
        assert store.apply(mutation) == twin.apply(mutation)
    check_all(store, twin)
    store.close()


def test_an_object_with_tags_stays_without_words(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.apply(PushWith("c", "b", "o", terms(""), fields=((5, pack_tags(["red"])),)))
    store.apply(push("p", "alpha"))
    store.apply(ChangeFields("c", "b", "p", 0, ((6, pack_values({"n": GivenValue(1)})),)))
    assert store.apply(PopTerms("c", "b", "p", terms("alpha"))) == 1
    with store.reading() as view:
        state = view.bucket("c", "b")
        assert state is not None
        assert (state.objects, state.total_length) == (2, 0)
    store.apply(ChangeFields("c", "b", "p", 0, ((6, pack_values({"n": GivenValue(None)})),)))
    assert store.apply(ChangeFields("c", "none", "p", 0, ((5, b"red"),))) == 0
    with store.reading() as view:
        assert view.bucket("c", "none") is None, "a change of what is not there makes nothing"
    check_consistent(store)
    store.close()


def test_a_store_without_tags_is_of_format_5(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.apply(push("o", "alpha"))
    store.apply(ChangeFields("c", "b", "none", 0, ((5, b"red"), (6, pack_values({"n": GivenValue(1)})))))
    store.commit()
    with store.snapshot() as view:
        assert (FORMAT.read(view.transaction), view.uses()) == ("5", frozenset())
    store.close()


@pytest.mark.parametrize(
    "fields", [((5, b"b\0a"),), ((5, b"a\0\0b"),), ((6, b"\1a"),), ((6, b"\1a\3"),), ((6, b"\0\0"),)]
)
def test_fields_that_cannot_be_read_change_nothing(tmp_path: Path, fields: tuple[tuple[int, bytes], ...]) -> None:
    store = open_store(tmp_path)
    store.apply(push("o", "alpha"))
    with pytest.raises((StoreDamaged, DamagedBytes)):
        store.apply(ChangeFields("c", "b", "o", 0, fields))
    check_consistent(store)
    store.close()


def test_a_bucket_has_sixteen_names_of_values(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    names = [f"n{number}" for number in range(17)]
    store.apply(
        PushWith("c", "b", "o", terms("a"), fields=((6, pack_values({name: GivenValue(1) for name in names[:16]})),))
    )
    more = ChangeFields("c", "b", "o", 0, ((6, pack_values({names[16]: GivenValue(2)})),))
    with pytest.raises(InvalidArgument, match="allowed are 16"):
        store.apply(more)
    store.apply(ChangeFields("c", "b", "o", 0, ((6, pack_values({names[3]: GivenValue(None)})),)))
    assert store.apply(more) == 1, "a name without values makes room"
    check_consistent(store)
    store.close()


def test_the_values_of_a_name_are_all_points_or_all_numbers(tmp_path: Path) -> None:
    number, point = GivenValue(5), GivenValue(pack_point(481_000_000, 115_000_000), is_point=True)
    store = open_store(tmp_path)

    def given(oid: str, value: GivenValue) -> PushWith:
        return PushWith("c", "b", oid, terms("a"), fields=((6, pack_values({"n": value})),))

    with pytest.raises(InvalidArgument, match="the value n is a point, but those of the bucket are numbers"):
        store.apply_pushes([given("o1", number), given("o2", point)])
    with store.reading() as view:
        assert view.bucket("c", "b") is None, "nothing of the group was made"
    store.apply(given("o1", point))
    with pytest.raises(InvalidArgument, match="the value n is a number, .* are points; allowed is a point"):
        store.apply(given("o2", number))
    store.apply(given("o1", GivenValue(None)))
    store.apply(given("o2", number))
    with pytest.raises(InvalidArgument, match="are numbers; allowed is a number"):
        store.apply(ChangeFields("c", "b", "o1", 0, ((6, pack_values({"n": point})),)))
    check_consistent(store)
    store.close()
