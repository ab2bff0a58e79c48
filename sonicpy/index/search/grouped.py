"""GROUP: the best object of each group, in the order of the answer.

The best objects are searched, and the first one of each group is kept. Until there are enough groups, the search is
repeated for twice as many objects, without the groups that were found: so a large group costs no more than a small one.
An object of several groups answers for each of them; one of no group is a group of its own.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from sonicpy._native.mask import AllOf, Bits, Mask, NotIn, settled
from sonicpy._native.plan import Plan
from sonicpy._native.terms import Terms
from sonicpy.api.hits import Hits, with_groups
from sonicpy.filters.conditions import Condition
from sonicpy.filters.grouping import GroupKey, parse_group, split_group
from sonicpy.filters.sorting import NEWEST, highest_factor, parse_boost, parse_sort
from sonicpy.index.search.boost import boosted, highest_of
from sonicpy.index.search.demands import asks_nothing
from sonicpy.index.search.found_hits import hits_of
from sonicpy.index.search.matching import Matching
from sonicpy.index.search.parts import Part
from sonicpy.index.search.plan import only_whole
from sonicpy.index.search.ranking import AnyLexicon, check_together, find_by, plan_of
from sonicpy.index.search.refine import (
    Best,
    Place,
    Wanted,
    bucket_behind,
    check_boost,
    check_by_score,
    condition_of,
    in_order,
    masks_of,
    places_behind,
    wanted_of,
)
from sonicpy.index.search.several import SeveralParts, UnitedLexicon, in_buckets, parts_of
from sonicpy.index.search.value_groups import CountedGroups, Groups, counted_together, groups_in
from sonicpy.search import Search
from sonicpy.store.views.bucket_reader import window_count

if TYPE_CHECKING:
    from sonicpy.config import Config
    from sonicpy.index.search.likeness import Meant

FEWEST = 16
"""The fewest objects that the first search asks for."""

At = tuple[int, int]
"""An object: the place of its bucket, and its IID there."""
KeptObject = tuple[Any, At, GroupKey | None]
"""The best object of a group: its row in the answer, the object, and the group; None: it is a group of its own."""
LastGroup = tuple[int | None, GroupKey]
"""The last group of a page: the place of the bucket of its object, and its tag."""
PassingMasks = Sequence[Mask | None]
"""The objects of each bucket that may be found; None: all."""


class Finder(NamedTuple):
    """Finds the best objects of an answer.

    Attributes:
        find: returns the best objects of some masks, at most a number: the row and the place of each.
        passing: the objects of each bucket that pass a filter.
        groups: the groups of each bucket.
        windows: the number of windows of IIDs of each bucket.
    """

    find: Callable[[int, PassingMasks], list[tuple[Any, At]]]
    passing: PassingMasks
    groups: Sequence[Groups]
    windows: Sequence[int]


def best_of_groups(
    finder: Finder,
    wanted: int,
    counts: Callable[[Any, GroupKey | None], bool] = lambda row, key: True,
    first: Sequence[tuple[Any, At]] = (),
) -> list[KeptObject]:
    """Return the best object of each group, until `wanted` of them count, or all.

    Args:
        counts: returns whether a row and its group count.
        first: rows that come before those of `finder`, which finds them, too.
    """
    kept: list[KeptObject] = []
    seen: set[GroupKey] = set()

    def keep(found: Sequence[tuple[Any, At]]) -> int:
        keys = in_buckets([at for _, at in found], lambda number, iids: finder.groups[number].of(iids))
        wanted = 0
        for (row, at), held in zip(found, keys, strict=True):
            new: list[GroupKey | None] = [key for key in held if key not in seen] if held else [None]
            seen.update(held)
            kept.extend((row, at, key) for key in new)
            wanted += sum(counts(row, key) for key in new)
        return wanted

    missing = wanted - keep(first)
    passing = _others(finder, kept, seen) if first else finder.passing
    count = max(2 * wanted, FEWEST)
    while missing > 0:
        found = finder.find(count, passing)
        missing -= keep(found)
        if len(found) < count:
            break
        count *= 2
        passing = _others(finder, kept, seen)
    return kept


def _others(finder: Finder, kept: Sequence[KeptObject], seen: set[GroupKey]) -> list[Mask]:
    """Return the objects of each bucket that pass, were not found yet, and are of other groups than those seen."""
    found: list[Mask] = []
    for number, (mask, groups, windows) in enumerate(zip(finder.passing, finder.groups, finder.windows, strict=True)):
        known = Bits(windows, [iid for _, (place, iid), _ in kept if place == number])
        some = [groups.others(seen), NotIn(windows, known)]
        found.append(AllOf(windows, some if mask is None else [mask, *some]))
    return found


def _finder(lexicon: AnyLexicon, search: Search, passing: PassingMasks, find: Any) -> Finder:
    assert search.group is not None
    group, readers = parse_group(search.group), [part.reader for part in parts_of(lexicon)]
    return Finder(find, passing, [groups_in(reader, group) for reader in readers], list(map(window_count, readers)))


def grouped_hits(
    lexicon: AnyLexicon, terms: Terms, config: "Config", search: Search, matching: Matching | None
) -> Hits:
    """Return the page of a search with groups.

    Raises:
        InvalidArgument: the ranking has no groups; or like `find_meant`.
    """
    if not search.is_by_score:
        return _hits_in_order(lexicon, wanted_of(lexicon, search, terms, config, matching), search)
    check_grouped(search, config)
    if not len(terms) and asks_nothing(terms):
        return with_groups(Hits(total=0, whole=0) if search.total else Hits(), [])
    best = best_by_score(lexicon, terms, config, search, matching, search.offset + search.limit)
    if best.meant is None:
        hits = hits_of(lexicon, best.plan, best.part, terms, config, search, best.whole, best.most)
    else:
        hits = best.meant.hits(lexicon, terms, search, best.whole)
    return with_groups(hits, best.keys[search.offset : search.offset + search.limit])


class BestOfGroups(NamedTuple):
    """The best objects of groups by score.

    Attributes:
        part: has these objects, and the number of groups as its total.
        keys: the groups of these objects, as answers show them.
        counted: all groups; None: they were not asked for.
        of_whole: all groups with an object that answers by whole words; None: they were not asked for.
        most: the upper bound of the factors of scores.
        meant: these objects by words and meaning; None: the search has no vector.
    """

    plan: Plan
    part: Part | SeveralParts
    keys: list[GroupKey | None]
    counted: CountedGroups | None
    of_whole: CountedGroups | None
    most: float
    meant: "Meant | None" = None

    @property
    def whole(self) -> int | None:
        """The number of groups with an object that answers by whole words; None: it was not asked for."""
        return None if self.of_whole is None else self.of_whole.total


def check_grouped(search: Search, config: "Config") -> None:
    """Raise InvalidArgument if groups cannot be combined with the ranking or an option of a search by score."""
    check_by_score(search, config)


def best_by_score(
    lexicon: AnyLexicon, terms: Terms, config: "Config", search: Search, matching: Matching | None, count: int
) -> BestOfGroups:
    """Return the best object of each of the best `count` groups by score."""
    check_together(lexicon, config)
    return best_by_plan(lexicon, plan_of(lexicon, terms, config, matching), config, search, count)


def best_by_plan(
    lexicon: AnyLexicon, plan: Plan, config: "Config", search: Search, count: int, highest: int | None = None
) -> BestOfGroups:
    """Return the best object of each of the best `count` groups by a plan.

    Args:
        highest: the value from which ages are counted; None: the highest one of the buckets.
    """
    condition, find_part = condition_of(search.filter), _part_finder(lexicon, plan, config, search.boost, highest)
    masks, most = masks_of(lexicon, condition), highest_factor(search.boost)
    parts: list[Part | SeveralParts] = []

    def find(wanted: int, passing: PassingMasks) -> list[tuple[Any, At]]:
        part = find_part(wanted, passing)
        parts.append(part)
        return _placed(lexicon, part.found)

    finder = _finder(lexicon, search, masks or [None] * len(parts_of(lexicon)), find)
    first, meant = list[tuple[Any, At]](), None
    if search.vector is not None:
        from sonicpy.index.search.likeness import check_ranking, in_new_order  # noqa: PLC0415  loaded when it is needed

        check_ranking(config)
        parts.append(find_part(search.depth, finder.passing))
        meant = in_new_order(lexicon, Best(plan, parts[0], masks, most), search)
        first = _placed(lexicon, meant.found)
    kept = best_of_groups(finder, max(count, 1), first=first)
    counted, of_whole = _counts(lexicon, plan, config, condition, finder) if search.total else (None, None)
    part = _joined(parts)
    part.found, part.total = [row for row, _, _ in kept[:count]], None if counted is None else counted.total
    meant = None if meant is None else meant.of_groups(part, most)
    return BestOfGroups(plan, part, shown_keys(finder.groups, kept[:count]), counted, of_whole, most, meant)


def _part_finder(
    lexicon: AnyLexicon, plan: Plan, config: "Config", boost: str | None, highest: int | None
) -> Callable[[int, PassingMasks], Part | SeveralParts]:
    """Return a function that finds the best objects of some masks, at most a number, by score.

    Args:
        boost: the text of BOOST; None: scores are not multiplied.
        highest: as in `factors_of`.
    """
    if boost is None:
        return partial(_by_score, lexicon, plan, config)
    check_boost(config)
    return partial(_by_boost, lexicon, plan, config, boost, highest)


def _counts(
    lexicon: AnyLexicon, plan: Plan, config: "Config", condition: Condition | None, finder: Finder
) -> tuple[CountedGroups, CountedGroups]:
    """Return all groups, and those with an object that answers by whole words."""
    window = config.store.kv.retain_word_objects

    def counted(one: Plan) -> CountedGroups:
        return count_groups(finder, [Wanted(each.reader, one, window).under(condition) for each in parts_of(lexicon)])

    every, whole = counted(plan), only_whole(plan)
    return every, every if whole is None else counted(whole)


def _joined(parts: Sequence[Part | SeveralParts]) -> Part | SeveralParts:
    """Return the first of several answers of one plan; of several buckets, with the parts of all."""
    part = parts[0]
    for other in parts[1:]:
        if isinstance(part, SeveralParts) and isinstance(other, SeveralParts):
            part.take_parts(other)
    return part


def _placed(lexicon: AnyLexicon, found: Sequence[Any]) -> list[tuple[Any, At]]:
    """Return each of the found objects with its place."""
    if isinstance(lexicon, UnitedLexicon):
        return [(row, row[0]) for row in found]
    return [(row, (0, row[0])) for row in found]


def _by_score(
    lexicon: AnyLexicon, plan: Plan, config: "Config", wanted: int, passing: PassingMasks
) -> Part | SeveralParts:
    masks = [mask for mask in passing if mask is not None]
    return find_by(plan, lexicon, wanted, config.store.kv.retain_word_objects, masks=masks or None)


def _by_boost(
    lexicon: AnyLexicon,
    plan: Plan,
    config: "Config",
    named: str,
    highest: int | None,
    wanted: int,
    passing: PassingMasks,
) -> Part | SeveralParts:
    boost, window = parse_boost(named), config.store.kv.retain_word_objects
    readers = [part.reader for part in parts_of(lexicon)]
    highest = highest_of(readers, boost) if highest is None else highest
    parts = [
        boosted(plan, reader, window, boost, wanted, mask=mask, total=False, highest=highest)
        for reader, mask in zip(readers, passing, strict=True)
    ]
    if isinstance(lexicon, UnitedLexicon):
        return SeveralParts(lexicon.names, dict(enumerate(parts)), wanted, total=False)
    return parts[0]


def shown_keys(groups: Sequence[Groups], kept: Sequence[KeptObject]) -> list[GroupKey | None]:
    """Return the groups as answers show them."""
    return [None if key is None else groups[number].shown(key) for _, (number, _), key in kept]


def count_groups(finder: Finder, answers: PassingMasks) -> CountedGroups:
    """Return the groups of all objects that answer in each bucket."""
    pairs = zip(finder.groups, answers, strict=True)
    return counted_together(groups.count(answer) for groups, answer in pairs if answer is not None)


# -- in an order of its own --------------------------------------------------------------------------------------------


def _hits_in_order(lexicon: AnyLexicon, wanted: Sequence[Wanted], search: Search) -> Hits:
    if not wanted:
        return with_groups(Hits(total=0 if search.total else None), [])
    tag, after = after_of(search)
    behind = places_behind(lexicon, search._replace(after=after), parse_sort(search.sort or NEWEST))
    last = None if tag is None or after is None else (bucket_behind(lexicon, after)[0], tag)
    end = search.offset + search.limit
    finder, kept = best_in_order(lexicon, wanted, search, behind, last, end)
    page = [each for each in kept if is_behind(each[0], behind, each[2], last)][search.offset : end]
    names = in_buckets([at for _, at, _ in page], lambda number, iids: wanted[number].reader.oids(iids))
    total = count_groups(finder, finder.passing).total if search.total else None
    buckets = [lexicon.names[number] for _, (number, _), _ in page] if isinstance(lexicon, UnitedLexicon) else None
    return with_groups(Hits(names, None, total, buckets=buckets), shown_keys(finder.groups, page))


def grouped_by_filter(lexicon: AnyLexicon, search: Search) -> Hits:
    """Return the objects of groups that answer a search without a text, the newest first, and the number of all
    groups.
    """
    wanted = [Wanted(part.reader, None, 0) for part in parts_of(lexicon)]
    return _hits_in_order(lexicon, wanted, search._replace(total=True))


def best_in_order(
    lexicon: AnyLexicon,
    wanted: Sequence[Wanted],
    search: Search,
    behind: Sequence[Place | None],
    last: LastGroup | None,
    count: int,
) -> tuple[Finder, list[KeptObject]]:
    """Return the best object of each group in the order of a search, until `count` of them are behind a place.

    Args:
        behind, last: as in `is_behind`.
    """
    sort, condition = parse_sort(search.sort or NEWEST), condition_of(search.filter)
    answers = [one.under(condition) for one in wanted]

    def find(most: int, passing: PassingMasks) -> list[tuple[Any, At]]:
        rows = [
            (key, number, iid)
            for number, (one, mask) in enumerate(zip(wanted, passing, strict=True))
            if mask is not None
            for iid, key in in_order(one.reader, mask, sort, most, None)
        ]
        rows.sort(key=lambda row: (row[0] is None, -(row[0] or 0), row[1]))
        return [(row, row[1:]) for row in rows[:most]]

    finder = _finder(lexicon, search, list(map(settled, answers)) if search.total else answers, find)
    return finder, best_of_groups(finder, max(count, 1), lambda row, key: is_behind(row, behind, key, last))


def is_behind(
    row: tuple[int | None, int, int], behind: Sequence[Place | None], key: Any, last: LastGroup | None
) -> bool:
    """Return whether an object of an order - its key, its bucket, its IID - is behind a place.

    Args:
        behind: the place in each bucket; None: all are.
        key: the group of the object.
        last: in its bucket, the object at the place itself counts as behind for groups after this one; None: for none.
            In other buckets, no object is at the place, although its IID may be that of one.
    """
    value, number, iid = row
    place = behind[number]
    if place is None:
        return True
    mine, its = ((each is None, -(each or 0), -at) for each, at in ((value, iid), place))
    return mine > its or (mine == its and last is not None and last[0] == number and is_later(key, last[1]))


def is_later(key: GroupKey | None, last: GroupKey | None) -> bool:
    """Return whether a group of an object comes after another one of the same object; no group comes after None."""
    return last is not None and key is not None and str(key) > str(last)


def after_of(search: Search) -> tuple[str | None, str | None]:
    """Return the tag and the object behind which a page begins, or None for each: for the tag if groups are not of
    tags, for the object if the page is the first.

    Raises:
        InvalidArgument: the object has no tag beside it.
    """
    if search.after is None or not parse_group(search.group or "").is_tags:
        return None, search.after
    return split_group(search.after)
