"""The parts of joined words: `path` stands for `os.path.join`, too, below a word of its own."""

from sonicpy._native.bm25 import idf
from sonicpy._native.parts import tokens_of
from sonicpy._native.plan import BRINGS, Clause, Slot
from sonicpy._native.terms import PART, Terms
from sonicpy.index.search.matching import Matching
from sonicpy.index.search.statistics import Statistics

PART_SHARE = 0.8
"""Of the weight of the typed word, what a word counts that has it as a part."""


def add_inner(statistics: Statistics, clauses: list[Clause], terms: Terms, matching: Matching | None) -> None:
    """Add to the clauses that bring objects the words that have the typed word, or a form of it, as a part."""
    joined: list[tuple[Clause, list[bytes]]] = []
    for clause in clauses:
        if clause.role & BRINGS and not terms.flags[clause.term] & PART:
            typed = clause.slots[0].words
            words = statistics.joined(_core(typed[0]), matching)
            if words:
                joined.append((clause, [word for word in words if word not in typed]))
    if not joined:
        return
    rows = dict(statistics.held([word for _, words in joined for word in words]))
    for clause, words in joined:
        found = [(word, rows[word]) for word in words if word in rows]
        if found:
            holders = sum(row.df for _, row in found)
            weight = PART_SHARE * min(clause.weight, idf(statistics.objects, min(holders, statistics.objects)))
            place = next((at for at, slot in enumerate(clause.slots) if slot.how != "exact"), len(clause.slots))
            clause.slots.insert(place, Slot(tuple(word for word, _ in found), weight, how="completion"))
            clause.holders = max(clause.holders, 1)


def _core(word: bytes) -> bytes:
    """Return a word without the signs at its ends."""
    tokens = [word] if word.isalnum() else tokens_of(word)
    return tokens[0] if len(tokens) == 1 else word
