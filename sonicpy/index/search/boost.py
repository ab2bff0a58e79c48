"""BOOST: scores times a factor that rises with a value of the object. Exact, without a look at every object.

The best objects by score are asked for until no other one can be among the best by score times factor: the largest
factor bounds the rise of a lower score (threshold algorithm: Fagin, Lotem and Naor, "Optimal aggregation algorithms
for middleware", 2003, with one sorted list). Kinds of matches stay before scores.
"""

from collections.abc import Callable
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
    plan: Plan, reader: BucketReader, window: int, boost: Boost, wanted: int, *, mask: Mask | None, total: bool
) -> Part:
    """Return the best `wanted` objects by score times factor, these as scores, and the number of all if `total`."""
    factors = factors_of(reader, boost)
    count = wanted
    while True:
        query = bind(plan, reader, window, mask=mask)
        part = find(query, count, total=total)
        scored = list(zip(part.found, factors.of([iid for iid, _, _ in part.found]), strict=True))
        best = sorted(((iid, kind, score * factor) for (iid, kind, score), factor in scored), key=_rank)[:wanted]
        if len(part.found) < count or not best or _is_settled(best, part.found[-1], factors.most):
            return Part(query, best, part.total)
        count *= MORE


def factors_of(reader: BucketReader, boost: Boost) -> Factors:
    """Return the factors of the objects of a bucket: 1 without a value."""
    columns = reader.columns
    column = None if columns is None else columns.names.get(boost.name)
    if columns is None or column is None:
        return Factors(lambda iids: [1.0] * len(iids), 1.0)
    highest = max(window.highest for window in columns.windows(column) if window is not None)

    def factor(value: int | None) -> float:
        if value is None:
            return 1.0
        if boost.half_life is not None:
            return 1.0 + float(2.0 ** -min((highest - value) / boost.half_life, 1_000.0))
        return 1.0 + log2(1 + max(value, 0)) / BOOST_DIVISOR

    return Factors(lambda iids: list(map(factor, columns.values_of(column, iids))), factor(highest))


def _rank(found: Found) -> tuple[int, float, int]:
    iid, kind, score = found
    return kind, -score, -iid


def _is_settled(best: list[Found], last: Found, most: float) -> bool:
    """Return whether no object behind the last one that was found can be better than the worst of the best."""
    _, kind, score = best[-1]
    return kind < last[1] or (kind == last[1] and score > last[2] * most)
