"""SUGGEST: words that complete or correct what was typed."""

from itertools import islice
from operator import itemgetter

from sonicpy.index.search.expansion import corrections_by_sonic, edits_allowed
from sonicpy.index.search.lexicon import CORRECTIONS_EXAMINED, Lexicon
from sonicpy.index.search.scripts import continues_in_script

COMPLETIONS_EXAMINED = 2000
"""Completions compared to find the likely ones, at most: it bounds the time of a one-letter prefix."""
WORD = itemgetter(0)
"""Of a correction."""


def suggest_likely(lexicon: Lexicon, word: bytes, limit: int) -> list[bytes]:
    """Return at most `limit` words: itself, then its completions by frequency, then corrections, nearest first.

    Corrections of one distance are ordered by frequency, then by likeness to `word`, then by bytes.
    """
    words = lexicon.likely(word, limit, COMPLETIONS_EXAMINED)
    if len(words) == limit:
        return words
    matches = lexicon.corrections(word, edits_allowed(len(word.decode())), transpositions=True)
    corrected = lexicon.nearest(word, matches, limit - len(words), besides=words)
    return words + list(map(WORD, corrected[: limit - len(words)]))


def suggest_alphabetical(lexicon: Lexicon, word: bytes, limit: int, typed_bytes: int) -> list[bytes]:
    """Return at most `limit` words as Sonic does: completions in byte order, then corrections at distance 1, 2, 3."""
    completions = (found for found in lexicon.completions(word) if continues_in_script(word, found))
    words = list(islice(completions, limit))
    if len(words) == limit:
        return words
    corrected = dict.fromkeys(found for _, near in corrections_by_sonic(lexicon, word, typed_bytes) for found in near)
    others = [found for found in corrected if found not in words][:CORRECTIONS_EXAMINED]
    if lexicon.live:  # a graph may hold words that are gone; compat mode shows them until the next consolidation
        others = [found for found, _ in lexicon.held(others)]
    return words + others[: limit - len(words)]
