"""Who holds the terms of a query in one window of objects, as bits.

Windows of common words and of families of common words are kept beside the lists, for later queries. The postings of
others are put together and kept once all of their blocks were read; before, they are gathered from the blocks each time.
"""

from libc.stdint cimport int64_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memset

from sonicpy._native.bm25 cimport PackedLengths, packed_length
from sonicpy._native.extremes cimport Extremes, add_extremes, no_postings
from sonicpy._native.list_lookup cimport Source, find_extremes, has_window, is_read, put_postings
from sonicpy._native.memory cimport resized, zeroed
from sonicpy._native.merged_list cimport Merged, MergedList, TypedFrequencies, merge, typed_of
from sonicpy._native.query_terms cimport Term
from sonicpy._native.stored_postings cimport StoredPostings, Windows, first_of, key_of_words, windows_of
from sonicpy._native.windows cimport (
    ROW_BYTES,
    WINDOW_BITS,
    WINDOW_OBJECTS,
    Gathered,
    Holders,
    gather,
    gather_all,
    list_many,
)


cdef inline void clear(Gathered *gathered) noexcept nogil:
    gathered.summary = gathered.many = 0
    memset(gathered.bits, 0, ROW_BYTES)
    memset(gathered.twice, 0, ROW_BYTES)


cdef inline void gather_merged(
    Gathered *gathered, const Merged *merged, const uint8_t *tfs, int64_t window, Py_ssize_t *end
) noexcept nogil:
    """Add the postings of a window.

    Args:
        tfs: of all postings; those of 0 are left out.
        end: how many postings are not newer than the window; becomes how many are older.
    """
    cdef uint32_t first = <uint32_t> (window << WINDOW_BITS)
    cdef Py_ssize_t start = part_of_window(merged, window, end)
    while end[0] > start and merged.lows[end[0] - 1] >= <uint16_t> first:
        end[0] -= 1
        if tfs[end[0]]:
            gather(gathered, first | merged.lows[end[0]], tfs[end[0]])


cdef void mark_merged(const Merged *merged, int64_t window, uint64_t *bits) noexcept nogil:
    """Set the bits of the objects of a window that have a posting, and no others."""
    cdef uint32_t first = <uint32_t> (window << WINDOW_BITS)
    cdef Py_ssize_t at = merged.count, start = part_of_window(merged, window, &at)
    memset(bits, 0, ROW_BYTES)
    while at > start and merged.lows[at - 1] >= <uint16_t> first:
        at -= 1
        bits[(merged.lows[at] & WINDOW_OBJECTS - 1) >> 6] |= <uint64_t> 1 << (merged.lows[at] & 63)


cdef inline void take_holders(
    Gathering *gathering, int64_t window, const PackedLengths *lengths, Holders *held
) noexcept nogil:
    cdef Py_ssize_t at
    held.summary = gathering.gathered.summary
    held.bits = gathering.gathered.bits
    held.many = list_many(&gathering.gathered, gathering.places, gathering.tfs)
    held.places, held.tfs, held.lengths = gathering.places, gathering.tfs, gathering.lengths
    for at in range(held.many):
        held.lengths[at] = packed_length(lengths, window << WINDOW_BITS | held.places[at])


