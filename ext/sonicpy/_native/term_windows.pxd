"""Who holds the terms of a query, window by window, for native code."""

from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from sonicpy._native.extremes cimport Extremes
from sonicpy._native.merged_list cimport LOW_BITS, Merged, MergedList, count_up_to, find_tf
from sonicpy._native.query_terms cimport QueryTerms
from sonicpy._native.windows cimport WINDOW_BITS, WINDOW_OBJECTS, Gathered, Holders


cdef struct Gathering:
    Gathered gathered
    uint16_t places[WINDOW_OBJECTS]
    uint8_t tfs[WINDOW_OBJECTS]
    uint8_t lengths[WINDOW_OBJECTS]


cdef struct MergedWords:
    const Merged *list  # NULL: not put together
    const uint8_t *typed  # how often the object of each posting holds the typed word; NULL: they are no family
    Py_ssize_t end  # of the postings that a look-up has to look at, see `find_tf`
    Py_ssize_t window_end  # of those that no window held
    Py_ssize_t typed_end  # of those of which no window held the typed word


cdef struct TermWindow:  # who holds a term in a window
    Py_ssize_t first, end  # its sources
    bint has_family  # they have one weight, and one of them was typed and weighs more
    Py_ssize_t kept  # the place of its Windows
    Holders **windows  # of its words together; NULL: they are rare
    Extremes *extremes  # by window, as these
    Extremes bound, typed_bound  # of the window that was asked for last, where no Windows keep them
    Py_ssize_t window_count
    int64_t window  # -1: of none
    Holders held
    Holders typed  # who holds the word that was typed, if the term has a family
    Gathering *gathering  # what these refer to, unless common words have windows of their own
    Gathering *typed_gathering
    MergedWords merged  # its words together, if they are rare


cdef class TermWindows(QueryTerms):
    cdef list _windows  # Windows of terms and slots, None of rare ones
    cdef list _merged  # MergedLists and TypedFrequencies that the walk reads
    cdef readonly Py_ssize_t made_bytes  # of windows that this query made, for later ones
    cdef TermWindow *_here  # of each term; behind them one of a slot among several

    cdef int find_all_windows(self) except -1
    cdef int find_windows(self, TermWindow *here, Py_ssize_t first, Py_ssize_t end) except -1
    cdef int find_merged(self, TermWindow *here, uint64_t most) except -1
    cdef MergedList merged_words(self, Py_ssize_t first, Py_ssize_t end, uint64_t most)
    cdef const Extremes *bound_window(self, TermWindow *here, int64_t window) noexcept nogil
    cdef const Extremes *bound_typed(self, TermWindow *here, int64_t window) noexcept nogil
    cdef const Extremes *bound_source(self, Py_ssize_t number, int64_t window, Extremes *room) noexcept nogil
    cdef int hold_window(self, TermWindow *here, int64_t window) except -2
    cdef int hold_typed(self, TermWindow *here, int64_t window) except -2


cdef void mark_merged(const Merged *merged, int64_t window, uint64_t *bits) noexcept nogil


cdef inline int merged_tf(MergedWords *merged, uint32_t iid) noexcept nogil:
    """Return how often an object holds the words, at most 255; 0: it does not."""
    return find_tf(merged.list, iid, &merged.end)


cdef inline int typed_tf(MergedWords *merged, uint32_t iid) noexcept nogil:
    """Return how often an object holds the typed word of a family."""
    return merged.typed[merged.end - 1] if merged_tf(merged, iid) else 0


cdef inline void rewind(MergedWords *merged) noexcept nogil:
    """Go back to the newest objects."""
    if merged.list != NULL:
        merged.end = merged.window_end = merged.typed_end = merged.list.count


cdef inline Py_ssize_t part_of_window(const Merged *merged, int64_t window, Py_ssize_t *end) noexcept nogil:
    """Return where the postings of the part of a window begin; `end` becomes where those of the window end."""
    cdef uint32_t first = <uint32_t> (window << WINDOW_BITS)
    end[0] = count_up_to(merged, first + (WINDOW_OBJECTS - 1), end[0])
    return merged.starts[first >> LOW_BITS] if first >> LOW_BITS < <uint32_t> merged.parts else merged.count
