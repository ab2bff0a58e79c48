"""The words that neighbours in a query make together, computed word by word."""

import re
from itertools import pairwise

from sonicpy._native.parts import tokens_of
from sonicpy._native.terms import PART, STOP, Terms
from sonicpy._native.word_break import is_unspaced_letter

SIGNS = ("", ".", "_", ":")
APOSTROPHES = "'\u2019\u02bc"


def words_together(terms: Terms) -> dict[bytes, tuple[int, ...]]:
    """Return the words, each with the numbers of its terms."""
    numbers = [number for number, flags in enumerate(terms.flags) if not flags & PART]
    if len(numbers) > 8:
        return {}
    found: dict[bytes, tuple[int, ...]] = {}
    for first in range(len(numbers)):
        for end in range(first + 2, len(numbers) + 1):
            _add(found, terms, tuple(numbers[first:end]))
    groups = [terms.words[number] for number in numbers for _ in range(terms.counts[number])]
    if 1 < len(numbers) < len(groups) <= 6 and all(map(bytes.isdigit, groups)):
        found[b"".join(terms.words[number] * terms.counts[number] for number in numbers)] = tuple(numbers)
    for number, following in pairwise(numbers):
        if terms.words[number].isdigit() and len(terms.words[number]) <= 3 and terms.words[following].isdigit():
            found[b"v" + terms.words[number]] = (number,)
        if re.fullmatch(rb"v[0-9]{1,3}", terms.words[number]) and terms.words[following].isdigit():
            found[terms.words[number][1:]] = (number,)
    for number in numbers:
        word, flags = terms.words[number], terms.flags[number]
        tokens = tokens_of(word)
        if flags & STOP:
            continue
        if not word.isalnum() and len(tokens) > 1:
            for sign in SIGNS if len(tokens) <= 3 else ("",):
                found[sign.encode().join(tokens)] = (number,)
            continue
        for place in _before_apostrophes(word.decode()):
            found.update(
                {(word.decode()[:place] + sign + word.decode()[place:]).encode(): (number,) for sign in APOSTROPHES}
            )
        if _may_be_initials(word.decode()):
            found[".".join(word.decode()).encode()] = (number,)
            if word.isalpha() and 2 < len(word) <= 5:
                found[word[:1] + b"." + word[1:]] = found[word[:-1] + b"." + word[-1:]] = (number,)
    return found


def _before_apostrophes(word: str) -> list[int]:
    """Return the places of the apostrophes that a word may have."""
    if re.fullmatch("o[a-z]{3,}", word):
        return [1]
    return [found.end() for found in re.finditer("[бвкмпрф](?=[єїюя])", word)] if "а" <= word[0] <= "ї" else []


def _may_be_initials(word: str) -> bool:
    return 2 <= len(word) <= 8 and all(letter < "\u0590" and letter.isalpha() for letter in word)


def _add(found: dict[bytes, tuple[int, ...]], terms: Terms, numbers: tuple[int, ...]) -> None:
    words = [terms.words[number] for number in numbers]
    most = 6 if all(re.search(rb"[0-9]", word) for word in words) else 4
    if len(words) > most or any(map(is_unspaced_letter, words)):
        return
    if not all(terms.flags[number] & STOP for number in numbers):
        apostrophes = APOSTROPHES if any(re.fullmatch(rb"[A-Za-z]", word) for word in words) else ()
        for sign in (*SIGNS, *apostrophes) if len(words) <= 3 else ("",):
            found[sign.encode().join(words)] = numbers
