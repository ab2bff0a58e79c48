"""The normal form of a piece of text, for pieces that the compiled folding leaves out."""

import unicodedata
from collections.abc import Callable
from typing import Literal

Form = Literal["none", "nfc", "nfkc"]
Normalizer = Callable[[str], str]

# Canonical combining classes of marks that change the sound of a letter but not the word: Hebrew and Arabic points, and
# marks above, below and around letters. Viramas, nuktas and the vowel and tone signs of Indic and Southeast Asian
# scripts are not among them, because a text without them has other words.
POINTS = range(10, 37)
ATTACHED = range(200, 241)

MARKS_MAX = 30
"""The most marks on one letter that count, as in the Stream-Safe Text Format of UAX #15; no script needs more."""
HIDDEN_MARKS = frozenset("\u0f73\u0f75\u0f81\uff9e\uff9f")
"""Characters that are no marks by their combining class, but decompose into marks."""


def normalizer(form: Form, *, fold_diacritics: bool) -> Normalizer:
    """Return a function str -> str: full case folding to a normal form, and removal of accents if `fold_diacritics`.

    Args:
        form: the Unicode normal form; "none" leaves composed and decomposed letters different.
        fold_diacritics: whether to remove accents.
    """
    if form == "none":
        folded: Normalizer = str.casefold
    else:
        name: Literal["NFC", "NFKC"] = "NFC" if form == "nfc" else "NFKC"

        def folded(piece: str) -> str:
            # Normalise before folding too: a compatibility character may give capital letters (U+3390 is "Hz").
            return unicodedata.normalize(name, unicodedata.normalize(name, _bounded(piece)).casefold())

    if not fold_diacritics:
        return folded

    def without_accents(piece: str) -> str:
        letters = (char for char in unicodedata.normalize("NFD", _bounded(folded(piece))) if not _is_accent(char))
        return unicodedata.normalize("NFC", "".join(letters))

    return without_accents


def sonic_normalizer(form: Form, *, fold_diacritics: bool) -> Normalizer:
    """Return a function str -> str that folds a piece as Sonic does: case once, before marks and the normal form.

    Args:
        form: the Unicode normal form.
        fold_diacritics: whether to decompose letters and remove all marks (general category M); with the form "none",
            Hangul stays decomposed.
    """

    def folded(piece: str) -> str:
        word = piece.casefold()
        if fold_diacritics:
            letters = unicodedata.normalize("NFD", _bounded(word))
            word = "".join(char for char in letters if unicodedata.category(char)[0] != "M")
        if form == "none":
            return word
        return unicodedata.normalize("NFC" if form == "nfc" else "NFKC", _bounded(word))

    return folded


def _bounded(piece: str) -> str:
    """Return `piece` with at most MARKS_MAX marks in a row, because sorting n marks takes n * n steps."""
    if len(piece) <= MARKS_MAX:
        return piece
    counted, marks = [], 0
    for char in piece:
        marks = marks + 1 if unicodedata.combining(char) or char in HIDDEN_MARKS else 0
        if marks <= MARKS_MAX:
            counted.append(char)
    return "".join(counted)


def _is_accent(char: str) -> bool:
    position = unicodedata.combining(char)
    return position in POINTS or position in ATTACHED
