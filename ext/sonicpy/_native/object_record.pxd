"""Records of objects, for native code that changes them."""

from libc.stdint cimport uint8_t, uint32_t, uint64_t

from sonicpy._native.varint cimport get_varint, put_varint

cdef struct Held:
    uint64_t term_id
    uint64_t block  # where lists are in the order of association; else 0
    uint32_t tf
    bint hidden


cdef class ObjectRecord:
    cdef readonly bytes oid
    cdef Held *_held  # all terms in rising order, if the record is unpacked
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
    cdef Held *find(self, uint64_t term_id) noexcept nogil
    cdef uint64_t total_tf(self) noexcept nogil
    cdef ObjectRecord without(self, list gone)
    cdef bytes with_terms(self, const Held *changed, Py_ssize_t count)
    cpdef bytes pack(self)
    cpdef list parts(self, Py_ssize_t terms)
    cdef bytes part(self, const Held *first, const uint8_t *rest, Py_ssize_t rest_size, Py_ssize_t count)


cdef ObjectRecord empty_record(bytes oid, bint has_blocks)
cdef bytes pack_object(bytes oid, const Held *held, Py_ssize_t count, bint has_blocks)


cdef inline bint read_held(
    const uint8_t **at, const uint8_t *end, bint has_blocks, uint64_t *term_id, Held *held
) noexcept nogil:
    """Read the next term; `term_id` is the one before. Return False if the bytes end inside it."""
    cdef uint64_t found = 0
    if get_varint(at, end, &found) < 0:
        return False
    term_id[0] += found >> 2
    held.term_id = term_id[0]
    held.hidden = (found >> 1) & 1
    held.tf = 1
    held.block = 0
    if found & 1:
        if get_varint(at, end, &found) < 0:
            return False
        held.tf = <uint32_t> found
    return not has_blocks or get_varint(at, end, &held.block) == 0


cdef inline uint8_t *put_held(uint8_t *out, const Held *held, uint64_t before, bint has_blocks) noexcept nogil:
    """Write a term, at most 30 bytes, behind the term `before`; return the place of the next one."""
    out = put_varint(out, (held.term_id - before) << 2 | <uint64_t> held.hidden << 1 | (held.tf != 1))
    if held.tf != 1:
        out = put_varint(out, held.tf)
    return put_varint(out, held.block) if has_blocks else out
