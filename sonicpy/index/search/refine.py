"""Searches with a filter, an order of their own, or facets.

A filter is a mask, through which the same plan is carried out. An order by a value, and facets, look at all objects
that answer, as bits.
"""

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
from sonicpy.errors import InvalidArgument
from sonicpy.filters.conditions import INT_MAX, INT_MIN, Condition
from sonicpy.filters.grammar import parse
from sonicpy.filters.sorting import NEWEST, SCORE, Sort, parse_boost, parse_sort
from sonicpy.index.search.boost import boosted
from sonicpy.index.search.lexicon import Lexicon
from sonicpy.index.search.masks import everybody, mask_of, unmet, window_count
from sonicpy.index.search.matching import Matching
from sonicpy.index.search.parts import Part, bind, merge
from sonicpy.index.search.ranking import carry_out, count_whole, plan_of
from sonicpy.search import Search
from sonicpy.store.views.bucket_reader import BucketReader
from sonicpy.values import pack_point

if TYPE_CHECKING:
    from sonicpy.config import Config

NEWEST_IID = 1 << 32
REFUSED = "search.ranking is sonic, or the index is in compat mode: there are no filters, orders and facets"

Place = tuple[int | None, int]
"""Where a page ended: the key of its last object, None if it has no value; and its IID."""
SortedRow = tuple[str, int | None, float]
"""An object in an order by a value, for JSON: its name; its key, the higher the better, None: it has no value; its age
in its part, from 0 (the oldest) to 1."""


class Wanted(NamedTuple):
    """The objects that answer, in a bucket.

    Attributes:
        plan: of the text; None: it is empty, and all objects answer.
        window: how many of its newest objects each word finds; 0: all.
    """

    reader: BucketReader
    plan: Plan | None
    window: int

    def under(self, condition: Condition | None) -> Mask:
        """Return all of those that meet a condition, too."""
        if self.plan is None:
            return everybody(self.reader, condition)
        mask = None if condition is None else mask_of(self.reader, condition)
        return matching(bind(self.plan, self.reader, self.window, mask=mask))


class Passing(NamedTuple):
    """The objects that pass a filter, for EXPLAIN.

    Attributes:
        mask: None: there is no filter.
        unmet: the tags and names of values of the filter that no object has.
    """

    mask: Mask | None
    unmet: tuple[str, ...] = ()


PASSING_ALL = Passing(None)


def passing_of(reader: BucketReader, search: Search, config: "Config") -> Passing:
    """Return the objects that pass the filter of a search."""
    condition = condition_of(search.filter)
    if condition is None:
        return PASSING_ALL
    check_ranking(config)
    return Passing(mask_of(reader, condition), tuple(unmet(reader, condition)))


def condition_of(filter: str | None) -> Condition | None:
    """Return the condition of a filter; None: there is none."""
    return None if filter is None else parse(filter)


def is_by_score(search: Search) -> bool:
    """Return whether the objects of an answer are ordered by their scores."""
    return bool(search.text.strip()) and (search.sort is None or parse_sort(search.sort).name == SCORE)


def wanted_of(
    lexicon: Lexicon, search: Search, terms: Terms, config: "Config", matching: Matching | None
) -> Wanted | None:
    """Return the objects that answer a search, without its filter; None: its text has no words, so none do."""
    check_ranking(config)
    window = config.store.kv.retain_word_objects
    if not search.text.strip():
        return Wanted(lexicon.reader, None, window)
    return Wanted(lexicon.reader, plan_of(lexicon, terms, config, matching), window) if len(terms) else None


def refined(lexicon: Lexicon, terms: Terms, config: "Config", search: Search, matching: Matching | None) -> Hits:
    """Return the answer to a search with a filter or an order of its own."""
    if not is_by_score(search):
        wanted = wanted_of(lexicon, search, terms, config, matching)
        if wanted is None:
            return Hits(total=0 if search.total else None)
        names, total = _page(wanted, search)
        return Hits(names, None, total)
    check_ranking(config)
    check_after(search)
    if not len(terms):
        return Hits(total=0, whole=0) if search.total else Hits()
    condition = condition_of(search.filter)
    mask = None if condition is None else mask_of(lexicon.reader, condition)
    count = search.offset + search.limit
    if search.boost is not None:
        return _boosted(lexicon, terms, config, search, matching, mask)
    plan, part = carry_out(lexicon, terms, config, matching, count, total=search.total, mask=mask)
    if not isinstance(part, Part):
        raise InvalidArgument(REFUSED)
    page = merge([part], plan, search.limit, search.offset)
    whole = count_whole(lexicon, plan, part, config, mask)
    return Hits(page.names, None if config.search.ranking == "newest" else page.scores, page.total, whole)


