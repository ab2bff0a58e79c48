"""Blocks of postings, for native code that reads and changes them."""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from sonicpy._native.varint cimport get_varint, put_varint, unzigzag, zigzag

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


cdef inline int take_posting(const uint8_t **at, const uint8_t *end, uint64_t *iid, uint64_t *tf) noexcept nogil:
    """Read the next posting; `iid` is the IID of the posting before, and is set to that of this one. Return -1 if it is
    cut off."""
    cdef const uint8_t *start = at[0]
    cdef uint64_t found = 0
    # Nearly every posting takes one to three bytes.
    if end - start >= 3 and start[0] < 0x80:
        found = start[0]
        at[0] = start + 1
    elif end - start >= 3 and start[1] < 0x80:
        found = (start[0] & 0x7F) | <uint64_t> start[1] << 7
        at[0] = start + 2
    elif end - start >= 3 and start[2] < 0x80:
        found = (start[0] & 0x7F) | <uint64_t> (start[1] & 0x7F) << 7 | <uint64_t> start[2] << 14
        at[0] = start + 3
    elif get_varint(at, end, &found) < 0:
        return -1
    iid[0] += <uint64_t> unzigzag(found >> 1)
    tf[0] = 1
    return get_varint(at, end, tf) if found & 1 else 0
