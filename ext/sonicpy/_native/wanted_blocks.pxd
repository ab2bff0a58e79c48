"""Which blocks a walk needs next, for native code."""

from libc.stdint cimport UINT32_MAX, int64_t, uint32_t, uint64_t

from sonicpy._native.list_lookup cimport Source
from sonicpy._native.merged_list cimport Merged
from sonicpy._native.query_terms cimport Slot
from sonicpy._native.score_bounds cimport ScoreBounds
from sonicpy._native.term_windows cimport TermWindow
from sonicpy._native.windows cimport WINDOW_WORDS


cdef class WantedBlocks(ScoreBounds):
    cdef TermWindow *_own  # who holds a word of the driver's slot
    cdef int64_t _window  # where the walk is
    cdef uint64_t _chosen[WINDOW_WORDS]  # objects of the window that are still to be looked at
    cdef uint64_t _summary  # which words of these are not 0
    cdef Py_ssize_t _ahead
    cdef Py_ssize_t _end  # of the driver's merged postings, those that are still to be looked at; -1: all

    cdef bint may_enter(self) noexcept nogil
    cdef Py_ssize_t newest_block(self, Py_ssize_t source) noexcept nogil
    cdef Py_ssize_t count_blocks(self, Py_ssize_t number) noexcept nogil
    cdef int ask_window(self, const TermWindow *here) except -1
    cdef int ask_ahead(self) except -1
    cdef int ask_for_others(self) except -1
    cdef uint64_t most_objects_ahead(self) noexcept nogil
    cdef int ask_for_next(self, const Merged *held) except -1
    cdef int ask_for(self, uint32_t iid) except -1

    cdef inline bint block_may_enter(self, const Slot *slot, Py_ssize_t source, Py_ssize_t block) noexcept nogil:
        cdef const Source *held = &self._sources[source]
        return self.enters(self._kind, self.block_bound(slot, source, &held.blocks[block]), self.highest(held, block))

    cdef inline uint32_t highest(self, const Source *source, Py_ssize_t block) noexcept nogil:
        """Return an IID that no object of a block is above."""
        return source.blocks[block + 1].lower - 1 if block + 1 < source.count else UINT32_MAX