cdef class TermWindows(QueryTerms):
    """The terms of a query, and who holds them in the windows that are looked at."""

    def __cinit__(self):
        self._windows = []
        self._merged = []

    def __dealloc__(self):
        cdef Py_ssize_t number
        if self._here != NULL:
            for number in range(self._term_count + 1):
                free(self._here[number].gathering)
                free(self._here[number].typed_gathering)
        free(self._here)

    cdef int find_all_windows(self) except -1:
        """Find the windows of each term."""
        cdef Py_ssize_t number
        cdef const Term *term
        self._here = <TermWindow *> zeroed(self._term_count + 1, sizeof(TermWindow))
        for number in range(self._term_count):
            term = &self._terms[number]
            self.find_windows(&self._here[number], self.first_source(term), self.end_source(term))
            self._here[number].has_family = term.count == 1 and self._slots[term.first].count > 1
        return 0

    cdef int find_windows(self, TermWindow *here, Py_ssize_t first, Py_ssize_t end) except -1:
        """Find the windows of some words together, if they are common."""
        cdef Windows windows = None
        if first < end:
            windows = windows_of(self._postings[first:end], (self._packed.count >> WINDOW_BITS) + 1)
        here.first, here.end, here.window = first, end, -1
        here.has_family = False
        here.typed.bits = NULL
        here.kept = len(self._windows)
        here.merged.list = NULL
        here.windows, here.extremes, here.window_count = NULL, NULL, 0
        self._windows.append(windows)
        if windows is not None:
            here.windows, here.extremes, here.window_count = windows.made, windows.extremes, windows.count
        return 0

    cdef int find_merged(self, TermWindow *here, uint64_t most) except -1:
        """Find the postings of the same words together, if they are rare. They are put together now if they are at most
        `most`, and all of their blocks were read."""
        cdef MergedList merged
        cdef TypedFrequencies typed
        here.merged.list = NULL
        if here.windows != NULL or here.first == here.end:
            return 0
        merged = self.merged_words(here.first, here.end, most)
        if merged is None:
            return 0
        here.merged.typed = NULL
        if here.has_family:
            self.made_bytes -= merged.size_bytes
            typed = typed_of(merged, self._postings[here.first])
            self.made_bytes += merged.size_bytes
            if typed is None:
                return 0
            here.merged.typed = typed.tfs
            self._merged.append(typed)
        here.merged.list = &merged.held
        rewind(&here.merged)
        return 0

    cdef MergedList merged_words(self, Py_ssize_t first, Py_ssize_t end, uint64_t most):
        cdef list postings = self._postings[first:end]
        cdef StoredPostings owner = first_of(postings), one
        cdef tuple key = key_of_words(postings)
        cdef MergedList before = None if owner.merged is None else owner.merged.get(key)
        cdef MergedList merged = before
        cdef uint64_t count = 0
        for one in postings:
            count += one.df
        if merged is None or merged.postings != count:
            if before is not None and before.postings < count:  # lists that were not rewritten grow by new objects alone
                merged = merge(postings, &self._packed, before)
            elif count > most:
                return None
            else:
                merged = merge(postings, &self._packed, None)
            if merged is None:
                return None
            merged.postings = count
            if owner.merged is None:
                owner.merged = {}
            owner.merged[key] = merged
            self.made_bytes += merged.size_bytes - (0 if before is None else before.size_bytes)
        self._merged.append(merged)
        return merged

    cdef const Extremes *bound_window(self, TermWindow *here, int64_t window) noexcept nogil:
        """Return the extremes of a term's postings in a window, the one that the walk is in or an older one."""
        cdef Extremes *bound = &here.extremes[window] if window < here.window_count else &here.bound
        cdef Extremes room
        cdef Py_ssize_t at
        if here.end - here.first == 1:
            return self.bound_source(here.first, window, bound)
        if window < here.window_count and bound.is_known:
            return bound
        no_postings(bound)
        for at in range(here.first, here.end):
            add_extremes(bound, self.bound_source(at, window, &room))
        return bound

    cdef const Extremes *bound_typed(self, TermWindow *here, int64_t window) noexcept nogil:
        """Return the same of the word that was typed."""
        return self.bound_source(here.first, window, &here.typed_bound)

    cdef const Extremes *bound_source(self, Py_ssize_t number, int64_t window, Extremes *room) noexcept nogil:
        cdef const Source *source = &self._sources[number]
        if window < source.window_count:
            room = &source.extremes[window]
            if room.is_known:
                return room
        find_extremes(source, window, &self._packed, room)
        return room

    cdef int hold_window(self, TermWindow *here, int64_t window) except -2:
        """Find who holds a term, or the driver's slot, in a window; 0: blocks are missing."""
        cdef Py_ssize_t at
        cdef bint kept = window < here.window_count
        cdef Source *source
        if here.window == window:
            return 1
        if kept and here.windows[window] != NULL:
            here.held = here.windows[window][0]
            here.typed.bits = NULL
            here.window = window
            return 1
        if here.merged.list == NULL:
            for at in range(here.first, here.end):
                if not has_window(&self._sources[at], window) and not is_read(&self._sources[at], window):
                    return 0
        here.window = window
        here.typed.bits = NULL
        if here.gathering == NULL:
            here.gathering = <Gathering *> resized(NULL, sizeof(Gathering))
        clear(&here.gathering.gathered)
        if here.merged.list != NULL:
            gather_merged(&here.gathering.gathered, here.merged.list, here.merged.list.tfs, window, &here.merged.window_end)
            take_holders(here.gathering, window, &self._packed, &here.held)
            return 1
        for at in range(here.first, here.end):
            source = &self._sources[at]
            if at == here.first and here.has_family:
                self.hold_typed(here, window)
                gather_all(&here.gathering.gathered, &here.typed, <uint32_t> (window << WINDOW_BITS))
            elif has_window(source, window):
                gather_all(&here.gathering.gathered, source.windows[window], <uint32_t> (window << WINDOW_BITS))
            else:
                put_postings(source, window, &here.gathering.gathered)
        if kept:
            self.made_bytes += (<Windows> self._windows[here.kept]).keep(window, &here.gathering.gathered, &self._packed)
            if here.end - here.first == 1:
                self.made_bytes -= (<StoredPostings> self._postings[here.first]).release_blocks(window)
            here.held = here.windows[window][0]
        else:
            take_holders(here.gathering, window, &self._packed, &here.held)
        return 1

    cdef int hold_typed(self, TermWindow *here, int64_t window) except -2:
        """Find who holds the typed word of a family in a window; 0: blocks are missing."""
        cdef Source *source = &self._sources[here.first]
        cdef Windows windows
        if here.typed.bits != NULL:
            return 1
        if has_window(source, window):
            here.typed = source.windows[window][0]
            return 1
        if here.merged.list == NULL and not is_read(source, window):
            return 0
        if here.typed_gathering == NULL:
            here.typed_gathering = <Gathering *> resized(NULL, sizeof(Gathering))
        clear(&here.typed_gathering.gathered)
        if here.merged.list != NULL:
            gather_merged(&here.typed_gathering.gathered, here.merged.list, here.merged.typed, window, &here.merged.typed_end)
            take_holders(here.typed_gathering, window, &self._packed, &here.typed)
            return 1
        put_postings(source, window, &here.typed_gathering.gathered)
        if window < source.window_count:
            windows = (<StoredPostings> self._postings[here.first]).windows
            self.made_bytes += windows.keep(window, &here.typed_gathering.gathered, &self._packed)
            self.made_bytes -= (<StoredPostings> self._postings[here.first]).release_blocks(window)
            here.typed = source.windows[window][0]
        else:
            take_holders(here.typed_gathering, window, &self._packed, &here.typed)
        return 1
