"""The lengths of objects, for those that set them in compiled code."""

from libc.stdint cimport uint8_t, uint64_t

cpdef uint8_t pack_length(uint64_t length) noexcept
cpdef double unpack_length(uint8_t packed) noexcept


cdef class Lengths:
    cdef readonly bytearray packed
    cdef set _changed  # numbers of rows
    cdef Py_ssize_t _last_row  # the one that was put there last

    cdef int set(self, Py_ssize_t iid, uint8_t length) except -1
