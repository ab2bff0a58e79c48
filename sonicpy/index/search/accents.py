"""Spellings that count as one word: folds a word, and finds the spellings of its beginning in a bucket.

Folding removes accents, the vowel points of Arabic and Hebrew, and invisible characters: soft hyphens and joiners. All
apostrophes are equal. A language keeps the letters of its own alphabet.
"""

import unicodedata
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache

WordFrom = Callable[[bytes], bytes | None]
"""A function that returns the first word of a bucket that is not before some bytes; see `BucketReader.word_from`."""

SPELLINGS_MAX = 16
"""Maximum of spellings of one beginning that are looked up."""
LETTER_BYTES_MAX = 4
"""Maximum of bytes of a letter in UTF-8."""


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
"""Points and signs that folding removes; among them U+0640, which lengthens a word."""
_SOFT_HYPHEN = "\u00ad"
_JOINERS = "\u200c\u200d"
APOSTROPHES = "'\u2019"
"""The straight apostrophe and the curly one, which programs substitute."""
_OTHER_APOSTROPHES = "\u02bb\u02bc\u2018\u2019"

_MARKS = frozenset(_ACCENTS)
_PLAIN = {
    "ß": "ss", "œ": "oe", "æ": "ae", "ł": "l", "ø": "o", "đ": "d", "ð": "d", "þ": "th", "ħ": "h", "ŧ": "t", "ı": "i",
    "ё": "е", "أ": "ا", "إ": "ا", "آ": "ا", "ٱ": "ا",
}  # fmt: skip
"""Letters that Unicode does not decompose into a letter and accents, or whose marks are not accents in other
languages."""

_SEEN = str.maketrans(dict.fromkeys(_OTHER_APOSTROPHES, "'") | dict.fromkeys(_SOFT_HYPHEN + _JOINERS))
_UNMARKED = _SEEN | str.maketrans(dict.fromkeys(_ACCENTS + _HEBREW_POINTS + _ARABIC_POINTS))


def is_spelled(word: str) -> bool:
    """Return whether a word consists of letters, marks and apostrophes, and begins with a letter."""
    letters = word.replace("'", "")
    return (
        letters.isalpha()
        or not word.isascii()
        and word[:1].isalpha()
        and all(
            letter.isalpha() or letter == "'" or ord(letter) in _UNMARKED or unicodedata.category(letter)[0] == "M"
            for letter in word
        )
    )


def unmarked(word: str) -> str:
    """Return a word in NFC without points and separate marks, with straight apostrophes."""
    return word if word.isascii() else word.translate(_UNMARKED)


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


def spellings(word_from: WordFrom, folded: str, size: int, own: str | None, before: bytes) -> list[bytes]:
    """Return the spellings of the first letters of a folded word in a bucket, with and without marks.

    The bucket is read by leaps: one look-up for each letter with marks, and for each mark, finds the next word with it.

    Args:
        size: number of letters.
        own: see `fold`.
        before: the text before these letters.
    """
    if own is None:
        return [before + folded[:size].encode()]
    found: list[bytes] = []
    branches = [(before, 0)]
    while branches and len(found) < SPELLINGS_MAX:
        spelled, at = branches.pop()
        is_marked = at > 0 or spelled != before
        while at < size:
            letter = folded[at]
            if variants := _variants(letter):
                follows = word_from(spelled + variants[0])
                if follows is not None and follows.startswith(spelled):
                    forks = [
                        (spelled + variant, at + len(plain))
                        for variant in _marked(word_from, spelled, variants, follows)
                        if (marked := variant.decode()) not in own
                        and folded.startswith(plain := _folded_letter(marked), at)
                    ]
                    branches += forks
                    if forks and not goes_on(word_from, spelled + letter.encode()):
                        break  # where words go on with a mark, often none goes on without
            spelled += letter.encode()
            at += 1
        else:
            if not is_marked or goes_on(word_from, spelled):
                found.append(spelled)
    return found


def goes_on(word_from: WordFrom, start: bytes) -> bool:
    """Return whether a word of a bucket begins with `start`."""
    word = word_from(start)
    return word is not None and word.startswith(start)


def _marked(word_from: WordFrom, spelled: bytes, variants: tuple[bytes, ...], follows: bytes | None) -> Iterator[bytes]:
    """Yield the variants of a letter that occur behind a beginning in words of a bucket.

    Args:
        follows: the first word that is not before the beginning and the first variant.
    """
    size = len(spelled)
    while follows is not None and follows.startswith(spelled):
        # Of a very long word the store has the beginning and a hash, which is no UTF-8.
        passed = follows[size : size + LETTER_BYTES_MAX].decode(errors="ignore")[0].encode()
        place = bisect_left(variants, passed)
        if place < len(variants) and variants[place] == passed:
            yield passed
            place += 1
        if place == len(variants):
            return
        follows = word_from(spelled + variants[place])


def _variants(letter: str) -> tuple[bytes, ...]:
    """Return the variants of a letter: those whose folded form begins with it (é for e, œ for o), and marks before
    it."""
    return _VARIANTS.get(letter) or _MARKS_BY_BLOCK.get(ord(letter) >> 8, ())


def _encoded(letters: Iterable[str]) -> tuple[bytes, ...]:
    """Return letters in UTF-8, in their order."""
    return tuple(sorted(letter.encode() for letter in letters))


def _all_variants() -> dict[str, tuple[bytes, ...]]:
    found: dict[str, set[str]] = {"'": set(_OTHER_APOSTROPHES)}
    for letter in (*_PLAIN, *_letters((0xC0, 0x24F), (0x370, 0x3FF), (0x1E00, 0x1FFE))):
        if letter.islower() or letter in _PLAIN:
            found.setdefault(_folded_letter(letter)[0], set()).add(letter)
    marks = {base: {mark.decode() for mark in _MARKS_BY_BLOCK.get(ord(base) >> 8, ())} for base in found if base != "'"}
    return {base: _encoded((letters | marks.get(base, set())) - {base}) for base, letters in found.items()}


_MARKS_BY_BLOCK = {
    **dict.fromkeys((0x00, 0x01, 0x03, 0x04), _encoded(_SOFT_HYPHEN + _ACCENTS)),
    0x05: _encoded(_SOFT_HYPHEN + _HEBREW_POINTS),
    0x06: _encoded(_SOFT_HYPHEN + _ARABIC_POINTS + _JOINERS),
}
"""High byte of a letter's code point -> marks that may precede it: Latin, Greek, Cyrillic, Hebrew, Arabic."""
_VARIANTS = _all_variants()
"""By letter, in the order of UTF-8."""
