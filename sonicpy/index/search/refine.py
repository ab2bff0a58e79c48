"""Searches with a filter, an order of their own, or facets.

A filter is a mask, through which the same plan is carried out. An order by a value, and facets, need all objects that
answer, as bits.
"""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from sonicpy._native.column_mask import InRange
from sonicpy._native.column_window import ColumnWindow
from sonicpy._native.mask import AllOf, Bits, Mask, NotIn, settled
from sonicpy._native.ordered import best_by_value
from sonicpy._native.plan import Plan
from sonicpy._native.term_mask import matching
from sonicpy._native.terms import Terms
from sonicpy.api.hits import Hits
from sonicpy.arguments import nothing_behind
from sonicpy.bucket_names import split_bucket
from sonicpy.errors import InvalidArgument
from sonicpy.filters.conditions import INT_MAX, INT_MIN, Condition
from sonicpy.filters.grammar import parse
from sonicpy.filters.sorting import NEWEST, SCORE, Sort, parse_boost, parse_sort
from sonicpy.index.search.boost import boosted, highest_of
from sonicpy.index.search.demands import asks_nothing
from sonicpy.index.search.found_hits import hits_of
from sonicpy.index.search.lexicon import Lexicon
from sonicpy.index.search.masks import everybody, mask_of, unmet
from sonicpy.index.search.matching import Matching
from sonicpy.index.search.parts import bind
from sonicpy.index.search.passing_share import share_meeting
from sonicpy.index.search.ranking import AnyLexicon, FoundPart, carry_out, check_together, count_whole, plan_of
from sonicpy.index.search.several import SeveralParts, UnitedLexicon, in_buckets, parts_of
from sonicpy.search import Search
from sonicpy.store.views.bucket_reader import BucketReader, window_count
from sonicpy.values import pack_point

if TYPE_CHECKING:
    from sonicpy.config import Config

NEWEST_IID = 1 << 32
REFUSED = "search.ranking is sonic, or the index is in compat mode: there are no filters, orders and facets"

Place = tuple[int | None, int]
"""The place where a page ended: the key of its last object (None: it has no value) and its IID."""
SortedRow = tuple[str, int | None, float]
"""An object in an order by a value, for JSON: its name; its key, where higher is better (None: no value); its age in
its part, from 0 (the oldest) to 1.
"""


class Wanted(NamedTuple):
    """The objects of a bucket that answer a query, before its filter.

    Attributes:
        reader: the reader of the bucket.
        plan: the plan of the text; None: it is empty, and all objects answer.
        window: only this many objects of each word are read, the newest ones; 0: all.
    """

    reader: BucketReader
    plan: Plan | None
    window: int

    def under(self, condition: Condition | None) -> Mask:
        """Return the objects that answer and meet a condition."""
        if self.plan is None:
            return everybody(self.reader, condition)
        mask = None if condition is None else mask_of(self.reader, condition)
        return matching(bind(self.plan, self.reader, self.window, mask=mask))


class Passing(NamedTuple):
    """The objects that pass a filter, for EXPLAIN.

    Attributes:
        masks: the mask of each bucket; None: there is no filter.
        unmet: the tags and names of values of the filter that no object has.
    """

    masks: Sequence[Mask] | None
    unmet: tuple[str, ...] = ()


PASSING_ALL = Passing(None)


def passing_of(lexicon: AnyLexicon, search: Search, config: "Config") -> Passing:
    """Return the objects that pass the filter of a search."""
    condition = condition_of(search.filter)
    if condition is None:
        return PASSING_ALL
    check_ranking(config)
    check_together(lexicon, config)
    first, *others = (list(unmet(part.reader, condition)) for part in parts_of(lexicon))
    return Passing(masks_of(lexicon, condition), tuple(each for each in first if all(each in one for one in others)))


def masks_of(lexicon: AnyLexicon, condition: Condition | None) -> list[Mask] | None:
    """Return the mask of a filter in each bucket; None: there is no filter."""
    return None if condition is None else [mask_of(part.reader, condition) for part in parts_of(lexicon)]


def share_passing(lexicon: AnyLexicon, condition: Condition) -> float:
    """Return the approximate share of the objects that meet a condition, in the bucket with the largest share."""
    return max(share_meeting(part.reader, condition) for part in parts_of(lexicon))


def condition_of(filter: str | None) -> Condition | None:
    """Return the condition of a filter; None: there is none."""
    return None if filter is None else parse(filter)


def wanted_of(
    lexicon: AnyLexicon, search: Search, terms: Terms, config: "Config", matching: Matching | None
) -> list[Wanted]:
    """Return the objects of each bucket that answer a search, without its filter; an empty list if the text of the
    search has no words.
    """
    check_ranking(config)
    check_together(lexicon, config)
    plan = None
    if search.has_words:
        if not len(terms) and asks_nothing(terms):
            return []
        plan = plan_of(lexicon, terms, config, matching)
    return [Wanted(part.reader, plan, config.store.kv.retain_word_objects) for part in parts_of(lexicon)]


