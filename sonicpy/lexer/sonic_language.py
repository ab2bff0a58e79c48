"""Guess the language of a text as Sonic does: by the stop words that it holds, where its script has several languages.

Where no stop word decides, and in short texts, Sonic asks the detector whatlang. The extra [compat] binds it; without
the extra, our own guess takes its place.
"""

import importlib
import unicodedata
from collections.abc import Callable
from importlib.util import find_spec

from sonicpy._native.stop_votes import most_votes
from sonicpy.lexer.language import MAX_BYTES, MIN_BYTES, LanguageGuesser
from sonicpy.lexer.sonic_scripts import main_script
from sonicpy.lexer.stopwords import StopWords

SHORT_BYTES = 60
"""In a shorter text, stop words do not overrule a detector that is SURE."""
SURE = 0.9
JAPANESE_SHARE = 0.05
"""A text in Han letters is Japanese if it has more kana than this among them."""

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
"""The languages whose stop words are counted, by script; of equal counts, the first language wins."""

ONLY = {
    "Greek": "ell", "Armenian": "hye", "Bengali": "ben", "Gurmukhi": "pan", "Gujarati": "guj", "Oriya": "ori",
    "Tamil": "tam", "Telugu": "tel", "Kannada": "kan", "Malayalam": "mal", "Sinhala": "sin", "Thai": "tha",
    "Myanmar": "mya", "Georgian": "kat", "Hangul": "kor", "Ethiopic": "amh", "Khmer": "khm", "Hiragana": "jpn",
    "Katakana": "jpn",
}  # fmt: skip
"""The language of each script that has one only."""

Detect = Callable[[str], tuple[str | None, float]]
"""Returns a language and how sure it is, 0 to 1."""
Votes = dict[str, bytes]
"""For each word the places of the candidates that list it; see `most_votes`."""


class SonicGuesser:
    """Guesses for compat mode, with the interface of `LanguageGuesser`.

    Attributes:
        has_whatlang: whether the extra [compat] is installed.
    """

    def __init__(self, stopwords: StopWords) -> None:
        self._stopwords = stopwords
        self._ours = LanguageGuesser(stopwords)
        self._votes: dict[str, Votes] = {}
        self.has_whatlang = has_whatlang()
        self._detect: Detect = _whatlang() if self.has_whatlang else self._detect_ours

    def prepare(self) -> None:
        """Read the words of all scripts now, and not when the first text needs them."""
        self._ours.prepare()
        for script in CANDIDATES:
            self._read_votes(script)

    def guess(self, text: str) -> str | None:
        """Return the language of `text`, or None if it is too short or has no letters."""
        return self.explain(text)[0]

    def explain(self, text: str) -> tuple[str | None, str]:
        """Return what `guess` does, and what decided: "short", "script", "letters", "words" or "unknown"."""
        if text.isascii():
            begin = text[:MAX_BYTES]
            size = len(begin)
            script = "Latin" if begin.lower() != begin.upper() else None
        else:
            head = text[:MAX_BYTES].encode("utf-8", "surrogatepass")[:MAX_BYTES]
            begin, size = head.decode("utf-8", "ignore"), len(head)
            script = main_script(begin)
        if size < MIN_BYTES:
            return None, "short"
        if script is None:
            return None, "unknown"
        if script in ONLY:
            return ONLY[script], "script"
        by_words = self._most_words(script, begin)
        # A detector that is sure of another language than both is so rare that it is not asked.
        if by_words is not None and (size >= SHORT_BYTES or self._ours.guess(begin) == by_words):
            return by_words, "words"
        code, confidence = _chinese_or_japanese(begin) if script == "Han" else self._detect(begin)
        if by_words is not None and confidence <= SURE:
            return by_words, "words"
        return (code, "letters") if code is not None else (None, "unknown")

    def _detect_ours(self, text: str) -> tuple[str | None, float]:
        return self._ours.guess(text), 0.0

    def _most_words(self, script: str, text: str) -> str | None:
        """Return the candidate with most stop words among the pieces of a text between blanks, as they are written."""
        if not text.isascii():
            text = unicodedata.normalize("NFKD", text)
        best = most_votes(self._votes.get(script) or self._read_votes(script), text)
        return None if best < 0 else CANDIDATES[script][best]

    def _read_votes(self, script: str) -> Votes:
        votes = self._votes[script] = {}
        shared: dict[bytes, bytes] = {}  # thousands of words have the same languages
        for place, code in enumerate(CANDIDATES[script]):
            for word in {unicodedata.normalize("NFKD", listed) for listed in self._stopwords.sonic_words(code)}:
                places = votes.get(word, b"") + bytes((place,))
                votes[word] = shared.setdefault(places, places)
        return votes


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
    share = kana / sum("\u3040" <= char <= "\u30ff" or "\u3400" <= char <= "\u9fff" for char in text)
    if share <= JAPANESE_SHARE:
        return "cmn", 1.0
    return "jpn", 1.0 if share > 0.2 else 0.5
