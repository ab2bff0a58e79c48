"""The rankings: a planner makes the plan of a query, and a bucket carries it out.

bm25     planners/bm25.py
newest   planners/newest.py
sonic    sonic.py, whose plan is made while it is carried out
"""

from typing import Protocol

from sonicpy._native.plan import BRINGS, Plan
from sonicpy._native.terms import Terms
from sonicpy.config import Config, SearchConfig
from sonicpy.errors import InvalidArgument
from sonicpy.index.search.lexicon import Lexicon
from sonicpy.index.search.matching import Matching
from sonicpy.index.search.parts import Part, bind, find
from sonicpy.index.search.plan import only_whole
from sonicpy.index.search.planners.bm25 import plan_bm25
from sonicpy.index.search.planners.completions import Fills, never
from sonicpy.index.search.planners.newest import plan_newest
from sonicpy.index.search.several import SeveralParts, UnitedLexicon, find_in_several
from sonicpy.index.search.sonic import SonicPart, rank_sonic
from sonicpy.index.search.statistics import Statistics


class Planner(Protocol):
    """Makes the plan of a query."""

    def __call__(
        self,
        statistics: Statistics,
        terms: Terms,
        search: SearchConfig,
        matching: Matching | None,
        fills: Fills = never,
    ) -> Plan:
        """Return the plan.

        Args:
            statistics: of the objects.
            matching: how words lead to families; None: no word has one.
            fills: see `Fills`.
        """
        ...


AnyLexicon = Lexicon | UnitedLexicon
FoundPart = Part | SonicPart | SeveralParts

TOGETHER = 30.0
"""How much more often than by chance the words of a query are together in an object, about."""
PLANNERS: dict[str, Planner] = {"bm25": plan_bm25, "newest": plan_newest}
"""By the setting search.ranking."""


def carry_out(
    lexicon: AnyLexicon, terms: Terms, config: Config, matching: Matching | None, wanted: int, *, total: bool = False
) -> tuple[Plan, FoundPart]:
    """Return the plan of a query, and its best `wanted` objects in a bucket or in several, with the number of all if
    `total`."""
    planner = PLANNERS.get(config.search.ranking)
    if planner is None and not isinstance(lexicon, UnitedLexicon):
        return rank_sonic(lexicon, terms, config)
    if planner is None or (isinstance(lexicon, UnitedLexicon) and config.search.ranking != "bm25"):
        raise not_together(config)
    if matching is not None:
        matching = lexicon.resolved(matching)  # once for all words
    window = config.store.kv.retain_word_objects
    filled: list[Part | SeveralParts] = []

    def found_by(plan: Plan, *, is_counted: bool) -> Part | SeveralParts:
        if isinstance(lexicon, UnitedLexicon):
            return find_in_several(lexicon, plan, wanted, window, total=is_counted)
        return find(bind(plan, lexicon.reader, window), wanted, total=is_counted)

    def fills(plan: Plan) -> bool:
        """Objects that hold every word come first, and score the same with completions: they may fill the page."""
        if not total and may_fill(plan, wanted, lexicon.objects):
            part = found_by(plan, is_counted=False)
            if part.is_full(wanted):
                filled.append(part)
        return bool(filled)

    plan = planner(lexicon, terms, config.search, matching, fills)
    return plan, filled[0] if filled else found_by(plan, is_counted=total)


def not_together(config: Config) -> InvalidArgument:
    """Return the error for several buckets that cannot be ranked together."""
    return InvalidArgument(
        f"several buckets are named, and search.ranking is {config.search.ranking}; allowed is one bucket, or the "
        "ranking bm25",
        detail="InvalidBucket",
    )


def count_whole(lexicon: AnyLexicon, plan: Plan, part: FoundPart, config: Config) -> int | None:
    """Return how many objects answer a query by whole words, not by completions or corrections alone; None: the number
    of all objects was not asked for, or the ranking does not count it."""
    if isinstance(part, SonicPart):
        return None
    whole = only_whole(plan)
    if whole is None or part.total is None:
        return part.total
    window = config.store.kv.retain_word_objects
    if isinstance(lexicon, UnitedLexicon):
        return find_in_several(lexicon, whole, 0, window, total=True).total
    return find(bind(whole, lexicon.reader, window), 0, total=True).total


def may_fill(plan: Plan, wanted: int, objects: int) -> bool:
    """Return whether it is likely enough that as many objects as wanted hold every word of a plan.

    Words of one query occur together far more often than chance would have it; a try in vain costs a second walk.
    """
    if not plan.full_first or not objects:
        return False
    expected = float(objects)
    for clause in plan.clauses:
        if clause.role & BRINGS:
            holders = clause.holders * len(clause.slots[0].words)
            if holders < wanted:
                return False
            expected *= holders / objects
    return expected * TOGETHER >= wanted
