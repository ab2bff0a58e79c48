"""The reference implementation of `_native.word_walks`, which folds each word and compares it by a table of edit
distances.
"""

from collections.abc import Iterable, Mapping

NUL = "\0"


def distance_of(pattern: str, letters: list[str], most: int, *, begins: bool) -> int:
    """Return the number of errors in a word, or in its best beginning; a number above `most` means too many.

    Args:
        letters: the folded letters of each letter of the word; a beginning may end inside one of these.
    """
    word = "".join(letters)
    rows = [list(range(len(pattern) + 1))]
    best = rows[0][-1] if begins else most + 1
    for at, letter in enumerate(word, 1):
        row = [at]
        for place, own in enumerate(pattern, 1):
            cost = min(rows[-1][place - 1] + (own != letter), rows[-1][place] + 1, row[-1] + 1)
            if at > 1 and place > 1 and own == word[at - 2] and pattern[place - 2] == letter:
                cost = min(cost, rows[-2][place - 2] + 1)
            row.append(cost)
        rows.append(row)
        if begins:
            best = min(best, row[-1])
    return best if begins else rows[-1][-1]


def find_words(
    words: Iterable[str], pattern: str, letters: Mapping[str, str], distance: int, *, begins: bool
) -> dict[str, int]:
    """Return the words that match a pattern, or begin with it, with their distances; of `part NUL word`, the part is
    compared.
    """
    found = {}
    for word in words:
        part = word.partition(NUL)[0]
        its = distance_of(pattern, [letters.get(letter, letter) for letter in part], distance, begins=begins)
        if its <= distance:
            found[word] = its
    return found
