"""The best objects of a query with short lists, for native code."""

from sonicpy._native.score_bounds cimport ScoreBounds


cdef bint is_exhaustive(ScoreBounds query) noexcept
cdef bint ask_for_every_block(ScoreBounds query) except -1
cdef int score_every_object(ScoreBounds query) except -1
