"""SUGGEST: words that complete or correct a typed word."""

from itertools import islice
from operator import itemgetter

from sonicpy._native.expansions import matches_of
from sonicpy.index.search.beginnings import edits_of_beginning, likeliest_beginnings
from sonicpy.index.search.expansion import corrections_by_sonic
from sonicpy.index.search.statistics import CORRECTIONS_EXAMINED, Statistics, most_likely

COMPLETIONS_EXAMINED = 2000
"""The most completions that are compared to find the likely ones; this bounds the time for a one-letter prefix."""
WORD, DISTANCE = itemgetter(0), itemgetter(2)
"""Functions that return the word, or the distance, of a correction."""


def suggest_likely(statistics: Statistics, word: bytes, limit: int) -> list[bytes]:
    """Return at most `limit` words: the word itself, completions by frequency, then compounds with a part that
    completes the word, then corrections, nearest first.

    Completions may differ from the word in accents; corrections may be words with a corrected beginning. Corrections of
    one distance are ordered by likeness to `word` and by frequency, those of whole words first.
    """
    words = completed(statistics, word, limit)
    if len(words) < limit:
        inner = [found for found in statistics.inner(word) if found[0] not in words]
        words += most_likely(word, inner, limit - len(words))
    if len(words) >= limit or word.isdigit():  # another number is no correction
        return words
    return [*words, *_corrected(statistics, word, limit - len(words), set(words))]


def completed(statistics: Statistics, word: bytes, limit: int) -> list[bytes]:
    """Return the word and its completions. If the word has accents, completions without them come last."""
    words = statistics.likely(word, limit, COMPLETIONS_EXAMINED)
    variants = statistics.variants(word)
    if not variants:
        return words
    if word.isascii():
        return most_likely(word, [*statistics.held(words), *variants], limit)
    taken = set(words)
    return [*words, *most_likely(word, [each for each in variants if each[0] not in taken], limit - len(words))]


def _corrected(statistics: Statistics, word: bytes, wanted: int, taken: set[bytes]) -> list[bytes]:
    length = len(word.decode())
    matches = matches_of(statistics, word)
    whole = statistics.nearest(word, matches, wanted, besides=taken)[:wanted]
    edits = edits_of_beginning(length)
    if len(whole) == wanted:  # only beginnings with fewer errors come before the last of these
        edits = min(edits, DISTANCE(whole[-1]) - 1)
    if edits <= 0:
        return list(map(WORD, whole))
    taken.update(map(WORD, whole))
    begun = likeliest_beginnings(statistics, word, edits, taken)
    near = sorted([*whole, *begun], key=DISTANCE)  # stable: whole words are the first ones
    return list(map(WORD, near[:wanted]))


def suggest_alphabetical(statistics: Statistics, word: bytes, limit: int, typed_bytes: int) -> list[bytes]:
    """Return at most `limit` words as Sonic does: completions in byte order, then corrections at distance 1, 2, 3.

    Args:
        typed_bytes: as in `edits_allowed_by_sonic`.
    """
    from sonicpy.index.search.scripts import continues_in_script  # noqa: PLC0415  loaded when it is needed

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
