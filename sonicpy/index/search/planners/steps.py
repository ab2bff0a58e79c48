"""The steps that the planners share."""

from typing import TYPE_CHECKING

from sonicpy._native.plan import Clause, add_expansions
from sonicpy._native.terms import Terms
from sonicpy.index.search.expansion import expansions
from sonicpy.index.search.planners.completions import complete, complete_address
from sonicpy.index.search.statistics import Statistics

if TYPE_CHECKING:
    from sonicpy.config import SearchConfig


def expand(statistics: Statistics, clause: Clause, found: int, search: "SearchConfig") -> None:
    """Add the expansions of a word, unless objects enough hold it or another word of its family.

    Args:
        found: the number of objects that hold it.
    """
    word, *forms = clause.slots[0].words
    others = expansions(statistics, word, found, search.alternates_below, search.query_alternates_try, forms)
    add_expansions(clause, others, statistics.objects)


def complete_last(
    statistics: Statistics, last: Clause | None, clauses: list[Clause], terms: Terms, search: "SearchConfig"
) -> None:
    """Add the completions of the word that a query ends in; None: there is none."""
    if last is not None:
        complete_address(statistics, clauses, terms)
        complete(statistics, last, clauses, search)
