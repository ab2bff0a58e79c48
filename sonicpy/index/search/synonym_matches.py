"""The substitutes of terms of a query, by the synonyms of its collection."""

from typing import Final, NamedTuple


class Match(NamedTuple):
    """A substitute of one term of a query, or of several together.

    Attributes:
        numbers: the numbers of the terms.
        words: the substitute; an object that holds all of these words counts as holding the terms.
    """

    numbers: tuple[int, ...]
    words: tuple[str, ...]


Matches = tuple[Match, ...]
NO_MATCHES: Final[Matches] = ()


def has_family(word: str) -> bool:
    """Return whether other forms of a word are searched, too; they are not for identifiers."""
    return word.isalpha()
