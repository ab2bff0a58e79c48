"""The case of the Turkish i: ı and I are one letter, i and İ another.

The rule applies to texts with LANG Turkish or Azerbaijani; in all others I is the capital of i.
"""

import re

LANGUAGES = frozenset({"tur", "aze"})

_DOTTED_CAPITALS = re.compile("I\u0307|\u0130")
_NOT_A_WORD = re.compile(r"[@/\d_]|\.\w")
_BETWEEN_BLANKS = re.compile(r"\S+")


def folded(text: str) -> str:
    """Return `text` with its I in lower case by the Turkish rule, except in addresses, links and identifiers."""
    if "I" not in text and "\u0130" not in text:
        return text
    return _BETWEEN_BLANKS.sub(_fold, text)


def _fold(found: re.Match[str]) -> str:
    chunk = found[0]
    if _NOT_A_WORD.search(chunk):
        return chunk
    folded = _DOTTED_CAPITALS.sub("i", chunk).replace("I", "\u0131")
    return folded.lower() if chunk.isupper() else folded  # else its other capitals would be between small letters
