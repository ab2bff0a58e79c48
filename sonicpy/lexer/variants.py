"""Letters that are spelled in more than one way: simplified and traditional Chinese, both kana, signs of Devanagari.

Texts are stored as they are written. A query for one spelling finds the others, too, and ranks them lower.
"""

import unicodedata
from functools import cache, lru_cache
from itertools import islice, product
from typing import Final

from sonicpy.data import SIMPLIFIED

VARIANTS_MAX: Final = 8
"""The most other spellings of a few letters that a query looks for."""

KATAKANA = range(0x30A1, 0x30F7)
KANA_DISTANCE = 0x60
"""The distance from the code point of a letter in Hiragana to that of the same letter in Katakana."""
SCRIPTS: Final = ("CJK", "HIRAGANA", "KATAKANA", "DEVANAGARI")
"""The scripts of these letters, as the first words of the names of characters."""

NUKTA, CANDRABINDU, ANUSVARA, VIRAMA = "\u093c", "\u0901", "\u0902", "\u094d"
NASALS = {"ङ": "कखगघ", "ञ": "चछजझ", "ण": "टठडढ", "न": "तथदध", "म": "पफबभ"}
"""Nasal consonant of Devanagari -> the consonants before which an anusvara may replace it."""
NASAL_BEFORE = {consonant: nasal for nasal, consonants in NASALS.items() for consonant in consonants}


@cache
def foldings() -> dict[str, str]:
    """Return, for letters that are replaced when spellings are compared, the other letter, or nothing."""
    kana = {chr(point): chr(point - KANA_DISTANCE) for point in KATAKANA}
    with_nukta = {
        chr(point): apart[0]
        for point in range(0x900, 0x980)
        if len(apart := unicodedata.normalize("NFD", chr(point))) == 2 and apart[1] == NUKTA
    }
    return simplified() | kana | with_nukta | {NUKTA: "", CANDRABINDU: ANUSVARA}


@cache
def simplified() -> dict[str, str]:
    """Return the simplified forms of traditional Chinese characters."""
    pairs = SIMPLIFIED.read_text(encoding="utf-8")
    return dict(zip(pairs[::2], pairs[1::2], strict=True))


def patterns(word: str) -> list[str]:
    """Return the folded forms of the spellings of a word: one form, or, in Devanagari, also those with other nasal
    signs."""
    folded = word.translate(_table())
    found = [folded, _with_anusvara(folded), _with_nasals(folded)] if "\u0900" <= word[:1] < "\u0980" else [folded]
    return list(dict.fromkeys(found))


def beginnings(word: str) -> list[str]:
    """Return the folded forms of the spellings of the beginning of a word, also with other nasal signs at its end."""
    found = patterns(word)
    if word.endswith(ANUSVARA):
        found += [found[0][:-1] + nasal + VIRAMA for nasal in NASALS]
    elif word.endswith(VIRAMA) and word[-2:-1] in NASALS:
        found.append(found[0][:-2] + ANUSVARA)
    return found


def _with_anusvara(word: str) -> str:
    """Return a word in which an anusvara replaces each nasal consonant that it may replace."""
    for nasal, consonants in NASALS.items():
        for consonant in consonants:
            word = word.replace(f"{nasal}{VIRAMA}{consonant}", f"{ANUSVARA}{consonant}")
    return word


def _with_nasals(word: str) -> str:
    """Return a word in which the nasal consonant replaces each anusvara for one."""
    return "".join(
        NASAL_BEFORE[following] + VIRAMA if letter == ANUSVARA and following in NASAL_BEFORE else letter
        for letter, following in zip(word, word[1:] + " ", strict=True)
    )


@lru_cache(4096)
def spellings(letters: str) -> tuple[str, ...]:
    """Return the other spellings of a few letters of Han or kana, at most VARIANTS_MAX."""
    ways = [_ways(letter) for letter in letters]
    if all(len(each) == 1 for each in ways):
        return ()
    found = ("".join(each) for each in product(*ways))
    return tuple(islice((each for each in found if each != letters), VARIANTS_MAX))


def _ways(letter: str) -> tuple[str, ...]:
    """Return a letter and its other spellings."""
    plain = foldings().get(letter, letter)
    return (letter, *(each for each in (plain, *_variants().get(plain, ())) if each != letter))


@cache
def _variants() -> dict[str, tuple[str, ...]]:
    """Return, for each letter, the letters that fold to it."""
    found: dict[str, list[str]] = {}
    for letter, plain in foldings().items():
        if plain:
            found.setdefault(plain, []).append(letter)
    return {plain: tuple(letters) for plain, letters in found.items()}


@cache
def _table() -> dict[int, str]:
    return str.maketrans(foldings())
