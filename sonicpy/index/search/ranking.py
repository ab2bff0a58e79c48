"""The rankings: a planner makes the plan of a query, and a bucket carries it out.

bm25     planners/bm25.py
newest   planners/newest.py
sonic    sonic.py, whose plan is made while it is carried out
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Protocol, TypeAlias

from sonicpy._native import filling as in_one_bucket
from sonicpy._native.filling import Filling
from sonicpy._native.mask import Mask
from sonicpy._native.plan import Plan
from sonicpy._native.terms import Terms
from sonicpy.errors import InvalidArgument
from sonicpy.index.search.demands import demands_of
from sonicpy.index.search.fields import with_fields
from sonicpy.index.search.lexicon import Lexicon
from sonicpy.index.search.matching import Matching
from sonicpy.index.search.parts import Part, find_by_plan
from sonicpy.index.search.plan import only_whole
from sonicpy.index.search.planners.bm25 import plan_bm25
from sonicpy.index.search.planners.completions import Fills, never
from sonicpy.index.search.planners.rarely import Rarely
from sonicpy.index.search.several import COUNTED_PARTS, SeveralParts, UnitedLexicon, find_in_several
from sonicpy.index.search.statistics import Statistics
from sonicpy.late import late

if TYPE_CHECKING:
    from sonicpy.config import Config, SearchConfig
    from sonicpy.index.search.planners.newest import plan_newest
    from sonicpy.index.search.sonic import SonicPart
else:
    plan_newest = late("sonicpy.index.search.planners.newest", "plan_newest", __name__)


class Planner(Protocol):
    """Makes the plan of a query."""

    def __call__(
        self,
        statistics: Statistics,
        terms: Terms,
        search: "SearchConfig",
        matching: Matching | None,
        fills: Fills = never,
    ) -> Plan:
        """Return the plan.

        Args:
            statistics: the statistics of the bucket, or of several together.
            matching: leads words to their families; None: no word has a family.
            fills: see `Fills`.
        """
        ...


AnyLexicon = Lexicon | UnitedLexicon
"""The words of a bucket, or of several."""
FoundPart: TypeAlias = "Part | SonicPart | SeveralParts"


def fielded(planner: Planner) -> Planner:
    """Return a planner that adds the fields and the phrases of a query to the plans of another one."""

    def plan(
        statistics: Statistics,
        terms: Terms,
        search: "SearchConfig",
        matching: Matching | None,
        fills: Fills = never,
    ) -> Plan:
        made = planner(statistics, terms, search, matching, fills)
        if type(terms) is Terms:  # as most are
            return made
        demands = demands_of(terms)
        if demands is None:
            return made
        made = with_fields(made, terms)
        if demands.phrases:
            from sonicpy.index.search.phrases import with_phrases  # noqa: PLC0415  loaded when it is needed

            return with_phrases(made, terms, statistics, matching)
        return made

    return plan


PLANNERS: dict[str, Planner] = {"bm25": fielded(plan_bm25), "newest": fielded(plan_newest)}
"""search.ranking -> its planner."""


def carry_out(
    lexicon: AnyLexicon,
    terms: Terms,
    config: "Config",
    matching: Matching | None,
    wanted: int,
    *,
    total: bool = False,
    masks: Sequence[Mask] | None = None,
    share: Callable[[], float] | None = None,
) -> tuple[Plan, FoundPart]:
    """Return the plan of a query, and its best `wanted` objects in a bucket or in several, with the number of all if
    `total`.

    Args:
        masks: the objects of each bucket that pass a filter; None: all.
        share: returns the approximate share of the objects that pass the filter; None: not known.

    Raises:
        InvalidArgument: the ranking of the settings does not know an option of the query.
    """
    search = config.search
    demands = None if type(terms) is Terms else demands_of(terms)
    is_plain = demands is None or demands.is_only_match
    if is_plain and search.ranking == "bm25" and isinstance(lexicon, Lexicon):
        match, settings = ("auto", search) if demands is None else (demands.match, demands.settings(search))
        if matching is not None and not matching.languages:
            matching = lexicon.resolved(matching)
        window, mask = config.store.kv.retain_word_objects, None if masks is None else masks[0]
        return in_one_bucket.carry_out(
            lexicon, terms, matching, settings, Rarely, Part, wanted, window, total, mask, share, match
        )
    if isinstance(lexicon, UnitedLexicon):
        check_together(lexicon, config)
    planner = PLANNERS.get(config.search.ranking)
    if planner is None:
        if demands is not None:
            raise InvalidArgument(
                f"search.ranking is {config.search.ranking}; syntax, match, fuzzy and fields need one of "
                f"{', '.join(PLANNERS)}"
            )
        from sonicpy.index.search.sonic import rank_sonic  # noqa: PLC0415  loaded when it is needed

        assert isinstance(lexicon, Lexicon)
        return rank_sonic(lexicon, terms, config)
    if matching is not None:
        matching = lexicon.resolved(matching)  # once for all words
    window = config.store.kv.retain_word_objects
    find = None
    if isinstance(lexicon, UnitedLexicon):
        find = partial(find_by, lexicon=lexicon, wanted=wanted, window=window, masks=masks)
    mask = None if masks is None else masks[0]
    filling = Filling(Part, find, lexicon.reader, wanted, window, mask, lexicon.objects, share)
    plan = planner(lexicon, terms, config.search, matching, never if total else filling)
    if filling.part is not None:
        return plan, filling.part
    if find is None:
        return plan, find_by_plan(plan, lexicon.reader, wanted, window, mask=mask, total=total)
    return plan, find_by(plan, lexicon, wanted, window, total=total, masks=masks)


def find_by(
    plan: Plan,
    lexicon: AnyLexicon,
    wanted: int,
    window: int,
    *,
    total: bool = False,
    masks: Sequence[Mask] | None = None,
) -> Part | SeveralParts:
    """Return the best `wanted` objects by a plan in a bucket or in several, with the number of all if `total`.

    Args:
        window: only this many objects of each word are read, the newest ones; 0: all.
        masks: see `carry_out`.
    """
    if isinstance(lexicon, UnitedLexicon):
        return find_in_several(lexicon, plan, wanted, window, total=total, masks=masks)
    mask = None if masks is None else masks[0]
    return find_by_plan(plan, lexicon.reader, wanted, window, mask=mask, total=total)


def check_together(lexicon: AnyLexicon, config: "Config") -> None:
    """Raise InvalidArgument if several buckets are searched that cannot be ranked together."""
    if isinstance(lexicon, UnitedLexicon) and config.search.ranking != "bm25":
        raise InvalidArgument(
            f"several buckets are named, and search.ranking is {config.search.ranking}; allowed is one bucket, or the "
            "ranking bm25",
            detail="InvalidBucket",
        )


def plan_of(lexicon: AnyLexicon, terms: Terms, config: "Config", matching: Matching | None) -> Plan:
    """Return the plan of a query for all objects that answer, not for a page of the best ones."""
    planner = PLANNERS[config.search.ranking]
    return planner(lexicon, terms, config.search, None if matching is None else lexicon.resolved(matching))


def count_whole(
    lexicon: AnyLexicon, plan: Plan, part: FoundPart, config: "Config", masks: Sequence[Mask] | None = None
) -> int | None:
    """Return the number of objects that answer a query by whole words, not only by completions or corrections; None:
    the total was not asked for, or the ranking does not count it.

    Args:
        masks: as in `carry_out`.
    """
    if not isinstance(part, COUNTED_PARTS) or part.total is None:
        return None
    whole = only_whole(plan)
    if whole is None:
        return part.total
    return find_by(whole, lexicon, 0, config.store.kv.retain_word_objects, total=True, masks=masks).total
