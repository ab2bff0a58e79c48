"""The parts of compounds: `path` also finds `os.path.join`, which ranks below the word itself.

A word that leads to nothing else finds the words that end with it, but for an inflection: `spannung` finds
`Hochspannung`, and `Hochspannungen`.
"""

from sonicpy._native.inner_words import core_of
from sonicpy._native.plan import Clause, add_joined
from sonicpy._native.term_rows import TermInfo
from sonicpy._native.terms import PART, STOP
from sonicpy._native.word_break import is_unspaced_letter
from sonicpy.index.search.accents import is_spelled
from sonicpy.index.search.matching import Matching
from sonicpy.index.search.statistics import Statistics

HEAD_LETTERS_MIN = 5
"""The least number of letters of a word that is looked for at the ends of others."""
BEFORE_MIN, BEHIND_MAX = 3, 3
"""The least number of letters before the typed word, and the most behind it, in a word that is found by its end."""


def joined_words(statistics: Statistics, word: bytes, flags: int, matching: Matching | None) -> list[bytes]:
    """Return the compounds that have a word of a query, or a form of it, as a part; parts of runs without blanks have
    none.

    Args:
        flags: the flags of the term; stop words have no forms.
    """
    if flags & PART or is_unspaced_letter(word):
        return []
    return statistics.joined(core_of(word), None if flags & STOP else matching)


def add_heads(statistics: Statistics, clause: Clause) -> None:
    """Add to the clause of a word that leads to no other the `compounds` that end with it."""
    found = compounds(statistics, clause.slots[0].words[0])
    add_joined(clause, [word for word, _ in found], dict(found), statistics.objects)


def compounds(statistics: Statistics, word: bytes) -> list[tuple[bytes, TermInfo]]:
    """Return the words that end with a word, or with it and at most BEHIND_MAX letters of an inflection, with their
    rows.
    """
    text = word.decode()
    if len(text) < HEAD_LETTERS_MIN or not is_spelled(text) or is_unspaced_letter(text[0].encode()):
        return []
    return [(each, row) for each, row in statistics.holding(word) if _is_head(each.decode(), text)]


def _is_head(word: str, text: str) -> bool:
    before, _, behind = word.rpartition(text)
    return len(before) >= BEFORE_MIN and len(behind) <= BEHIND_MAX and is_spelled(word)
