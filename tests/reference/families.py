"""The reference implementation of families, which folds and stems every word. Words have nothing before them here, such
as articles.
"""

from collections.abc import Iterable, Sequence

from sonicpy.index.search.accents import fold
from sonicpy.lexer.stemmers import Stemmers

STEMMERS = Stemmers()
TWO_LETTERS = str.maketrans({"å": "aa", "ä": "ae", "ö": "oe", "ø": "oe", "ü": "ue"})


def family(
    words: Iterable[str],
    typed: str,
    sure: Sequence[str],
    doubtful: Sequence[str],
    own: str | None,
    *,
    may_agree: bool = False,
) -> tuple[set[str], set[str]]:
    """Return the other words that a typed word finds in any case, and those that it may find.

    Args:
        sure, doubtful: the names of the sure and the doubtful stemmers of the word.
        own: letters that keep their marks.
        may_agree: whether words on which the first doubtful stemmer and another one agree are found in any case.
    """
    found, perhaps = set(), set()
    for word in words:
        votes = [_shares(name, word, typed, own) for name in doubtful]
        agreed = may_agree and votes[:1] == [True] and sum(votes) > 1
        if fold(word, own) == fold(typed, own) or agreed or any(_shares(name, word, typed, own) for name in sure):
            found.add(word)
        elif any(votes) or any(_shares(name, word, typed, "") for name in sure) or _is_respelled(word, typed):
            perhaps.add(word)
    return found - {typed}, perhaps


def _is_respelled(word: str, typed: str) -> bool:
    """Return whether two words are equal without accents, or with two letters for each letter that is often written
    so.
    """
    return fold(word, "") == fold(typed, "") or (
        fold(word.translate(TWO_LETTERS), "") == fold(typed.translate(TWO_LETTERS), "") and typed[0] < "\u0250"
    )


def _shares(algorithm: str, one: str, other: str, own: str | None) -> bool:
    return _stem(algorithm, one, own) == _stem(algorithm, other, own)


def _stem(algorithm: str, word: str, own: str | None) -> str:
    return fold(STEMMERS[algorithm]([word])[0], own)
