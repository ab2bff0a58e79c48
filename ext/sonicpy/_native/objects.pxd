"""Rows of records, for native code that puts records into them."""

from libc.stdint cimport uint8_t, uint64_t

from sonicpy._native.record_item cimport OID_BYTES_MAX, PLACES, Item


cdef class RecordRow:
    cdef Item *_items
    cdef int _count  # -1: no item has been read
    cdef bytes _row  # the items point into it

    cdef int read(self, bytes row) except -1
    cdef int opened(self) except -1
    cdef int index_of(self, uint8_t place) noexcept nogil
    cdef bytes put_record(self, int place, bytes record)
    cdef bytes packed_from(self, int first)


cdef int read_item(const uint8_t **at, const uint8_t *end, int before, Item *item) except -1
cdef uint64_t row_number(bytes key) except? 0
cdef bytes names_of_row(bytes row)
cdef object name_at(bytes names, int place)
cdef bytes record_in(bytes row, int place)
