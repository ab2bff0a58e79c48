"""What a score is made of: the largest parts, and how much the others are together."""

from libc.stdint cimport uint32_t

cdef struct Part:  # of an object's score
    Py_ssize_t run
    uint32_t tf
    double score


cdef struct Parts:  # of one object: how many are held, and those that are not
    Py_ssize_t held
    Py_ssize_t others
    double others_score


cdef inline void take_part(Parts *parts, Part *held, Py_ssize_t most, Part part) noexcept nogil:
    """Hold a part; where there is no room, the smallest one is only added up."""
    cdef Py_ssize_t number, smallest = 0
    cdef Part let_go = part
    if parts.held < most:
        held[parts.held] = part
        parts.held += 1
        return
    for number in range(1, most):
        if held[number].score < held[smallest].score:
            smallest = number
    if most and held[smallest].score < part.score:
        let_go = held[smallest]
        held[smallest] = part
    parts.others += 1
    parts.others_score += let_go.score


cdef inline tuple told(const Parts *parts, const Part *held):
    cdef Py_ssize_t number
    found = sorted([(held[number].run, held[number].tf, held[number].score) for number in range(parts.held)])
    return found, parts.others, parts.others_score
