"""BOOST: scores times a factor that rises with a value of the object. The result is exact, though few objects are
examined.

The best objects by score are asked for until no other one can be among the best by score times factor: the largest
factor bounds the rise of a lower score (threshold algorithm: Fagin, Lotem and Naor, "Optimal aggregation algorithms
for middleware", 2003, with one sorted list). Kinds of matches stay before scores.

Where many scores are alike, that would ask for very many objects. Then those of the highest values are asked for first:
ranges of values are halved until few objects of one are left, and the factor of the highest value bounds each.
"""

from collections.abc import Callable, Iterable
from math import sqrt
from typing import NamedTuple

from sonicpy._native.column_mask import InRange
from sonicpy._native.column_window import ColumnWindow
from sonicpy._native.mask import AllOf, Mask, NotIn
from sonicpy._native.plan import Plan
from sonicpy._native.query_state import QueryState
from sonicpy.filters.sorting import Boost
from sonicpy.index.search.parts import Found, Part, bind, find
from sonicpy.store.views.bucket_reader import BucketReader, window_count

MORE = 4
"""The factor by which the number of objects to ask for grows with each try."""
FEW = 64
"""The fewest objects to ask for in one try, by score alone or in a range of values; more if more are wanted."""
SLACK = 1.0 - 1e-9
"""A factor that lowers a score by more than any rounding error."""


class Factors(NamedTuple):
    """The factors of objects.

    Attributes:
        of: returns the factors of objects, given by their IIDs.
        most: the upper bound of all factors.
        factor: returns the factor of a value, which rises with it; None: the object has no value, and its factor is
            that of the lowest value.
        windows: the values, by window of IIDs; empty: no object has a value.
    """

    of: Callable[[list[int]], list[float]]
    most: float
    factor: Callable[[int | None], float] = lambda value: 1.0
    windows: list[ColumnWindow | None] = []  # noqa: RUF012 - never changed


def boosted(
    plan: Plan,
    reader: BucketReader,
    window: int,
    boost: Boost,
    wanted: int,
    *,
    mask: Mask | None,
    total: bool,
    highest: int | None = None,
) -> Part:
    """Return the best `wanted` objects by score times factor, with these products as scores, and the number of all
    objects that answer if `total`.

    Args:
        mask: the objects that pass a filter; None: all.
        highest: as in `factors_of`.
    """
    factors = factors_of(reader, boost, highest)
    query = bind(plan, reader, window, mask=mask)
    best, count = _Best(factors, wanted), wanted
    part = first = best.ask(query, count, total=total)
    while factors.windows and not best.is_over(part, count, factors.most):  # else all factors are the same
        if count >= max(FEW, wanted):
            _ask_by_value(best, lambda own: bind(plan, reader, window, mask=own), reader, mask)
            break
        count *= MORE
        part = best.ask(bind(plan, reader, window, mask=mask), count)
    return Part(query, best.found, first.total)


class _Best:
    """The best objects by score times factor.

    Args:
        wanted: the number of objects to keep.
    """

    def __init__(self, factors: Factors, wanted: int) -> None:
        self.factors = factors
        self.wanted = wanted
        self.found: list[Found] = []
        self._seen: set[int] = set()

    def ask(self, query: QueryState, count: int, most: float | None = None, *, total: bool = False) -> Part:
        """Take in the best `count` objects of a query by score alone, and return them.

        Args:
            most: the upper bound of the factors of its objects, by which low scores are left out; None: leave out none.
            total: whether to count all objects that answer, too.
        """
        floor = None
        if most is not None and 0 < self.wanted <= len(self.found):
            _, kind, score = self.found[-1]
            floor = (kind, score / most * SLACK)
        part = find(query, count, total=total, floor=floor)
        new = [one for one in part.found if one[0] not in self._seen]
        self._seen.update(iid for iid, _, _ in new)
        factors = self.factors.of([iid for iid, _, _ in new])
        scored = ((iid, kind, score * factor) for (iid, kind, score), factor in zip(new, factors, strict=True))
        self.found = sorted([*self.found, *scored], key=_rank)[: self.wanted]
        return part

    def is_over(self, part: Part, count: int, most: float) -> bool:
        """Return whether no further object of a query can be among the best.

        Args:
            part: its best `count` objects by score.
            most: the upper bound of the factors of its objects.
        """
        return len(part.found) < count or not self.found or _is_settled(self.found, part.found[-1], most)


