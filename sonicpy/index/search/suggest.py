"""SUGGEST: words that complete or correct what was typed."""

from itertools import islice

from sonicpy.index.search.expansion import edits_allowed, edits_allowed_by_sonic
from sonicpy.index.search.lexicon import CORRECTIONS_EXAMINED, Lexicon
from sonicpy.index.search.scripts import continues_in_script

COMPLETIONS_EXAMINED = 2000
"""How many completions are compared to find the likely ones: a bound on the time of a one-letter prefix."""


def suggest_likely(lexicon: Lexicon, word: bytes, limit: int) -> list[bytes]:
    """Return at most `limit` words: itself, then its completions by frequency, then corrections, nearest first.

    Frequency decides among corrections of one distance, then how much they resemble `word`, then byte order.
    """
    words = lexicon.likely(word, limit, COMPLETIONS_EXAMINED)
    if len(words) == limit:
        return words
    matches = lexicon.corrections(word, edits_allowed(len(word.decode())), transpositions=True)
    others = (match for match in matches if match[0] not in words)
    corrected = lexicon.nearest(word, others, limit - len(words))
    return words + [found for found, _, _ in corrected[: limit - len(words)]]


def suggest_alphabetical(lexicon: Lexicon, word: bytes, limit: int, typed_bytes: int) -> list[bytes]:
    """Return at most `limit` words as spec chapter 9: completions in byte order, then words at distance 1, 2, 3."""
    completions = (found for found in lexicon.completions(word) if continues_in_script(word, found))
    words = list(islice(completions, limit))
    if len(words) == limit:
        return words
    matches = lexicon.corrections(word, edits_allowed_by_sonic(word, typed_bytes), transpositions=False)
    others = [found for found, _ in matches if found not in words][:CORRECTIONS_EXAMINED]
    if lexicon.live:  # a graph may hold words that are gone; in compat mode they are shown until it is built again
        others = [found for found, _ in lexicon.held(others)]
    return words + others[: limit - len(words)]
