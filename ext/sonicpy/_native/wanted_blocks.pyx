"""Requests the blocks that a query has to read: all of them, those of its window, or some behind it that look useful.

This module does not read: it returns the keys of unread blocks; the caller reads the blocks and passes them to `give`.

Queries on other threads may request the same blocks. So the code between `ask` and `end_asking` makes no Python object:
that could start the garbage collector, which lets other threads run.
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from sonicpy._native.bm25 cimport packed_length
from sonicpy._native.impacts cimport Block
from sonicpy._native.list_lookup cimport Source, block_for, is_missing
from sonicpy._native.memory cimport reserve
from sonicpy._native.merged_list cimport LOW_BITS, Merged, part_at
from sonicpy._native.query_state cimport (
    ANY,
    LENGTHS,
    TF_MAX,
    Asked,
    QueryState,
    Term,
    TermWindow,
    end_source,
    first_source,
)
from sonicpy._native.stored_postings cimport OpenBlock, StoredPostings, decode_block
from sonicpy._native.window_bounds cimport limit_of_window
from sonicpy._native.windows cimport WINDOW_BITS, WINDOW_OBJECTS, WINDOW_WORDS, highest_bit

from sonicpy._native.varint import DamagedBytes

cdef enum:
    ALL_MAX = 16  # blocks that are read at once, without a look at their bounds
    RULED_OUT_WORTH = 12  # windows whose limits are looked for, for each that is ruled out
    PROBED_WINDOWS = 8
    WINDOWS_AHEAD = 8  # read together of a term that is looked up in all of them
    AHEAD_MAX = 256  # blocks of a driver's lists asked for at once
    WANTED_MAX = 256  # blocks asked for at once, but for a driver that needs all of them


cdef void end_asking(QueryState query) noexcept nogil:
    """Unmark the blocks that a query has requested, so that other queries can request them."""
    cdef Py_ssize_t at
    for at in range(query.asked_count):
        query.sources[query.asked[at].source].blocks[query.asked[at].block].is_wanted = False


cdef list keys_asked(QueryState query):
    cdef list keys = []
    cdef Py_ssize_t at
    end_asking(query)
    for at in range(query.asked_count):
        keys.append((<StoredPostings> query.postings[query.asked[at].source]).key_of(query.asked[at].block))
    return keys


cdef bint ask_for_all(QueryState query) except -1:
    """Request all missing blocks, if they are few; return whether any were requested."""
    cdef Py_ssize_t number, block, missing = 0
    for number in range(query.source_count):
        for block in range(query.sources[number].count):
            missing += is_missing(&query.sources[number], block)
            if missing > ALL_MAX:
                return False
    ask_for_missing(query)
    return query.asked_count > 0


cdef int ask_for_missing(QueryState query) except -1:
    """Request all blocks that look-ups need."""
    cdef Py_ssize_t number, block
    for number in range(query.source_count):
        for block in range(query.sources[number].count):
            ask(query, number, block)
    return 0


cdef int ask_for_objects(QueryState query, list iids) except -1:
    """Request all blocks that may hold the given objects."""
    cdef Py_ssize_t number, block
    cdef const Source *source
    cdef uint32_t iid
    for number in range(query.source_count):
        source = &query.sources[number]
        for iid in iids:
            block = block_for(source, iid, source.count - 1)
            if block >= 0:
                ask(query, number, block)
    return 0


cdef int give_blocks(QueryState query, list rows) except -1:
    """Take the (key, block) pairs found for the keys that `run` returned, in their order.

    Raises:
        DamagedBytes: a block is missing or cannot be read.
    """
    cdef Py_ssize_t at
    cdef bytes block
    if len(rows) != query.asked_count:
        raise DamagedBytes(f"{query.asked_count - len(rows)} blocks of postings are missing")
    for at in range(query.asked_count):
        block = (<tuple> rows[at])[1]
        (<StoredPostings> query.postings[query.asked[at].source]).put_block(query.asked[at].block, block)
    query.asked_count = 0
    return 0


cdef int ask(QueryState query, Py_ssize_t source, Py_ssize_t block) except -1:
    """Request a block, if its objects cannot be looked up without it."""
    if is_missing(&query.sources[source], block):
        ask_once(query, source, block)
    return 0


cdef int ask_once(QueryState query, Py_ssize_t source, Py_ssize_t block) except -1:
    """Request a block, unless it was read or requested."""
    cdef Block *wanted = &query.sources[source].blocks[block]
    if wanted.packed == NULL and not wanted.is_wanted:
        if not reserve(<void **> &query.asked, &query.asked_room, query.asked_count + 1, sizeof(Asked)):
            end_asking(query)
            raise MemoryError
        wanted.is_wanted = True
        query.asked[query.asked_count] = Asked(source, block)
        query.asked_count += 1
    return 0


cdef int limit_in(QueryState query, int64_t window) noexcept nogil:
    """Return the limit of the lengths in a window; LENGTHS if computing limits excludes too few windows to be worth its
    time."""
    cdef int limit
    if query.patience <= 0 and window % PROBED_WINDOWS:
        return LENGTHS
    limit = limit_of_window(query, query.own, window)
    if not limit:
        query.patience = min(query.patience + RULED_OUT_WORTH, PATIENCE)
    elif query.top.size == query.top.k:
        query.patience -= 1
    return limit


cdef Py_ssize_t newest_block(QueryState query, Py_ssize_t source, int64_t window) noexcept nogil:
    """Return the number of the newest block that may hold objects of a window."""
    cdef uint32_t newest = <uint32_t> (window << WINDOW_BITS | (WINDOW_OBJECTS - 1))
    return block_for(&query.sources[source], newest, query.sources[source].top)


cdef Py_ssize_t count_blocks(QueryState query, Py_ssize_t number) noexcept nogil:
    """Return the number of unread blocks of a term for the window."""
    cdef const Term *term = &query.terms[number]
    cdef Py_ssize_t source, block, count = 0
    for source in range(first_source(query, term), end_source(query, term)):
        block = newest_block(query, source, query.window)
        while block >= 0:
            count += is_missing(&query.sources[source], block)
            if query.sources[source].blocks[block].lower <= <uint64_t> query.window << WINDOW_BITS:
                break
            block -= 1
    return count


cdef Py_ssize_t ask_window(QueryState query, const TermWindow *here, int64_t window) except -1:
    """Request the blocks of a term that may hold objects of a window; return the number of all requested blocks."""
    cdef Py_ssize_t source, block
    for source in range(here.first, here.end):
        block = newest_block(query, source, window)
        while block >= 0:
            ask(query, source, block)
            if query.sources[source].blocks[block].lower <= <uint64_t> window << WINDOW_BITS:
                break
            block -= 1
    return query.asked_count


cdef int ask_others_ahead(QueryState query, const TermWindow *here) except -1:
    """Request the blocks of another term for the window, and, while few windows turn out to be excluded, for the next
    ones."""
    cdef int64_t window
    ask_window(query, here, query.window)
    if query.patience <= 0:
        for window in range(query.window - 1, max(query.window - WINDOWS_AHEAD, -1), -1):
            ask_window(query, here, window)
    return 0


cdef int ask_ahead(QueryState query) except -1:
    """Request the blocks of the driver's slot for the window, and for some behind it that look useful."""
    cdef Py_ssize_t asked = ask_window(query, query.own, query.window)
    cdef int64_t window = query.window - 1
    while window >= 0 and asked < query.ahead:
        if limit_in(query, window):
            asked = ask_window(query, query.own, window)
        window -= 1
    query.ahead = min(2 * query.ahead, AHEAD_MAX)
    return 0