def _ask_by_value(best: _Best, query_of: Callable[[Mask], QueryState], reader: BucketReader, mask: Mask | None) -> None:
    """Take in the best objects of a query, those of the highest values first.

    Args:
        query_of: returns the query for the objects of a mask.
        mask: the objects that pass a filter; None: all.
    """
    factors, count, windows = best.factors, max(FEW, best.wanted), window_count(reader)
    held = [window for window in factors.windows if window is not None]

    def query_within(own: Mask) -> QueryState:
        return query_of(own if mask is None else AllOf(windows, [mask, own]))

    whole = min(window.lowest for window in held), max(window.highest for window in held)
    ranges = [whole]
    while ranges:
        low, high = ranges.pop()
        most = factors.factor(high)
        part = best.ask(query_within(InRange(windows, factors.windows, low, high)), count, most)
        if not best.is_over(part, count, most) and factors.factor(low) < most:
            middle = _middle(factors, low, high)
            ranges += [(low, middle), (middle + 1, high)]
    best.ask(query_within(NotIn(windows, InRange(windows, factors.windows, *whole))), count, factors.factor(None))


def _middle(factors: Factors, low: int, high: int) -> int:
    """Return the value below `high` whose factor is about halfway between the factors of `low` and `high`."""
    middle = (factors.factor(low) + factors.factor(high)) / 2
    first, last = low, high - 1
    while first < last:
        value = (first + last + 1) // 2
        if factors.factor(value) <= middle:
            first = value
        else:
            last = value - 1
    return first


def highest_of(readers: Iterable[BucketReader], boost: Boost) -> int | None:
    """Return the highest value in some buckets under the name that a boost gives; None: no object has one."""
    found = (reader.columns for reader in readers)
    named = ((columns, columns.names[boost.name]) for columns in found if columns and boost.name in columns.names)
    windows = (window for columns, column in named for window in columns.windows(column))
    return max((window.highest for window in windows if window is not None), default=None)


def factors_of(reader: BucketReader, boost: Boost, highest: int | None = None) -> Factors:
    """Return the factors of the objects of a bucket. IEEE 754 rounds square roots alike on all machines.

    Args:
        highest: the value to which others are compared; None: the highest one of the bucket.
    """
    columns, own = reader.columns, highest_of([reader], boost)
    start = own if highest is None else highest
    if start is None:
        return Factors(lambda iids: [1.0] * len(iids), 1.0)
    most = 1.0 + max(start, 0)

    def factor(value: int | None) -> float:
        if boost.half_life is None:
            root = sqrt(sqrt((1.0 + max(value or 0, 0)) / most))
            return root * sqrt(root)
        if value is None:
            return 1.0
        return 1.0 + float(2.0 ** -min((start - value) / boost.half_life, 1_000.0))

    if columns is None or own is None:
        lowest = factor(None)
        return Factors(lambda iids: [lowest] * len(iids), lowest, factor)
    column, values = columns.names[boost.name], columns.values_of
    return Factors(lambda iids: list(map(factor, values(column, iids))), factor(own), factor, columns.windows(column))


def _rank(found: Found) -> tuple[int, float, int]:
    iid, kind, score = found
    return kind, -score, -iid


def _is_settled(best: list[Found], last: Found, most: float) -> bool:
    """Return whether no object behind the last one that was found can be better than the worst of the best: behind a
    score of 0 all products are 0, and ties are in order already.

    Args:
        best: the best objects, by score times factor.
        last: the last object found, by score alone.
        most: the upper bound of the factors of the objects of the query.
    """
    _, kind, score = best[-1]
    return kind < last[1] or (kind == last[1] and (not last[2] or score > last[2] * most))
