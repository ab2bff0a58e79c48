"""Synonyms in plans: an object that holds the substitute of a term holds the term, and scores a little less.

If several words replace a term, they form one slot, and an object has to hold all of them. A substitute of several
terms is added to the clause of each.
"""

from collections.abc import Sequence
from typing import NamedTuple

from sonicpy._native.bm25 import idf
from sonicpy._native.plan import FORBIDDEN, Clause, Slot
from sonicpy.index.search.matching import Matching
from sonicpy.index.search.statistics import Statistics
from sonicpy.index.search.synonym_matches import Match, Matches, has_family

SHARE = 0.9
"""The weight of a substitute, as a share of the weight of its term."""


class StandIn(NamedTuple):
    """Words that replace one term, or several together, and that objects hold.

    Attributes:
        numbers: the numbers of the terms.
        words: the words, each with its family.
        holders: the number of objects that hold the rarest of the words, approximately.
    """

    numbers: tuple[int, ...]
    words: tuple[tuple[bytes, ...], ...]
    holders: int


def stand_ins_of(statistics: Statistics, matches: Matches, matching: Matching | None) -> list[StandIn]:
    """Return those substitutes of the terms of a query that objects hold.

    Args:
        matches: the result of `Statistics.synonyms`.
        matching: leads words to their families; None: no word has a family.
    """
    found = (_stand_in(statistics, match, matching) for match in matches)
    return [each for each in found if each is not None]


def with_stand_ins(
    clauses: list[Clause], found: Sequence[StandIn], objects: int, *, has_weights: bool = True
) -> list[Clause]:
    """Return the clauses of a plan with the substitutes of their terms.

    Args:
        objects: the number of all objects.
        has_weights: whether clauses have weights.
    """
    if not found:
        return clauses
    made = []
    for clause in clauses:
        here = [each for each in found if clause.term in each.numbers] if _is_of_term(clause) else []
        made.append(_with_slots(clause, here, objects, has_weights=has_weights) if here else clause)
    return made


def note_holders(clauses: list[Clause], found: Sequence[StandIn]) -> None:
    """Note in the clauses how many objects hold a substitute of the term, so that fewer other words are added to it."""
    for clause in clauses if found else ():
        clause.holders = max([clause.holders, *(each.holders for each in found if clause.term in each.numbers)])


def _stand_in(statistics: Statistics, match: Match, matching: Matching | None) -> StandIn | None:
    groups: list[tuple[bytes, ...]] = []
    holders: list[int] = []
    for word in match.words:
        family: tuple[bytes, ...] = ()
        if matching is not None and has_family(word):
            family = statistics.family(word.encode(), matching).words
        words = list(dict.fromkeys([word.encode(), *family]))
        rows = zip(words, statistics.rows(words), strict=True)  # parts of runs without blanks, too
        held = [(each, row.df) for each, row in rows if row is not None and row.df]
        if not held:
            return None
        groups.append(tuple(each for each, _ in held))
        holders.append(sum(df for _, df in held))
    return StandIn(match.numbers, tuple(groups), min(holders))


def _is_of_term(clause: Clause) -> bool:
    return not clause.role & FORBIDDEN and clause.slots[0].how == "exact"


def _with_slots(clause: Clause, found: Sequence[StandIn], objects: int, *, has_weights: bool) -> Clause:
    """Return a clause with the substitutes of its term: behind the words as typed, before completions.

    Args:
        objects: the number of all objects.
        has_weights: whether clauses have weights.
    """
    place = next((place for place, slot in enumerate(clause.slots) if slot.how != "exact"), len(clause.slots))
    taken = {word for slot in clause.slots[:place] for word in slot.words}
    slots = []
    for each in found:
        weight = SHARE * min(clause.weight, idf(objects, min(each.holders, objects))) if has_weights else 0.0
        words = tuple(word for group in each.words for word in group)
        if len(each.words) > 1:
            slots.append(Slot(words, weight, how="synonym", together=tuple(map(len, each.words))))
        elif left := tuple(word for word in words if word not in taken):
            slots.append(Slot(left, weight, how="synonym"))
    return Clause(
        clause.term,
        clause.role,
        clause.weight,
        [*clause.slots[:place], *slots, *clause.slots[place:]],
        is_expandable=clause.is_expandable,
        holders=max([clause.holders, *(each.holders for each in found)]),
    )
