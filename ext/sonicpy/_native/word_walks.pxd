"""Walks over words, for native code; word_walks.pyx describes them."""

from libc.stdint cimport int64_t

from sonicpy._native.letter_folding cimport Folding
from sonicpy._native.stem_ends cimport StemEnds

cdef enum:
    EDGES_MAX = 200_000  # letters that a walk looks at


cdef dict walk_all(
    list sources, list patterns, Folding folding, int distance, bint begins, bint swaps, bint spelled, bint joined,
    bytes besides, int64_t most, int64_t budget, StemEnds ends, bytes stem, bint leading=*,
)
