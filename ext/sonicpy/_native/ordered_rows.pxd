"""Rows of orders, for native code that reads them."""

from libc.stdint cimport uint8_t, uint64_t

cdef enum:
    PER_ROW = 64


cdef struct Found:  # an order in a row
    const uint8_t *at
    uint64_t size


cdef int read_row(bytes row, Found *found) except -1
