"""Which blocks a walk needs next, for native code."""

from libc.stdint cimport int64_t, uint32_t, uint64_t

from sonicpy._native.merged_list cimport Merged
from sonicpy._native.score_bounds cimport ScoreBounds
from sonicpy._native.term_windows cimport TermWindow
from sonicpy._native.windows cimport WINDOW_WORDS


cdef enum:
    PATIENCE = 16  # windows whose limits are looked for although none is ruled out; from then on only some are


cdef class WantedBlocks(ScoreBounds):
    cdef TermWindow *_own  # who holds a word of the driver's slot
    cdef int64_t _window  # where the walk is
    cdef uint64_t _chosen[WINDOW_WORDS]  # objects of the window that are still to be looked at
    cdef uint64_t _summary  # which words of these are not 0
    cdef Py_ssize_t _ahead
    cdef int _patience  # with limits of windows; see `limit_in`
    cdef Py_ssize_t _end  # of the driver's merged postings, those that are still to be looked at; -1: all

    cdef int limit_in(self, int64_t window) noexcept nogil
    cdef Py_ssize_t newest_block(self, Py_ssize_t source, int64_t window) noexcept nogil
    cdef Py_ssize_t count_blocks(self, Py_ssize_t number) noexcept nogil
    cdef Py_ssize_t ask_window(self, const TermWindow *here, int64_t window) except -1
    cdef int ask_others_ahead(self, const TermWindow *here) except -1
    cdef int ask_ahead(self) except -1
    cdef int ask_for_others(self) except -1
    cdef uint64_t most_objects_ahead(self) noexcept nogil
    cdef int ask_for_next(self, const Merged *held) except -1
    cdef int ask_for(self, uint32_t iid) except -1