cdef int ask_for_others(QueryState query) except -1:
    """Request the blocks of other lists for look-ups of the chosen objects, and of the next ones behind the window."""
    cdef Py_ssize_t word, source, number, place
    cdef uint64_t left, objects = 0
    cdef uint64_t most = most_objects_ahead(query)
    cdef uint8_t packed
    cdef OpenBlock block
    for word in range(WINDOW_WORDS - 1, -1, -1):
        left = query.chosen[word] if query.summary >> word & 1 else 0
        while left and query.asked_count < WANTED_MAX:
            ask_for(query, <uint32_t> (query.window << WINDOW_BITS | word << 6 | highest_bit(left)))
            left &= ~(<uint64_t> 1 << highest_bit(left))
            objects += 1
    for source in range(query.own.first, query.own.end):
        number = newest_block(query, source, query.window)
        while number >= 0 and query.sources[source].blocks[number].packed != NULL:
            decode_block(&query.sources[source].blocks[number], &block)
            for place in range(block.count - 1, -1, -1):
                if objects >= most or query.asked_count >= WANTED_MAX:
                    return 0
                if block.iids[place] >> WINDOW_BITS >= <uint64_t> query.window:
                    continue
                packed = packed_length(&query.packed, block.iids[place])
                if packed < query.limits[block.tfs[place] if block.tfs[place] <= TF_MAX else ANY]:
                    ask_for(query, block.iids[place])
                    objects += 1
            number -= 1
    return 0


cdef uint64_t most_objects_ahead(QueryState query) noexcept nogil:
    """Return the number of objects for which to request blocks: few as long as found objects narrow down the search."""
    return WANTED_MAX if query.only_full or query.top.size == query.top.k else 2 * query.top.k


cdef int ask_for_next(QueryState query, const Merged *held) except -1:
    """Request the blocks of other lists for look-ups of the driver's next objects."""
    cdef Py_ssize_t end = query.end, part = held.parts - 1
    cdef uint32_t iid
    cdef uint64_t objects = 0
    cdef uint64_t most = most_objects_ahead(query)
    while end > 0 and objects < most and query.asked_count < WANTED_MAX:
        end -= 1
        part = part_at(held, end, part)
        iid = <uint32_t> part << LOW_BITS | held.lows[end]
        if packed_length(&query.packed, iid) < query.limits[held.tfs[end] if held.tfs[end] <= TF_MAX else ANY]:
            ask_for(query, iid)
            objects += 1
    return 0


cdef int ask_for(QueryState query, uint32_t iid) except -1:
    """Request the blocks for look-ups of an object."""
    cdef Py_ssize_t number, found
    for number in range(query.source_count):
        found = block_for(&query.sources[number], iid, query.sources[number].block)
        if found >= 0:
            ask(query, number, found)
    return 0
