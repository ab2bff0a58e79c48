"""Dense blocks: the form of blocks in `postings` for lists by IID.

    block   k + 129 u8, count - 1 u8, v(first IID), then in bits (bit_stream.pxd):
            gaps(k) of IID - IID before - 1, bits(8) how many postings have a tf above 1,
            and for each of these bits(7) its place and golomb(0) of tf - 2

Other blocks begin with their number of postings, at most 128.
"""

from libc.stdint cimport UINT32_MAX, uint8_t, uint32_t, uint64_t
from libc.string cimport memset

from sonicpy._native.bit_stream cimport BitReader, is_at_end, skip_gaps, take_bits, take_golomb, take_rising
from sonicpy._native.varint cimport get_varint

cdef enum:
    DENSE = 129  # the smallest first byte of a dense block, above the number of postings of any block
    K_MAX = 32
    HEAD_BYTES = 2
    PLACE_BITS = 7


cdef inline bint is_dense(const uint8_t *block) noexcept nogil:
    return block[0] >= DENSE


cdef inline int dense_count(const uint8_t *block, Py_ssize_t size) noexcept nogil:
    """Return the number of postings in a dense block; -1: the block is cut off."""
    return -1 if size < HEAD_BYTES or block[1] >= DENSE - 1 else block[1] + 1


cdef inline int read_dense(const uint8_t *block, Py_ssize_t size, uint32_t *iids, uint8_t *tfs) noexcept nogil:
    """Decode a dense block; return its number of postings; -1: the block is damaged.

    Args:
        iids, tfs: room for DENSE - 1 numbers each.
    """
    cdef const uint8_t *at = block + HEAD_BYTES
    cdef const uint8_t *end = block + size
    cdef BitReader bits
    cdef uint64_t iid = 0
    cdef int count = dense_count(block, size), k = block[0] - DENSE
    if count < 0 or k > K_MAX or get_varint(&at, end, &iid) < 0 or iid > UINT32_MAX:
        return -1
    bits.start, bits.size, bits.at = at, end - at, 0
    iids[0] = <uint32_t> iid
    return count if take_rising(&bits, iids, count - 1, k) and take_tfs(&bits, count, tfs) else -1


cdef inline int check_dense(const uint8_t *block, Py_ssize_t size, uint32_t *first, uint32_t *last) noexcept nogil:
    """Find the first and the last IID of a dense block; return its number of postings; -1: the block is damaged."""
    cdef const uint8_t *at = block + HEAD_BYTES
    cdef const uint8_t *end = block + size
    cdef BitReader bits
    cdef uint64_t iid = 0, gaps = 0
    cdef uint8_t tfs[DENSE - 1]
    cdef int count = dense_count(block, size), k = block[0] - DENSE
    if count < 0 or k > K_MAX or get_varint(&at, end, &iid) < 0:
        return -1
    bits.start, bits.size, bits.at = at, end - at, 0
    if not skip_gaps(&bits, count - 1, k, &gaps):
        return -1
    first[0] = <uint32_t> iid
    gaps += count - 1
    last[0] = first[0] + <uint32_t> gaps
    if iid > UINT32_MAX or gaps > UINT32_MAX - iid or not take_tfs(&bits, count, tfs):
        return -1
    return count


cdef inline bint take_tfs(BitReader *bits, int count, uint8_t *tfs) noexcept nogil:
    """Read the tf of each posting, up to the end; return False if they are damaged."""
    cdef uint64_t tf = 0
    cdef int place, many
    memset(tfs, 1, count)
    for many in range(<int> take_bits(bits, 8)):
        place = <int> take_bits(bits, PLACE_BITS)
        if place >= count or not take_golomb(bits, 0, &tf) or tf > 253:
            return False
        tfs[place] = <uint8_t> (tf + 2)
    return is_at_end(bits)
