"""Rows of orders, for native code that reads them."""

from libc.stdint cimport uint8_t, uint64_t

from sonicpy._native.bit_stream cimport BitReader

cdef enum:
    PER_ROW = 64

cdef struct Places:  # reads an order
    BitReader bits
    uint64_t terms
    uint64_t pieces  # that follow
    uint64_t words  # that follow in this piece
    int width

cdef struct Found:  # an order in a row
    const uint8_t *at
    uint64_t size


cdef bint begin_places(Places *places, const uint8_t *order, uint64_t size, uint64_t terms) noexcept nogil
cdef bint next_piece(Places *places) noexcept nogil
cdef int read_row(bytes row, Found *found) except -1
cdef object damaged()
