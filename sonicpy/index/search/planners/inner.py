"""The parts of compounds: `path` also finds `os.path.join`, which ranks below the word itself."""

from sonicpy._native.planner import core_of
from sonicpy._native.terms import PART, STOP
from sonicpy._native.word_break import is_unspaced_letter
from sonicpy.index.search.matching import Matching
from sonicpy.index.search.statistics import Statistics


def joined_words(statistics: Statistics, word: bytes, flags: int, matching: Matching | None) -> list[bytes]:
    """Return the compounds that have a word of a query, or a form of it, as a part; parts of runs without blanks have
    none.

    Args:
        flags: the flags of the term; stop words have no forms.
    """
    if flags & PART or is_unspaced_letter(word):
        return []
    return statistics.joined(core_of(word), None if flags & STOP else matching)