def refined(lexicon: AnyLexicon, terms: Terms, config: "Config", search: Search, matching: Matching | None) -> Hits:
    """Return the answer to a search with a filter or an order of its own."""
    if not search.is_by_score:
        wanted = wanted_of(lexicon, search, terms, config, matching)
        if not wanted:
            return Hits(total=0 if search.total else None)
        return _hits_in_order(lexicon, wanted, search)
    if not len(terms) and asks_nothing(terms):
        check_by_score(search, config)
        return Hits(total=0, whole=0) if search.total else Hits()
    best = best_by_score(lexicon, terms, config, search, matching, search.offset + search.limit)
    whole = count_whole(lexicon, best.plan, best.part, config, best.masks)
    return hits_of(lexicon, best.plan, best.part, terms, config, search, whole, best.most)


class Best(NamedTuple):
    """The best objects by score that pass a filter.

    Attributes:
        masks: the mask of each bucket; None: there is no filter.
        most: the upper bound of factors of a score.
    """

    plan: Plan
    part: "FoundPart"
    masks: Sequence[Mask] | None
    most: float = 1.0


def best_by_score(
    lexicon: AnyLexicon, terms: Terms, config: "Config", search: Search, matching: Matching | None, count: int
) -> Best:
    """Return the best `count` objects of a search by score, with its filter and its boost."""
    check_by_score(search, config)
    condition = condition_of(search.filter)
    masks = masks_of(lexicon, condition)
    if search.boost is None:
        share = None if condition is None else partial(share_passing, lexicon, condition)
        plan, part = carry_out(lexicon, terms, config, matching, count, total=search.total, masks=masks, share=share)
        return Best(plan, part, masks)
    boost, window = parse_boost(search.boost), config.store.kv.retain_word_objects
    check_boost(config)
    check_together(lexicon, config)
    plan = plan_of(lexicon, terms, config, matching)
    readers = [each.reader for each in parts_of(lexicon)]
    highest = highest_of(readers, boost)
    passing: Sequence[Mask | None] = masks or [None] * len(readers)
    parts = [
        boosted(plan, reader, window, boost, count, mask=mask, total=search.total, highest=highest)
        for reader, mask in zip(readers, passing, strict=True)
    ]
    found: FoundPart = parts[0]
    if isinstance(lexicon, UnitedLexicon):
        found = SeveralParts(lexicon.names, dict(enumerate(parts)), count, total=search.total)
    return Best(plan, found, masks, boost.most)


def check_by_score(search: Search, config: "Config") -> None:
    """Raise InvalidArgument if the ranking, or an order by score, does not offer an option of a search."""
    check_ranking(config)
    check_after(search)


def check_boost(config: "Config") -> None:
    """Raise InvalidArgument if the ranking has no scores that a value could raise."""
    if config.search.ranking != "bm25":
        raise InvalidArgument(f"boost is given, but search.ranking is {config.search.ranking}; allowed is it with bm25")


def check_spread(search: Search, config: "Config") -> None:
    """Raise InvalidArgument if a search by score has an option that a spread bucket does not offer."""
    check_after(search)
    if search.boost is not None:
        check_boost(config)


def check_ranking(config: "Config") -> None:
    """Raise InvalidArgument if the ranking or the mode has no filters."""
    if config.search.ranking == "sonic" or config.server.compat == "sonic":
        raise InvalidArgument(REFUSED)


def check_after(search: Search) -> None:
    """Raise InvalidArgument if a search by score names an object behind which the page begins."""
    if search.after is not None:
        raise InvalidArgument("after needs a sort other than score; allowed is an object of a search with such a sort")


def _hits_in_order(lexicon: AnyLexicon, wanted: Sequence[Wanted], search: Search) -> Hits:
    """Return a page in an order by a value. Equal values come in the order of the buckets, then newest first."""
    sort, condition, end = parse_sort(search.sort or NEWEST), condition_of(search.filter), search.offset + search.limit
    if isinstance(lexicon, Lexicon):
        (behind,) = places_behind(lexicon, search, sort)
        found = wanted[0].under(condition)
        if search.total:
            found = settled(found)
        iids = iids_in_order(lexicon.reader, found, sort, end, behind)
        return Hits(lexicon.reader.oids(iids[search.offset :]), None, found.total() if search.total else None)
    best: list[tuple[int | None, int, int]] = []
    total = 0
    for number, (one, behind) in enumerate(zip(wanted, places_behind(lexicon, search, sort), strict=True)):
        found = one.under(condition)
        if search.total:
            found = settled(found)
            total += found.total()
        best += [(key, number, iid) for iid, key in in_order(one.reader, found, sort, end, behind)]
    best.sort(key=lambda row: (row[0] is None, -(row[0] or 0), row[1]))  # of one bucket, they are in their order
    places = [row[1:] for row in best[search.offset : end]]
    names = in_buckets(places, lambda number, iids: wanted[number].reader.oids(iids))
    buckets = [lexicon.names[number] for number, _ in places]
    return Hits(names, None, total if search.total else None, buckets=buckets)


