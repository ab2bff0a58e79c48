"""Bounds of the scores of the objects of a window, for native code."""

from libc.stdint cimport int64_t

from sonicpy._native.query_state cimport QueryState, TermWindow


cdef int limit_of_window(QueryState query, TermWindow *own, int64_t window) noexcept nogil
