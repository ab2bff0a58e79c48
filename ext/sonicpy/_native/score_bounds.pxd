"""Bounds of the scores of unscored objects, for native code."""

from libc.math cimport pow
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from sonicpy._native.query_state cimport SHARES, QueryState
from sonicpy._native.top_k cimport Kind, ScoredObject


cdef int begin_bounds(QueryState query) except -1
cdef double score_bound(QueryState query, int level, uint64_t leveled, Py_ssize_t without, uint8_t packed) noexcept nogil
cdef int length_limit(
    QueryState query, int level, uint64_t leveled, Py_ssize_t without, Kind kind, double share, uint32_t iid, int high
) noexcept nogil
cdef void find_limits(QueryState query, uint32_t iid) noexcept nogil
cdef void find_few_limits(QueryState query, uint32_t iid) noexcept nogil
cdef void forget_limits(QueryState query) noexcept nogil
cdef const int *levels_of(QueryState query, uint64_t leveled, uint32_t iid) noexcept nogil
cdef int limit_without(QueryState query, Py_ssize_t at, uint32_t newest) noexcept nogil
cdef int limit_of_level(QueryState query, int level, uint32_t iid) noexcept nogil
cdef Kind driver_kind(QueryState query) noexcept nogil
cdef double driver_share(QueryState query) noexcept nogil
cdef int by_key(const void *left, const void *right) noexcept nogil


cdef inline double share_without(QueryState query, uint64_t missing, double weight) noexcept nogil:
    """Return the factor for an object that lacks some terms.

    Args:
        missing: the places of these terms among the drivers, as bits.
        weight: the sum of the weights of these terms.
    """
    cdef double share
    if missing >= SHARES:
        return pow(max(query.total - weight, 0.0) / query.total, query.exponent)
    share = query.shares[missing]
    if share != share:
        share = query.shares[missing] = pow(max(query.total - weight, 0.0) / query.total, query.exponent)
    return share


cdef inline bint is_as_before(QueryState query, uint32_t iid) noexcept nogil:
    """Return whether the last limits are still valid: the worst of the best objects has not changed, and is newer than
    `iid`. If not, note the present worst object.
    """
    cdef const ScoredObject *worst = &query.top.objects[0]
    if query.top.size < query.top.k:
        return False
    if worst.iid == query.worst_iid and worst.score == query.worst_score and iid < query.worst_iid:
        return True
    query.worst_iid = <int64_t> worst.iid if iid < worst.iid else -1
    query.worst_score = worst.score
    return False
