"""The objects that hold the terms of a query, window by window, for native code."""

from libc.stdint cimport int64_t, uint32_t, uint64_t

from sonicpy._native.extremes cimport Extremes
from sonicpy._native.merged_list cimport LOW_BITS, Merged, count_up_to, find_tf
from sonicpy._native.query_state cimport MergedWords, QueryState, TermWindow
from sonicpy._native.windows cimport WINDOW_BITS, WINDOW_OBJECTS


cdef int find_all_windows(QueryState query) except -1
cdef int find_slot_windows(QueryState query) except -1
cdef void rewind_all(QueryState query) noexcept
cdef int find_windows(QueryState query, TermWindow *here, Py_ssize_t first, Py_ssize_t end) except -1
cdef int find_merged(QueryState query, TermWindow *here, uint64_t most) except -1
cdef const Extremes *bound_window(QueryState query, TermWindow *here, int64_t window) noexcept nogil
cdef const Extremes *bound_typed(QueryState query, TermWindow *here, int64_t window) noexcept nogil
cdef int hold_window(QueryState query, TermWindow *here, int64_t window) except -2
cdef int hold_typed(QueryState query, TermWindow *here, int64_t window) except -2
cdef int64_t window_below(QueryState query, TermWindow *here, int64_t below) noexcept nogil
cdef void mark_merged(const Merged *merged, int64_t window, uint64_t *bits) noexcept nogil


cdef inline int merged_tf(MergedWords *merged, uint32_t iid) noexcept nogil:
    """Return the frequency of the words in an object, at most 255; 0: the object holds none of them."""
    return find_tf(merged.list, iid, &merged.end)


cdef inline int typed_tf(MergedWords *merged, uint32_t iid) noexcept nogil:
    """Return the frequency of the typed word of a family in an object."""
    return merged.typed[merged.end - 1] if merged_tf(merged, iid) else 0


cdef inline void rewind(MergedWords *merged) noexcept nogil:
    """Go back to the newest objects."""
    if merged.list != NULL:
        merged.end = merged.window_end = merged.typed_end = merged.list.count


cdef inline Py_ssize_t part_of_window(const Merged *merged, int64_t window, Py_ssize_t *end) noexcept nogil:
    """Return the beginning of the postings in the part that contains a window; `end` is set to the end of those in the
    window."""
    cdef uint32_t first = <uint32_t> (window << WINDOW_BITS)
    end[0] = count_up_to(merged, first + (WINDOW_OBJECTS - 1), end[0])
    return merged.starts[first >> LOW_BITS] if first >> LOW_BITS < <uint32_t> merged.parts else merged.count
