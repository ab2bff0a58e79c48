"""The rankings: a planner makes the plan of a query, and a bucket carries it out.

bm25     planners/bm25.py
newest   planners/newest.py
sonic    sonic.py, whose plan is made while it is carried out
"""

from collections.abc import Callable

from sonicpy._native.plan import Plan
from sonicpy._native.terms import Terms
from sonicpy.config import Config, SearchConfig
from sonicpy.index.search.families import Matching
from sonicpy.index.search.lexicon import Lexicon
from sonicpy.index.search.parts import Part, bind, find
from sonicpy.index.search.planners.bm25 import plan_bm25
from sonicpy.index.search.planners.newest import plan_newest
from sonicpy.index.search.sonic import SonicPart, rank_sonic
from sonicpy.index.search.statistics import Statistics

Planner = Callable[[Statistics, Terms, SearchConfig, Matching | None], Plan]
"""A function that makes a plan from statistics, the terms of the query, the settings, and the matching of families
(None: no word has one)."""

PLANNERS: dict[str, Planner] = {"bm25": plan_bm25, "newest": plan_newest}
"""By the setting search.ranking."""


def carry_out(
    lexicon: Lexicon, terms: Terms, config: Config, matching: Matching | None, wanted: int, *, total: bool = False
) -> tuple[Plan, Part | SonicPart]:
    """Return the plan of a query, and its best `wanted` objects in a bucket, with the number of all if `total`."""
    planner = PLANNERS.get(config.search.ranking)
    if planner is None:
        return rank_sonic(lexicon, terms, config)
    plan = planner(lexicon, terms, config.search, matching)
    return plan, find(bind(plan, lexicon.reader, config.store.kv.retain_word_objects), wanted, total=total)
