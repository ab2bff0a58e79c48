"""The best objects so far, while lists are walked."""

from libc.math cimport INFINITY
from libc.stdint cimport uint32_t, uint64_t
from libc.stdlib cimport free, malloc

from sonicpy._native.object_table cimport CORRECTED, Kind

cdef enum:
    BEST_KEPT = 32  # objects for which no memory is asked for


cdef struct Chosen:
    double score
    uint64_t iid
    uint32_t order  # in which equals stand
    Kind kind


cdef struct Best:  # a heap whose root is the worst of the best
    Chosen *chosen
    Py_ssize_t size
    Py_ssize_t wanted
    Kind worst_kind  # of the root, once the heap is full
    double worst_score
    Chosen few[BEST_KEPT]


cdef inline int begin_best(Best *best, Py_ssize_t wanted) except -1:
    best.size = 0
    best.wanted = wanted
    best.chosen = best.few
    best.worst_kind = CORRECTED
    best.worst_score = -INFINITY if wanted else INFINITY
    if wanted > BEST_KEPT:
        best.chosen = <Chosen *> malloc(wanted * sizeof(Chosen))
        if best.chosen == NULL:
            raise MemoryError
    return 0


cdef inline void end_best(Best *best) noexcept nogil:
    if best.chosen != best.few:
        free(best.chosen)


cdef inline double floor_for(const Best *best, Kind kind) noexcept nogil:
    """Return the score below which no object of a kind is among the best any more."""
    if best.size < best.wanted or kind < best.worst_kind:
        return INFINITY if not best.wanted else -INFINITY
    return best.worst_score if kind == best.worst_kind else INFINITY


cdef inline bint goes_before(const Chosen *one, const Chosen *other) noexcept nogil:
    if one.kind != other.kind:
        return one.kind < other.kind
    return one.score > other.score or (one.score == other.score and one.order < other.order)


cdef inline void offer(Best *best, uint64_t iid, Kind kind, double score, uint32_t order) noexcept nogil:
    """Take an object among the best, in the place of the worst if need be; its score is not below `floor_for`."""
    cdef Chosen chosen = Chosen(score, iid, order, kind)
    cdef Py_ssize_t at, parent
    if best.size == best.wanted:
        if not goes_before(&chosen, &best.chosen[0]):
            return
        sink(best.chosen, best.size, chosen)
    else:
        at = best.size
        best.size += 1
        while at > 0:
            parent = (at - 1) >> 1
            if not goes_before(&best.chosen[parent], &chosen):
                break
            best.chosen[at] = best.chosen[parent]
            at = parent
        best.chosen[at] = chosen
    if best.size == best.wanted:
        best.worst_kind = best.chosen[0].kind
        best.worst_score = best.chosen[0].score


cdef inline void sink(Chosen *chosen, Py_ssize_t size, Chosen moved) noexcept nogil:
    """Put an object in the place of the root, and the worst of all there."""
    cdef Py_ssize_t at = 0, child
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        if child + 1 < size and goes_before(&chosen[child], &chosen[child + 1]):
            child += 1
        if not goes_before(&moved, &chosen[child]):
            break
        chosen[at] = chosen[child]
        at = child
    chosen[at] = moved


cdef inline void sort_best(Best *best) noexcept nogil:
    """Heap sort: the best goes to the front."""
    cdef Py_ssize_t size = best.size
    cdef Chosen moved
    while size > 1:
        size -= 1
        moved = best.chosen[size]
        best.chosen[size] = best.chosen[0]
        sink(best.chosen, size, moved)
