"""The words of a text as evidence for its language, found by one scan for the words of all languages at once.

The guesser needs them where n-grams are unsure. Only languages that share their script with others have lists here; the
script alone identifies the rest. Invariant: the text and the lists go through the same `spaced`, and the pattern of a
word has a blank at both ends, so only whole words match.
"""

import math
import re
from collections.abc import Iterator

import ahocorasick

from sonicpy.lexer.languages import LANGUAGES
from sonicpy.lexer.stopwords import StopWords

SHARED_SCRIPTS = frozenset({"Latin", "Cyrillic", "Arabic", "Devanagari", "Hebrew"})
"""The scripts shared by several languages: n-grams decide between these. (Han is Japanese if the text has kana too.)"""

LISTED_SHARE = 50_000
"""A word on a list of n words adds log(LISTED_SHARE / n) nats to the language: about half of the words of a text in it
are on the list, while any other word is one in 100,000. A tenth of this value and ten times this value give more
errors."""

_BETWEEN_WORDS = re.compile("(?:[^\\w\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0670\u0900-\u0963]|[\\d_\u02bb\u02bc])+")


class LanguageWords:
    """The words of all lists as one automaton."""

    def __init__(self, stopwords: StopWords) -> None:
        """Read every list from `stopwords`."""
        self._automaton = ahocorasick.Automaton(ahocorasick.STORE_INTS)
        self._languages: list[tuple[tuple[str, float], ...]] = [()]
        longer: dict[tuple[int, str], int] = {}
        for code, pattern, nats in _evidence(stopwords):
            # The nodes hold numbers, not objects, and each set of languages is stored once: a third of the memory.
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
    """Return `text` case-folded, with single blanks between its words and at both ends."""
    return f" {_BETWEEN_WORDS.sub(' ', text.casefold()).strip()} "


def _evidence(stopwords: StopWords) -> Iterator[tuple[str, str, float]]:
    """Return (language, pattern, nats) of every word."""
    for language in LANGUAGES:
        if SHARED_SCRIPTS.isdisjoint(language.scripts):
            continue
        patterns = {spaced(word) for word in stopwords.guess_words(language.code)} - {"  "}
        for pattern in sorted(patterns):
            yield language.code, pattern, math.log(LISTED_SHARE / len(patterns))
