"""The slow twin of families: every word is folded and stemmed. Nothing stands before a word here, such as articles."""

from collections.abc import Iterable, Sequence

import Stemmer

from sonicpy.index.search.accents import fold


def family(words: Iterable[str], typed: str, algorithms: Sequence[str], own: str | None) -> set[str]:
    """Return the other words that a typed one stands for.

    Args:
        algorithms: Snowball's, that stem it.
        own: letters that keep their marks.
    """
    found = set()
    for word in words:
        shares = [_stem(name, word, own) == _stem(name, typed, own) for name in algorithms]
        if word != typed and (fold(word, own) == fold(typed, own) or any(shares)):
            found.add(word)
    return found


def _stem(algorithm: str, word: str, own: str | None) -> str:
    return fold(Stemmer.Stemmer(algorithm, 0).stemWord(word), own)
