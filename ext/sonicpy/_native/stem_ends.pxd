from libc.stdint cimport uint8_t

cdef enum:
    LETTERS = 32  # a letter from a to z by its last five bits, 0 for none


cdef class StemEnds:
    cdef uint8_t _taken[LETTERS * LETTERS]  # by pairs of letters
    cdef uint8_t _changed[LETTERS * LETTERS]


cdef inline Py_ssize_t pair_of(uint8_t first, uint8_t second) noexcept nogil:
    return (first & LETTERS - 1) * LETTERS + (second & LETTERS - 1)
