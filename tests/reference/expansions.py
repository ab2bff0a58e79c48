"""Expansions of a word, as the docs describe them: completions, then corrections, until enough objects are found.

A word of less than four letters has no corrections, except that two neighbours in a word of three letters may be
swapped if no object holds the word.
"""

from collections.abc import Iterator
from itertools import chain, repeat


def expansions(
    word: str, held: dict[str, int], near: dict[str, int], found: int, wanted: int, budget: int, family: list[str]
) -> Iterator[tuple[str, float, str, int]]:
    """Yield (word, share of the weight, how, edits) of each expansion of a word.

    Args:
        held: word -> number of objects that hold it; the most frequent completions come first.
        near: words with their distances, the likeliest first.
    """
    if found >= wanted or budget == 0:
        return
    taken = {word, *family}
    begun = sorted((each for each in held if each.startswith(word)), key=lambda each: (-held[each], each))
    for each in [each for each in begun if each not in taken][:budget]:
        yield each, 0.9 * len(word) / len(each), "completion", 0
        taken.add(each)
        found += held[each]
        budget -= 1
    shares = chain((0.8, 0.6, 0.5), repeat(0.4))
    if len(word) < 3:
        near = {}
    elif len(word) == 3:
        near = {} if word in held else {each: 1 for each in _swapped(word)}
    if found < wanted:
        for each in [each for each in near if each in held and each not in taken][:budget]:
            yield each, next(shares) / near[each], "correction", near[each]


def _swapped(word: str) -> list[str]:
    """Return the words that a short word becomes when two neighbours are swapped, in order."""
    return sorted({word[1] + word[0] + word[2], word[0] + word[2] + word[1]} - {word})
