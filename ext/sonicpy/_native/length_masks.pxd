"""The masks of short objects, by window, for other native code."""

from libc.stdint cimport uint8_t, uint64_t

from sonicpy._native.bm25 cimport PackedLengths

cdef enum:
    MASKS = 64  # a mask for each limit below this one; beyond, lengths are packed and few objects are as long


cdef class LengthMasks:
    cdef readonly object lengths
    cdef PackedLengths packed
    cdef Py_ssize_t _window_count
    cdef Py_ssize_t _room  # windows for which `_rows` has room
    cdef uint64_t **_rows  # by window and limit; NULL: not needed yet
    cdef readonly Py_ssize_t size_bytes
    cdef uint64_t _nobody[64]
    cdef uint64_t _everybody[64]

    cdef const uint64_t *shorter(self, int limit, Py_ssize_t window, uint64_t *room) except NULL
    cdef void mark(self, int limit, Py_ssize_t window, uint64_t *bits) noexcept nogil
    cdef int renew(self, lengths) except -1
    cdef int make_room(self) except -1
    cdef void forget(self, Py_ssize_t first, Py_ssize_t end) noexcept
