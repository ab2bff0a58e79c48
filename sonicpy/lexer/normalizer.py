"""From a piece of text to its normal form, for the pieces that the compiled folding hands over."""

import unicodedata
from collections.abc import Callable
from typing import Literal

Form = Literal["none", "nfc", "nfkc"]
Normalizer = Callable[[str], str]

# Canonical combining classes of marks that change how a letter sounds but not which word it is: Hebrew and Arabic
# points, and marks above, below and around letters. Not among them: viramas, nuktas and the vowel and tone signs of
# Indic and Southeast Asian scripts, without which other words would be left.
POINTS = range(10, 37)
ATTACHED = range(200, 241)

MARKS_MAX = 30
"""Marks on one letter that count: as in the Stream-Safe Text Format of UAX #15, far more than any script needs."""


def normalizer(form: Form, *, fold_diacritics: bool, every_mark: bool) -> Normalizer:
    """Return str -> str: full case folding, then diacritics if asked, in the given normal form.

    Args:
        form: "none" leaves composed and decomposed letters apart.
        fold_diacritics: take combining marks away.
        every_mark: Sonic's way: all marks (general category M), not only those that accents are made of.
    """
    if form == "none":
        folded: Normalizer = str.casefold
    else:
        name: Literal["NFC", "NFKC"] = "NFC" if form == "nfc" else "NFKC"

        def folded(piece: str) -> str:
            # Before folding too: a compatibility character may stand for capital letters (U+3390 is "Hz").
            return unicodedata.normalize(name, unicodedata.normalize(name, _bounded(piece)).casefold())

    if not fold_diacritics:
        return folded
    is_dropped = _is_mark if every_mark else _is_accent

    def without_diacritics(piece: str) -> str:
        letters = (char for char in unicodedata.normalize("NFD", _bounded(folded(piece))) if not is_dropped(char))
        return unicodedata.normalize("NFC", "".join(letters))

    return without_diacritics


def _bounded(piece: str) -> str:
    """Return `piece` with at most MARKS_MAX marks in a row: putting n of them in order takes n * n steps."""
    if len(piece) <= MARKS_MAX:
        return piece
    kept, marks = [], 0
    for char in piece:
        marks = marks + 1 if unicodedata.combining(char) else 0
        if marks <= MARKS_MAX:
            kept.append(char)
    return "".join(kept)


def _is_mark(char: str) -> bool:
    return unicodedata.category(char)[0] == "M"


def _is_accent(char: str) -> bool:
    position = unicodedata.combining(char)
    return position in POINTS or position in ATTACHED
