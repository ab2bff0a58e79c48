"""The objects of a window that may be among the best, for native code."""

from libc.stdint cimport int64_t, uint32_t

from sonicpy._native.query_state cimport QueryState, enters
from sonicpy._native.top_k cimport Kind, ScoredObject


cdef void find_needed(QueryState query, uint32_t newest) noexcept nogil
cdef int64_t window_below_needed(QueryState query, int64_t window) noexcept nogil
cdef int64_t next_window(QueryState query, Py_ssize_t number, int64_t below) noexcept nogil
cdef int choose_among(QueryState query, int64_t window) except -2
cdef int find_row(QueryState query, Py_ssize_t number, int64_t window) except -2


cdef inline bint is_wanted(QueryState query, Kind kind, double score, uint32_t iid) noexcept nogil:
    """Return whether an object of a kind, with at most this score and this IID, can be among the final best."""
    cdef const ScoredObject *floor = &query.floor
    if query.has_floor and (kind > floor.kind or (kind == floor.kind and score < floor.score)):
        return False
    return enters(query, kind, score, iid)
