"""Plans of queries: the terms that they leave out, with reasons for EXPLAIN, and plans as plain data for JSON.

The plan of the ranking "sonic" grows while it is carried out, because its budget counts the postings seen so far.
"""

from collections.abc import Iterator, Sequence
from itertools import chain, islice, takewhile
from typing import Any

from sonicpy._native.plan import BRINGS, FORBIDDEN, REQUIRED, Clause, Plan, Slot
from sonicpy._native.planner import NOTHING_LEFT_OUT
from sonicpy._native.terms import PART, SPECIAL, STOP, Terms
from sonicpy._native.word_break import is_unspaced_letter
from sonicpy.store.rows.named_words import is_named

__all__ = ["NOTHING_LEFT_OUT", "Clause", "Plan", "Slot", "of_plain", "to_plain", "why_not_expanded"]


WHOLE_WORDS = ("exact", "synonym")
"""The relations of the words of a slot to the typed word which are neither completions nor corrections."""
SPELLED_OTHERWISE = 1
"""The edits, in plain data, of a slot of exact words that is not the first of its clause. Version 1.0 reads such a slot
as a clause of its own.
"""

# Why a term is left out.
TOO_COMMON = "too many objects hold it (search.query_minimum_term_idf_default)"
TABLE_FULL = "the words before it found as many objects as one query keeps (store.kv.retain_word_objects)"
IN_PAIRS = "the pairs of letters in a run of letters without blanks find the run"
IS_UNHELD = "no object holds this number or identifier"
AS_TYPED = "its sign requires the word itself or a form of it"
IS_STOP = "stop words are searched only where a query holds nothing else"

# Why no other words were looked for in the place of a term.
SPECIAL_IS_EXACT = (
    "addresses, numbers and other identifiers are completed where a query ends in them; digits are never corrected"
)
STOP_IS_EXACT = "beside other words, stop words are neither completed nor corrected"
PART_IS_EXACT = "letters and pairs of letters of a run without blanks are neither completed nor corrected"
ENOUGH_FOUND = "the word itself finds enough"
NEVER = "search.alternates_below is 0"
TOO_MANY_WORDS = "only the first words of a long query are completed and corrected"
NO_BUDGET = "search.query_alternates_try is 0, or other words have used it up"


def why_not_expanded(plan: Plan, clause: Clause, flags: int, df: int, *, only_stops: bool = False) -> str | None:
    """Return the reason why a term was not expanded; None: it was expanded, or the ranking is not the reason.

    Args:
        flags: the flags of the term.
        df: the number of objects that hold the term as typed.
        only_stops: the query holds only stop words.
    """
    if plan.enough is None or (clause.is_expandable and clause.slots[0].term < 0):
        return None
    if flags & SPECIAL:
        return SPECIAL_IS_EXACT
    if flags & PART or (flags & STOP and is_unspaced_letter(clause.slots[0].words[0])):
        return PART_IS_EXACT
    if flags & STOP and not only_stops:
        return STOP_IS_EXACT
    if not plan.enough:
        return NEVER
    if 0 < plan.enough <= df:
        return ENOUGH_FOUND
    return None if clause.is_expandable else TOO_MANY_WORDS


def alternatives_of(clause: Clause) -> list[Clause]:
    """Return a clause of alternatives as one clause for each of its terms; another clause as it is."""
    if clause.slots[0].term < 0:
        return [clause]
    slots: dict[int, list[Slot]] = {}
    for slot in clause.slots:
        slots.setdefault(slot.term, []).append(slot)
    return [
        Clause(term, clause.role, own[0].weight, own, is_expandable=clause.is_expandable, holders=clause.holders)
        for term, own in slots.items()
    ]


def without_last(terms: Terms) -> Terms:
    """Return the terms of a text as if its last term were not a beginning."""
    return Terms(terms.words, terms.counts, terms.flags, terms.typed)


def only_whole(plan: Plan) -> Plan | None:
    """Return a plan for the words of a query and their forms, without completions and corrections; None: the plan has
    none.
    """
    if all(slot.how in WHOLE_WORDS or clause.role & FORBIDDEN for clause in plan.clauses for slot in clause.slots):
        return None
    clauses = []
    for clause in plan.clauses:
        if clause.role & FORBIDDEN:
            clauses.append(clause)
            continue
        slots = [slot for slot in clause.slots if slot.how in WHOLE_WORDS]
        if slots or clause.role & (BRINGS | REQUIRED):
            clauses.append(Clause(clause.term, clause.role, clause.weight, slots))
    whole = Plan(
        clauses, plan.average, plan.exponent, full_first=plan.full_first, left_out=plan.left_out, enough=plan.enough
    )
    whole.phrases = plan.phrases
    return whole


