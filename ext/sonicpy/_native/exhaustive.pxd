"""The best objects of a query by reading every posting, for native code."""

from libc.stdint cimport uint64_t

from sonicpy._native.score_bounds cimport ScoreBounds


cdef bint is_exhaustive(ScoreBounds query) noexcept
cdef uint64_t lookups_worth(ScoreBounds query) noexcept
cdef bint ask_for_every_block(ScoreBounds query) except -1
cdef int score_every_object(ScoreBounds query) except -1
