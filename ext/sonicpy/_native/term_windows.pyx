"""The objects of one window that hold the terms of a query, as bits.

Windows of common words and of families of common words are cached beside the lists, for later queries. The postings of
other words are merged and cached once all of their blocks were read; before that, they are gathered from the blocks
each time.
"""

from libc.stdint cimport UINT32_MAX, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memset

from sonicpy._native.bm25 cimport PackedLengths, packed_length
from sonicpy._native.extremes cimport Extremes, add_extremes, no_postings
from sonicpy._native.list_lookup cimport Source, find_extremes, has_window, is_read, newest_below, put_postings
from sonicpy._native.memory cimport resized
from sonicpy._native.merged_list cimport (
    LOW_BITS,
    Merged,
    MergedList,
    TypedFrequencies,
    count_up_to,
    merge,
    part_at,
    typed_of,
)
from sonicpy._native.query_state cimport (
    Gathering,
    QueryState,
    Slot,
    Term,
    TermWindow,
    block_of,
    end_source,
    first_source,
)
from sonicpy._native.stored_postings cimport StoredPostings, Windows, first_of, key_of_words, windows_of
from sonicpy._native.windows cimport (
    ROW_BYTES,
    WINDOW_BITS,
    WINDOW_OBJECTS,
    Gathered,
    Holders,
    clear,
    gather,
    gather_all,
    list_many,
)


cdef enum:
    MANY_WORDS = 4  # of a slot that is not the first one, from which on a walk knows them together


cdef inline void gather_merged(
    Gathered *gathered, const Merged *merged, const uint8_t *tfs, int64_t window, Py_ssize_t *end
) noexcept nogil:
    """Add the postings of a window of a merged list.

    Args:
        tfs: the frequency of each posting; postings with 0 are left out.
        end: the number of postings up to the end of the window; it is set to the number of postings before the window.
    """
    cdef uint32_t first = <uint32_t> (window << WINDOW_BITS)
    cdef Py_ssize_t start = part_of_window(merged, window, end)
    while end[0] > start and merged.lows[end[0] - 1] >= <uint16_t> first:
        end[0] -= 1
        if tfs[end[0]]:
            gather(gathered, first | merged.lows[end[0]], tfs[end[0]])


cdef void mark_merged(const Merged *merged, int64_t window, uint64_t *bits) noexcept nogil:
    """Write the bits of a window: 1 for the objects that have a posting, 0 for all others."""
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


cdef int find_all_windows(QueryState query) except -1:
    """Find the windows of each term."""
    cdef Py_ssize_t number
    cdef const Term *term
    query.here_count = query.term_count + 1
    for number in range(query.slot_count):
        query.here_count += query.slots[number].count > 1
    query.here = <TermWindow *> block_of(query, query.here_count, sizeof(TermWindow))
    for number in range(query.term_count):
        term = &query.terms[number]
        find_windows(query, &query.here[number], first_source(query, term), end_source(query, term))
        query.here[number].has_family = term.count == 1 and query.slots[term.first].count > 1
    return 0


cdef int find_slot_windows(QueryState query) except -1:
    """Find the windows of the slots with several words, for a walk: those of the typed word's family, and those of many
    words that have one weight."""
    cdef Py_ssize_t number, place, at = query.term_count
    cdef Term *term
    cdef Slot *slot
    for number in range(query.term_count):
        term = &query.terms[number]
        if term.count < 2:
            continue
        for place in range(term.count):
            slot = &query.slots[term.first + place]
            if slot.count > 1 and (place == 0 or slot.count >= MANY_WORDS and slot.exact_weight == 0.0):
                at += 1
                slot.here = &query.here[at]
                find_windows(query, slot.here, slot.first, slot.first + slot.count)
                slot.here.has_family = place == 0
                query.here[number].slots, query.here[number].slot_count = &query.slots[term.first], term.count
    return 0


cdef void rewind_all(QueryState query) noexcept:
    """Go back to the newest window of each term, and to the newest objects of each list."""
    cdef Py_ssize_t number
    for number in range(query.source_count):
        query.sources[number].block = query.sources[number].top = query.sources[number].count - 1
        query.sources[number].next = UINT32_MAX
    for number in range(query.here_count):
        query.here[number].window = -1
        rewind(&query.here[number].merged)


