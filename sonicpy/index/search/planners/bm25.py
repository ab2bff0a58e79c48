"""The plan of the ranking "bm25": idf * tf, scaled by length and by the share of the query that an object holds.

In short queries, objects with all words come before those with some; words as typed before completions before
corrections.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sonicpy._native.clauses import require_held
from sonicpy._native.plan import (
    Clause,
    Plan,
    content_size,
    let_stop_words_search,
    plan_terms,
)
from sonicpy._native.terms import Terms
from sonicpy.index.search.demands import demands_of
from sonicpy.index.search.matching import Matching
from sonicpy.index.search.plan import NOTHING_LEFT_OUT
from sonicpy.index.search.planners.completions import Fills, last_of, never
from sonicpy.index.search.planners.forms import EXPANDED_WORDS, add_doubtful, families_of
from sonicpy.index.search.planners.inner import add_inner
from sonicpy.index.search.planners.runs import first_letters
from sonicpy.index.search.planners.spacing import Piece, find_pieces, words_together, write_apart, write_together
from sonicpy.index.search.planners.stand_ins import StandIn, note_holders, stand_ins, with_stand_ins
from sonicpy.index.search.planners.steps import complete_last, expand
from sonicpy.index.search.statistics import Statistics

if TYPE_CHECKING:
    from sonicpy.config import SearchConfig

SHARE_STRENGTH = 2.5
SHARE_EXPONENT_MAX = 3.0
"""A score is scaled by the share of the query that an object holds, to the power of SHARE_STRENGTH divided by the
number of content terms: both words of a short query matter, while some words of a long question are enough."""
FULL_FIRST_MAX = 4
"""In queries of at most this many content terms, objects that hold all of them come first."""


def plan_bm25(
    statistics: Statistics, terms: Terms, search: "SearchConfig", matching: Matching | None = None, fills: Fills = never
) -> Plan:
    """Return the plan of a query.

    Special words are required, except in a sentence; stop words add to the scores of objects found by other words, and
    are searched if other words find nothing.

    Args:
        matching: the matching of families; None: no word has one.
        fills: see `Fills`.
    """
    demands = demands_of(terms)
    if demands is not None:
        from sonicpy.index.search.planners.demanded import as_demanded, edited  # noqa: PLC0415  loaded when it is needed

        statistics, search, fills = edited(demands, statistics), as_demanded(demands, search), never
    enough, objects = search.alternates_below, statistics.objects
    together = words_together(terms)
    families = families_of(statistics, terms, matching, statistics.may_hold(together))
    clauses = plan_terms(terms, families.rows, objects, enough, EXPANDED_WORDS, families.words or None)
    size = content_size(clauses, terms.flags)
    write_together(clauses, together, families.besides, objects)
    pieces = find_pieces(statistics, clauses, terms, folds=matching is not None)
    begun = list(first_letters(statistics, clauses, terms)) if size <= FULL_FIRST_MAX else []
    if families.doubtful:
        add_doubtful(clauses, families.doubtful, objects)
    others = stand_ins(statistics, terms, matching)
    if others:
        note_holders(clauses, others)
    last = last_of(clauses, terms)
    for clause in clauses:
        if clause.is_expandable and clause is not last:
            expand(statistics, clause, clause.holders, search)
    if fills is not never:
        apart = _apart(statistics, clauses, pieces, last, others)
        plan = _plan(statistics, [*apart, *begun], size, enough)
        if fills(plan):
            return plan
    add_inner(statistics, clauses, terms, matching)
    complete_last(statistics, last, clauses, terms, search)
    clauses = [*_apart(statistics, clauses, pieces, last, others), *begun]
    require_held(clauses)
    let_stop_words_search(clauses)
    if demands is None:
        return _plan(statistics, clauses, size, enough)
    from sonicpy.index.search.planners.demanded import Demanded  # noqa: PLC0415  loaded when it is needed

    clauses = Demanded(statistics, terms, demands, search, matching).clauses(clauses, last)
    return _plan(statistics, clauses, size, enough, any_first=demands.match == "any")


def _apart(
    statistics: Statistics,
    clauses: list[Clause],
    pieces: dict[int, list[Piece]],
    last: Clause | None,
    others: Sequence[StandIn],
) -> list[Clause]:
    """Return the clauses with pieces of words and with substitutes, which most queries lack."""
    if not pieces and not others:
        return clauses
    return with_stand_ins(write_apart(statistics, clauses, pieces, last), others, statistics.objects)


def _plan(statistics: Statistics, clauses: list[Clause], size: float, enough: int, *, any_first: bool = False) -> Plan:
    return Plan(
        clauses,
        statistics.average_length,
        min(SHARE_EXPONENT_MAX, SHARE_STRENGTH / size) if size else 0.0,
        full_first=size <= FULL_FIRST_MAX and not any_first,
        left_out=NOTHING_LEFT_OUT,
        enough=enough,
    )