def _boosted(
    lexicon: Lexicon, terms: Terms, config: "Config", search: Search, matching: Matching | None, mask: Mask | None
) -> Hits:
    boost, window = parse_boost(search.boost or ""), config.store.kv.retain_word_objects
    check_boost(config)
    plan = plan_of(lexicon, terms, config, matching)
    count = search.offset + search.limit
    part = boosted(plan, lexicon.reader, window, boost, count, mask=mask, total=search.total)
    page = merge([part], plan, search.limit, search.offset, boost.most)
    return Hits(page.names, page.scores, page.total, count_whole(lexicon, plan, part, config, mask))


def check_boost(config: "Config") -> None:
    """Raise InvalidArgument if the ranking has no scores that a value could raise."""
    if config.search.ranking != "bm25":
        raise InvalidArgument(f"boost is given, but search.ranking is {config.search.ranking}; allowed is it with bm25")


def check_spread(search: Search, config: "Config") -> None:
    """Raise InvalidArgument if a search by score needs more than a spread bucket offers."""
    check_after(search)
    if search.boost is None:
        return
    check_boost(config)
    if parse_boost(search.boost).half_life is not None:
        raise InvalidArgument(
            "boost has a half-life, which a spread bucket does not offer; allowed is a name of values"
        )


def check_ranking(config: "Config") -> None:
    """Raise InvalidArgument if the ranking or the mode has no filters."""
    if config.search.ranking == "sonic" or config.server.compat == "sonic":
        raise InvalidArgument(REFUSED)


def check_after(search: Search) -> None:
    """Raise InvalidArgument if a page by score is to begin behind an object."""
    if search.after is not None:
        raise InvalidArgument("after is given without sort; allowed is a page behind an object of a search with sort")


def _page(wanted: Wanted, search: Search) -> tuple[list[str], int | None]:
    reader, sort = wanted.reader, parse_sort(search.sort or NEWEST)
    behind = None
    if search.after is not None:
        behind = place_of(reader, search.after, sort)
        if behind is None:
            raise nothing_behind(search.bucket, search.after)
    found = wanted.under(condition_of(search.filter))
    if search.total:
        found = settled(found)
    best = in_order(reader, found, sort, search.offset + search.limit, behind)
    return reader.oids([iid for iid, _ in best[search.offset :]]), found.total() if search.total else None


def in_order(
    reader: BucketReader, found: Mask, sort: Sort, wanted: int, behind: Place | None
) -> list[tuple[int, int | None]]:
    """Return (IID, key) of the best objects: the highest keys first; those without a value last, the newest first.

    Args:
        behind: only objects behind this place; None: all.
    """
    windows = _windows(reader, sort)
    if windows is None:
        return [(iid, None) for iid in found.newest(wanted, NEWEST_IID if behind is None else behind[1])]
    best: list[tuple[int, int | None]] = []
    key, below = (None, NEWEST_IID) if behind is None else behind
    if behind is None or key is not None:
        after = None if key is None else (key, below)
        best += best_by_value(found, windows, wanted, descending=sort.descending, point=_point(sort), after=after)
        below = NEWEST_IID
    if len(best) < wanted:
        every = InRange(found.count, windows, INT_MIN, INT_MAX)
        without = AllOf(found.count, [found, NotIn(found.count, every)])
        best += [(iid, None) for iid in without.newest(wanted - len(best), below)]
    return best


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
    """Return the place at which a page of this part goes on behind an object of another part.

    Args:
        key, age, name: of the object. Objects of equal age are in the order of their names.
    """
    count = reader.state.next_iid
    below = round(age * count)
    if not count or below / count != age:
        return key, below if not count or below / count > age else below + 1
    if below in reader.existing([below]) and reader.oids([below])[0] > name:
        return key, below + 1
    return key, below


def sorted_rows(wanted: Wanted, search: Search, behind: Place | None) -> tuple[list[SortedRow], int | None]:
    """Return the best objects of a part by an order of its own, and the number of all if the search asks for it."""
    reader = wanted.reader
    found = wanted.under(condition_of(search.filter))
    if search.total:
        found = settled(found)
    best = in_order(reader, found, parse_sort(search.sort or NEWEST), search.offset + search.limit, behind)
    names, count = reader.oids([iid for iid, _ in best]), reader.state.next_iid
    rows = [(name, key, iid / count) for name, (iid, key) in zip(names, best, strict=True)]
    return rows, found.total() if search.total else None


def merge_sorted(parts: list[list[SortedRow]], limit: int, offset: int) -> list[str]:
    """Return the names of a page of the best objects of all parts."""
    rows = [row for part in parts for row in part]
    rows.sort(key=lambda row: (row[1] is None, -(row[1] or 0), -row[2], row[0]))
    return [name for name, _, _ in rows[offset : offset + limit]]


def _windows(reader: BucketReader, sort: Sort) -> list[ColumnWindow | None] | None:
    """Return the values that order objects; None: no object has one."""
    if sort.name in (NEWEST, SCORE):
        return None
    columns = reader.columns
    column = None if columns is None else columns.names.get(sort.name)
    if columns is None or column is None or (sort.point is not None and not columns.is_point(column)):
        return None
    return columns.windows(column)


def _point(sort: Sort) -> int | None:
    return None if sort.point is None else pack_point(*sort.point)
