"""What the ranking needs to know of a block of postings."""

from libc.stdint cimport uint8_t, uint32_t, uint64_t

cdef enum:
    BLOCK_POSTINGS = 128

cdef struct Posting:
    uint64_t iid
    uint32_t tf

cdef int read_block(const uint8_t *block, Py_ssize_t size, Posting *out) noexcept nogil
