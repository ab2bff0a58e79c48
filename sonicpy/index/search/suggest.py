"""SUGGEST: words that complete or correct a typed word."""

from itertools import islice
from operator import itemgetter

from sonicpy.index.search.expansion import corrections_by_sonic, edits_allowed
from sonicpy.index.search.scripts import continues_in_script
from sonicpy.index.search.statistics import CORRECTIONS_EXAMINED, Statistics

COMPLETIONS_EXAMINED = 2000
"""Maximum of completions compared to find the likely ones: it bounds the time of a one-letter prefix."""
WORD = itemgetter(0)
"""Of a correction."""


def suggest_likely(statistics: Statistics, word: bytes, limit: int) -> list[bytes]:
    """Return at most `limit` words: the word itself, completions by frequency, then corrections, nearest first.

    Corrections of one distance are ordered by frequency, then by likeness to `word`, then by bytes.
    """
    words = statistics.likely(word, limit, COMPLETIONS_EXAMINED)
    if len(words) == limit:
        return words
    matches = statistics.corrections(word, edits_allowed(len(word.decode())), transpositions=True)
    corrected = statistics.nearest(word, matches, limit - len(words), besides=words)
    return words + list(map(WORD, corrected[: limit - len(words)]))


def suggest_alphabetical(statistics: Statistics, word: bytes, limit: int, typed_bytes: int) -> list[bytes]:
    """Return at most `limit` words as Sonic does: completions in byte order, then corrections at distance 1, 2, 3."""
    completions = (found for found in statistics.completions(word) if continues_in_script(word, found))
    words = list(islice(completions, limit))
    if len(words) == limit:
        return words
    corrected = dict.fromkeys(
        found for _, near in corrections_by_sonic(statistics, word, typed_bytes) for found in near
    )
    others = [found for found in corrected if found not in words][:CORRECTIONS_EXAMINED]
    if statistics.live:  # a graph may hold words that are gone; compat mode shows them until the next consolidation
        others = [found for found, _ in statistics.held(others)]
    return words + others[: limit - len(words)]
