"""The synonyms of a collection, as queries look them up: the substitutes of some of their terms.

A substitute is not replaced again by its own substitutes, so cycles of rules are harmless.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

from sonicpy._native.terms import Terms
from sonicpy.index.search.deciding_terms import deciding
from sonicpy.index.search.synonym_matches import NO_MATCHES, Match, Matches
from sonicpy.store.rows.synonym_rules import Phrase, SynonymRule

if TYPE_CHECKING:
    from sonicpy.store.views.view import View

MATCHES_MAX = 64
"""The most substitutes in one query; the first ones count, in the order of the query's terms and of the rules."""
KNOWN_MAX = 100
"""The most collections whose synonyms are kept ready."""


class SynonymLookup:
    """The rules of a collection, by the first word of each left side.

    Args:
        rules: the rules in the order in which they were given.
    """

    def __init__(self, rules: list[SynonymRule]) -> None:
        self._by_first: dict[bytes, list[tuple[Phrase, tuple[Phrase, ...]]]] = {}
        for rule in rules:
            others = rule.right or rule.left
            for phrase in rule.left:
                self._by_first.setdefault(phrase[0].encode(), []).append((phrase, others))

    def matches(self, terms: Terms) -> Matches:
        """Return the substitutes of the terms of a query."""
        by_first, words = self._by_first, terms.words
        if not any(word in by_first for word in words):
            return NO_MATCHES
        found: dict[Match, None] = {}
        for match in self._found(terms):
            found[match] = None
            if len(found) == MATCHES_MAX:
                break
        return tuple(found)

    def _found(self, terms: Terms) -> Iterator[Match]:
        numbered = {word: number for number, word in enumerate(terms.words)}
        places = {word.decode(): (place, numbered[word]) for place, (word, _) in enumerate(deciding(terms))}
        for word in terms.words:
            for phrase, others in self._by_first.get(word, ()):
                numbers = _numbers(phrase, places, terms)
                for other in others if numbers else ():
                    if other != phrase:
                        yield Match(numbers, other)


def _numbers(phrase: Phrase, places: dict[str, tuple[int, int]], terms: Terms) -> tuple[int, ...]:
    """Return the numbers of the terms that match the words of a phrase one after the other; (): there are none.

    Args:
        places: term -> its place in the query, and its number.
    """
    found = [places[word] for word in phrase if word in places]
    if len(found) != len(phrase):
        return ()
    # Terms are distinct: a word that the query has twice may follow any other.
    has_twice = any(terms.counts[number] > 1 for _, number in found)
    follow = all(after == before + 1 for (before, _), (after, _) in pairwise(found))
    return tuple(number for _, number in found) if follow or has_twice else ()


class KnownSynonyms:
    """The synonyms of collections, prepared once after each change."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[bytes, SynonymLookup]] = {}

    def of(self, view: "View", collection: str) -> SynonymLookup | None:
        """Return the synonyms of a collection; None: it has none."""
        stamp = view.synonym_stamp(collection)
        if stamp is None:
            return None
        known = self._known.get(collection)
        if known is None or known[0] != stamp:
            if len(self._known) >= KNOWN_MAX:
                self._known.clear()
            known = self._known[collection] = stamp, SynonymLookup(view.synonym_rules(collection))
        return known[1]
