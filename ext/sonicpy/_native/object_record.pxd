"""Records of objects, for native code that changes them."""

from libc.stdint cimport uint32_t, uint64_t

cdef struct Held:
    uint64_t term_id
    uint64_t block  # where lists are in the order of association; else 0
    uint32_t tf
    bint hidden


cdef class ObjectRecord:
    cdef readonly bytes oid
    cdef Held *_held
    cdef Py_ssize_t _count
    cdef bint _has_blocks

    cdef int reserve(self, Py_ssize_t count) except -1
    cdef Held *find(self, uint64_t term_id) noexcept nogil
    cdef uint64_t total_tf(self) noexcept nogil
    cpdef bytes pack(self)


cdef ObjectRecord empty_record(bytes oid, bint has_blocks)
cdef bytes pack_object(bytes oid, const Held *held, Py_ssize_t count, bint has_blocks)
