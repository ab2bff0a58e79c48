"""Sorts postings by their objects: a radix sort, because a sort that compares them takes several times as long."""

from libc.stdint cimport uint32_t, uint64_t
from libc.string cimport memcpy, memset

from sonicpy._native.postings cimport Posting

cdef enum:
    DIGIT_BITS = 11
    DIGITS = 1 << DIGIT_BITS


cdef inline void order_by_iid(Posting *postings, Posting *room, Py_ssize_t count) noexcept nogil:
    """Sort postings by rising IID; postings with equal IIDs keep their order.

    Args:
        room: room for the same number of postings.
    """
    cdef uint32_t starts[DIGITS]
    cdef uint64_t seen = 0
    cdef uint32_t start, held
    cdef Py_ssize_t at
    cdef int shift = 0, digit
    cdef Posting *source = postings
    cdef Posting *target = room
    for at in range(count):
        seen |= postings[at].iid
    while shift < 64 and seen >> shift:
        memset(starts, 0, sizeof(starts))
        for at in range(count):
            starts[source[at].iid >> shift & DIGITS - 1] += 1
        start = 0
        for digit in range(DIGITS):
            held = starts[digit]
            starts[digit] = start
            start += held
        for at in range(count):
            digit = <int> (source[at].iid >> shift & DIGITS - 1)
            target[starts[digit]] = source[at]
            starts[digit] += 1
        source, target = target, source
        shift += DIGIT_BITS
    if source != postings:
        memcpy(postings, source, count * sizeof(Posting))
