"""Fixed filters: conditions that are added to each question, and that no question can leave out."""

from functools import lru_cache
from math import floor

from sonicpy.filters.grammar import parse

NOBODY = "(fixed AND fixed < -9223372036854775808)"
"""Met by no object. It is about a tag and a value, so APART, which leaves out conditions of one facet, keeps it."""
STEPS = 100


@lru_cache(maxsize=1024)
def with_fixed(fixed: tuple[str, ...], asked: str | None, *, apart: bool = False) -> str:
    """Return the filter that joins fixed filters and the filter of a question by AND.

    Args:
        fixed: the filters that always hold.
        asked: the filter of a question; None: it has none.
        apart: the question leaves out conditions of its facets; the fixed ones stay.

    Raises:
        InvalidArgument: one of them is not a filter. Each is read alone, so brackets of one cannot close those of
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
    """Return a score cut behind its second decimal, so that it shows less about objects that a filter hides."""
    return None if score is None else floor(score * STEPS + 1e-9) / STEPS
