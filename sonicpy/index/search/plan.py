"""Plans of queries as EXPLAIN reads them: which lists of postings a query gathers, which terms it leaves out, and why.

A ranking makes the plan, gathers exactly the lists in it, and returns it beside the table of objects; EXPLAIN reads it.
The plan of the ranking "sonic" grows while it is carried out, because its budget counts the postings that it has seen.
"""

from collections.abc import Mapping
from types import MappingProxyType

from sonicpy._native.plan import Plan, PlannedList
from sonicpy._native.terms import PART, SPECIAL, STOP
from sonicpy._native.word_break import is_unspaced_letter

NOTHING_LEFT_OUT: Mapping[int, str] = MappingProxyType({})

# Why a term is left out.
TOO_COMMON = "too many objects hold it (search.query_minimum_term_idf_default)"
TABLE_FULL = "the words before it found as many objects as one query keeps (store.kv.retain_word_objects)"
IN_PAIRS = "the pairs of letters in a run of letters without blanks find the run"
IS_STOP = "stop words are searched only where a query holds nothing else"

# Why no other words were looked for in the place of a term.
SPECIAL_IS_EXACT = "mail addresses, numbers and other identifiers are found exactly or not at all"
STOP_IS_EXACT = "beside other words, stop words are neither completed nor corrected"
PART_IS_EXACT = "letters and pairs of letters of a run without blanks are neither completed nor corrected"
ENOUGH_FOUND = "the word itself finds enough"
NEVER = "search.alternates_below is 0"
TOO_MANY_WORDS = "only the first words of a long query are completed and corrected"
NO_BUDGET = "search.query_alternates_try is 0, or other words have used it up"


def lists_by_term(plan: Plan) -> dict[int, list[PlannedList]]:
    """Return the lists of each term."""
    found: dict[int, list[PlannedList]] = {}
    for one in plan.lists:
        found.setdefault(one.term, []).append(one)
    return found


def why_not_expanded(plan: Plan, exact: PlannedList, flags: int, *, only_stops: bool = False) -> str | None:
    """Return why a term with these flags was not expanded; None: it was, or the ranking does not decide that.

    Args:
        only_stops: the query holds nothing but stop words.
    """
    if exact.is_expandable or plan.enough is None:
        return None
    if flags & SPECIAL:
        return SPECIAL_IS_EXACT
    if flags & PART or (flags & STOP and is_unspaced_letter(exact.word)):
        return PART_IS_EXACT
    if flags & STOP and not only_stops:
        return STOP_IS_EXACT
    if not plan.enough:
        return NEVER
    return ENOUGH_FOUND if exact.row is not None and exact.row.df >= plan.enough else TOO_MANY_WORDS
