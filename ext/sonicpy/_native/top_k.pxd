"""The top k objects of a query: a binary heap whose root is the worst of the best so far."""

from libc.math cimport INFINITY
from libc.stdint cimport uint32_t, uint64_t
from libc.stdlib cimport free, malloc

cdef enum Kind:  # how an object matches, best first; it is compared before the score
    FULL  # every word of the query as it was typed
    EXACT
    COMPLETED
    CORRECTED


cdef enum:
    INLINE_OBJECTS = 32  # up to this k, no memory is allocated


cdef struct ScoredObject:
    double score
    uint64_t iid
    uint32_t order  # decides between equals: the smaller one is better
    Kind kind


cdef struct TopK:
    ScoredObject *objects
    Py_ssize_t size
    Py_ssize_t k
    Kind worst_kind  # of the root, once the heap is full
    double worst_score
    ScoredObject inline_objects[INLINE_OBJECTS]


cdef inline void empty_top(TopK *top) noexcept nogil:
    """Drop the collected objects."""
    top.size = 0
    top.worst_kind = CORRECTED
    top.worst_score = -INFINITY if top.k else INFINITY


cdef inline int begin_top(TopK *top, Py_ssize_t k) except -1:
    top.k = k
    top.objects = top.inline_objects
    empty_top(top)
    if k > INLINE_OBJECTS:
        top.objects = <ScoredObject *> malloc(k * sizeof(ScoredObject))
        if top.objects == NULL:
            raise MemoryError
    return 0


cdef inline void end_top(TopK *top) noexcept nogil:
    if top.objects != top.inline_objects:
        free(top.objects)


cdef inline double min_score(const TopK *top, Kind kind) noexcept nogil:
    """Return the score below which no further object of a kind gets into the top k."""
    if top.size < top.k or kind < top.worst_kind:
        return INFINITY if not top.k else -INFINITY
    return top.worst_score if kind == top.worst_kind else INFINITY


cdef inline bint is_better(const ScoredObject *one, const ScoredObject *other) noexcept nogil:
    if one.kind != other.kind:
        return one.kind < other.kind
    return one.score > other.score or (one.score == other.score and one.order < other.order)


cdef inline void collect(TopK *top, uint64_t iid, Kind kind, double score, uint32_t order) noexcept nogil:
    """Add an object, and remove the worst one if there are k + 1. The score must not be below `min_score`, nor k 0."""
    cdef ScoredObject added = ScoredObject(score, iid, order, kind)
    cdef Py_ssize_t at, parent
    if top.size == top.k:
        if not is_better(&added, &top.objects[0]):
            return
        replace_root(top.objects, top.size, added)
    else:
        at = top.size
        top.size += 1
        while at > 0:
            parent = (at - 1) >> 1
            if not is_better(&top.objects[parent], &added):
                break
            top.objects[at] = top.objects[parent]
            at = parent
        top.objects[at] = added
    if top.size == top.k:
        top.worst_kind = top.objects[0].kind
        top.worst_score = top.objects[0].score


cdef inline void replace_root(ScoredObject *heap, Py_ssize_t size, ScoredObject moved) noexcept nogil:
    """Replace the root of a heap by `moved`, and restore the heap."""
    cdef Py_ssize_t at = 0, child
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        if child + 1 < size and is_better(&heap[child], &heap[child + 1]):
            child += 1
        if not is_better(&moved, &heap[child]):
            break
        heap[at] = heap[child]
        at = child
    heap[at] = moved


cdef inline void sort_top(TopK *top) noexcept nogil:
    """Put the objects in order, the best one first (heap sort)."""
    cdef Py_ssize_t size = top.size
    cdef ScoredObject moved
    while size > 1:
        size -= 1
        moved = top.objects[size]
        top.objects[size] = top.objects[0]
        replace_root(top.objects, size, moved)


cdef inline Py_ssize_t page_start(const TopK *top, uint64_t offset) noexcept nogil:
    """Return the beginning of the page of sorted objects from place `offset` on."""
    return <Py_ssize_t> min(offset, <uint64_t> top.size)
