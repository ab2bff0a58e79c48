"""The parts of an object's score: the largest ones one by one, and the sum of the others."""

from libc.stdint cimport uint32_t

cdef struct Part:  # of an object's score
    Py_ssize_t call  # number of the call that added the postings
    uint32_t tf
    double score


cdef struct Parts:  # of one object
    Py_ssize_t listed  # number of parts that are listed one by one
    Py_ssize_t others
    double others_score


cdef inline void add_part(Parts *parts, Part *listed, Py_ssize_t listed_max, Part part) noexcept nogil:
    """List a part; if there is no room, the smallest part is only counted and added to the sum of the others."""
    cdef Py_ssize_t number, smallest = 0
    cdef Part unlisted = part
    if parts.listed < listed_max:
        listed[parts.listed] = part
        parts.listed += 1
        return
    for number in range(1, listed_max):
        if listed[number].score < listed[smallest].score:
            smallest = number
    if listed_max and listed[smallest].score < part.score:
        unlisted = listed[smallest]
        listed[smallest] = part
    parts.others += 1
    parts.others_score += unlisted.score


cdef inline tuple parts_tuple(const Parts *parts, const Part *listed):
    """Return ([(call, tf, score)] ordered by call, number of other parts, sum of the other parts)."""
    cdef Py_ssize_t number
    found = sorted([(listed[number].call, listed[number].tf, listed[number].score) for number in range(parts.listed)])
    return found, parts.others, parts.others_score
