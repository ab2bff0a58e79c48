"""Blocks of postings, for native code that reads and changes them."""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from sonicpy._native.varint cimport put_varint, zigzag

cdef enum:
    BLOCK_POSTINGS = 128

cdef struct Posting:
    uint64_t iid
    uint32_t tf


cdef class PostingList:
    cdef uint32_t *_iids
    cdef Py_ssize_t _count


cdef int read_block(const uint8_t *block, Py_ssize_t size, Posting *out) noexcept nogil
cdef int decode(bytes block, Posting *out) except -1
cdef int count_postings(const uint8_t *block, Py_ssize_t size) noexcept nogil
cdef bytes write_block(const Posting *postings, int count)
cdef bytes write_dense_block(const Posting *postings, int count)


cdef inline uint8_t *put_posting(uint8_t *out, uint64_t before, uint64_t iid, uint32_t tf) noexcept nogil:
    out = put_varint(out, zigzag(<int64_t> (iid - before)) << 1 | (tf > 1))
    return put_varint(out, tf) if tf > 1 else out
