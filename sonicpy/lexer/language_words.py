"""The words of a text as evidence for its language, found by one scan for the words of all languages at once.

The guesser needs them where n-grams are unsure. Only languages that share their script with others have lists here; the
script alone identifies the rest. Invariant: the text and the lists go through the same `spaced`, and the pattern of a
word has a blank at both ends, so only whole words match.
"""

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator

import ahocorasick

from sonicpy.lexer.languages import LANGUAGES, by_code
from sonicpy.lexer.stopwords import StopWords

SHARED_SCRIPTS = frozenset({"Latin", "Cyrillic", "Arabic", "Devanagari", "Hebrew"})
"""The scripts shared by several languages: n-grams decide between these. (Han is Japanese if the text has kana too.)"""

LISTED_SHARE = 50_000
"""A word on a list of n words adds log(LISTED_SHARE / n) nats to the language: about half of the words of a text in it
are on the list, while any other word is one in 100,000. A tenth of this value and ten times this value give more
errors."""

LEAST_NATS = 3.0
LIKELY_SHARE = 0.4
"""The languages of some words have this evidence at least, and this share of the best one's. The words of five
sentences, in 30 languages, have the right one in 98 of 100 samples, and another one beside it in 13."""

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

    def languages(self, words: Iterable[str]) -> tuple[str, ...]:
        """Return the languages that some words are most likely of, the most likely one first; none: no list has them.

        A word on the lists of several languages is evidence for each by the square of its share. Languages of one
        script are compared with the one that has most of it.

        Args:
            words: case-folded, in NFC.
        """
        found: defaultdict[str, float] = defaultdict(float)
        for _, number in self._automaton.iter(f" {' '.join(words)} "):
            listed = self._languages[number]
            for code, nats in listed:
                found[code] += nats / len(listed) ** 2
        best: defaultdict[str, float] = defaultdict(float)
        for code, nats in found.items():
            for script in by_code[code].scripts:
                best[script] = max(best[script], nats)
        likely = [
            (-nats, code) for code, nats in found.items()
            if nats >= LEAST_NATS and nats >= LIKELY_SHARE * max(best[script] for script in by_code[code].scripts)
        ]  # fmt: skip
        return tuple(code for _, code in sorted(likely))

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
