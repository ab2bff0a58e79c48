"""What other modules need to know: blocks of postings, and keys."""

from libc.stdint cimport uint8_t, uint32_t, uint64_t

cdef enum:
    BLOCK_POSTINGS = 128

cdef struct Posting:
    uint64_t iid
    uint32_t tf

cpdef bytes term_key(uint32_t bucket, uint64_t term_id)
cdef int read_block(const uint8_t *block, Py_ssize_t size, Posting *out) noexcept nogil
