"""Counts the objects that hold the words before a suggestion together with each of many suggestions.

The objects that hold the words before are bits. Among them, the objects of each suggestion are counted by windows if
the word is common, else posting by posting. Blocks without objects that hold the words before are not read.
"""

from libc.stdint cimport UINT32_MAX, int64_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcpy, memset

from sonicpy._native.admitted cimport mark, newest_iid
from sonicpy._native.bm25 cimport B, K1
from sonicpy._native.list_lookup cimport Source, has_window
from sonicpy._native.memory cimport zeroed
from sonicpy._native.plan cimport R_BRINGS
from sonicpy._native.query_state cimport (
    QueryState,
    TermWindow,
    end_slot,
    end_source,
    note_made,
    first_source,
    open_sources,
    put_slot,
    put_source,
    put_term,
)
from sonicpy._native.stored_postings cimport OpenBlock, decode_block
from sonicpy._native.term_windows cimport find_all_windows, hold_window
from sonicpy._native.top_k cimport EXACT
from sonicpy._native.wanted_blocks cimport ask, ask_window, give_blocks, keys_asked
from sonicpy._native.windows cimport ROW_BYTES, WINDOW_BITS, WINDOW_WORDS


cdef extern from *:
    """
    #include <stdint.h>
    static inline int sonicpy_count_common(const uint64_t *one, const uint64_t *other) {
        int count = 0;
        for (int word = 0; word < 64; word++) count += __builtin_popcountll(one[word] & other[word]);
        return count;
    }
    #if defined(__x86_64__) && defined(__GNUC__)
    /* Without this instruction, which every processor since 2008 has, bits are looked up in a table. */
    __attribute__((target("popcnt")))
    static int sonicpy_count_common_fast(const uint64_t *one, const uint64_t *other) {
        int count = 0;
        for (int word = 0; word < 64; word++) count += __builtin_popcountll(one[word] & other[word]);
        return count;
    }
    #define sonicpy_common(one, other) \
        (__builtin_cpu_supports("popcnt") ? sonicpy_count_common_fast(one, other) : sonicpy_count_common(one, other))
    #else
    #define sonicpy_common sonicpy_count_common
    #endif
    """
    int count_common "sonicpy_common"(const uint64_t *one, const uint64_t *other) noexcept nogil


cdef struct Among:  # the objects that hold the words before
    uint64_t *bits  # by IID
    int64_t *windows  # with such objects, newest first
    Py_ssize_t count
    uint32_t *below  # by window, and behind the last one: how many of the windows before it have such objects
    Py_ssize_t room  # of windows

def count_together(reader, list before not None, list words not None, uint64_t window=0) -> list:
    """Return, for each of `words`, the number of objects that hold it together with all words before.

    Args:
        reader: the reader of the bucket.
        before: for each word before, the rows of the word and of others in its place.
        words: the rows of the words whose objects are counted.
        window: only this many objects of each word are read, the newest ones; 0: all.
    """
    cdef QueryState holders = state_of(reader, before, window)
    cdef QueryState query
    cdef Among among
    cdef uint64_t *room
    among.bits = NULL
    read_all(holders, reader)
    among.room = windows_of_all(holders)
    room = <uint64_t *> zeroed(among.room * (2 * WINDOW_WORDS + 2) + 1, sizeof(uint64_t))
    try:
        among.bits = room
        among.windows = <int64_t *> (room + 2 * among.room * WINDOW_WORDS)
        among.below = <uint32_t *> (among.windows + among.room)
        hold_all(holders, &among, room + among.room * WINDOW_WORDS)
        note_made(holders, reader)
        if not among.count:
            return [0] * len(words)
        query = state_of(reader, [[word] for word in words], window)
        read_among(query, reader, &among)
        found = [count_among(query, number, &among) for number in range(query.term_count)]
        note_made(query, reader)
        return found
    finally:
        free(room)


cdef QueryState state_of(reader, list slots, uint64_t window):
    """Return a query with a term for each list of rows."""
    cdef QueryState query = QueryState(reader.length_masks(), 1.0, K1, B, 1.0)
    cdef list rows = [row for slot in slots for row in slot]
    cdef list lists = reader.postings_within(rows, window) if window else reader.postings_of(rows)
    cdef Py_ssize_t at = 0, number
    for slot in slots:
        put_term(query, 1.0, R_BRINGS)
        put_slot(query, 1.0, 0.0, EXACT)
        for number in range(at, at + len(slot)):
            put_source(query, lists[number])
        end_slot(query)
        at += len(slot)
    open_sources(query)
    find_all_windows(query)
    return query


cdef int give_asked(QueryState query, reader) except -1:
    cdef list keys = keys_asked(query)
    if keys:
        give_blocks(query, reader.read_blocks(keys))
    return 0


cdef int read_all(QueryState query, reader) except -1:
    cdef Py_ssize_t number, block
    query.asked_count = 0
    for number in range(query.source_count):
        for block in range(query.sources[number].count):
            ask(query, number, block)
    return give_asked(query, reader)


