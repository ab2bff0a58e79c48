"""The plan of the ranking "bm25": idf * tf, scaled by length and by the share of the query that an object holds.

In short queries, objects with all words come before those with some; words as typed before completions before
corrections.
"""

from sonicpy._native.plan import (
    Clause,
    Plan,
    add_expansions,
    are_expandable,
    content_size,
    let_stop_words_search,
    plan_terms,
)
from sonicpy._native.terms import Terms
from sonicpy.config import SearchConfig
from sonicpy.index.search.expansion import expansions
from sonicpy.index.search.families import Matching
from sonicpy.index.search.plan import NOTHING_LEFT_OUT
from sonicpy.index.search.planners.forms import EXPANDED_WORDS, families_of
from sonicpy.index.search.statistics import Statistics

SHARE_STRENGTH = 2.5
SHARE_EXPONENT_MAX = 3.0
"""A score is scaled by the share of the query that an object holds, to the power of SHARE_STRENGTH divided by the
number of content terms: both words of a short query matter, while some words of a long question are enough."""
FULL_FIRST_MAX = 4
"""In queries of at most this many content terms, objects that hold all of them come first."""


def plan_bm25(statistics: Statistics, terms: Terms, search: SearchConfig, matching: Matching | None = None) -> Plan:
    """Return the plan of a query.

    Special words are required, except in a sentence; stop words add to the scores of objects found by other words, and
    are searched if other words find nothing.

    Args:
        matching: the matching of families; None: no word has one.
    """
    enough = search.alternates_below
    families = families_of(statistics, terms, matching)
    clauses = plan_terms(
        terms, statistics.rows(terms.words), statistics.objects, enough, EXPANDED_WORDS, families or None
    )
    if search.query_alternates_try and are_expandable(clauses):
        for clause in clauses:
            if clause.is_expandable:
                _expand(statistics, clause, enough, search.query_alternates_try)
    let_stop_words_search(clauses)
    size = content_size(clauses, terms.flags)
    return Plan(
        clauses,
        statistics.average_length,
        min(SHARE_EXPONENT_MAX, SHARE_STRENGTH / size),
        full_first=size <= FULL_FIRST_MAX,
        left_out=NOTHING_LEFT_OUT,
        enough=enough,
    )


def _expand(statistics: Statistics, clause: Clause, enough: int, budget: int) -> None:
    """Add at most `budget` expansions of a word, unless `enough` objects hold it or another word of its family."""
    word, *forms = clause.slots[0].words
    others = expansions(statistics, word, clause.holders, enough, budget, forms)
    add_expansions(clause, others, statistics.objects)
