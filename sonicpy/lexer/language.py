"""Guesses the language of a text by its script, by n-grams, and by stop words where the n-grams are unsure.

Invariant: the answer is a code of the table of languages or None, and only the first 200 bytes decide it.
"""

import math
import unicodedata
from collections.abc import Iterable

from sonicpy._native.language import UNCLEAR, ClearTexts
from sonicpy.data import LANGUAGE_PROFILES
from sonicpy.lexer.language_words import LanguageWords
from sonicpy.lexer.languages import by_code

MIN_BYTES = 20
"""The least number of bytes of a text whose language is guessed."""

MAX_BYTES = 200
"""The number of bytes at the beginning of a text that decide its language."""

SURE_LEAD = 10.0
"""The lead in nats at which n-grams alone decide. In texts of 20 bytes, n-grams are wrong in four of ten below it, and
in one of forty above it. A higher value changes no share by more than 0.1 %."""


class LanguageGuesser:
    """Guesses the language of texts of QUERY and PUSH without LANG. The first text that needs it maps the n-gram table
    of the package, or reads the words; that raises OSError or ValueError if a file is missing or damaged."""

    def __init__(self) -> None:
        self._clear = ClearTexts(LANGUAGE_PROFILES, by_code.keys(), MIN_BYTES, MAX_BYTES, SURE_LEAD, self._evidence)
        self._words: LanguageWords | None = None

    def prepare(self) -> None:
        """Map the table and read the words now, so that no text has to wait for them."""
        _ = self._clear.detector
        self._open_words().prepare()

    def _open_words(self) -> LanguageWords:
        if self._words is None:
            self._words = LanguageWords()
        return self._words

    def listed(self, words: Iterable[str]) -> list[str]:
        """Return those words that are on a list of stop words; see `LanguageWords.listed`."""
        return self._open_words().listed(words)

    def languages_of(self, words: Iterable[str]) -> tuple[str, ...]:
        """Return the most likely languages of words; see `LanguageWords.languages`."""
        return self._open_words().languages(words)

    def guess(self, text: str) -> str | None:
        """Return the language of `text`; None: the text is too short or has no letters, or the table lacks its
        language."""
        code = self._clear.guess(text)  # one compiled call, enough for nearly every text
        return self.explain(text)[0] if code == UNCLEAR else code

    def counted(self, text: str) -> str | None:
        """Return the result of `guess` if letters alone decide it, in a tenth of the time; else None."""
        code = self._clear.by_letters(text)
        if code != UNCLEAR:
            return code
        head = None if text.isascii() else _examined(text)
        code, lead = (None, 0.0) if head is None else self._clear.detector.guess(head)
        return code if lead >= SURE_LEAD and code in by_code else None

    def explain(self, text: str) -> tuple[str | None, str]:
        """Return the result of `guess`, and its reason: "short", "script", "letters", "words" or "unknown"."""
        head = _examined(text)
        if head is None:
            return None, "short"
        code, lead = self._clear.detector.guess(head)
        reason = "script" if lead == math.inf else "letters"
        if code is not None and lead < SURE_LEAD:
            code, reason = self._by_words(head), "words"
        return (code, reason) if code in by_code else (None, "unknown")

    def _by_words(self, head: str) -> str | None:
        """Return the language with the most evidence by n-grams and words in `head`, the examined part of a text; None:
        the script decides."""
        return self._clear.detector.guess_with(head, self._evidence(head))

    def _evidence(self, head: str) -> list[tuple[str, float]]:
        words = self._open_words() if self._words is None else self._words
        return words.evidence(head)


def _examined(text: str) -> str | None:
    """Return the part of `text` that counts, in NFC, or None if it is too short to guess."""
    if text.isascii():
        return text[:MAX_BYTES] if len(text) >= MIN_BYTES else None
    head = text[:MAX_BYTES].encode("utf-8", "surrogatepass")
    if len(head) < MIN_BYTES:
        return None
    return unicodedata.normalize("NFC", head[:MAX_BYTES].decode("utf-8", "ignore"))
