"""The lengths of objects, for native code that sets them."""

from libc.stdint cimport uint8_t, uint64_t

cpdef uint8_t pack_length(uint64_t length) noexcept
cpdef double unpack_length(uint8_t packed) noexcept


cdef class Lengths:
    cdef readonly bytearray packed
    cdef set _unseen  # rows that changed since `take_unseen`; None: none
    cdef set _changed  # numbers of rows; None: none
    cdef Py_ssize_t _last_row  # the one added last

    cdef int set(self, Py_ssize_t iid, uint8_t length) except -1
