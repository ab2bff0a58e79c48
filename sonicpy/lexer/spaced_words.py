"""Texts and lists of words in the form in which language_words.py compares them. The build runs this file by itself."""

import re

SHARED_SCRIPTS = frozenset({"Latin", "Cyrillic", "Arabic", "Devanagari", "Hebrew"})
"""The scripts shared by several languages: n-grams decide between these. (Han is Japanese if the text has kana too.)"""

_BETWEEN_WORDS = "(?:[^\\w\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0670\u0900-\u0963]|[\\d_\u02bb\u02bc])+"


_ASCII_LETTERS = bytes(place if chr(place).isalpha() else ord(" ") for place in range(128)).ljust(256)


def spaced(text: str) -> str:
    """Return `text` case-folded, with single blanks between its words and at both ends."""
    folded = text.casefold()
    if folded.isascii():  # in a tenth of the time
        return f" {b' '.join(folded.encode().translate(_ASCII_LETTERS).split()).decode()} "
    return f" {re.sub(_BETWEEN_WORDS, ' ', folded).strip()} "
