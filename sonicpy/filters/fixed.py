"""Fixed filters: conditions that are added to every question, and that no question can leave out."""

from functools import lru_cache
from math import floor

from sonicpy.filters.grammar import parse

NOBODY = "(fixed AND fixed < -9223372036854775808)"
"""A filter that no object meets. It combines a tag and a value, so APART, which leaves out conditions of one facet,
keeps it."""
STEPS = 100


@lru_cache(maxsize=1024)
def with_fixed(fixed: tuple[str, ...], asked: str | None, *, apart: bool = False) -> str:
    """Return the filter that joins fixed filters and the filter of a question by AND.

    Args:
        fixed: the filters that always hold.
        asked: the filter of the question; None: the question has none.
        apart: whether the question leaves out the conditions of its facets; the fixed filters stay.

    Raises:
        InvalidArgument: one of them is not a filter. Each is read alone, so that brackets in one cannot close those of
            another.
    """
    if asked is not None:
        parse(asked)
    clauses = []
    for each in fixed:
        parse(each)
        clauses.append(f"(({each}) OR {NOBODY})" if apart else f"({each})")
    return " AND ".join(clauses if asked is None else [*clauses, f"({asked})"])


def coarse(score: float | None) -> float | None:
    """Return a score cut off after its second decimal, so that it reveals less about objects that a filter hides; None
    for None.
    """
    return None if score is None else floor(score * STEPS + 1e-9) / STEPS
