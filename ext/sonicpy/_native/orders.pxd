"""The bytes of orders, for native code that reads them."""

from libc.stdint cimport uint8_t, uint64_t

from sonicpy._native.bit_stream cimport BitReader

cdef enum:
    FEW_TERMS = 64  # of a record whose orders are compact

cdef struct Places:  # reads an order
    BitReader bits
    uint64_t terms
    uint64_t pieces  # that follow
    uint64_t words  # that follow in this piece
    int width
    bint is_whole, is_compact, repeats
    int left_count, used_count
    uint64_t number  # of the next `in_number` words
    int in_number
    uint8_t left[FEW_TERMS]  # places that no word had yet, rising
    uint8_t used[FEW_TERMS]  # the others, in their order


cdef bint begin_places(Places *places, const uint8_t *order, uint64_t size, uint64_t terms) noexcept nogil
cdef bint next_piece(Places *places) noexcept nogil
cdef bint next_place(Places *places, uint64_t *place) noexcept nogil
cdef object damaged()
