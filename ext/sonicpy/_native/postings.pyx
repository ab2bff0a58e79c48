"""Blocks of postings, and postings lists decoded from them.

    block   count u8, then per posting in the order of association:
            v(zigzag(IID - IID before) << 1 | (tf > 1)), and v(tf) only if tf > 1

v() is a varint (varint.pxd). docs/storage-format.md draws all layouts.
"""

from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc

from sonicpy._native.varint cimport get_varint, unzigzag

from sonicpy._native.varint import DamagedBytes

POSTINGS_PER_BLOCK = BLOCK_POSTINGS


cdef inline int take_posting(const uint8_t **at, const uint8_t *end, uint64_t *iid, uint64_t *tf) noexcept nogil:
    """Read the next posting; `iid` goes in as that of the posting before, and comes out as its own. -1: cut off."""
    cdef uint64_t found = 0
    # Nearly every posting takes one or two bytes.
    if end - at[0] >= 2 and at[0][0] < 0x80:
        found = at[0][0]
        at[0] += 1
    elif end - at[0] >= 2 and at[0][1] < 0x80:
        found = (at[0][0] & 0x7F) | <uint64_t> at[0][1] << 7
        at[0] += 2
    elif get_varint(at, end, &found) < 0:
        return -1
    iid[0] += <uint64_t> unzigzag(found >> 1)
    tf[0] = 1
    return get_varint(at, end, tf) if found & 1 else 0


cdef int read_block(const uint8_t *block, Py_ssize_t size, Posting *out) noexcept nogil:
    """Decode a block into `out` (room for BLOCK_POSTINGS); return how many postings it holds, or -1: damaged."""
    cdef const uint8_t *at = block + 1
    cdef const uint8_t *end = block + size
    cdef uint64_t iid = 0, tf = 1
    cdef int count, step
    if size < 1 or block[0] > BLOCK_POSTINGS:
        return -1
    count = block[0]
    for step in range(count):
        if take_posting(&at, end, &iid, &tf) < 0:
            return -1
        out[step].iid = iid
        out[step].tf = <uint32_t> tf
    return count if at == end else -1


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


def pack_block(postings) -> bytes:
    """Return a block of at most 128 (IID, tf) pairs, oldest association first."""
    cdef Posting held[BLOCK_POSTINGS]
    cdef int count = 0
    for iid, tf in postings:
        if count == BLOCK_POSTINGS:
            raise ValueError(f"a block holds at most {BLOCK_POSTINGS} postings")
        held[count].iid = iid
        held[count].tf = tf
        count += 1
    return write_block(held, count)


def unpack_block(bytes block) -> list:
    """Return the (IID, tf) pairs of a block, oldest association first.

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
