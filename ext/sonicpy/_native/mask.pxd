"""Masks of objects that pass a filter, by window, for other native code."""

from libc.stdint cimport int64_t, uint32_t, uint64_t


cdef class Mask:
    cdef readonly Py_ssize_t count  # of windows; no object behind them passes
    cdef uint64_t **made  # by window, where it was needed; NULL: it was not
    cdef uint64_t *room  # of a window in which no object passes
    cdef Py_ssize_t few  # the most objects of a window that are looked at one by one: that costs less than its bits

    cdef int mark(self, Py_ssize_t window, uint64_t *bits) except -1
    cdef bint holds(self, uint32_t iid) except -1
    cdef const uint64_t *at(self, int64_t window) except NULL
    cdef const uint64_t *some(self, int64_t window) except? NULL
    cdef bint passes(self, uint32_t iid) except -1
    cdef bint may(self, int64_t window) except -1
    cdef bint narrow(self, int64_t window, uint64_t *bits) except -1


cdef class Bits(Mask):
    cdef uint64_t *all_bits
