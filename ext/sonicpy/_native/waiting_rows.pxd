"""Rows of records that wait to be written, for native code that changes them."""

from libc.stdint cimport uint32_t, uint64_t

from sonicpy._native.growing_record cimport GrowingRecord
from sonicpy._native.objects cimport RecordRow


cdef class BufferedRow(RecordRow):
    cdef public uint64_t number
    cdef public bint is_changed
    cdef bint _dense
    cdef dict _growing  # place -> record, large ones to which texts were added; None: there is none

    cdef bytes whole(self)
    cdef bytes cut(self)
    cdef bytes to_store(self)
    cdef bytes record_at(self, int place)
    cdef GrowingRecord growing_at(self, int place)
    cdef int settle(self, int place, GrowingRecord record) except -1
    cpdef grow(self, int place, GrowingRecord record)
    cpdef remove(self, int place)
    cdef int forget(self, int place) except -1
    cdef int replace(self, int place, bytes record) except -1


cdef class NewestRow(BufferedRow):
    cdef bint _is_stored


cdef class RecentRow(BufferedRow):
    cdef uint32_t _gone  # places, as bits, of removed records that `_row` still holds
    cdef bint _is_made  # `_row` was made here, so it can be read
