"""Records of objects, for native code that changes them."""

from libc.stdint cimport uint8_t, uint32_t, uint64_t

cdef struct Held:
    uint64_t term_id
    uint64_t block  # where lists are in the order of association; else 0
    uint32_t tf
    bint hidden


cdef class ObjectRecord:
    cdef readonly bytes oid
    cdef Held *_held  # the first `_known` terms in rising order; of a large record those of the last `select`
    cdef Py_ssize_t _known
    cdef Py_ssize_t _count
    cdef Py_ssize_t _hidden
    cdef uint64_t _total_tf
    cdef bint _has_blocks
    cdef bytes _packed  # of a large record whose terms are still packed; else None
    cdef Py_ssize_t _terms_at

    cdef int reserve(self, Py_ssize_t count) except -1
    cdef int check(self, const uint8_t *at, const uint8_t *end) except -1
    cdef int unpack_terms(self) except -1
    cdef int select(self, const uint64_t *term_ids, Py_ssize_t count) except -1
    cdef Held *find(self, uint64_t term_id) noexcept nogil
    cdef uint64_t total_tf(self) noexcept nogil
    cdef ObjectRecord without(self, list gone)
    cdef bytes spliced(self, const Held *changed, Py_ssize_t count)
    cdef bytes with_terms(self, const Held *changed, Py_ssize_t count)
    cpdef bytes pack(self)
    cpdef list parts(self, Py_ssize_t terms)
    cdef bytes part(self, const Held *first, const uint8_t *rest, Py_ssize_t rest_size, Py_ssize_t count)


cdef ObjectRecord empty_record(bytes oid, bint has_blocks)
cdef bytes pack_object(bytes oid, const Held *held, Py_ssize_t count, bint has_blocks)
