"""The parts of joined words: `path` finds `os.path.join`, too, below a word of its own."""

from sonicpy._native.clauses import whole_clauses
from sonicpy._native.parts import tokens_of
from sonicpy._native.plan import Clause, add_joined
from sonicpy._native.terms import PART, STOP, Terms
from sonicpy._native.word_break import is_unspaced_letter
from sonicpy.index.search.matching import Matching
from sonicpy.index.search.statistics import Statistics


def add_inner(statistics: Statistics, clauses: list[Clause], terms: Terms, matching: Matching | None) -> None:
    """Add to the clauses that bring objects the words that have the typed word, or a form of it, as a part."""
    joined: list[tuple[Clause, list[bytes]]] = []
    for clause in whole_clauses(clauses, terms):
        words = statistics.joined(_core(clause.slots[0].words[0]), matching)
        if words:
            joined.append((clause, words))
    if not joined:
        return
    held = dict(statistics.held([word for _, words in joined for word in words]))
    for clause, words in joined:
        add_joined(clause, words, held, statistics.objects)


def joined_words(statistics: Statistics, word: bytes, flags: int, matching: Matching | None) -> list[bytes]:
    """Return the words that have a word of a query, or a form of it, as a part; parts of runs without blanks have none.

    Args:
        flags: of the term; stop words have no forms.
    """
    if flags & PART or is_unspaced_letter(word):
        return []
    return statistics.joined(_core(word), None if flags & STOP else matching)


def _core(word: bytes) -> bytes:
    """Return a word without the signs at its ends."""
    if word.isalnum():
        return word
    tokens = tokens_of(word)
    return tokens[0] if len(tokens) == 1 else word
