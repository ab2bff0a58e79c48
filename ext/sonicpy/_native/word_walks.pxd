"""Walks over words, for native code; word_walks.pyx describes them."""

from libc.stdint cimport int64_t, uint8_t

from sonicpy._native.letter_folding cimport Folding
from sonicpy._native.stem_ends cimport StemEnds

cdef enum:
    EDGES_MAX = 200_000  # letters that a walk looks at


cdef dict walk_all(
    list sources, list patterns, Folding folding, int distance, bint begins, bint swaps, bint spelled, bint joined,
    bytes besides, int64_t most, int64_t budget, StemEnds ends, bytes stem, bint leading=*,
)


cdef inline bint is_spelled(uint8_t label) noexcept nogil:
    """Return whether a byte of a word belongs to a letter, or is an apostrophe."""
    return label >= 0x80 or c'a' <= label <= c'z' or label == c"'"


cdef inline bint has_only_letters(const uint8_t *word, int size) noexcept nogil:
    """Return whether a word consists of the letters a to z."""
    cdef int at
    for at in range(size):
        if not c'a' <= word[at] <= c'z':
            return False
    return True
