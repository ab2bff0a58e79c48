"""Guesses the language of a text as Sonic does: by its stop words, if its script has several languages.

Where no stop word decides, and in short texts, Sonic calls the detector whatlang. The extra [compat] provides it;
without the extra, sonicpy's own guess replaces it.
"""

import importlib
import unicodedata
from collections.abc import Callable
from importlib.util import find_spec
from typing import NamedTuple

from sonicpy._native.stop_votes import StopVotes
from sonicpy.lexer.language import MAX_BYTES, MIN_BYTES, LanguageGuesser
from sonicpy.lexer.sonic_scripts import has_other_letters, in_one_script, main_script
from sonicpy.lexer.stopwords import StopWords

SHORT_BYTES = 60
"""In texts of fewer bytes, stop words do not overrule a detector whose confidence is SURE or more."""
SURE = 0.9
JAPANESE_SHARE = 0.05
"""A text in Han letters is Japanese if its share of kana is larger."""

CANDIDATES = {
    "Latin": (
        "afr aka aze cat ces cym dan deu eng epo est fin fra hrv hun ind ita jav lat lav lit nld nob pol por ron slk "
        "slv sna spa swe tgl tuk tur uzb vie zul"
    ).split(),
    "Cyrillic": "aze bel bul mkd rus srp tuk ukr".split(),
    "Arabic": "ara urd pes".split(),
    "Devanagari": "hin mar nep".split(),
    "Hebrew": "heb yid".split(),
    "Han": ["cmn"],
}
"""The languages whose stop words are counted, by script; on equal counts, the first language wins."""

ONLY = {
    "Greek": "ell", "Armenian": "hye", "Bengali": "ben", "Gurmukhi": "pan", "Gujarati": "guj", "Oriya": "ori",
    "Tamil": "tam", "Telugu": "tel", "Kannada": "kan", "Malayalam": "mal", "Sinhala": "sin", "Thai": "tha",
    "Myanmar": "mya", "Georgian": "kat", "Hangul": "kor", "Ethiopic": "amh", "Khmer": "khm", "Hiragana": "jpn",
    "Katakana": "jpn",
}  # fmt: skip
"""The language of each script with a single language."""

Detect = Callable[[str], tuple[str | None, float]]
"""A function that returns a language and its confidence, 0 to 1."""


class Undecided(NamedTuple):
    """A text whose language the detector decides, by its letters."""

    begin: str
    """The first part of the text, by which the detector guesses."""
    script: str
    by_words: str | None
    """The language with the most stop words in the text."""


class SonicGuesser:
    """Guesses languages in compat mode, with the interface of `LanguageGuesser`.

    Attributes:
        has_whatlang: whether the extra [compat] is installed.
    """

    def __init__(self, stopwords: StopWords) -> None:
        self._stopwords = stopwords
        self._ours = LanguageGuesser()
        self._votes: dict[str, StopVotes] = {}
        self.has_whatlang = has_whatlang()
        self._detect: Detect = _whatlang() if self.has_whatlang else self._detect_ours

    def prepare(self) -> None:
        """Read the tables of the guess by letters now. The words of a script are read with its first text, in at most
        15 ms: all of them would delay each start of a process by 20 ms.
        """
        self._ours.prepare()

    def guess(self, text: str) -> str | None:
        """Return the language of `text`, or None if it is too short or has no letters."""
        return self.explain(text)[0]

    def explain(self, text: str) -> tuple[str | None, str]:
        """Return the result of `guess`, and its reason: "short", "script", "letters", "words" or "unknown"."""
        found = self.decide(text)
        return self.ask(found) if isinstance(found, Undecided) else found

    def decide(self, text: str) -> "tuple[str | None, str] | Undecided":
        """Return the language and the reason, or an Undecided if the detector, which takes long, has to decide."""
        begin, size, script = _examined(text)
        if size < MIN_BYTES:
            return None, "short"
        if script is None:
            return None, "unknown"
        if script in ONLY:
            return ONLY[script], "script"
        by_words = self._most_words(script, begin)
        if by_words is not None and (size >= SHORT_BYTES or self._agrees(script, begin, by_words)):
            return by_words, "words"
        undecided = Undecided(begin, script, by_words)
        return self.ask(undecided) if script == "Han" else undecided

    def ask(self, undecided: "Undecided") -> tuple[str | None, str]:
        """Return the language and the reason of a text that `decide` left undecided."""
        begin, script, by_words = undecided
        code, confidence = _chinese_or_japanese(begin) if script == "Han" else self._by_letters(script, begin)
        if by_words is not None and confidence <= SURE:
            return by_words, "words"
        return (code, "letters") if code is not None else (None, "unknown")

    def _agrees(self, script: str, text: str, by_words: str) -> bool:
        """Return whether a short text needs no detector, because sonicpy's own guess agrees with the words.

        The detector is very rarely sure of a third language if all letters are of one script.
        """
        return self._ours.guess(text) == by_words and not has_other_letters(script, text)

    def _by_letters(self, script: str, text: str) -> tuple[str | None, float]:
        """Return the language of a text by its letters, and the confidence.

        If several scripts have the same number of letters, the detector may choose one that is not `script`; it then
        runs again on the letters of `script`.
        """
        code, confidence = self._detect(text)
        if code is None or code in CANDIDATES[script]:
            return code, confidence
        return self._detect(in_one_script(script, text))

    def _detect_ours(self, text: str) -> tuple[str | None, float]:
        return self._ours.guess(text), 0.0

    def _most_words(self, script: str, text: str) -> str | None:
        """Return the language with the most stop words among the pieces of a text between blanks, with their case
        unchanged; None: there are no stop words.
        """
        if not text.isascii():
            text = unicodedata.normalize("NFKD", text)
        best = (self._votes.get(script) or self._read_votes(script)).most(text)
        return None if best < 0 else CANDIDATES[script][best]

    def _read_votes(self, script: str) -> StopVotes:
        listed: dict[bytes, int] = {}
        for place, code in enumerate(CANDIDATES[script]):
            for word in {unicodedata.normalize("NFKD", word).encode() for word in self._stopwords.sonic_words(code)}:
                listed[word] = listed.get(word, 0) | 1 << place
        votes = self._votes[script] = StopVotes(listed)
        return votes


def _examined(text: str) -> tuple[str, int, str | None]:
    """Return the part of `text` that counts, its number of bytes, and its script."""
    if text.isascii():
        begin = text[:MAX_BYTES]
        return begin, len(begin), "Latin" if begin.lower() != begin.upper() else None
    head = text[:MAX_BYTES].encode("utf-8", "surrogatepass")[:MAX_BYTES]
    begin = head.decode("utf-8", "ignore")
    return begin, len(head), main_script(begin)


def has_whatlang() -> bool:
    """Return whether the extra [compat] is installed."""
    return find_spec("whatlang") is not None


def _whatlang() -> Detect:
    detect = importlib.import_module("whatlang").detect

    def detected(text: str) -> tuple[str | None, float]:
        try:
            info = detect(text)
        except ValueError:  # no letters
            return None, 0.0
        return info.lang, info.confidence

    return detected


def _chinese_or_japanese(text: str) -> tuple[str, float]:
    kana = sum("\u3040" <= char <= "\u30ff" for char in text)
    letters = sum("\u3040" <= char <= "\u30ff" or "\u3400" <= char <= "\u9fff" for char in text)
    share = kana / letters if letters else 0.0  # Han has more letters, such as the numeral \u3007
    if share <= JAPANESE_SHARE:
        return "cmn", 1.0
    return "jpn", 1.0 if share > 0.2 else 0.5
