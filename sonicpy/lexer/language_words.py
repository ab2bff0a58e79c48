"""The words of a text as evidence for its language: one many-pattern scan over the lists of all languages.

Needed where n-grams are unsure. Only languages that share their script with others have lists here; the script tells
the rest apart. Invariant: the text and the lists go through the same `spaced`, and a word's pattern has a blank at
both ends, so only whole words match.
"""

import math
import re
from collections.abc import Iterator

import ahocorasick

from sonicpy.lexer.languages import LANGUAGES
from sonicpy.lexer.stopwords import StopWords

SHARED_SCRIPTS = frozenset({"Latin", "Cyrillic", "Arabic", "Devanagari", "Hebrew"})
"""The scripts of more than one language, between which n-grams decide. (Han is Japanese if kana stand beside it.)"""

LISTED_SHARE = 50_000
"""A word on a list of n words speaks for the language with log(LISTED_SHARE / n) nats: the list holds about half of
the words of a text in it, while any other word is one in 100,000. A tenth or ten times as much is worse."""

_BETWEEN_WORDS = re.compile("(?:[^\\w\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0670\u0900-\u0963]|[\\d_\u02bb\u02bc])+")


class LanguageWords:
    """The automaton over all lists, built once."""

    def __init__(self, stopwords: StopWords) -> None:
        """Read every list from `stopwords`."""
        self._automaton = ahocorasick.Automaton(ahocorasick.STORE_INTS)
        self._languages: list[tuple[tuple[str, float], ...]] = [()]
        longer: dict[tuple[int, str], int] = {}
        for code, pattern, nats in _evidence(stopwords):
            # Whole numbers instead of objects at the nodes, and each set of languages once: a third of the memory.
            number = self._automaton.get(pattern, 0)
            following = longer.setdefault((number, code), len(self._languages))
            if following == len(self._languages):
                self._languages.append((*self._languages[number], (code, nats)))
            self._automaton.add_word(pattern, following)
        self._automaton.make_automaton()

    def evidence(self, text: str) -> list[tuple[str, float]]:
        """Return (language, nats) of every word of `text` for every language that lists it."""
        languages = self._languages
        return [pair for _, number in self._automaton.iter(spaced(text)) for pair in languages[number]]


def spaced(text: str) -> str:
    """Return `text` case-folded, its words parted by single blanks, one more at each end."""
    return f" {_BETWEEN_WORDS.sub(' ', text.casefold()).strip()} "


def _evidence(stopwords: StopWords) -> Iterator[tuple[str, str, float]]:
    """Return (language, pattern, nats) of every word."""
    for language in LANGUAGES:
        if SHARED_SCRIPTS.isdisjoint(language.scripts):
            continue
        patterns = {spaced(word) for word in stopwords.guess_words(language.code)} - {"  "}
        for pattern in sorted(patterns):
            yield language.code, pattern, math.log(LISTED_SHARE / len(patterns))
