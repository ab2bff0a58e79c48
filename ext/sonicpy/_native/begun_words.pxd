"""The words that begin as a typed word does, for other native code."""

from libc.stdint cimport uint32_t

from sonicpy._native.letter_folding cimport Folding

cdef enum:
    BEGUN = 20_000


cdef class Rules:
    cdef object rules
    cdef Folding plain
    cdef uint32_t[26] seconds  # by the first letter of a pair that may replace one letter: the second ones, as bits

    cdef bint has_pair(self, bytes word)


cdef dict begun_in(list sources, bytes word, int distance, bytes besides, rules)
cdef Rules known_rules(rules)
