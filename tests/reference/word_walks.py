"""The slow twin of `_native.word_walks`: each word is folded and compared by a table of edit distances."""

from collections.abc import Iterable, Mapping

NUL = "\0"


def distance_of(pattern: str, letters: list[str], most: int, *, begins: bool) -> int:
    """Return how many errors a word has, or its best beginning; more than `most`: too many.

    Args:
        letters: the folded letters of each letter of the word; a beginning may end inside one.
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
    """Return the words that are a pattern, or begin so, with their distances; of `part NUL word`, the part counts."""
    found = {}
    for word in words:
        part = word.partition(NUL)[0]
        its = distance_of(pattern, [letters.get(letter, letter) for letter in part], distance, begins=begins)
        if its <= distance:
            found[word] = its
    return found
