"""The postings of a word, as queries read them, for other native code."""

from libc.stdint cimport uint8_t, uint32_t, uint64_t

from sonicpy._native.bm25 cimport PackedLengths, packed_length
from sonicpy._native.dense_block cimport is_dense, read_dense
from sonicpy._native.extremes cimport Extremes
from sonicpy._native.impacts cimport Block, Impacts
from sonicpy._native.postings cimport BLOCK_POSTINGS, Posting
from sonicpy._native.varint cimport get_varint, unzigzag
from sonicpy._native.windows cimport WINDOW_BITS, Gathered, Holders


cdef struct OpenBlock:  # a block, decoded
    Py_ssize_t number  # of the block in its list; -1: none is open
    int count
    uint32_t iids[BLOCK_POSTINGS]
    uint8_t tfs[BLOCK_POSTINGS]


cdef class Windows:
    cdef Holders **made  # by number; NULL where no query needed it yet
    cdef Extremes *extremes  # by number, where they are known
    cdef Py_ssize_t count, room
    cdef Py_ssize_t size_bytes

    cdef int renew(self, Py_ssize_t first, Py_ssize_t count) except -1
    cdef Py_ssize_t keep(self, Py_ssize_t number, const Gathered *gathered, const PackedLengths *lengths) except -1


cdef class StoredPostings:
    cdef readonly uint32_t bucket
    cdef readonly uint64_t term_id
    cdef readonly uint64_t df
    cdef readonly uint64_t tail_lower
    cdef uint64_t checked  # the number of the cache for which it was found to be up to date; see bucket_cache.pyx
    cdef uint64_t rewrites  # how many commits before that had rewritten lists
    cdef uint64_t objects  # for which windows are made
    cdef bint has_tail
    cdef bint has_own_blocks  # which are in no rows, so that they could not be read again
    cdef Block *blocks
    cdef Py_ssize_t block_room
    cdef Py_ssize_t block_count
    cdef Impacts impacts  # of all blocks
    cdef Windows windows  # None: the word is too rare
    cdef dict unions  # Windows of a family of common words whose first one this is, by `key_of_words`
    cdef dict merged  # MergedList of rare words in the same way, and of this word alone
    cdef Py_ssize_t _size_bytes

    cdef int make_blocks(self, Py_ssize_t count) except -1
    cdef int make_own(self, const Posting *postings, Py_ssize_t count, lengths) except -1
    cdef void take_impacts(self, const Impacts *impacts) noexcept nogil
    cdef object damaged(self, Py_ssize_t number)
    cdef int put_block(self, Py_ssize_t number, bytes packed) except -1
    cdef void hold_block(self, Block *block, bytes packed, int count) noexcept
    cdef int put_tail(self, Py_ssize_t number, bytes packed, const PackedLengths *lengths) except -1
    cdef void bound_by(self, Block *block, const OpenBlock *opened, const PackedLengths *lengths) noexcept nogil
    cdef int bound_block(self, Py_ssize_t number, const PackedLengths *lengths) except -1
    cdef int make_windows(self, const PackedLengths *lengths) except -1
    cdef int drop_tail(self) except -1
    cdef int add_blocks(self, const Block *added, Py_ssize_t count) except -1
    cdef int renew_windows(self, const PackedLengths *lengths, bint rewritten) except -1
    cdef Py_ssize_t release_blocks(self, Py_ssize_t window) except -1
    cdef bytes key_of(self, Py_ssize_t number)


cdef inline int decode_block(const Block *block, OpenBlock *out) noexcept nogil:
    """Decode a block that was read and checked; return its number of postings; -1: the block is damaged."""
    cdef const uint8_t *at = block.data + 1
    cdef const uint8_t *end = block.data + block.size
    cdef uint64_t iid = 0, found = 0, tf = 0
    cdef int place, count = (at - 1)[0]
    if is_dense(block.data):
        out.count = read_dense(block.data, block.size, out.iids, out.tfs)
        return out.count
    for place in range(count):
        if at < end and at[0] < 0x80:
            found = at[0]
            at += 1
        elif get_varint(&at, end, &found) < 0:
            return -1
        iid += <uint64_t> unzigzag(found >> 1)
        out.iids[place] = <uint32_t> iid
        out.tfs[place] = 1
        if found & 1:
            if get_varint(&at, end, &tf) < 0 or tf == 0:
                return -1
            out.tfs[place] = <uint8_t> (tf if tf < 255 else 255)
    out.count = count
    return count if at == end else -1


cdef inline bint is_in_windows(
    const Block *blocks, Py_ssize_t count, Py_ssize_t number, Holders **windows, Py_ssize_t window_count
) noexcept nogil:
    """Return whether the windows that were made cover all postings that a block may hold, so that it is not needed.

    Args:
        count: the number of blocks; the last one may get further postings.
    """
    cdef Py_ssize_t window
    if number + 1 >= count or (blocks[number + 1].lower - 1) >> WINDOW_BITS >= <uint64_t> window_count:
        return False
    for window in range(blocks[number].lower >> WINDOW_BITS, ((blocks[number + 1].lower - 1) >> WINDOW_BITS) + 1):
        if windows[window] == NULL:
            return False
    return True


cdef StoredPostings unite(uint32_t bucket, list words, lengths)
cdef Windows windows_of(list postings, Py_ssize_t window_count)
cdef StoredPostings first_of(list postings)
cdef tuple key_of_words(list postings, uint32_t bucket)
