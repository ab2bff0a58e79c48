"""Rows of vectors, for native code that reads them."""

from libc.stdint cimport uint8_t

cdef enum:
    BITS = 1024  # of the longest vector


cdef Py_ssize_t before_place(const uint8_t *head, Py_ssize_t place) noexcept
cdef Py_ssize_t check_row(bytes row, Py_ssize_t size) except -1
