"""Which words Sonic 1.4 takes for completions of a typed one: those that continue in its script."""

import re
from functools import lru_cache

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
"""Characters that a completion may add, by the script of the typed word. Not the syllables of Korean: Sonic completes
none."""

LETTERS = {
    "Han": (
        "\u2e80-\u2e99\u2e9b-\u2ef3\u2f00-\u2fd5\u3005\u3007\u3021-\u3029\u3038-\u303b"
        "\u3400-\u4db5\u4e00-\u9fcc\uf900-\ufa6d\ufa70-\ufad9"
    ),
    "Devanagari": "\u0900-\u097f\u1cd0-\u1cff\ua8e0-\ua8ff",
    "Hebrew": "\u0590-\u05ff",
    "Ethiopic": "\u1200-\u139f\u2d80-\u2ddf\uab00-\uab2f",
    "Georgian": "\u10a0-\u10ff",
    "Bengali": "\u0980-\u09ff",
    "Hangul": "\u1100-\u11ff\u3130-\u318f\u3200-\u32ff\ua960-\ua97f\uac00-\ud7ff\uff00-\uffef",
    "Hiragana": "\u3040-\u309f",
    "Katakana": "\u30a0-\u30ff",
    "Greek": "\u0370-\u03ff",
    "Latin": (
        "\u0041-\u005a\u0061-\u007a\u0080-\u02af\u1d00-\u1dbf\u1e00-\u1eff\u2100-\u214f\u2c60-\u2c7f"
        "\ua720-\ua7ff\uab30-\uab6f"
    ),
    "Cyrillic": "\u0400-\u0484\u0487-\u052f\u2de0-\u2dff\ua640-\ua69d\ua69f",
    "Kannada": "\u0c80-\u0cff",
    "Tamil": "\u0b80-\u0bff",
    "Thai": "\u0e00-\u0e7f",
    "Gujarati": "\u0a80-\u0aff",
    "Gurmukhi": "\u0a00-\u0a7f",
    "Telugu": "\u0c00-\u0c7f",
    "Malayalam": "\u0d00-\u0d7f",
    "Oriya": "\u0b00-\u0b7f",
    "Myanmar": "\u1000-\u109f",
    "Sinhala": "\u0d80-\u0dff",
    "Khmer": "\u1780-\u17ff\u19e0-\u19ff",
    "Armenian": "\u0530-\u058f\ufb13-\ufb17",
    "Arabic": (
        "\u0600-\u06ff\u0750-\u07ff\u08a0-\u08ff\ufb50-\ufdff\ufe70-\ufeff\U00010e60-\U00010e7f\U0001ee00-\U0001eeff"
    ),
}
"""Characters that Sonic counts to find the script of a word; of equal counts, the first in this table decides.

They are not those of RANGES: Greek letters with breathings are of no script, full-width Latin letters are Hangul.
"""

WITHOUT_SCRIPT = "Latin"
"""The script of words that hold only digits and signs."""

_LETTERS = {name: re.compile(f"[{ranges}]") for name, ranges in LETTERS.items()}
UNCOMPLETED = frozenset("&-~")
"""Sonic completes no word that holds one of these signs, which only words of whole patterns do."""

_CONTINUATIONS = {name: re.compile(f"[{ranges}]*") for name, ranges in RANGES.items()}


def continues_in_script(word: bytes, longer: bytes) -> bool:
    """Return whether the letters that `longer` adds to `word` are of the script of `word`."""
    typed = word.decode()
    if not UNCOMPLETED.isdisjoint(typed):
        return False
    return _CONTINUATIONS[script_of(typed)].fullmatch(longer[len(word) :].decode()) is not None


@lru_cache(maxsize=1024)
def script_of(word: str) -> str:
    """Return the script of most letters of a word."""
    counts = {name: len(letters.findall(word)) for name, letters in _LETTERS.items()}
    best = max(counts, key=counts.__getitem__)
    return best if counts[best] else WITHOUT_SCRIPT
