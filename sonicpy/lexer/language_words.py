"""The words of a text as evidence for its language.

The guesser needs this evidence where n-grams are unsure. Only languages that share their script with others have lists
here; the script alone identifies the rest. Invariant: the text and the lists go through the same `spaced`, and only
whole words match.
"""

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator

from sonicpy.lexer.languages import LANGUAGES, by_code
from sonicpy.lexer.stopwords import StopWords

SHARED_SCRIPTS = frozenset({"Latin", "Cyrillic", "Arabic", "Devanagari", "Hebrew"})
"""The scripts that several languages share: n-grams decide between these. (Han is Japanese if the text has kana
too.)"""

LISTED_SHARE = 50_000
"""A word on a list of n words adds log(LISTED_SHARE / n) nats to the language: about half of the words of a text in
that language are on the list, while any other word is one in 100,000. A tenth of this value and ten times this value
give more errors."""

LEAST_NATS = 3.0
LIKELY_SHARE = 0.4
"""The least evidence of a likely language, and its least share of the evidence of the best one. For the words of five
sentences, in 30 languages, the right language is likely in 98 of 100 samples, and another one beside it in 13."""

_BETWEEN_WORDS = re.compile("(?:[^\\w\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0670\u0900-\u0963]|[\\d_\u02bb\u02bc])+")
_MODIFIERS = frozenset("\u02bb\u02bc")
"""Letters that separate words here, unlike all other letters."""


class LanguageWords:
    """The words on the lists of all languages, each with its languages."""

    def __init__(self, stopwords: StopWords) -> None:
        """Read every list from `stopwords`."""
        self._listed: dict[str, int] = {}
        """Word -> the languages that list it, as bits. Words with the same languages share one int, which takes a third
        of the memory."""
        self._phrases: dict[str, list[tuple[list[str], int]]] = {}
        """Last word -> the phrases on lists that end with it, longest first: each its words, and its languages as
        bits."""
        self._weights: list[tuple[str, float]] = []
        """The language of each bit, and the evidence of a word on its list in nats."""
        self._pairs: dict[int, tuple[tuple[str, float], ...]] = {}
        phrases: dict[str, int] = {}
        for code, words in _lists(stopwords):
            bit = 1 << len(self._weights)
            self._weights.append((code, math.log(LISTED_SHARE / len(words))))
            for word in words:
                places = phrases if " " in word else self._listed
                places[word] = places[word] | bit if word in places else bit
        for phrase in sorted(phrases, key=len, reverse=True):
            parts = phrase.split(" ")
            self._phrases.setdefault(parts[-1], []).append((parts, phrases[phrase]))

    def listed(self, words: Iterable[str]) -> list[str]:
        """Return those words that are on a list: only they matter to `languages`."""
        listed = self._listed
        return [word for word in words if word in listed]

    def languages(self, words: Iterable[str]) -> tuple[str, ...]:
        """Return the most likely languages of words, the best one first; none if the words are on no list.

        A word on the lists of several languages is evidence for each by the square of its share. Languages of one
        script are compared with the language of this script that has the most evidence.

        Args:
            words: case-folded words in NFC.
        """
        found: defaultdict[str, float] = defaultdict(float)
        for word in self.listed(words):
            languages = self._languages(self._listed[word])
            for code, nats in languages:
                found[code] += nats / len(languages) ** 2
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
        """Return the (language, nats) of every word of `text`, for every language that lists the word."""
        return [pair for pairs in self._found(spaced(text)[1:-1].split(" ")) for pair in pairs]

    def _found(self, words: list[str]) -> Iterator[tuple[tuple[str, float], ...]]:
        """Yield the (language, nats) pairs of every listed word or phrase in words that follow each other."""
        listed, phrases = self._listed, self._phrases
        for place, word in enumerate(words, 1):
            for parts, bits in phrases.get(word, ()):
                if len(parts) <= place and words[place - len(parts) : place] == parts:
                    yield self._languages(bits)
            if word in listed:
                yield self._languages(listed[word])

    def _languages(self, bits: int) -> tuple[tuple[str, float], ...]:
        pairs = self._pairs.get(bits)
        if pairs is None:
            pairs = tuple(pair for place, pair in enumerate(self._weights) if bits >> place & 1)
            self._pairs[bits] = pairs
        return pairs


def spaced(text: str) -> str:
    """Return `text` case-folded, with single blanks between its words and at both ends."""
    return f" {_BETWEEN_WORDS.sub(' ', text.casefold()).strip()} "


def _lists(stopwords: StopWords) -> Iterator[tuple[str, dict[str, None]]]:
    """Yield each language that has a list, with its words in the form of `spaced`, but without the blanks at both
    ends."""
    for language in LANGUAGES:
        if SHARED_SCRIPTS.isdisjoint(language.scripts):
            continue
        # Nearly all words consist of letters, and `spaced` would leave them as they are: reading them takes a third.
        words = dict.fromkeys(
            [
                word if word.isalpha() and _MODIFIERS.isdisjoint(word) else spaced(word)[1:-1]
                for word in stopwords.guess_words(language.code)
            ]
        )
        words.pop("", None)
        if words:
            yield language.code, words
