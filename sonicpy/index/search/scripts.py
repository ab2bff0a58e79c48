"""The words that Sonic 1.4 accepts as completions of a typed word: those that continue in its script."""

import re
from functools import lru_cache

from sonicpy.lexer.sonic_scripts import main_script

RANGES = {
    "Latin": "\u0000-\u024f",
    "Cyrillic": "\u0400-\u052f",
    "Greek": "\u0370-\u03ff\u1f00-\u1fff",
    "Arabic": "\u0600-\u06ff\u0750-\u077f",
    "Hebrew": "\u0590-\u05ff",
    "Armenian": "\u0530-\u058f",
    "Devanagari": "\u0900-\u097f",
    "Bengali": "\u0980-\u09ff",
    "Gurmukhi": "\u0a00-\u0a7f",
    "Gujarati": "\u0a80-\u0aff",
    "Oriya": "\u0b00-\u0b7f",
    "Tamil": "\u0b80-\u0bff",
    "Telugu": "\u0c00-\u0c7f",
    "Kannada": "\u0c80-\u0cff",
    "Malayalam": "\u0d00-\u0d7f",
    "Sinhala": "\u0d80-\u0dff",
    "Thai": "\u0e00-\u0e7f",
    "Myanmar": "\u1000-\u109f",
    "Georgian": "\u10a0-\u10ff\u2d00-\u2d2f",
    "Hangul": "\u1100-\u11ff\u3130-\u318f",
    "Ethiopic": "\u1200-\u139f\u2d80-\u2ddf",
    "Khmer": "\u1780-\u17ff\u19e0-\u19ff",
    "Hiragana": "\u3040-\u309f",
    "Katakana": "\u30a0-\u30ff\u31f0-\u31ff",
    "Han": "\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0002a6df\U0002a700-\U0002ceaf",
}
"""Script of the typed word -> characters that a completion may add. Korean is missing: Sonic does not complete it."""

WITHOUT_SCRIPT = "Latin"
"""The script of words that have only digits and signs."""

UNCOMPLETED = frozenset("&-~")
"""Signs of words that Sonic does not complete; they only occur in words from patterns."""

_CONTINUATIONS = {name: re.compile(f"[{ranges}]*") for name, ranges in RANGES.items()}


def continues_in_script(word: bytes, longer: bytes) -> bool:
    """Return whether the letters that `longer` adds to `word` are in the script of `word`."""
    typed = word.decode()
    if not UNCOMPLETED.isdisjoint(typed):
        return False
    return _CONTINUATIONS[script_of(typed)].fullmatch(longer[len(word) :].decode()) is not None


@lru_cache(maxsize=1024)
def script_of(word: str) -> str:
    """Return the script of most letters of a word."""
    return main_script(word) or WITHOUT_SCRIPT
