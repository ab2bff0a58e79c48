"""The substitutes of terms of a query, by the synonyms of its collection."""

from typing import Final, NamedTuple


class Match(NamedTuple):
    """A substitute of some terms of a query together.

    Attributes:
        numbers: of the terms.
        words: an object that holds all of them counts as one with these terms.
    """

    numbers: tuple[int, ...]
    words: tuple[str, ...]


Matches = tuple[Match, ...]
NO_MATCHES: Final[Matches] = ()


def has_family(word: str) -> bool:
    """Return whether other forms of a word are looked for: not of an identifier."""
    return word.isalpha()
