"""The terms of named texts: each word after the name of its text, and short texts as a whole. The names are a fact.

    word     name | 0x01 | word
    whole    name | 0x01 | 0x01 | its distinct words, in their order, with 0x01 between two, if at most WHOLE_MAX

No word of a text contains 0x01.
"""

from collections.abc import Iterable
from typing import Final

from sonicpy._native.terms import PART, Terms

BETWEEN: Final = b"\1"
WHOLE: Final = BETWEEN + BETWEEN
"""Bytes that only the terms of whole texts contain, because no name and no word is empty."""
WHOLE_TF: Final = 255
"""The frequency of the term for a whole text: the highest one, so that the length of the object hardly counts."""
WHOLE_MAX: Final = 16
"""The most words of a text that also gets one term for the text as a whole."""
TEXT_NAMES: Final = 45
"""The kind of the fact: the names of the texts of a bucket, with a NUL between two, in the order of their first use."""


def named_word(name: bytes, word: bytes) -> bytes:
    """Return the term of a word in a text with a name."""
    return name + BETWEEN + word


def whole_word(words: Iterable[bytes]) -> bytes | None:
    """Return the word that represents a whole text; None: the text has no words, or too many."""
    distinct = list(dict.fromkeys(words))
    return BETWEEN + BETWEEN.join(distinct) if 0 < len(distinct) <= WHOLE_MAX else None


def whole_words(terms: Terms) -> Iterable[bytes]:
    """Return the words by which two texts are compared: equal words mean texts that differ at most in signs."""
    return (word for word, flags in zip(terms.words, terms.flags, strict=True) if not flags & PART)


def is_whole(word: bytes) -> bool:
    """Return whether a word, without the name, represents a text as a whole."""
    return word.startswith(BETWEEN)


def frequency_of(term: bytes) -> int:
    """Return the frequency that postings of a term have."""
    return WHOLE_TF if WHOLE in term else 1


def is_named(term: bytes) -> bool:
    """Return whether a term of a plan belongs to a named text."""
    return BETWEEN in term


def split_name(term: bytes) -> tuple[bytes, bytes]:
    """Return the name of the text and the word of a term."""
    name, _, word = term.partition(BETWEEN)
    return name, word


def plain_word(word: bytes) -> bytes:
    """Return a word of a plan without the name of its text."""
    return split_name(word)[1] if is_named(word) else word


def pack_names(names: Iterable[bytes]) -> bytes:
    """Return the fact with the names of texts, a NUL between two."""
    return b"\0".join(names)


def unpack_names(fact: bytes | None) -> list[bytes]:
    """Return the names in a fact; no fact has no names."""
    return fact.split(b"\0") if fact else []
