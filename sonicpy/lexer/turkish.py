"""The case of the Turkish i: ı and I are one letter, i and İ another.

The rule applies to texts with LANG Turkish or Azerbaijani; in all others I is the capital of i.
"""

import re

LANGUAGES = frozenset({"tur", "aze"})

_DOTTED_CAPITALS = "I\u0307|\u0130"
_NOT_A_WORD = r"[@/\d_]|\.\w"


def folded(text: str) -> str:
    """Return `text` with its I in lower case by the Turkish rule, except in addresses, links and identifiers."""
    if "I" not in text and "\u0130" not in text:
        return text
    return re.sub(r"\S+", _fold, text)


def _fold(found: re.Match[str]) -> str:
    chunk = found[0]
    if re.search(_NOT_A_WORD, chunk):
        return chunk
    folded = re.sub(_DOTTED_CAPITALS, "i", chunk).replace("I", "\u0131")
    return folded.lower() if chunk.isupper() else folded  # else its other capitals would be between small letters
