"""Records that grow, for native code that changes them."""

from libc.stdint cimport int64_t, uint64_t

from sonicpy._native.hash_table cimport HashTable
from sonicpy._native.object_record cimport Held

cdef struct Mark:
    uint64_t before  # the id of the term before the first one of these
    Py_ssize_t at  # the place of the first one in the packed record


cdef class GrowingRecord:
    cdef readonly bytes oid
    cdef bytes _packed  # without the terms in `_changed`
    cdef Py_ssize_t _terms_at
    cdef Mark *_marks  # of each `MARKED` terms in `_packed`
    cdef Py_ssize_t _mark_count
    cdef HashTable _numbers  # term id -> place in `_changed`
    cdef Held *_changed  # the terms that changed since the record was packed, in the order of their first changes
    cdef Py_ssize_t _changed_count, _changed_room
    cdef Py_ssize_t _packed_count  # of the terms in `_packed`
    cdef Held _found
    cdef Py_ssize_t _count
    cdef uint64_t _total_tf
    cdef bint _has_blocks

    cdef int take(self, bytes packed) except -1
    cdef int mark(self) except -1
    cdef int64_t changed_at(self, uint64_t term_id) noexcept
    cdef Held *find(self, uint64_t term_id) noexcept
    cdef int put(self, const Held *changed, Py_ssize_t count) except -1
    cdef int note(self, const Held *changed) except -1
    cdef bytes spliced(self)
    cpdef bytes pack(self)


cdef object growing_record(bytes packed, bint has_blocks)
