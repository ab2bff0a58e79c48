"""Spellings that count as one word: a word without its accents.

Folding removes accents, the vowel points of Arabic and Hebrew, and invisible characters: soft hyphens, joiners and
marks of direction. All apostrophes are equal, and so are the letters that keyboards of Arabic, Persian and Urdu have
for one. A language keeps the letters of its own alphabet.
"""

import re
import unicodedata
from functools import lru_cache

from sonicpy._native.letter_folding import Folding


def _letters(*ranges: tuple[int, int]) -> str:
    """Return the characters from the first to the last code point of each range."""
    return "".join(chr(point) for first, last in ranges for point in range(first, last + 1))


_ACCENTS = _letters(
    (0x300, 0x304), (0x306, 0x30C), (0x30F, 0x30F), (0x311, 0x311), (0x313, 0x314), (0x31B, 0x31B), (0x323, 0x328),
    (0x32D, 0x32E), (0x330, 0x331), (0x342, 0x342), (0x345, 0x345),
)  # fmt: skip
_HEBREW_POINTS = _letters((0x591, 0x5BD), (0x5BF, 0x5BF), (0x5C1, 0x5C2), (0x5C4, 0x5C5), (0x5C7, 0x5C7))
_ARABIC_POINTS = _letters(
    (0x610, 0x61A), (0x640, 0x640), (0x64B, 0x652), (0x656, 0x65F), (0x670, 0x670), (0x6D6, 0x6DC), (0x6DF, 0x6E4),
    (0x6E7, 0x6E8), (0x6EA, 0x6ED),
)  # fmt: skip
"""Points and signs of Arabic that folding removes, among them U+0640, which only lengthens a word."""
_SOFT_HYPHEN = "\u00ad"
ZWNJ = "\u200c"
"""The character that separates the parts of Persian words."""
_JOINERS = ZWNJ + "\u200d\u2060\ufeff"
_DIRECTIONS = "\u061c" + _letters((0x200E, 0x200F), (0x202A, 0x202E), (0x2066, 0x2069))
"""Marks of the direction of a text; an older bucket keeps them in the word before them."""
_OTHER_APOSTROPHES = "\u02bb\u02bc\u05f3\u2018\u2019"
QUOTE, _HEBREW_QUOTE = '"', "\u05f4"
"""The sign before the last letter of Hebrew abbreviations."""

_MARKS = frozenset(_ACCENTS)
_PLAIN = {
    "ß": "ss", "œ": "oe", "æ": "ae", "ł": "l", "ø": "o", "đ": "d", "ð": "d", "þ": "th", "ħ": "h", "ŧ": "t", "ı": "i",
    "ɓ": "b", "ɗ": "d", "ƙ": "k", "ƴ": "y", "ŋ": "n", "ə": "e", "ɛ": "e", "ɔ": "o",
    "ё": "е", "ѐ": "е", "ѝ": "и", "ї": "і", "ґ": "г", "أ": "ا", "إ": "ا", "آ": "ا", "ٱ": "ا", "ک": "ك", "ی": "ي",
    "ہ": "ه", "ھ": "ه", "ۀ": "ه", "ۂ": "ه",
}  # fmt: skip
"""Letters that Unicode does not decompose into a letter and accents, or whose marks are not accents in other
languages.
"""

PAIRS = {"å": "aa", "ä": "ae", "ö": "oe", "ø": "oe", "ü": "ue", "đ": "dj"}
"""letter -> the two letters that are typed for it on keyboards without it."""

_LOOSE = {"ى": "ي", "ں": "ن", "ئ": "ي", "ؤ": "و", "ة": "ه", "ۃ": "ه"}
"""Arabic letters that are often, but not always, written for others -> these others."""

_HAS_PAIR = re.compile("|".join(dict.fromkeys(PAIRS.values())))

