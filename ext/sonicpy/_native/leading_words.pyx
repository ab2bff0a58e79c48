"""Finds the words with which letters begin: the pieces that a word written together may have."""

from sonicpy._native.letter_folding cimport Folding
from sonicpy._native.word_walks cimport EDGES_MAX, walk_all

cdef enum:
    WORDS_MAX = 1_000


def leading_words(list sources not None, bytes letters not None, Folding folding not None) -> dict:
    """Return {word: number of its letters} for the words with which folded letters begin.

    Args:
        sources: the sources of the words, each a WordSource.
        letters: the letters in UTF-8; with more than 60 characters there are no words.
        folding: the folding for the letters of words.

    Raises:
        ValueError: the letters are not UTF-8.
    """
    return walk_all(
        sources, [letters], folding, 0, False, False, False, False, b"", WORDS_MAX, EDGES_MAX, None, b"", True
    )
