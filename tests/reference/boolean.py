"""The reference implementation of SYNTAX(web), MATCH and FUZZY: it finds the objects that answer word by word, as sets.

A word has a form, a part or a completion only where a sign of the query asks for it. Texts are words separated by
blanks.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from rapidfuzz.distance import OSA

Holds = Callable[[set[str]], bool]
"""Returns whether an object with some words holds an item."""


class Item(NamedTuple):
    """An item of a query: `sign` is "+", "-" or empty; `kind` is "word", "phrase", "begun" or "part"."""

    sign: str
    kind: str
    text: str

    def typed(self) -> str:
        """Return the item as a user types it."""
        shapes = {"word": "{}", "phrase": '"{}"', "begun": "{}*", "part": "*{}*"}
        return self.sign + shapes[self.kind].format(self.text)

    def is_held(self, words: set[str]) -> bool:
        """Return whether an object holds the item."""
        match self.kind:
            case "begun":
                return any(word.startswith(self.text) for word in words)
            case "part":
                return any(self.text in word for word in words)
        return all(word in words for word in self.text.split())

    def is_needed(self, match: str) -> bool:
        """Return whether an object has to hold the item."""
        return self.sign == "+" or self.kind == "phrase" or match == "all"


def typed(query: list[list[Item]]) -> str:
    """Return a query as a user types it; a blank follows the last word."""
    return " ".join(" OR ".join(item.typed() for item in either) for either in query) + " "


def answering(texts: Mapping[str, str], query: list[list[Item]], match: str = "auto") -> set[str]:
    """Return the objects that answer.

    Args:
        texts: name of an object -> its text.
        query: lists of alternative items.
        match: see the option MATCH.
    """
    return {name for name, text in texts.items() if _answers(set(text.split()), query, match)}


def _answers(words: set[str], query: list[list[Item]], match: str) -> bool:
    if any(item.sign == "-" and item.is_held(words) for either in query for item in either):
        return False
    wanted = [either for either in query if either[0].sign != "-"]
    if any(
        any(item.is_needed(match) for item in either) and not any(item.is_held(words) for item in either)
        for either in wanted
    ):
        return False
    return not wanted or any(item.is_held(words) for either in wanted for item in either)


def near(word: str, words: set[str], edits: int) -> set[str]:
    """Return the words that a word finds within `edits` edits, a swap of neighbours being one edit.

    Words of up to three letters find only themselves.
    """
    return {each for each in words if each == word or (len(word) > 3 and OSA.distance(word, each) <= edits)}