cdef Py_ssize_t windows_of_all(QueryState query) noexcept:
    """Return the number of windows up to the newest object."""
    cdef Py_ssize_t number, most = 0
    cdef Source *source
    for number in range(query.source_count):
        source = &query.sources[number]
        if source.count:
            most = max(most, <Py_ssize_t> (newest_iid(source) >> WINDOW_BITS) + 1, source.window_count)
    return most


cdef int hold_all(QueryState query, Among *among, uint64_t *other) except -1:
    """Find the objects that hold every term, as bits.

    Args:
        other: room for the same number of bits.
    """
    cdef Py_ssize_t number, word, words = among.room * WINDOW_WORDS
    cdef int64_t window
    for number in range(query.term_count):
        hold_term(query, number, among.room, other if number else among.bits)
        for word in range(words if number else 0):
            among.bits[word] &= other[word]
    among.count = 0
    for window in range(among.room):
        among.below[window + 1] = among.below[window] + has_any(among.bits + window * WINDOW_WORDS)
    for window in range(among.room - 1, -1, -1):
        if among.below[window + 1] > among.below[window]:
            among.windows[among.count] = window
            among.count += 1
    return 0


cdef bint has_any(const uint64_t *bits) noexcept nogil:
    cdef Py_ssize_t word
    cdef uint64_t some = 0
    for word in range(WINDOW_WORDS):
        some |= bits[word]
    return some != 0


cdef int hold_term(QueryState query, Py_ssize_t number, Py_ssize_t windows, uint64_t *bits) except -1:
    """Find the objects that hold a term, whose blocks were read."""
    cdef TermWindow *here = &query.here[number]
    cdef int64_t window
    if here.windows == NULL:
        memset(bits, 0, windows * ROW_BYTES)
        mark(query, &query.terms[number], bits, windows)
        return 0
    rewind(query, number)
    for window in range(windows - 1, -1, -1):
        hold_read(query, here, window)
        memcpy(bits + window * WINDOW_WORDS, here.held.bits, ROW_BYTES)
    return 0


cdef int hold_read(QueryState query, TermWindow *here, int64_t window) except -1:
    if hold_window(query, here, window) != 1:
        raise RuntimeError("blocks of postings are missing, but none has to be read")
    return 0


cdef void rewind(QueryState query, Py_ssize_t number) noexcept:
    """Go back to the newest objects of a term."""
    cdef Py_ssize_t at
    query.here[number].window = -1
    for at in range(first_source(query, &query.terms[number]), end_source(query, &query.terms[number])):
        query.sources[at].top = query.sources[at].block = query.sources[at].count - 1
        query.sources[at].next = UINT32_MAX


cdef int read_among(QueryState query, reader, const Among *among) except -1:
    """Read the blocks of all terms that may hold objects of `among`."""
    cdef Py_ssize_t number, place, block
    cdef TermWindow *here
    query.asked_count = 0
    for number in range(query.term_count):
        here = &query.here[number]
        rewind(query, number)
        if here.windows == NULL:
            for block in range(query.sources[here.first].count):
                if may_hold(&query.sources[here.first], block, among):
                    ask(query, here.first, block)
            continue
        for place in range(among.count):
            if not has_window(&query.sources[here.first], among.windows[place]):
                ask_window(query, here, among.windows[place])
    return give_asked(query, reader)


cdef inline bint may_hold(const Source *source, Py_ssize_t block, const Among *among) noexcept nogil:
    """Return whether a block may hold objects of `among`."""
    cdef Py_ssize_t first = source.blocks[block].lower >> WINDOW_BITS, last = among.room - 1
    if block + 1 < source.count:
        last = min(last, <Py_ssize_t> ((source.blocks[block + 1].lower - 1) >> WINDOW_BITS))
    return first <= last and among.below[last + 1] > among.below[first]


cdef object count_among(QueryState query, Py_ssize_t number, const Among *among):
    """Return how many objects of `among` hold a term."""
    cdef TermWindow *here = &query.here[number]
    cdef Py_ssize_t place, count = 0
    if here.windows == NULL:
        return count_posted(&query.sources[here.first], among)
    for place in range(among.count):
        hold_read(query, here, among.windows[place])
        count += count_common(among.bits + among.windows[place] * WINDOW_WORDS, here.held.bits)
    return count


cdef Py_ssize_t count_posted(const Source *source, const Among *among) noexcept nogil:
    cdef Py_ssize_t block, place, count = 0
    cdef uint64_t objects = <uint64_t> among.room << WINDOW_BITS
    cdef OpenBlock held
    for block in range(source.count):
        if not may_hold(source, block, among):
            continue
        decode_block(&source.blocks[block], &held)
        for place in range(held.count):
            if held.iids[place] < objects:
                count += among.bits[held.iids[place] >> 6] >> (held.iids[place] & 63) & 1
    return count
