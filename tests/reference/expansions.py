"""Expansions of a word, as the docs describe them: completions, then corrections, until enough objects are found.

A word of less than four letters has no corrections, except that two neighbours in a word of three letters may be
swapped if no object holds the word.

Corrections have falling shares. If no object holds the word, one with as many errors as the one before it, that keeps
as many typed letters and has at least half as many holders as the first one with this share, has the same share.
"""

from collections.abc import Iterator

SHARES = (0.8, 0.6, 0.5, 0.4)


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
    taken, is_unknown = {word, *family}, not found
    begun = sorted((each for each in held if each.startswith(word)), key=lambda each: (-held[each], each))
    for each in [each for each in begun if each not in taken][:budget]:
        yield each, 0.9 * len(word) / len(each), "completion", 0
        taken.add(each)
        found += held[each]
        budget -= 1
    if len(word) < 3:
        near = {}
    elif len(word) == 3:
        near = {} if word in held else {each: 1 for each in _swapped(word)}
    if found < wanted:
        share, first = 0.0, ""
        for at, each in enumerate([each for each in near if each in held and each not in taken][:budget]):
            is_as_likely = is_unknown and first and near[each] == near[first] and kept(word, each) == kept(word, first)
            if not is_as_likely or 2 * held[each] < held[first]:
                share, first = SHARES[min(at, 3)], each
            yield each, share / near[each], "correction", near[each]


def kept(typed: str, word: str) -> int:
    """Return the length of the longest common subsequence of two words, or that of words which differ by a letter at
    another place; one less if their first letters differ.
    """
    if not typed or not word:
        return 0
    lengths = [0] * (len(word) + 1)
    for letter in typed:
        before = 0
        for at, other in enumerate(word, 1):
            before, lengths[at] = lengths[at], before + 1 if letter == other else max(lengths[at], lengths[at - 1])
    is_swap = lengths[-1] == len(typed) - 1 and sorted(typed) == sorted(word)
    return lengths[-1] + is_swap - (typed[0] != word[0])


def _swapped(word: str) -> list[str]:
    """Return the words that a short word becomes when two neighbours are swapped, in order."""
    return sorted({word[1] + word[0] + word[2], word[0] + word[2] + word[1]} - {word})
