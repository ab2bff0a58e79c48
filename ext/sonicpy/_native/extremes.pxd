"""Extremes: the largest postings of words in one window of objects, and so bounds of their parts in a score.

Extremes contain the shortest length of the objects that hold the words once, twice, and so on, and the largest
frequency. BM25 rises with the term frequency and falls with the length; see impacts.pxd. For a window with unread
blocks, and for several words together, extremes are bounds.
"""

from libc.stdint cimport UINT8_MAX, UINT32_MAX, uint8_t, uint32_t
from libc.string cimport memset

cdef enum:
    EXTREMES_TF = 7  # higher frequencies have no levels of their own


cdef struct Extremes:
    uint32_t most  # the largest frequency of the words; 0: no object holds them
    bint is_known
    uint8_t shortest[EXTREMES_TF]  # the shortest packed length of objects that hold them more than 0, 1, 2 ... times


cdef inline void no_postings(Extremes *extremes) noexcept nogil:
    extremes.most = 0
    extremes.is_known = True
    memset(extremes.shortest, UINT8_MAX, EXTREMES_TF)


cdef inline void take_posting(Extremes *extremes, uint32_t tf, uint8_t length) noexcept nogil:
    """Widen extremes to cover a posting."""
    cdef uint32_t level
    extremes.most = max(extremes.most, tf)
    for level in range(min(tf, <uint32_t> EXTREMES_TF)):
        if length < extremes.shortest[level]:
            extremes.shortest[level] = length


cdef inline int levels_of_extremes(const Extremes *extremes) noexcept nogil:
    """Return the number of levels, one for each frequency."""
    return <int> min(extremes.most, <uint32_t> EXTREMES_TF)


cdef inline uint32_t tf_of_level(const Extremes *extremes, int level) noexcept nogil:
    """Return the largest frequency that a level covers: its own number. The last level also covers all higher
    frequencies."""
    return extremes.most if level == EXTREMES_TF else <uint32_t> level


cdef inline uint32_t most_often(const Extremes *extremes, int length) noexcept nogil:
    """Return the largest frequency in an object with at most the packed length `length`; 0: there is no such object."""
    cdef int level = levels_of_extremes(extremes)
    while level and extremes.shortest[level - 1] > length:
        level -= 1
    return tf_of_level(extremes, level)


cdef inline void add_extremes(Extremes *extremes, const Extremes *others) noexcept nogil:
    """Widen extremes to cover further words in the same objects: frequencies in an object add up."""
    cdef Extremes together
    cdef int one, other, level
    cdef uint8_t length
    if not extremes.most:
        extremes[0] = others[0]
    elif others.most:
        together.is_known = True
        together.most = min(extremes.most, UINT32_MAX - others.most) + others.most
        for level in range(EXTREMES_TF):
            together.shortest[level] = min(extremes.shortest[level], others.shortest[level])
        for one in range(levels_of_extremes(extremes)):
            for other in range(levels_of_extremes(others)):
                length = max(extremes.shortest[one], others.shortest[other])
                level = min(one + other + 1, EXTREMES_TF - 1)
                while level >= 0 and length < together.shortest[level]:
                    together.shortest[level] = length
                    level -= 1
        extremes[0] = together
