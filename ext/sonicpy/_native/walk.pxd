"""The walk, the strategy that scores few objects, for other native code."""

from libc.stdint cimport uint64_t

from sonicpy._native.query_state cimport QueryState


cdef int begin_walk(QueryState query) except -1
cdef uint64_t lookups_worth(QueryState query) noexcept
cdef int walk(QueryState query) except -2
