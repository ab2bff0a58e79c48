"""Beginnings of words, without accents, or in another spelling."""

from sonicpy._native.letter_folding import Folding
from sonicpy.index.search.accents import fold, respelled, respelling
from sonicpy.index.search.families import variant_folding
from sonicpy.index.search.matching import script_of
from sonicpy.lexer import variants


def begins_so(word: bytes, beginning: bytes) -> bool:
    """Return whether a word begins with `beginning`, ignoring accents and spellings."""
    if folded(word).startswith(folded(beginning)):
        return True
    other = other_spelling(beginning)
    return other is not None and other[1].fold(word.decode()).encode().startswith(tuple(other[0]))


def other_spelling(word: bytes) -> tuple[list[bytes], Folding] | None:
    """Return the other spellings of the beginning of a word, and the letters that count as equal in them; None: there
    are none.
    """
    text = word.decode()
    script = script_of(text)
    if script in variants.SCRIPTS:
        return [each.encode() for each in variants.beginnings(text)], variant_folding()
    two = respelled(text) if script == "LATIN" else None
    return None if two is None else ([two.encode()], respelling())


def folded(word: bytes) -> bytes:
    """Return a word without accents."""
    return word if word.isascii() else fold(word.decode(), "").encode()
