"""BOOST: scores times a factor that rises with a value of the object. Exact, without a look at every object.

The best objects by score are asked for until no other one can be among the best by score times factor: the largest
factor bounds the rise of a lower score (threshold algorithm: Fagin, Lotem and Naor, "Optimal aggregation algorithms
for middleware", 2003, with one sorted list). Kinds of matches stay before scores.
"""

from collections.abc import Callable, Iterable
from math import log2
from typing import NamedTuple

from sonicpy._native.mask import Mask
from sonicpy._native.plan import Plan
from sonicpy.filters.sorting import BOOST_DIVISOR, Boost
from sonicpy.index.search.parts import Found, Part, bind, find
from sonicpy.store.views.bucket_reader import BucketReader

MORE = 4
"""How many times as many objects are asked for next."""


class Factors(NamedTuple):
    """The factors of objects.

    Attributes:
        of: returns the factor of each of some objects, by IID.
        most: no factor is larger.
    """

    of: Callable[[list[int]], list[float]]
    most: float


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
    """Return the best `wanted` objects by score times factor, these as scores, and the number of all if `total`.

    Args:
        highest: as of `factors_of`.
    """
    factors = factors_of(reader, boost, highest)
    count = wanted
    while True:
        query = bind(plan, reader, window, mask=mask)
        part = find(query, count, total=total)
        scored = list(zip(part.found, factors.of([iid for iid, _, _ in part.found]), strict=True))
        best = sorted(((iid, kind, score * factor) for (iid, kind, score), factor in scored), key=_rank)[:wanted]
        if len(part.found) < count or not best or _is_settled(best, part.found[-1], factors.most):
            return Part(query, best, part.total)
        count *= MORE


def highest_of(readers: Iterable[BucketReader], boost: Boost) -> int | None:
    """Return the highest value of some buckets; None: no object has one."""
    found = (reader.columns for reader in readers)
    named = ((columns, columns.names[boost.name]) for columns in found if columns and boost.name in columns.names)
    windows = (window for columns, column in named for window in columns.windows(column))
    return max((window.highest for window in windows if window is not None), default=None)


def factors_of(reader: BucketReader, boost: Boost, highest: int | None = None) -> Factors:
    """Return the factors of the objects of a bucket: 1 without a value.

    Args:
        highest: the value from which ages are counted; None: the highest one of the bucket.
    """
    columns, newest = reader.columns, highest_of([reader], boost)
    if columns is None or newest is None:
        return Factors(lambda iids: [1.0] * len(iids), 1.0)
    column, start = columns.names[boost.name], newest if highest is None else highest

    def factor(value: int | None) -> float:
        if value is None:
            return 1.0
        if boost.half_life is not None:
            return 1.0 + float(2.0 ** -min((start - value) / boost.half_life, 1_000.0))
        return 1.0 + log2(1 + max(value, 0)) / BOOST_DIVISOR

    return Factors(lambda iids: list(map(factor, columns.values_of(column, iids))), factor(newest))


def _rank(found: Found) -> tuple[int, float, int]:
    iid, kind, score = found
    return kind, -score, -iid


def _is_settled(best: list[Found], last: Found, most: float) -> bool:
    """Return whether no object behind the last one that was found can be better than the worst of the best."""
    _, kind, score = best[-1]
    return kind < last[1] or (kind == last[1] and score > last[2] * most)
