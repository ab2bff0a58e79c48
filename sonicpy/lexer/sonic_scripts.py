"""The script of a text as Sonic finds it: the script of most of its letters."""

import re
from collections import Counter

LETTERS = {
    "Latin": (
        "\u0041-\u005a\u0061-\u007a\u0080-\u02af\u1d00-\u1dbf\u1e00-\u1eff\u2100-\u214f\u2c60-\u2c7f"
        "\ua720-\ua7ff\uab30-\uab6f"
    ),
    "Cyrillic": "\u0400-\u0484\u0487-\u052f\u2de0-\u2dff\ua640-\ua69d\ua69f",
    "Arabic": (
        "\u0600-\u06ff\u0750-\u07ff\u08a0-\u08ff\ufb50-\ufdff\ufe70-\ufeff\U00010e60-\U00010e7f\U0001ee00-\U0001eeff"
    ),
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
}
"""The characters that count for each script.

As in Sonic, Greek letters with breathings count for no script, and full-width Latin letters for Hangul.
"""

YI, YI_LETTERS = 0xA000, 1165
"""The first of a row of letters that count for no script, and their number."""

_SPANS = [
    (ord(first), ord(last or first), name)
    for name, ranges in LETTERS.items()
    for first, last in re.findall("(.)(?:-(.))?", ranges)
]


class _Scripts(dict[str, str | None]):
    """A cache: the script of each character that was looked up."""

    def __missing__(self, char: str) -> str | None:
        point = ord(char)
        found = next((name for first, last, name in _SPANS if first <= point <= last), None)
        if found is not None or point < 0x3000:
            self[char] = found
        return found


_SCRIPT_OF = _Scripts()


def main_script(text: str) -> str | None:
    """Return the script of most letters of a text, or None if it has no letter of any script."""
    counts = Counter(map(_SCRIPT_OF.__getitem__, text))
    del counts[None]
    if not counts:
        return None
    most = max(counts.values())
    found = [script for script, count in counts.items() if count == most]
    return found[0] if len(found) == 1 else _first_of(found, text)


def has_other_letters(script: str, text: str) -> bool:
    """Return whether a text, whose main script is `script`, also has letters of another one."""
    return not text.isascii() and any(_SCRIPT_OF[char] not in (script, None) for char in text)


def in_one_script(script: str, text: str) -> str:
    """Return a text with the letters of other scripts than `script` replaced by letters of no script.

    The detector then sees a text in `script`, and still counts all of its letters.
    """
    return "".join(
        char if _SCRIPT_OF[char] == script or not char.isalpha() else chr(YI + ord(char) % YI_LETTERS) for char in text
    )


def _first_of(scripts: list[str | None], text: str) -> str | None:
    """Return the winner among some scripts, or None if there are none: each letter of the text moves its script one
    place up in a ranking.

    The ranking begins in the order of LETTERS.
    """
    order: list[str | None] = list(LETTERS)
    for script in map(_SCRIPT_OF.__getitem__, text):
        place = 0 if script is None else order.index(script)
        if place:
            order[place - 1 : place + 1] = script, order[place - 1]
    return next((script for script in order if script in scripts), None)
