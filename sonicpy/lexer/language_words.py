"""The words of a text as evidence for its language.

The guesser needs this evidence where n-grams are unsure. Only languages that share their script with others have lists
here; the script alone identifies the rest. Invariant: the text and the lists go through the same `spaced`, and only
whole words match.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

import marisa_trie

from sonicpy.data import LANGUAGE_WORD_BITS, LANGUAGE_WORDS
from sonicpy.lexer.languages import LANGUAGES, by_code
from sonicpy.lexer.spaced_words import spaced

LISTED_SHARE = 50_000
"""A word on a list of n words adds log(LISTED_SHARE / n) nats to the language: about half of the words of a text in
that language are on the list, while any other word is one in 100,000. A tenth of this value and ten times this value
give more errors."""

LEAST_NATS = 3.0
LIKELY_SHARE = 0.4
"""The least evidence of a likely language, and its least share of the evidence of the best one. For the words of five
sentences, in 30 languages, the right language is likely in 98 of 100 samples, and another one beside it in 13."""


class LanguageWords:
    """The words of all lists, each with the languages that list it; see ext/tables/language_words.py."""

    def __init__(self, words: Path = LANGUAGE_WORDS, bits: Path = LANGUAGE_WORD_BITS) -> None:
        """Map the words and read their languages. Raise RuntimeError or OSError if a file is missing."""
        self._listed = marisa_trie.Trie()
        self._listed.mmap(str(words))
        self._bits = memoryview(bits.read_bytes()).cast("Q")
        sizes = {language.code: self._listed_by(f"\n{language.code}") for language in LANGUAGES}
        self._weights = [(code, math.log(LISTED_SHARE / size)) for code, size in sizes.items() if size]
        """The language of each bit, and the evidence of a word on its list in nats."""
        self._pairs: dict[int, tuple[tuple[str, float], ...]] = {}
        self._phrases: dict[str, list[tuple[list[str], int]]] | None = None
        """Last word -> the phrases on lists that end with it, longest first: each its words, and its languages as
        bits. None: no text has needed them."""

    def prepare(self) -> dict[str, list[tuple[list[str], int]]]:
        """Read the phrases now, so that no text has to wait for them; return them."""
        found: dict[str, list[tuple[list[str], int]]] = {}
        for key in sorted(self._listed.iterkeys("\t"), key=len, reverse=True):
            parts = key[1:].split(" ")
            found.setdefault(parts[-1], []).append((parts, self._listed_by(key)))
        self._phrases = found
        return found

    def _listed_by(self, key: str) -> int:
        """Return the number beside a key, 0: it is on no list."""
        place = self._listed.get(key)
        return 0 if place is None else self._bits[place]

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
        for bits in filter(None, map(self._listed_by, words)):
            languages = self._languages(bits)
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
        """Return the (language, nats) of every word and phrase of `text`, for every language that lists it."""
        phrases = self.prepare() if self._phrases is None else self._phrases
        place_of, every_bits = self._listed.get, self._bits
        words = spaced(text)[1:-1].split(" ")
        found: list[tuple[str, float]] = []
        for behind, word in enumerate(words, 1):
            if word in phrases:
                for parts, bits in phrases[word]:
                    if len(parts) <= behind and words[behind - len(parts) : behind] == parts:
                        found += self._languages(bits)
            place = place_of(word)
            if place is not None:
                found += self._languages(every_bits[place])
        return found

    def _languages(self, bits: int) -> tuple[tuple[str, float], ...]:
        pairs = self._pairs.get(bits)
        if pairs is None:
            pairs = self._pairs[bits] = tuple(self._weights[place] for place in places_of(bits))
        return pairs


def places_of(bits: int) -> Iterator[int]:
    """Yield the places of the bits that are set, from the lowest on."""
    while bits:
        yield (bits & -bits).bit_length() - 1
        bits &= bits - 1
