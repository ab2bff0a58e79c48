"""The words of a family; kin.pyx finds them."""

from sonicpy._native.letter_folding cimport Folding
from sonicpy._native.stem_ends cimport StemEnds

cimport cython


@cython.final
cdef class Stem:
    cdef readonly str algorithm, folded, start
    cdef readonly list beginnings, ends_of_short
    cdef readonly StemEnds ends
    cdef readonly object stem_words
    cdef bytes _folded_bytes


@cython.final
cdef class Kin:
    cdef readonly str folded, own, kept
    cdef readonly tuple stems, before
    cdef readonly list spelled
    cdef Folding _own_folding, _kept_folding
    cdef list _part
    cdef object _rules
