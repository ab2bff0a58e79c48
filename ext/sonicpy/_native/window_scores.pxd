"""The strategy that adds up all terms window by window, for native code."""

from sonicpy._native.query_state cimport QueryState


cdef int score_windows(QueryState query) except -2
