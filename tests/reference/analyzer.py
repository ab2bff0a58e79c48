"""Sonic's analysis of a text into words: the reference implementation of `Analyzer` in its compat form.

The shapes are regular expressions, tried in the order of the table at every place, left to right. `\\w` and `\\s` of
Python are other classes than those of Sonic, so both are spelled out.
"""

import re
import sys
import unicodedata
from collections.abc import Callable, Collection
from functools import cache
from typing import NamedTuple

from tests.reference.channel import WHITE_SPACE
from tests.reference.word_break import rows_of, word_borders

CIRCLED_LETTERS = frozenset(
    (*range(0x24B6, 0x24EA), *range(0x1F130, 0x1F14A), *range(0x1F150, 0x1F16A), *range(0x1F170, 0x1F18A))
)
"""Symbols that Unicode's property Alphabetic counts among the letters."""

JOINERS = frozenset((0x200C, 0x200D))
OTHERS_IN_W = CIRCLED_LETTERS | JOINERS
WORD_CATEGORIES = frozenset("Lu Ll Lt Lm Lo Mn Mc Me Nd Nl Pc".split())


def is_alphanumeric(char: str) -> bool:
    """Return whether a piece with this character is a word, which is true of letters and numbers of every kind."""
    return unicodedata.category(char)[0] in "LN" or ord(char) in CIRCLED_LETTERS


def is_word_char(char: str) -> bool:
    """Return whether Sonic's class *w* has the character: letters, marks, digits, connectors, joiners."""
    return unicodedata.category(char) in WORD_CATEGORIES or ord(char) in OTHERS_IN_W


def _class(points: Collection[int]) -> str:
    """Return the inner part of a character class of a regular expression for these characters."""
    ranges: list[list[int]] = []
    for point in sorted(points):
        if ranges and ranges[-1][1] == point - 1:
            ranges[-1][1] = point
        else:
            ranges.append([point, point])
    return "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in ranges)


IPV4 = r"(?:\d{1,3}\.){3}\d{1,3}"


@cache
def any_pattern() -> re.Pattern[str]:
    """Return the patterns as one, made when the first text is cut, not when tests are collected."""
    w = _class([point for point in range(sys.maxunicode + 1) if is_word_char(chr(point))])
    s = _class(WHITE_SPACE)
    patterns = {  # \d of Python is Unicode's Nd, which is Sonic's class *d*
        "mail": rf"[{w}.+\-]+@[{w}\-]+\.[{w}.\-]+",
        "username": rf"@[^{s}]*[{w}]",
        "url": rf"[{w}]{{2,}}://[^{s}]*[^{s}.]",
        "ipv4": rf"{IPV4}(?:[^.\d]|\Z)",
        "phone": r"\+?\d(?:[ \t-\r.\-]?\d){4,}",
        "domain": r"[A-Za-z0-9.\-]+\.[A-Za-z]{2,}",
        "id": rf"[{w}:\-]*[\d_][{w}:\-]*",
    }
    return re.compile("|".join(f"(?P<{name}>{shape})" for name, shape in patterns.items()))


class Found(NamedTuple):
    """A term of a text, its number of occurrences (at most 255), and whether a pattern has found it."""

    word: str
    count: int
    special: bool


def analyze(
    text: str,
    *,
    fold: Callable[[str], str] = str.casefold,
    patterns: bool = True,
    split_patterns: bool = True,
    dropped: Collection[str] = (),
) -> list[Found]:
    """Return the distinct terms of `text` in the order of their first occurrence; `dropped` are the stop words."""
    found: dict[str, Found] = {}
    for word, special in _occurrences(text, patterns, split_patterns):
        term = word if special else fold(word)
        if special or term not in dropped:
            before = found.get(term, Found(term, 0, special))
            found[term] = before._replace(count=min(before.count + 1, 255))
    return list(found.values())


def words_of(text: str) -> list[str]:
    """Return the pieces between word borders that hold a letter or number."""
    borders = word_borders(text)
    pieces = [text[start:end] for start, end in zip(borders, borders[1:], strict=False)]
    return [piece for piece in pieces if any(map(is_alphanumeric, piece))]


def _occurrences(text: str, patterns: bool, split_patterns: bool) -> list[tuple[str, bool]]:
    out: list[tuple[str, bool]] = []
    plain = 0
    for match in any_pattern().finditer(text) if patterns else ():
        out += [(word, False) for word in words_of(text[plain : match.start()])]
        out += [(word, True) for word in _special_words(match, split_patterns)]
        plain = match.end()
    return out + [(word, False) for word in words_of(text[plain:])]


def _special_words(match: re.Match[str], split_patterns: bool) -> list[str]:
    whole = match[0]
    if split_patterns:
        return words_of(whole) or [whole]
    if match.lastgroup == "phone":
        return [re.sub(r"[^\d+]", "", whole)]
    if match.lastgroup == "ipv4":
        address = re.match(IPV4, whole)
        assert address is not None
        return [address[0]]
    return [whole]


# -- scripts without blanks, in sonicpy's own form --------------------------------------------------------------------

UNSPACED_SCRIPTS = ("Han", "Hiragana", "Katakana", "Thai", "Lao", "Khmer", "Myanmar")
SOUND_MARKS = "\u30fc\uff70"  # prolong a vowel of either kana, so Unicode gives them no script
MARKS = ("Extend", "Format", "ZWJ")
RUN_BYTES = 40


def analyze_in_pairs(text: str) -> list[tuple[str, str]]:
    """Return the words of `text` with their kinds: a word, a letter of a run, or a pair of neighbours in a run."""
    out: list[tuple[str, str]] = []
    while text:
        letters = _leading_letters(text)
        if letters:
            run = "".join(letters)
            out += [(run, "word")] if len(letters) <= 2 or len(run.encode()) <= RUN_BYTES else []
            for place, letter in enumerate(letters if len(letters) > 1 else []):
                out.append((letter, "letter"))
                if place and len(letters) > 2:
                    out.append((letters[place - 1] + letter, "pair"))
            text = text[len(run) :]
        else:
            end = word_borders(text)[1]
            out += [(text[:end], "word")] if any(map(is_alphanumeric, text[:end])) else []
            text = text[end:]
    return out


def _leading_letters(text: str) -> list[str]:
    """Return the letters of a script without blanks at the beginning of a text, each with its marks."""
    letters: list[str] = []
    for char in text:
        if letters and char in _marks():
            letters[-1] += char
        elif char in _unspaced():
            letters.append(char)
        else:
            break
    return letters


@cache
def _unspaced() -> frozenset[str]:
    of_scripts = {char for char, name in rows_of("Scripts.txt") if name in UNSPACED_SCRIPTS}
    return frozenset(char for char in of_scripts | set(SOUND_MARKS) if is_alphanumeric(char))


@cache
def _marks() -> frozenset[str]:
    return frozenset(char for char, name in rows_of("WordBreakProperty.txt") if name in MARKS)
