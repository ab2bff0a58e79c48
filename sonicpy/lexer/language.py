"""Guess the language of a text by its script, by n-grams, and by stop words where the n-grams are unsure.

Invariant: the answer is a code of the table of languages or None, and only the first 200 bytes decide it.
"""

import math
import unicodedata
from collections.abc import Iterable

from sonicpy._native.language import UNCLEAR, ClearTexts, Detector
from sonicpy.data import LANGUAGE_PROFILES
from sonicpy.lexer.language_words import LanguageWords
from sonicpy.lexer.languages import by_code

MIN_BYTES = 20
"""A shorter text has no language."""

MAX_BYTES = 200
"""Only the beginning of a text decides."""

SURE_LEAD = 10.0
"""The lead in nats at which n-grams alone decide. In texts of 20 bytes, n-grams are wrong in four of ten below it, and
in one of forty above it. A higher value changes no share by more than 0.1 %."""


class LanguageGuesser:
    """Guesses the language of a text of QUERY and PUSH without LANG. The table is mapped at once, words if needed."""

    def __init__(self) -> None:
        """Map the n-gram table of the package. Raise OSError or ValueError if it is missing or damaged."""
        self._detector = Detector(LANGUAGE_PROFILES)
        self._clear = ClearTexts(self._detector, by_code.keys(), MIN_BYTES, MAX_BYTES, SURE_LEAD)
        self._words: LanguageWords | None = None

    def prepare(self) -> None:
        """Open the words now, so that no text waits for them."""
        if self._words is None:
            self._words = LanguageWords()

    def listed(self, words: Iterable[str]) -> list[str]:
        """Return the words on lists among some words; see `LanguageWords.listed`."""
        self.prepare()
        assert self._words is not None
        return self._words.listed(words)

    def languages_of(self, words: Iterable[str]) -> tuple[str, ...]:
        """Return the languages that some words are most likely of; see `LanguageWords.languages`."""
        self.prepare()
        assert self._words is not None
        return self._words.languages(words)

    def guess(self, text: str) -> str | None:
        """Return the language of `text`; None: it is too short, has no letters, or the table lacks its language."""
        code = self._clear.guess(text)  # one compiled call, enough for nearly every text
        return self.explain(text)[0] if code == UNCLEAR else code

    def counted(self, text: str) -> str | None:
        """Return the result of `guess` if letters alone decide, which takes a tenth of the time; else None."""
        code = self._clear.guess(text)
        if code != UNCLEAR:
            return code
        head = None if text.isascii() else _examined(text)
        code, lead = (None, 0.0) if head is None else self._detector.guess(head)
        return code if lead >= SURE_LEAD and code in by_code else None

    def explain(self, text: str) -> tuple[str | None, str]:
        """Return the language as `guess` does, and the reason: "short", "script", "letters", "words" or "unknown"."""
        head = _examined(text)
        if head is None:
            return None, "short"
        code, lead = self._detector.guess(head)
        reason = "script" if lead == math.inf else "letters"
        if code is not None and lead < SURE_LEAD:
            code, reason = self._by_words(head), "words"
        return (code, reason) if code in by_code else (None, "unknown")

    def _by_words(self, head: str) -> str | None:
        """Return the language with most evidence by n-grams and words together."""
        self.prepare()
        assert self._words is not None
        return self._detector.guess_with(head, self._words.evidence(head))


def _examined(text: str) -> str | None:
    """Return the part of `text` that counts, in NFC, or None if it is too short to guess."""
    if text.isascii():
        return text[:MAX_BYTES] if len(text) >= MIN_BYTES else None
    head = text[:MAX_BYTES].encode("utf-8", "surrogatepass")
    if len(head) < MIN_BYTES:
        return None
    return unicodedata.normalize("NFC", head[:MAX_BYTES].decode("utf-8", "ignore"))
