"""Names that wait, for those that look for them in compiled code."""

from libc.stdint cimport uint64_t

cdef struct Entry:
    uint64_t hash
    uint64_t iid


cpdef uint64_t name_hash(bytes oid) except? 0


cdef class WaitingNames:
    cdef Entry *_slots
    cdef int _bits  # of a hash, that tell its home
    cdef Py_ssize_t _count, _count_max
    cdef uint64_t _taken  # names with smaller hashes were taken in this round
    cdef public Py_ssize_t added

    cdef tuple iids(self, uint64_t hash)
    cdef int put(self, uint64_t hash, uint64_t iid) except -1
    cdef Py_ssize_t slots(self) noexcept nogil
    cdef Entry *home(self, uint64_t hash) noexcept nogil
    cdef Entry *first(self, uint64_t hash) noexcept nogil
    cdef void insert(self, uint64_t hash, uint64_t iid) noexcept nogil
    cdef void remove(self, Entry *slot) noexcept nogil
    cdef int resize(self, Py_ssize_t names) except -1
