"""Masks: a filtered walk finds the same objects as a scan of every posting, and a mask behaves like a set."""

import math
import random
from functools import partial

from hypothesis import given, settings
from hypothesis import strategies as st

from sonicpy._native import find
from sonicpy._native.column_mask import InRange, Near, OneOf
from sonicpy._native.column_window import ColumnRow, ColumnWindow
from sonicpy._native.length_masks import LengthMasks
from sonicpy._native.mask import Alive, AllOf, AnyOf, Bits, Mask, NotIn, both, iids_of, settled
from sonicpy._native.ordered import best_by_value, count_ranges
from sonicpy._native.sphere import chord_between, chord_of_meters, meters_of_chord
from sonicpy._native.term_mask import Holders, count_each, lists_of, matching
from tests.native.test_top_objects import K1, WALKS, B, KeptLists, Lists, answer, made_query, search
from tests.reference.top_objects import best_objects
from tests.support.examples import examples

WINDOW = 4_096
ROW = 128


class Reader:
    """Reads blocks of postings, as the reader of a bucket does."""

    def __init__(self, lists: Lists) -> None:
        self.read_blocks = lists.get
        self.made_bytes = 0

    def note_made(self, size_bytes: int) -> None:
        self.made_bytes += size_bytes


def columns_of(values: dict[int, int], objects: int) -> list[ColumnWindow | None]:
    windows: list[ColumnWindow | None] = []
    for first in range(0, objects, WINDOW):
        rows = []
        for number in range(WINDOW // ROW):
            row = ColumnRow()
            for place in range(ROW):
                row.put(place, values.get(first + number * ROW + place))
            if packed := row.pack():
                rows.append((number, packed))
        windows.append(ColumnWindow(rows) if rows else None)
    return windows


def windows_of(objects: int) -> int:
    return (objects >> 12) + 1


@given(st.integers(0, 2**32), st.sampled_from((30, 300, 3_000, 9_000)), st.sampled_from((0.0, 0.01, 0.3, 0.9)))
@settings(max_examples=examples(12), deadline=None)
def test_a_walk_through_a_mask_finds_what_looking_at_everything_finds(seed: int, objects: int, share: float) -> None:
    chance = random.Random(seed)
    terms, lengths, average = made_query(chance, objects)
    exponent, full_first = chance.choice((0.0, 0.3, 1.0)), chance.random() < 0.5
    passing = {iid for iid in range(objects) if chance.random() < share}
    every = best_objects(terms, lengths, average, K1, B, exponent, full_first)
    expected = [found for found in every if found[0] in passing]
    for limit in (10, 1, chance.randint(0, 50), 2**60):
        for walks in WALKS:
            lists, tails = Lists(lengths, chance.choice((1, 16, 128))), partial(chance.randint, 0, 128)
            found = search(terms, lists, lengths, average, exponent, tails, full_first=full_first)
            find.set_mask(found, Bits(windows_of(objects), passing))
            assert answer(found, lists, limit, walks=walks) == expected[:limit]
    find.give(found, lists.get(find.blocks_to_count(found)))
    assert find.count(found) == len(expected)
    assert set(iids_of(matching(found), objects)) == {iid for iid, _, _ in expected}


def random_mask(
    chance: random.Random, objects: int, depth: int, leaves: list[tuple[Mask, set[int]]]
) -> tuple[Mask, set[int]]:
    windows, whole = windows_of(objects), set(range(objects))
    kind = chance.choice(("leaf", "all", "any", "not")) if depth else "leaf"
    if kind == "leaf":
        return chance.choice(leaves)
    if kind == "not":
        mask, held = random_mask(chance, objects, depth - 1, leaves)
        return NotIn(windows, mask), whole - held
    parts = [random_mask(chance, objects, depth - 1, leaves) for _ in range(chance.randint(1, 3))]
    masks = [mask for mask, _ in parts]
    if kind == "all":
        return AllOf(windows, masks), set.intersection(*(held for _, held in parts))
    return AnyOf(windows, masks), set.union(*(held for _, held in parts))


@given(st.integers(0, 2**32))
@settings(max_examples=examples(10), deadline=None)
def test_masks_hold_what_sets_hold(seed: int) -> None:
    chance = random.Random(seed)
    objects = chance.choice((100, 4_097, 9_000))
    windows = windows_of(objects)
    spread = chance.choice((10, 10**6, 2**62))
    values = {iid: chance.randint(-spread, spread) for iid in range(objects) if chance.random() < 0.7}
    columns, masks = columns_of(values, objects), LengthMasks(bytes([5]) * objects)
    tags = [{iid: 1 for iid in range(objects) if chance.random() < share} for share in (0.5, 0.2, 0.01, 0.0)]
    lists = KeptLists(bytes([5]) * objects, 128)
    stored = [lists.store(tag, 100) for tag in tags]
    reader = Reader(lists)
    query = lists_of(reader, [[each] for each in stored] + [stored[:3], []], masks)
    low, high = sorted((chance.randint(-spread, spread), chance.randint(-spread, spread)))
    some = sorted(chance.sample(sorted(values.values()), min(5, len(values))))
    leaves: list[tuple[Mask, set[int]]] = [
        (InRange(windows, columns, low, high), {iid for iid, value in values.items() if low <= value <= high}),
        (OneOf(windows, columns, some), {iid for iid, value in values.items() if value in some}),
        (InRange(windows, columns, -(2**63), 2**63 - 1), set(values)),
        (InRange(windows, columns, high, low), {iid for iid, value in values.items() if low == high == value}),
        *((Holders(windows, query, number), set(tag)) for number, tag in enumerate(tags)),
        (Holders(windows, query, 4), set().union(*tags[:3])),
        (Holders(windows, query, 5), set()),
    ]
    for _ in range(5):
        mask, held = random_mask(chance, objects, 3, leaves)
        for iid in chance.choices(range(objects), k=5):
            assert mask.has(iid) == (iid in held)
        found = [iid for iid in iids_of(mask, 2**60) if iid < objects]
        assert found == sorted(held)
        below = chance.randint(0, objects)
        assert [iid for iid in mask.newest(windows * WINDOW) if iid < objects] == sorted(held)[::-1]
        assert mask.newest(3, below) == sorted((iid for iid in held if iid < below), reverse=True)[:3]
        real = Bits(windows, range(objects))
        assert both(mask, real).total() == len(held)
        among = settled(both(mask, real))
        assert count_each(query, among)[:4] == [len(held & set(tag)) for tag in tags]
    assert reader.made_bytes > 0 >= query.made_bytes  # all that is kept is counted


@given(st.integers(0, 2**32))
@settings(max_examples=examples(10), deadline=None)
def test_the_best_by_value_are_those_of_a_sort(seed: int) -> None:
    chance = random.Random(seed)
    objects = chance.choice((50, 5_000, 13_000))
    spread = chance.choice((3, 10**5, 2**63 - 1))
    slope = 0 if spread > 10**5 else chance.choice((0, 60, -60))  # times rise with IIDs
    values = {iid: slope * iid + chance.randint(-spread, spread) for iid in range(objects) if chance.random() < 0.8}
    columns = columns_of(values, objects)
    held = {iid for iid in range(objects) if chance.random() < chance.choice((0.01, 0.5))}
    mask = Bits(windows_of(objects), held)
    for descending in (False, True):
        keys = {iid: value if descending else -1 - value for iid, value in values.items() if iid in held}
        expected = sorted(keys.items(), key=lambda one: (-one[1], -one[0]))
        assert best_by_value(mask, columns, 20, descending=descending) == expected[:20]
        if len(expected) > 7:
            iid, key = expected[5]
            assert best_by_value(mask, columns, 9, descending=descending, after=(key, iid)) == expected[6:15]
    bounds = sorted({chance.randint(-spread, spread) for _ in range(4)})
    counts = [0] * (len(bounds) + 1)
    for iid in held & set(values):
        counts[sum(bound <= values[iid] for bound in bounds)] += 1
    assert count_ranges(mask, columns, bounds) == counts


def test_objects_are_alive_by_their_length_or_by_name() -> None:
    lengths = bytes([3, 0, 0, 1])
    assert iids_of(Alive(1, LengthMasks(lengths), [2]), 10) == [0, 2, 3]


def packed(latitude: float, longitude: float) -> int:
    return round(latitude * 1e7) << 32 | (round(longitude * 1e7) + 2**31)


def haversine(one: tuple[float, float], other: tuple[float, float]) -> float:
    (a, b), (c, d) = (tuple(map(math.radians, point)) for point in (one, other))
    half = math.sin((c - a) / 2) ** 2 + math.cos(a) * math.cos(c) * math.sin((d - b) / 2) ** 2
    return 2 * 6_371_008.8 * math.asin(min(1.0, math.sqrt(half)))


places = st.tuples(st.floats(-90, 90), st.floats(-180, 180)) | st.sampled_from(
    [(90.0, 0.0), (-90.0, 179.9), (0.0, 180.0), (0.0, -180.0), (89.999, 12.0), (10.0, 179.9999), (10.0, -179.9999)]
)


@given(places, places, st.floats(1, 20_000_000))
@settings(max_examples=examples(150), deadline=None)
def test_distances_are_those_of_the_sphere(one: tuple[float, float], other: tuple[float, float], meters: float) -> None:
    expected = haversine(one, other)
    square = chord_between(packed(*one), packed(*other))
    found = meters_of_chord(square)
    if expected < 19_000_000:
        assert math.isclose(found, expected, rel_tol=1e-6, abs_tol=0.2)
    mask = Near(1, columns_of({7: packed(*one)}, 10), packed(*other), meters)
    if abs(expected - meters) > 1 and expected < 19_000_000:
        assert iids_of(mask, 9) == ([7] if expected < meters else [])
    assert mask.has(7) == (square <= chord_of_meters(meters))
