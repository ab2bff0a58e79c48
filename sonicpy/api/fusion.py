"""Fusion: merges hits by words with hits of another index, such as one of vectors, by the sum of their scores."""

import sys
from collections.abc import Iterable, Iterator, Mapping
from math import inf, isfinite
from typing import Any

from sonicpy.api.hits import Hits
from sonicpy.arguments import number_of, plain_scalar
from sonicpy.errors import InvalidArgument
from sonicpy.ids import object_name, shown, shown_part

LARGEST = sys.float_info.max
Others = Mapping[Any, float] | Iterable[tuple[Any, float]]


def fuse(hits: Hits, others: Others, *, weight: float = 0.5, limit: int | None = None) -> Hits:
    """Return the objects of hits and of others, ordered by the score of the hit plus `weight` times the other score.

    The fraction of a hit's score is its share of the best possible score; the other scores should be of that size, too,
    such as cosines. A missing score counts as 0. Among equal sums, hits come first.

    Args:
        hits: the result of `query`, with scores; ask for more than are shown.
        others: (object, score) pairs, or a mapping of objects to scores.
        weight: the weight of the other scores, from 0 on.
        limit: the most objects; None: all.

    Raises:
        InvalidArgument: the hits have no scores, or a name twice; a sum is not finite; or an argument is not allowed.
    """
    if not isinstance(hits, Hits):
        raise InvalidArgument(f"hits is {shown(hits)}; allowed are hits of a query")
    scores = hits.scores if hits else []  # a search that finds nothing may leave them out
    if scores is None:
        raise InvalidArgument("hits have no scores: the server or its ranking gives none; allowed are hits with scores")
    weight = plain_scalar(weight)
    if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 <= weight <= LARGEST:
        raise InvalidArgument(f"weight is {shown(weight)}; allowed are finite numbers from 0 on")
    if limit is not None:
        number_of("limit", limit)
    sums = dict(zip(hits.objects, scores, strict=True))
    if len(sums) < len(scores):
        raise InvalidArgument("hits have a name twice, of several buckets or groups; allowed are different names")
    for name, score in _pairs(others):
        oid = object_name(name)
        sums[oid] = sums.get(oid, 0.0) + weight * score
        if not isfinite(sums[oid]):
            raise InvalidArgument(
                f"the score of {shown(oid)} is no finite number; allowed are smaller scores or weights"
            )
    order = sorted(sums, key=lambda oid: -sums[oid])[:limit]
    return Hits(order, [sums[oid] for oid in order])


def _pairs(others: Any) -> Iterator[tuple[Any, float]]:
    """Yield the objects and scores of others. Raises InvalidArgument for a member that is not a pair of an object and a
    score.
    """
    if isinstance(others, str) or not isinstance(others, Iterable):
        raise InvalidArgument(f"others is {shown(others)}; allowed are (object, score) pairs, and a dict of scores")
    for place, pair in enumerate(others.items() if hasattr(others, "items") else others):
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise InvalidArgument(f"others has {shown_part(pair)} at {place}; allowed are (object, score) pairs")
        yield pair[0], _score(pair[1], place)


def _score(score: Any, place: int) -> float:
    try:
        found = float(score) if hasattr(score, "__float__") else inf
    except (OverflowError, TypeError, ValueError):
        found = inf
    if isfinite(found):
        return found
    raise InvalidArgument(f"others has the score {shown_part(score)} at {place}; allowed are finite numbers")
