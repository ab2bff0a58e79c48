"""The plan of the ranking "bm25": idf * tf, scaled by length and by the share of the query that an object holds.

In short queries, objects with all words come before those with some; words as typed before completions before
corrections.
"""

from typing import TYPE_CHECKING

from sonicpy._native.plan import Plan
from sonicpy._native.planner import plan_words
from sonicpy._native.terms import Terms
from sonicpy.index.search.demands import demands_of
from sonicpy.index.search.matching import Matching
from sonicpy.index.search.planners.completions import Fills, never
from sonicpy.index.search.planners.rarely import Rarely
from sonicpy.index.search.statistics import Statistics

if TYPE_CHECKING:
    from sonicpy.config import SearchConfig


def plan_bm25(
    statistics: Statistics, terms: Terms, search: "SearchConfig", matching: Matching | None = None, fills: Fills = never
) -> Plan:
    """Return the plan of a query, see `plan_words`.

    Args:
        matching: leads words to their families; None: no word has a family.
        fills: see `Fills`.
    """
    demands = None if type(terms) is Terms else demands_of(terms)  # most are plain
    if demands is None:
        return plan_words(statistics, terms, matching, search, None if fills is never else fills, Rarely)
    settings = demands.settings(search)
    enough = fills if fills is not never and demands.are_met_by_all_words else None
    if demands.is_only_match:
        return plan_words(statistics, terms, matching, settings, enough, Rarely, demands.match)
    from sonicpy.index.search.planners.demanded import Demanded, edited  # noqa: PLC0415  loaded when it is needed

    statistics = edited(demands, statistics)
    finish = Demanded(statistics, terms, demands, settings, matching).clauses
    return plan_words(statistics, terms, matching, settings, enough, Rarely, demands.match, finish)
