"""The words of some sources that begin as a typed word does, without accents, or in another spelling."""

from sonicpy._native.letter_folding import Folding
from sonicpy._native.parts import nearest_parts
from sonicpy._native.word_source import WordSource
from sonicpy._native.word_walks import find_words
from sonicpy.index.search.accents import fold, folding, respelled, respelling
from sonicpy.index.search.families import variant_folding
from sonicpy.index.search.matching import script_of
from sonicpy.lexer import variants

BEGUN_MAX = 20_000
"""Words that begin so, of a graph or of the pending words, whose frequencies are compared, at most."""


def begun_in(sources: list[WordSource], word: bytes, distance: int = 0, besides: bytes = b"") -> dict[bytes, int]:
    """Return the words of some sources that begin as a word does, each with the fewest errors of such a beginning.

    Args:
        distance: errors that a beginning may have.
        besides: words that begin so are left out.
    """
    found = find_words(
        sources, [folded(word)], folding(""), distance=distance, begins=True, besides=besides, most=BEGUN_MAX
    )
    other = _other_spelling(word.decode())
    if other is not None:
        patterns, letters = other
        asked = [each.encode() for each in patterns]
        found |= find_words(sources, asked, letters, begins=True, besides=besides, most=BEGUN_MAX)
    return nearest_parts(found)


def begins_so(word: bytes, beginning: bytes) -> bool:
    """Return whether a word begins as another one does, without accents, or in another spelling."""
    if folded(word).startswith(folded(beginning)):
        return True
    other = _other_spelling(beginning.decode())
    return other is not None and other[1].fold(word.decode()).startswith(tuple(other[0]))


def _other_spelling(word: str) -> tuple[list[str], Folding] | None:
    """Return other spellings of the beginning of a word, and the letters that are the same in them; None: it has none."""
    script = script_of(word)
    if script in variants.SCRIPTS:
        return variants.beginnings(word), variant_folding()
    two = respelled(word) if script == "LATIN" else None
    return None if two is None else ([two], respelling())


def folded(word: bytes) -> bytes:
    """Return a word without accents."""
    return word if word.isascii() else fold(word.decode(), "").encode()
