"""Blocks of postings, and postings lists decoded from them.

    block   count u8, then per posting in the order of association:
            v(zigzag(IID - IID before) << 1 | (tf > 1)), and v(tf) only if tf > 1

v() is a varint (varint.pxd). docs/storage-format.md names all tables. Tails of all lists have this layout, and all
blocks of lists in the order of association. Full blocks of lists by IID are dense (dense_block.pxd).
"""

from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport UINT8_MAX, UINT32_MAX, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc

from sonicpy._native.bit_stream cimport (
    SPARE_BYTES,
    BitWriter,
    begin_bits,
    best_k,
    end_bits,
    put_bits,
    put_gaps,
    put_golomb,
)
from sonicpy._native.dense_block cimport DENSE, HEAD_BYTES, PLACE_BITS, dense_count, is_dense, read_dense
from sonicpy._native.varint cimport put_varint

from sonicpy._native.varint import DamagedBytes

POSTINGS_PER_BLOCK = BLOCK_POSTINGS


cdef int read_block(const uint8_t *block, Py_ssize_t size, Posting *out) noexcept nogil:
    """Decode a block into `out` (room for BLOCK_POSTINGS); return its number of postings; -1: the block is damaged."""
    cdef const uint8_t *at = block + 1
    cdef const uint8_t *end = block + size
    cdef uint64_t iid = 0, tf = 1
    cdef int count, step
    if size < 1:
        return -1
    if is_dense(block):
        return read_dense_block(block, size, out)
    count = block[0]
    for step in range(count):
        if take_posting(&at, end, &iid, &tf) < 0:
            return -1
        out[step].iid = iid
        out[step].tf = <uint32_t> tf
    return count if at == end else -1


cdef int read_dense_block(const uint8_t *block, Py_ssize_t size, Posting *out) noexcept nogil:
    cdef uint32_t iids[BLOCK_POSTINGS]
    cdef uint8_t tfs[BLOCK_POSTINGS]
    cdef int place, count = read_dense(block, size, iids, tfs)
    for place in range(count):
        out[place].iid = iids[place]
        out[place].tf = tfs[place]
    return count


cdef bytes write_dense_block(const Posting *postings, int count):
    """Return the dense block of postings by rising IID, or the plain block if a dense one is impossible."""
    cdef uint8_t room[HEAD_BYTES + 10 + BLOCK_POSTINGS * 8 + SPARE_BYTES]  # of each posting at most 35 bits of the gap and 22 of the tf
    cdef uint32_t gaps[BLOCK_POSTINGS]
    cdef int place, k, many = 0
    cdef BitWriter bits
    if not count:
        return write_block(postings, count)
    for place in range(count):
        if postings[place].iid > UINT32_MAX or not 0 < postings[place].tf <= UINT8_MAX or (
            place and postings[place].iid <= postings[place - 1].iid
        ):
            return write_block(postings, count)
        many += postings[place].tf > 1
        if place:
            gaps[place - 1] = <uint32_t> (postings[place].iid - postings[place - 1].iid - 1)
    k = best_k(gaps, count - 1)
    room[0], room[1] = <uint8_t> (DENSE + k), <uint8_t> (count - 1)
    begin_bits(&bits, put_varint(room + HEAD_BYTES, postings[0].iid))
    put_gaps(&bits, gaps, count - 1, k)
    put_bits(&bits, many, 8)
    if many:
        for place in range(count):
            if postings[place].tf > 1:
                put_bits(&bits, place, PLACE_BITS)
                put_golomb(&bits, postings[place].tf - 2, 0)
    return PyBytes_FromStringAndSize(<char *> room, end_bits(&bits) - room)


cdef bytes write_block(const Posting *postings, int count):
    cdef uint8_t room[1 + BLOCK_POSTINGS * 20]
    cdef uint8_t *out = room + 1
    cdef uint64_t before = 0
    cdef int step
    room[0] = <uint8_t> count
    for step in range(count):
        out = put_posting(out, before, postings[step].iid, postings[step].tf)
        before = postings[step].iid
    return PyBytes_FromStringAndSize(<char *> room, out - room)


cdef int decode(bytes block, Posting *out) except -1:
    cdef int count = read_block(<const uint8_t *> block, len(block), out)
    if count < 0:
        raise damaged(block)
    return count


cdef object damaged(bytes block):
    return DamagedBytes(f"a block of postings of {len(block)} bytes cannot be read")


cdef int count_postings(const uint8_t *block, Py_ssize_t size) noexcept nogil:
    """Return the number of postings in the head of a block; -1: the block is cut off."""
    if size < 1:
        return -1
    return dense_count(block, size) if is_dense(block) else block[0]


def posting_count(bytes block not None) -> int:
    """Return the number of postings in the head of a block. Raises DamagedBytes if the block is cut off."""
    cdef int count = count_postings(<const uint8_t *> <const char *> block, len(block))
    if count < 0:
        raise damaged(block)
    return count


def pack_block(postings, *, bint dense=False) -> bytes:
    """Return a block of at most 128 (IID, tf) pairs.

    Args:
        postings: the postings, oldest association first; for a dense block, by rising IID.
        dense: whether to return a dense block, if that is possible: each tf is at most 255, and there are postings.

    Raises:
        ValueError: there are more than 128 pairs.
    """
    cdef Posting held[BLOCK_POSTINGS]
    cdef int count = 0
    for iid, tf in postings:
        if count == BLOCK_POSTINGS:
            raise ValueError(f"a block holds at most {BLOCK_POSTINGS} postings")
        held[count].iid = iid
        held[count].tf = tf
        count += 1
    return write_dense_block(held, count) if dense else write_block(held, count)


def unpack_block(bytes block) -> list:
    """Return the (IID, tf) pairs of a block in its order.

    Raises:
        DamagedBytes: the bytes are not a block.
    """
    cdef Posting held[BLOCK_POSTINGS]
    cdef int step, count = decode(block, held)
    return [(held[step].iid, held[step].tf) for step in range(count)]


cdef class PostingList:
    """The IIDs of a word's postings in the order of their blocks."""

    def __cinit__(self):
        self._iids = NULL

    def __dealloc__(self):
        free(self._iids)

    @staticmethod
    def of(list blocks not None) -> PostingList:
        """Return the postings of blocks, oldest first.

        Raises:
            DamagedBytes: a block cannot be read.
        """
        cdef PostingList self = PostingList.__new__(PostingList)
        cdef Posting postings[BLOCK_POSTINGS]
        cdef Py_ssize_t number
        cdef int place, count
        self._iids = <uint32_t *> malloc((len(blocks) * BLOCK_POSTINGS + 1) * sizeof(uint32_t))
        if self._iids == NULL:
            raise MemoryError
        for number in range(len(blocks)):
            count = decode(blocks[number], postings)
            for place in range(count):
                self._iids[self._count + place] = <uint32_t> postings[place].iid
            self._count += count
        return self

    def __len__(self) -> int:
        return self._count
