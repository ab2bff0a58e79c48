"""The words that some letters begin with: the pieces that a word written together may have."""

from sonicpy._native.letter_folding cimport Folding
from sonicpy._native.word_walks cimport EDGES_MAX, walk_all

cdef enum:
    WORDS_MAX = 1_000


def leading_words(list sources not None, bytes letters not None, Folding folding not None) -> dict:
    """Return the words that some folded letters begin with, each with the number of letters that it is.

    Args:
        sources: the sources of words, WordSource.
        letters: UTF-8, of at most 60 characters: more begin with nothing.
        folding: how the letters of words are folded.

    Raises:
        ValueError: the letters are not UTF-8.
    """
    return walk_all(
        sources, [letters], folding, 0, False, False, False, False, b"", WORDS_MAX, EDGES_MAX, None, b"", True
    )
