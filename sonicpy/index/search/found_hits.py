"""Making hits of the objects that were found."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sonicpy._native.find import shown_scores
from sonicpy._native.plan import Plan
from sonicpy._native.terms import Terms
from sonicpy.api.hits import Hits
from sonicpy.index.search.parts import HIGHEST_SHARE, WHOLLY, Part
from sonicpy.index.search.several import COUNTED_PARTS, SeveralParts
from sonicpy.index.search.statistics import Statistics
from sonicpy.search import Search

if TYPE_CHECKING:
    from sonicpy.api.held_word import HeldWord
    from sonicpy.config import Config
    from sonicpy.index.search.ranking import FoundPart


def hits_of(
    statistics: Statistics,
    plan: Plan,
    part: "FoundPart",
    terms: Terms,
    config: "Config",
    search: Search,
    whole: int | None,
    boost: float = 1.0,
) -> Hits:
    """Return the page of a search as hits, with the total, reasons and facets that it asks for.

    Args:
        part: the objects that were found by the plan, up to the end of the page.
        whole: see `count_whole`.
        boost: the upper bound of factors of a score.
    """
    found: Any  # objects of one bucket, or of several
    names, found = part.page(search.offset, search.limit)
    if not isinstance(part, COUNTED_PARTS):
        return Hits(names, [score for _, _, score in found], part.total if search.total else None)
    scores = None
    if config.search.ranking != "newest":
        scores = shown_scores(found, plan.ceiling * boost, WHOLLY, HIGHEST_SHARE)
    buckets = part.buckets(found) if isinstance(part, SeveralParts) else None
    if not search.how:
        return Hits(names, scores, part.total, whole, buckets=buckets)
    hows, corrected = hows_of(statistics, plan, part, terms, search, [place for place, _, _ in found])
    return Hits(names, scores, part.total, whole, hows, corrected, buckets)


def hows_of(
    statistics: Statistics, plan: Plan, part: Part | SeveralParts, terms: Terms, search: Search, places: Sequence[Any]
) -> tuple[list[tuple["HeldWord", ...]], str | None]:
    """Return the words by which each of some objects answers, and the text that the user may have meant.

    Args:
        places: the IID of each object; its ObjectPlace if there are several buckets.
    """
    from sonicpy.index.search.how import WORDS_SHOWN, HowFound, corrected_text  # noqa: PLC0415  loaded when it is needed

    how = HowFound(plan, terms)
    hows = list(map(how.of, part.held(places, WORDS_SHOWN)))  # type: ignore[arg-type]  # places of its own
    return hows, corrected_text(search.text, plan, statistics)