def places_behind(lexicon: AnyLexicon, search: Search, sort: Sort) -> Sequence[Place | None]:
    """Return, for each bucket, the place behind which a page begins; None: the page is the first one.

    Raises:
        InvalidArgument: there is no such object.
    """
    parts = parts_of(lexicon)
    if search.after is None:
        return [None] * len(parts)
    number, name = bucket_behind(lexicon, search.after)
    place = None if number is None else place_of(parts[number].reader, name, sort)
    if number is None or place is None:
        raise nothing_behind(search.bucket, search.after, is_one=not search.buckets)
    before, after = (place[0], 0), (place[0], NEWEST_IID)  # equal values: none of an earlier bucket, all of a later one
    return [*[before] * number, place, *[after] * (len(parts) - number - 1)]


def bucket_behind(lexicon: AnyLexicon, after: str) -> tuple[int | None, str]:
    """Return the place of the bucket of an object behind which a page begins, and the name of the object there; None:
    the bucket is not searched.

    Args:
        after: the object, as the search names it.
    """
    if not isinstance(lexicon, UnitedLexicon):
        return 0, after
    bucket, name = split_bucket(after)
    return lexicon.names.index(bucket) if bucket in lexicon.names else None, name


def in_order(
    reader: BucketReader, found: Mask, sort: Sort, wanted: int, behind: Place | None
) -> list[tuple[int, int | None]]:
    """Return (IID, key) of the best `wanted` objects: the highest keys first; those without a value last, the newest
    first.

    Args:
        behind: only objects behind this place; None: all.
    """
    windows = _windows(reader, sort)
    key, below = (None, NEWEST_IID) if behind is None else behind
    if windows is None:
        return [(iid, None) for iid in found.newest(wanted, below if key is None else NEWEST_IID)]
    best: list[tuple[int, int | None]] = []
    if behind is None or key is not None:
        after = None if key is None else (key, below)
        best += best_by_value(found, windows, wanted, descending=sort.descending, point=_point(sort), after=after)
        below = NEWEST_IID
    if len(best) < wanted:
        every = InRange(found.count, windows, INT_MIN, INT_MAX)
        without = AllOf(found.count, [found, NotIn(found.count, every)])
        best += [(iid, None) for iid in without.newest(wanted - len(best), below)]
    return best


def iids_in_order(reader: BucketReader, found: Mask, sort: Sort, wanted: int, behind: Place | None) -> list[int]:
    """Return only the IIDs of the result of `in_order`."""
    if behind is None and sort.name == NEWEST:
        return found.newest(wanted)
    return [iid for iid, _ in in_order(reader, found, sort, wanted, behind)]


def place_of(reader: BucketReader, name: str, sort: Sort) -> Place | None:
    """Return the place of an object in an order; None: there is no such object."""
    iid = reader.number_of(name)
    if iid is None:
        return None
    windows = _windows(reader, sort)
    if windows is None:
        return None, iid
    only = Bits(window_count(reader), [iid])
    keys = best_by_value(only, windows, 1, descending=sort.descending, point=_point(sort))
    return (keys[0][1] if keys else None), iid


def place_by_age(reader: BucketReader, key: int | None, age: float, name: str) -> Place:
    """Return the place from which a page of this part continues behind an object of another part.

    Args:
        key, age, name: those of the object. Objects of equal age are in the order of their names.
    """
    count = reader.state.next_iid
    below = round(age * count)
    if not count or below / count != age:
        return key, below if not count or below / count > age else below + 1
    if below in reader.existing([below]) and reader.oids([below])[0] > name:
        return key, below + 1
    return key, below


def sorted_rows(wanted: Wanted, search: Search, behind: Place | None) -> tuple[list[SortedRow], int | None]:
    """Return the best objects of a part in the order of SORT, and the number of all if the search asks for it."""
    reader = wanted.reader
    found = wanted.under(condition_of(search.filter))
    if search.total:
        found = settled(found)
    best = in_order(reader, found, parse_sort(search.sort or NEWEST), search.offset + search.limit, behind)
    names, count = reader.oids([iid for iid, _ in best]), reader.state.next_iid
    rows = [(name, key, iid / count) for name, (iid, key) in zip(names, best, strict=True)]
    return rows, found.total() if search.total else None


def merge_sorted(parts: list[list[SortedRow]], limit: int, offset: int) -> list[str]:
    """Return the names of `limit` of the best objects of all parts, from place `offset` on."""
    rows = [row for part in parts for row in part]
    rows.sort(key=lambda row: (row[1] is None, -(row[1] or 0), -row[2], row[0]))
    return [name for name, _, _ in rows[offset : offset + limit]]


def _windows(reader: BucketReader, sort: Sort) -> list[ColumnWindow | None] | None:
    """Return the values that order objects, by window of IIDs; None: values do not decide, or no object has one."""
    if sort.name in (NEWEST, SCORE):
        return None
    columns = reader.columns
    column = None if columns is None else columns.names.get(sort.name)
    if columns is None or column is None or (sort.point is not None and not columns.is_point(column)):
        return None
    return columns.windows(column)


def _point(sort: Sort) -> int | None:
    return None if sort.point is None else pack_point(*sort.point)
