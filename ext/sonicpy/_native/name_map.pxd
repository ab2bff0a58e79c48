"""The OIDs of new objects, for native code that adds OIDs and looks them up."""

from libc.stdint cimport uint64_t

cdef enum:
    HASH_BITS = 40
    VARINT_BYTES_MAX = 10
    ENTRY_BYTES_MAX = 2 * VARINT_BYTES_MAX

cdef struct NameEntry:
    uint64_t hash
    uint64_t iid


cpdef uint64_t name_hash(bytes oid) except? 0


cdef class NameMap:
    cdef NameEntry *_slots
    cdef int _bits  # of a hash, that choose its home
    cdef Py_ssize_t _count, _count_max
    cdef uint64_t _taken  # names with smaller hashes were taken in this round
    cdef public Py_ssize_t added
    cdef public uint64_t until

    cdef tuple iids(self, uint64_t hash)
    cdef int put(self, uint64_t hash, uint64_t iid) except -1
    cdef Py_ssize_t slots(self) noexcept nogil
    cdef NameEntry *home(self, uint64_t hash) noexcept nogil
    cdef NameEntry *first(self, uint64_t hash) noexcept nogil
    cdef void insert(self, uint64_t hash, uint64_t iid) noexcept nogil
    cdef void remove(self, NameEntry *slot) noexcept nogil
    cdef int resize(self, Py_ssize_t names) except -1
