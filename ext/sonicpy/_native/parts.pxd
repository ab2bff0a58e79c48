"""The parts of a joined word, for other native code; parts.pyx defines them."""

from libc.stdint cimport uint8_t

cdef enum:
    PARTS_MAX = 16  # of a word


cdef struct Span:
    Py_ssize_t begin, end


cdef struct Parts:
    Span spans[PARTS_MAX]
    int count


cdef Py_ssize_t without_camels(const uint8_t *word, Py_ssize_t size, uint8_t *out) noexcept nogil
cdef void find_parts(const uint8_t *word, Py_ssize_t size, Parts *parts) noexcept nogil
cdef bint begins_plainly(const uint8_t *word, const Parts *parts, int number) noexcept nogil
cdef Py_ssize_t write_alias(const uint8_t *word, Py_ssize_t size, const Span *part, uint8_t *out) noexcept nogil
