"""Synonyms, slow and simple: an object counts as holding a word of a query if it holds the word, or all words of a
substitute of it, alone or together with its neighbours.
"""

from collections.abc import Iterable, Sequence

Phrase = tuple[str, ...]


def phrases(side: str) -> list[Phrase]:
    """Return the phrases of a side of a rule."""
    return [tuple(part.split()) for part in side.split(",")]


def stand_ins(rules: Iterable[str], query: Sequence[str]) -> list[tuple[set[str], Phrase]]:
    """Return, for each rule that applies to a query of different words, the words that it applies to, and their
    substitutes.
    """
    found = []
    for rule in rules:
        left, _, right = rule.partition("=>")
        others = phrases(right or left)
        for phrase in phrases(left):
            starts = range(len(query) - len(phrase) + 1)
            if any(tuple(query[start : start + len(phrase)]) == phrase for start in starts):
                found += [(set(phrase), other) for other in others if other != phrase]
    return found


def holders(objects: dict[str, set[str]], rules: Iterable[str], query: Sequence[str]) -> set[str]:
    """Return the objects that hold every word of a query, or a substitute by the rules."""
    found = stand_ins(rules, query)
    return {name for name, words in objects.items() if all(_holds(words, word, found) for word in query)}


def answers(objects: dict[str, set[str]], rules: Iterable[str], query: Sequence[str]) -> set[str]:
    """Return the objects that hold any word of a query."""
    found = stand_ins(rules, query)
    return {name for name, words in objects.items() if any(_holds(words, word, found) for word in query)}


def _holds(words: set[str], word: str, found: list[tuple[set[str], Phrase]]) -> bool:
    return word in words or any(word in for_these and set(other) <= words for for_these, other in found)