cdef int find_windows(QueryState query, TermWindow *here, Py_ssize_t first, Py_ssize_t end) except -1:
    """Find the windows of several words together, if the words are common.

    Args:
        first, end: the words are the sources from `first` to `end` - 1.
    """
    cdef Windows windows = None
    if first < end:
        windows = windows_of(query.postings[first:end], (query.packed.count >> WINDOW_BITS) + 1)
    here.first, here.end, here.window = first, end, -1
    here.has_family = False
    here.slots, here.slot_count = NULL, 0
    here.typed.bits = NULL
    here.kept = len(query.windows)
    here.merged.list = NULL
    here.windows, here.extremes, here.window_count = NULL, NULL, 0
    query.windows.append(windows)
    if windows is not None:
        here.windows, here.extremes, here.window_count = windows.made, windows.extremes, windows.count
    return 0


cdef int find_merged(QueryState query, TermWindow *here, uint64_t most) except -1:
    """Find the merged postings of rare words. If they are not cached, merge them, provided that there are at most
    `most` and all of their blocks were read."""
    cdef MergedList merged
    cdef TypedFrequencies typed
    here.merged.list = NULL
    if here.windows != NULL or here.first == here.end:
        return 0
    merged = merged_words(query, here.first, here.end, most)
    if merged is None:
        return 0
    here.merged.typed = NULL
    if here.has_family:
        query.made_bytes -= merged.size_bytes
        typed = typed_of(merged, query.postings[here.first])
        query.made_bytes += merged.size_bytes
        if typed is None:
            return 0
        here.merged.typed = typed.tfs
        query.merged.append(typed)
    here.merged.list = &merged.held
    rewind(&here.merged)
    return 0


cdef MergedList merged_words(QueryState query, Py_ssize_t first, Py_ssize_t end, uint64_t most):
    cdef list postings = query.postings[first:end]
    cdef StoredPostings owner = first_of(postings), one
    cdef tuple key = key_of_words(postings, owner.bucket)
    cdef MergedList before = None if owner.merged is None else owner.merged.get(key)
    cdef MergedList merged = before
    cdef uint64_t count = 0
    for one in postings:
        count += one.df
    if merged is None or merged.postings != count:
        if before is not None and before.postings < count:  # lists that were not rewritten grow by new objects alone
            merged = merge(postings, &query.packed, before)
        elif count > most:
            return None
        else:
            merged = merge(postings, &query.packed, None)
        if merged is None:
            return None
        merged.postings = count
        if owner.merged is None:
            owner.merged = {}
        owner.merged[key] = merged
        query.made_bytes += merged.size_bytes - (0 if before is None else before.size_bytes)
    query.merged.append(merged)
    return merged


cdef const Extremes *bound_window(QueryState query, TermWindow *here, int64_t window) noexcept nogil:
    """Return the extremes of a term's postings in a window: the window of the walk or an older one."""
    cdef Extremes *bound = &here.extremes[window] if window < here.window_count else &here.bound
    cdef Extremes room
    cdef Py_ssize_t at
    if here.end - here.first == 1:
        return bound_source(query, here.first, window, bound)
    if window < here.window_count and bound.is_known:
        return bound
    no_postings(bound)
    for at in range(here.first, here.end):
        add_extremes(bound, bound_source(query, at, window, &room))
    return bound


cdef const Extremes *bound_typed(QueryState query, TermWindow *here, int64_t window) noexcept nogil:
    """Return the extremes of the typed word's postings in a window, as `bound_window` does."""
    return bound_source(query, here.first, window, &here.typed_bound)


cdef const Extremes *bound_source(QueryState query, Py_ssize_t number, int64_t window, Extremes *room) noexcept nogil:
    cdef const Source *source = &query.sources[number]
    if window < source.window_count:
        room = &source.extremes[window]
        if room.is_known:
            return room
    find_extremes(source, window, &query.packed, room)
    return room


