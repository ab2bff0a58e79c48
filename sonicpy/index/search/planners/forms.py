"""Variants of letters of Han and kana: a letter of a query also finds its variants."""

from sonicpy.lexer.variants import spellings

HAN_OR_KANA = 0xE3
"""The least first byte of a letter of Han or kana in UTF-8."""
PAIR_LETTERS, PAIR_BYTES_MAX = 2, 8


def spelled(term: bytes) -> tuple[bytes, ...]:
    """Return the variants of a term that is one or two letters of Han or kana."""
    letters = term.decode() if term[0] >= HAN_OR_KANA and len(term) <= PAIR_BYTES_MAX else ""
    return tuple(map(str.encode, spellings(letters))) if 0 < len(letters) <= PAIR_LETTERS else ()
