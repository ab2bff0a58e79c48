"""Guesses the language of a text: by its script, by n-grams, and by stop words where the n-grams are unsure.

Invariant: the answer is a code of the table of languages or None, and depends on the first 200 bytes alone.
"""

import math
import unicodedata

from sonicpy._native.language import UNCLEAR, ClearTexts, Detector
from sonicpy.data import LANGUAGE_PROFILES
from sonicpy.lexer.language_words import LanguageWords
from sonicpy.lexer.languages import by_code
from sonicpy.lexer.stopwords import StopWords

MIN_BYTES = 20
"""A shorter text has no language."""

MAX_BYTES = 200
"""No more of a text is examined."""

SURE_LEAD = 10.0
"""Nats by which one language must lead to be believed. At 20 bytes the n-grams are wrong in four of ten texts below it,
and in one of forty above. Raising it further changes no share by more than 0.1 %."""


class LanguageGuesser:
    """The guess that QUERY and PUSH make when no language is given. Its tables are read once, the words when needed."""

    def __init__(self, stopwords: StopWords) -> None:
        """Map the n-gram table of the package. Raise OSError or ValueError if it is missing or damaged."""
        self._detector = Detector(LANGUAGE_PROFILES)
        self.guess_clear = ClearTexts(self._detector, by_code.keys(), MIN_BYTES, MAX_BYTES, SURE_LEAD).guess
        """As `guess`, for nearly every text in one compiled call; else UNCLEAR."""
        self._stopwords = stopwords
        self._words: LanguageWords | None = None

    def prepare(self) -> None:
        """Read the words now, not when the first text needs them: that takes tens of milliseconds."""
        if self._words is None:
            self._words = LanguageWords(self._stopwords)

    def guess(self, text: str, why: list[str] | None = None) -> str | None:
        """Return the language of `text`, or None: it is too short, has no letters, or is in none of the table.

        Args:
            why: gains one word on what decided: "short", "script", "letters", "words", or "unknown".
        """
        if why is None:
            clear = self.guess_clear(text)
            if clear != UNCLEAR:
                return clear
        return self.examine(text, why)

    def examine(self, text: str, why: list[str] | None = None) -> str | None:
        """Return what `guess` does, step by step."""
        head = _examined(text)
        if head is None:
            if why is not None:
                why.append("short")
            return None
        code, lead = self._detector.guess(head)
        how = "script" if lead == math.inf else "letters"
        if code is not None and lead < SURE_LEAD:
            code, how = self._by_words(head), "words"
        if code not in by_code:
            code, how = None, "unknown"
        if why is not None:
            why.append(how)
        return code

    def _by_words(self, head: str) -> str | None:
        """Return the language for which n-grams and words together speak most."""
        self.prepare()
        assert self._words is not None
        return self._detector.guess_with(head, self._words.evidence(head))


def _examined(text: str) -> str | None:
    """Return the part of `text` that counts, composed, or None where it is too short to guess."""
    if text.isascii():
        return text[:MAX_BYTES] if len(text) >= MIN_BYTES else None
    head = text[:MAX_BYTES].encode("utf-8", "surrogatepass")
    if len(head) < MIN_BYTES:
        return None
    return unicodedata.normalize("NFC", head[:MAX_BYTES].decode("utf-8", "ignore"))
