"""The words of some sources that begin as a typed word does, without accents."""

from sonicpy._native.parts import nearest_parts
from sonicpy._native.word_source import WordSource
from sonicpy._native.word_walks import find_words
from sonicpy.index.search.accents import fold, folding

BEGUN_MAX = 20_000
"""Words that begin so, of a graph or of the pending words, whose frequencies are compared, at most."""


def begun_in(sources: list[WordSource], word: bytes, distance: int = 0, besides: bytes = b"") -> dict[bytes, int]:
    """Return the words of some sources that begin as a word does, each with the fewest errors of such a beginning.

    Args:
        distance: errors that a beginning may have.
        besides: words that begin so are left out.
    """
    return nearest_parts(
        find_words(
            sources, [folded(word)], folding(""), distance=distance, begins=True, besides=besides, most=BEGUN_MAX
        )
    )


def folded(word: bytes) -> bytes:
    """Return a word without accents."""
    return word if word.isascii() else fold(word.decode(), "").encode()