cdef int hold_window(QueryState query, TermWindow *here, int64_t window) except -2:
    """Find the objects of a window that hold a term, or a word of the driver's slot; return 0 if blocks are missing."""
    cdef Py_ssize_t at
    cdef bint kept = window < here.window_count
    cdef const Slot *slot
    if here.window == window:
        return 1
    if kept and here.windows[window] != NULL:
        here.held = here.windows[window][0]
        here.typed.bits = NULL
        here.window = window
        return 1
    if here.merged.list == NULL:
        for at in range(here.first, here.end):
            if not has_window(&query.sources[at], window) and not is_read(&query.sources[at], window):
                return 0
    here.window = window
    here.typed.bits = NULL
    if here.gathering == NULL:
        here.gathering = <Gathering *> resized(NULL, sizeof(Gathering))
    clear(&here.gathering.gathered)
    if here.merged.list != NULL:
        gather_merged(&here.gathering.gathered, here.merged.list, here.merged.list.tfs, window, &here.merged.window_end)
        take_holders(here.gathering, window, &query.packed, &here.held)
        return 1
    if here.slots == NULL:
        gather_sources(query, here, here.first, here.end, window)
    for at in range(here.slot_count):
        slot = &here.slots[at]
        if slot.here == NULL:
            gather_sources(query, here, slot.first, slot.first + slot.count, window)
        elif hold_window(query, slot.here, window) == 1:  # each posting of a window is read once
            gather_all(&here.gathering.gathered, &slot.here.held, <uint32_t> (window << WINDOW_BITS))
        else:
            raise RuntimeError("blocks of a term were read, and those of a slot were not")
    if kept:
        query.made_bytes += (<Windows> query.windows[here.kept]).keep(window, &here.gathering.gathered, &query.packed)
        if here.end - here.first == 1:
            query.made_bytes -= (<StoredPostings> query.postings[here.first]).release_blocks(window)
        here.held = here.windows[window][0]
    else:
        take_holders(here.gathering, window, &query.packed, &here.held)
    return 1


cdef int gather_sources(
    QueryState query, TermWindow *here, Py_ssize_t first, Py_ssize_t end, int64_t window
) except -1:
    """Add the postings of the words from `first` to `end` - 1, whose blocks were read, to those of a window of a term."""
    cdef Py_ssize_t at
    cdef Source *source
    for at in range(first, end):
        source = &query.sources[at]
        if at == here.first and here.has_family:
            hold_typed(query, here, window)
            gather_all(&here.gathering.gathered, &here.typed, <uint32_t> (window << WINDOW_BITS))
        elif has_window(source, window):
            gather_all(&here.gathering.gathered, source.windows[window], <uint32_t> (window << WINDOW_BITS))
        else:
            put_postings(source, window, &here.gathering.gathered)
    return 0


cdef int hold_typed(QueryState query, TermWindow *here, int64_t window) except -2:
    """Find the objects of a window that hold the typed word of a family; return 0 if blocks are missing."""
    cdef Source *source = &query.sources[here.first]
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
        gather_merged(
            &here.typed_gathering.gathered, here.merged.list, here.merged.typed, window, &here.merged.typed_end
        )
        take_holders(here.typed_gathering, window, &query.packed, &here.typed)
        return 1
    put_postings(source, window, &here.typed_gathering.gathered)
    if window < source.window_count:
        windows = (<StoredPostings> query.postings[here.first]).windows
        query.made_bytes += windows.keep(window, &here.typed_gathering.gathered, &query.packed)
        query.made_bytes -= (<StoredPostings> query.postings[here.first]).release_blocks(window)
        here.typed = source.windows[window][0]
    else:
        take_holders(here.typed_gathering, window, &query.packed, &here.typed)
    return 1


cdef int64_t window_below(QueryState query, TermWindow *here, int64_t below) noexcept nogil:
    """Return the newest window before `below` that may have objects of a term, or of the driver's slot; -1: there is
    none."""
    cdef Py_ssize_t number, end
    cdef int64_t newest = -1
    if below <= 0:  # the postings of the last window may not have been read yet
        return -1
    if here.windows != NULL and below <= here.window_count:
        return below - 1
    if here.merged.list != NULL:
        end = here.merged.window_end
        if below << WINDOW_BITS <= UINT32_MAX:
            end = count_up_to(here.merged.list, <uint32_t> ((below << WINDOW_BITS) - 1), end)
        if not end:
            return -1
        number = min(here.merged.list.parts - 1, <Py_ssize_t> (below >> (LOW_BITS - WINDOW_BITS)))
        number = part_at(here.merged.list, end - 1, number)
        return (number << LOW_BITS | here.merged.list.lows[end - 1]) >> WINDOW_BITS
    for number in range(here.first, here.end):
        newest = max(newest, newest_below(&query.sources[number], <uint64_t> below << WINDOW_BITS))
    return newest >> WINDOW_BITS if newest >= 0 else -1
