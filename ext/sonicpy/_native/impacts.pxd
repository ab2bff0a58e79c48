"""Impacts: pairs of term frequency and length that bound the parts which the postings of a block have in scores.

BM25 rises with the term frequency and falls with the length, for any mean length and any number of objects. So the
pairs that no other pair of the block beats in both values are a bound that stays valid as the bucket grows (Lucene
calls them competitive impacts). At most IMPACTS_MAX pairs are kept for a block; further pairs are merged into pairs
that beat them.
"""

from cpython.object cimport PyObject
from libc.stdint cimport uint8_t, uint32_t

from sonicpy._native.bm25 cimport part_of_score

cdef enum:
    IMPACTS_MAX = 4


cdef struct Impact:
    uint8_t tf
    uint8_t length  # packed, see lengths.pyx


cdef struct Impacts:  # by rising tf, and so by rising length
    Impact pairs[IMPACTS_MAX]
    uint8_t count


cdef struct Block:  # of a postings list that is read
    uint32_t lower  # the smallest IID that it may hold; the next block's is larger than all it holds
    uint8_t count  # postings, once it was read
    bint is_wanted  # it is among the blocks asked for
    PyObject *packed  # its bytes; NULL: not read yet
    const uint8_t *data  # the address of these
    uint32_t size
    Impacts impacts


cdef inline bint covers(const Impacts *impacts, uint8_t tf, uint8_t length) noexcept nogil:
    """Return whether a pair of the impacts is at least as good as the given one in both values."""
    cdef int number
    for number in range(impacts.count):
        if impacts.pairs[number].tf >= tf and impacts.pairs[number].length <= length:
            return True
    return False


cdef inline bint take_impact(Impacts *impacts, uint8_t tf, uint8_t length) noexcept nogil:
    """Widen the impacts to cover a posting; return whether that changed them."""
    cdef Impact merged[IMPACTS_MAX + 1]
    cdef int number, count = 0, least = 0
    cdef bint is_in = False
    if covers(impacts, tf, length):
        return False
    for number in range(impacts.count):
        if not is_in and impacts.pairs[number].tf >= tf:
            merged[count] = Impact(tf, length)
            count += 1
            is_in = True
        if impacts.pairs[number].tf > tf or impacts.pairs[number].length < length:
            merged[count] = impacts.pairs[number]
            count += 1
    if not is_in:
        merged[count] = Impact(tf, length)
        count += 1
    if count > IMPACTS_MAX:  # the two nearest lengths become one pair with the larger tf and the shorter length
        for number in range(1, count - 1):
            if merged[number + 1].length - merged[number].length < merged[least + 1].length - merged[least].length:
                least = number
        merged[least].tf = merged[least + 1].tf
        for number in range(least + 1, count - 1):
            merged[number] = merged[number + 1]
        count -= 1
    for number in range(count):
        impacts.pairs[number] = merged[number]
    impacts.count = <uint8_t> count
    return True


cdef inline double impact_bound(
    const Impacts *impacts, double weight, const double *norms, double k1, uint8_t shortest
) noexcept nogil:
    """Return the largest part that a posting within these impacts can have in a score.

    Args:
        shortest: the packed length of the shortest object to consider.
    """
    cdef int number
    cdef double most = 0.0, part
    for number in range(impacts.count):
        part = part_of_score(
            weight, impacts.pairs[number].tf, norms[max(impacts.pairs[number].length, shortest)], k1
        )
        if part > most:
            most = part
    return most