# -- for JSON ----------------------------------------------------------------------------------------------------------


def to_plain(plan: Plan) -> list[Any]:
    """Return a plan for JSON: a row for each word, then the other values, without those for EXPLAIN.

    This is the form of version 1.0, which has no forbidden clauses: they come behind all other values, so version 1.0
    refuses a plan with them.
    """
    rows = [_rows(clause) for clause in plan.clauses if not clause.role & FORBIDDEN]
    refused = [_rows(clause) for clause in plan.clauses if clause.role & FORBIDDEN]
    plain = [list(chain(*rows)), plan.average, plan.exponent, plan.full_first, plan.ceiling]
    if plan.phrases:
        phrases = [[needed, [[word.decode() for word in some] for some in places]] for needed, places in plan.phrases]
        return [*plain, list(chain(*refused)), phrases]
    return [*plain, list(chain(*refused))] if refused else plain


def of_plain(plain: Sequence[Any]) -> Plan:
    """Return the plan that `to_plain` made plain."""
    rows, average, exponent, full_first, _, *more = plain
    clauses = [*_clauses(rows, 0), *(clause for refused in more[:1] for clause in _clauses(refused, FORBIDDEN))]
    plan = Plan(in_order(clauses), average, exponent, full_first=full_first, left_out=NOTHING_LEFT_OUT, enough=None)
    plan.phrases = tuple(
        (needed, tuple(tuple(word.encode() for word in some) for some in places))
        for phrases in more[1:]
        for needed, places in phrases
    )
    return plan


def in_order(clauses: list[Clause]) -> list[Clause]:
    """Return clauses in the order of a plan: those of named texts come last, and refused words behind the others, with
    or without a name. Parts of a spread bucket give words by their numbers in this order.
    """
    return sorted(clauses, key=lambda clause: (has_named(clause), bool(clause.role & FORBIDDEN)))


def has_named(clause: Clause) -> bool:
    """Return whether a clause has a term of a named text."""
    return any(is_named(word) for slot in clause.slots for word in slot.words)


def _rows(clause: Clause) -> Iterator[list[Any]]:
    """Yield [term, word, weight, how, edits, is required, brings, weight of the family, exact weight] of each word."""
    role = [bool(clause.role & REQUIRED), bool(clause.role & BRINGS)]
    for place, slot in enumerate(clause.slots):
        typed, *forms = [word.decode() for word in slot.words]
        own = [0.0, 0.0]
        if place == 0 and (forms or slot.exact_weight or slot.weight != clause.weight):
            own = [slot.weight, slot.exact_weight]
        weight = slot.weight if place else clause.weight
        how = "completion" if slot.how == "form" else slot.how  # "form" means more words of the slot before
        if place and how == "exact" and slot.together:
            how = "synonym"  # which has groups, and is of the same kind
        edits = SPELLED_OTHERWISE if place and how == "exact" else list(slot.together) or slot.edits
        yield [clause.term, typed, weight, how, edits, *(role if not place else (False, True)), *own]
        for form in forms:
            yield [clause.term, form, slot.weight, "form", 0, False, role[1], 0.0, 0.0]


def _clauses(rows: Sequence[Sequence[Any]], more: int) -> Iterator[Clause]:
    """Yield the clauses of rows; the bits `more` are added to their roles."""
    clause: Clause | None = None
    for place, row in enumerate(rows):
        term, word, weight, how, edits, required, brings, family_weight, exact_weight = row
        if how == "form":
            continue
        forms = takewhile(lambda row: row[3] == "form", islice(rows, place + 1, None))
        words = (word.encode(), *(form[1].encode() for form in forms))
        is_first = not brings or (how == "exact" and edits != SPELLED_OTHERWISE)  # all others have True for `brings`
        has_own = is_first and (len(words) > 1 or family_weight or exact_weight)
        groups = tuple(edits) if isinstance(edits, list) else ()  # sizes of groups of words, together one term
        slot = Slot(
            words,
            family_weight if has_own else weight,
            exact_weight,
            how=how,
            edits=0 if groups or how == "exact" else edits,
            together=groups,
        )
        if is_first:
            if clause is not None:
                yield clause
            role = more | (REQUIRED if required else 0) | (BRINGS if brings else 0)
            clause = Clause(term, role, weight, [slot])
        elif clause is not None:
            clause.slots.append(slot)
    if clause is not None:
        yield clause