_SEEN = str.maketrans(
    dict.fromkeys(_OTHER_APOSTROPHES, "'")
    | {_HEBREW_QUOTE: QUOTE}
    | dict.fromkeys(_SOFT_HYPHEN + _JOINERS + _DIRECTIONS)
)
_DECOMPOSED = _letters((0xC0, 0x24F), (0x370, 0x3FF), (0x1E00, 0x1FFE))
"""Latin and Greek letters, of which those with marks change."""
_LOOSENED = str.maketrans(_LOOSE)
_UNMARKED = _SEEN | str.maketrans(dict.fromkeys(_ACCENTS + _HEBREW_POINTS + _ARABIC_POINTS))


def is_spelled(word: str) -> bool:
    """Return whether a word consists of letters, marks, apostrophes and signs of abbreviation, and begins with a
    letter.
    """
    letters = word.replace("'", "")
    return (
        letters.isalpha()
        or not word.isascii()
        and word[:1].isalpha()
        and all(
            letter.isalpha() or letter in "'\"" or ord(letter) in _UNMARKED or unicodedata.category(letter)[0] == "M"
            for letter in word
        )
    )


def unmarked(word: str, but: str = "") -> str:
    """Return a word in NFC without points and separate marks, with straight apostrophes.

    Args:
        but: a mark that stays.
    """
    if word.isascii():
        return word
    return word.translate({**_UNMARKED, ord(but): but} if but and but in word else _UNMARKED)


def fold(word: str, own: str | None) -> str:
    """Return a word in NFC without its accents and points, with straight apostrophes.

    Args:
        own: letters that stay unchanged; None: all letters and marks stay.
    """
    if word.isascii():
        return word
    if own is None:
        return word.translate(_SEEN)
    return "".join(letter if letter in own else _folded_letter(letter) for letter in word)


@lru_cache(4096)
def _folded_letter(letter: str) -> str:
    """Return a letter without its marks; nothing for a mark."""
    if letter in _PLAIN:
        return _PLAIN[letter]
    if ord(letter) in _UNMARKED:
        return _UNMARKED[ord(letter)] or ""
    if letter < "\xc0" or not (
        "\xc0" <= letter < "\u0250" or "\u0370" <= letter < "\u0400" or "\u1e00" <= letter < "\u1fff"
    ):
        return letter
    apart = unicodedata.normalize("NFD", letter)
    return apart[0] + "".join(mark for mark in apart[1:] if mark not in _MARKS)


def has_pair(word: str) -> bool:
    """Return whether a word has two letters that may replace one."""
    return _HAS_PAIR.search(word) is not None


def respelled(word: str) -> str | None:
    """Return a word with the two-letter spelling of each letter that has one (Müller becomes Mueller).

    None: the word has no such letter, and no pair of letters that may replace one.
    """
    if word.isascii() and not has_pair(word):
        return None
    two = "".join(PAIRS.get(letter, letter) for letter in word)
    return None if two == word and not word.isascii() else fold(two, "")


@lru_cache(1)
def respelling() -> Folding:
    """Return `respelled` as a table of letters, for walks over words."""
    return folding("", but=tuple(PAIRS.items()))


@lru_cache(1)
def loosening() -> Folding:
    """Return `loosened` as a table of letters, for walks over words."""
    return folding("", but=tuple(_LOOSE.items()))


def loosened(word: str) -> str:
    """Return an Arabic word without points, with each often confused letter replaced by the one it is confused with."""
    return fold(word, "").translate(_LOOSENED)


@lru_cache(64)
def folding(own: str | None, but: tuple[tuple[str, str], ...] = ()) -> Folding:
    """Return `fold` as a table of letters, for walks over words.

    Args:
        own: see `fold`.
        but: pairs of a letter and its replacement.
    """
    marks = {chr(point): plain or "" for point, plain in _UNMARKED.items()}
    if own is None:
        return Folding(marks)
    # All at once: a call of `_folded_letter` for each takes longer than the first query of a process.
    apart = unicodedata.normalize("NFD", "\n".join(_DECOMPOSED)).translate(dict.fromkeys(map(ord, _MARKS))).split("\n")
    letters = {letter: plain for letter, plain in zip(_DECOMPOSED, apart, strict=True) if plain != letter} | _PLAIN
    return Folding({letter: plain for letter, plain in (marks | letters | dict(but)).items() if letter not in own})
