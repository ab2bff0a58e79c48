"""Changed rows of records, for native code that changes them."""

from libc.stdint cimport uint32_t, uint64_t

from sonicpy._native.growing_record cimport GrowingRecord
from sonicpy._native.objects cimport RecordRow


cdef class RecentRow:
    cdef readonly uint64_t number
    cdef readonly bint is_changed
    cdef bytes _row
    cdef uint32_t _gone  # places, as bits, of dropped records that `_row` still holds
    cdef dict _growing  # place -> record, large ones to which texts were added; None: there is none
    cdef bint _dense
    cdef bint _is_made  # `_row` was made here, so it can be read
    cdef RecordRow _plain  # of `_row`, if that is not dense

    cdef bytes whole(self)
    cdef bytes record_at(self, int place)
    cdef GrowingRecord growing_at(self, int place)
    cdef int replace(self, int place, bytes record) except -1
    cdef int forget(self, int place) except -1
    cdef RecordRow as_plain(self)
    cpdef drop(self, int place)
