"""The plan of the ranking "newest": objects that hold all words, newest object first."""

from collections.abc import Container
from typing import TYPE_CHECKING

from sonicpy._native.expansions import expand
from sonicpy._native.inner_words import add_inner
from sonicpy._native.plan import BRINGS, REQUIRED, Clause, Plan, Slot, add_forms
from sonicpy._native.planner import (
    EXPANDED_WORDS,
    complete_last,
    families_of,
    find_pieces,
    last_of,
    read_unknown,
    words_together,
)
from sonicpy._native.term_rows import TermInfo
from sonicpy._native.terms import PART, SPECIAL, STOP, Terms
from sonicpy._native.word_break import is_unspaced_letter
from sonicpy.index.search.deciding_terms import Pairs
from sonicpy.index.search.demands import demands_of
from sonicpy.index.search.matching import Matching
from sonicpy.index.search.plan import IN_PAIRS, IS_STOP, IS_UNHELD
from sonicpy.index.search.planners.completions import Fills, never
from sonicpy.index.search.planners.demanded import Demanded, edited
from sonicpy.index.search.planners.rarely import Rarely
from sonicpy.index.search.planners.spacing import write_apart, write_together
from sonicpy.index.search.planners.stand_ins import stand_ins_of, with_stand_ins
from sonicpy.index.search.statistics import Statistics

if TYPE_CHECKING:
    from sonicpy.config import SearchConfig

HeldForms = dict[int, list[tuple[bytes, TermInfo]]]
"""The number of a term -> the other words of it that objects hold, each with its row."""


def plan_newest(
    statistics: Statistics, terms: Terms, search: "SearchConfig", matching: Matching | None = None, fills: Fills = never
) -> Plan:
    """Return the plan of a query for the objects with every word, or an expansion of a word that no object holds.

    Stop words are required only if there is no other word; single letters of a run without blanks are never required.

    Args:
        matching: leads words to their families; None: no word has a family.
        fills: not used, because this ranking always completes the last word.
    """
    demands = demands_of(terms)
    statistics = edited(demands, statistics)
    folds = matching is not None
    together = words_together(terms, folds, Rarely)
    rows, words, doubtful, besides = families_of(statistics, terms, matching, statistics.may_hold(together), Rarely)
    left_out = _left_out(terms)
    clauses = _clauses(terms, rows, (words, doubtful), left_out, statistics.objects)
    write_together(clauses, together, besides, statistics.objects)
    pieces = find_pieces(statistics, clauses, terms, folds, Rarely, statistics.word_sources(), partly=False)
    last = last_of(clauses, terms)
    if last is not None and is_letter(terms.words[last.term], terms.flags[last.term]):
        last = None
    others = stand_ins_of(statistics, statistics.synonyms(terms), matching)
    taken = {number for other in others for number in other.numbers}
    for clause in clauses:
        if clause.is_expandable and clause is not last and clause.term not in taken:
            expand(statistics, clause, 0, search)
    add_inner(statistics, clauses, terms, matching)
    complete_last(statistics, last, clauses, terms, search, Rarely)
    read_unknown(statistics, clauses, terms, pieces, last, matching, search, Rarely)
    held = {clause.term for clause in clauses if clause.holders}
    clauses = write_apart(statistics, clauses, pieces, held, last, are_needed=True)
    clauses = with_stand_ins(clauses, others, statistics.objects, has_weights=False)
    unheld = {clause.term for clause in clauses if terms.flags[clause.term] & SPECIAL and not clause.holders}
    left_out.update(dict.fromkeys(unheld, IS_UNHELD))
    clauses = [clause for clause in clauses if clause.term not in unheld]
    if demands is not None:
        made = Demanded(statistics, terms, demands, search, matching, has_weights=False).clauses(clauses, last)
        left_out = {number: why for number, why in left_out.items() if all(one.term != number for one in made)}
        clauses = made
    return Plan(clauses, statistics.average_length, 0.0, full_first=False, left_out=left_out, enough=1)


def _left_out(terms: Terms) -> dict[int, str]:
    """Return the reason for each term that is not searched, by the number of the term."""
    only_stops = all(flags & STOP for flags in terms.flags)
    pairs = Pairs(terms)
    left_out: dict[int, str] = {}
    for number, (term, flags) in enumerate(zip(terms.words, terms.flags, strict=True)):
        if flags & STOP and not only_stops:
            left_out[number] = IS_STOP
        elif pairs and not flags & PART and pairs.are_in(term):
            left_out[number] = IN_PAIRS  # a longer run may be split otherwise, but holds its pairs
    return left_out


def _clauses(
    terms: Terms,
    rows: list[TermInfo | None],
    families: tuple[HeldForms, HeldForms],
    left_out: Container[int],
    objects: int,
) -> list[Clause]:
    """Return the clauses of the terms that are searched.

    Args:
        rows: the row of each term; None: no object holds it.
        families: the other words that the terms surely find, and those that they may find.
        left_out: the numbers of the terms that are not searched.
        objects: the number of all objects.
    """
    words, doubtful = families
    clauses: list[Clause] = []
    expanded = 0
    for number, (term, row, flags) in enumerate(zip(terms.words, rows, terms.flags, strict=True)):
        if number in left_out:
            continue
        family = words.get(number, [])
        is_held = bool(family) or (row is not None and row.df > 0)
        is_word = not (flags & (SPECIAL | PART) or is_letter(term, flags))
        is_expandable = is_word and not is_held and expanded < EXPANDED_WORDS
        expanded += is_expandable
        slot = Slot((term, *(form for form, _ in family)), 0.0)
        clause = Clause(number, BRINGS | REQUIRED, 0.0, [slot], is_expandable=is_expandable, holders=int(is_held))
        clauses.append(clause)
        if not is_held and number in doubtful:
            add_forms(clause, doubtful[number], objects)
    return clauses


def is_letter(term: bytes, flags: int) -> bool:
    """Return whether a term with these flags is a single letter of a run without blanks."""
    return bool(flags & STOP) and is_unspaced_letter(term)
