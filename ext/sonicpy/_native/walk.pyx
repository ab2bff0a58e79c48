"""Finds the best objects of a query without touching objects that cannot be among them.

    part     weight * tf * (k1 + 1) / (tf + norm of the object's length)       of a list in a score
    score    the parts added up in the order of the query's terms, times share ** exponent
    share    the weight of the terms the object holds / the weight of all terms that bring objects
    order    by kind (FULL, EXACT, COMPLETED, CORRECTED), then by score, then newest object first

The walk is MaxScore (Turtle and Flood, "Query evaluation: strategies and optimizations", 1995). Terms drive in turn,
the rarest first: the walk examines the driver's objects, and looks them up in the lists of the terms behind it. Objects
with an earlier driver have been examined already. So the bound of further scores falls from driver to driver, and once
it is below the worst of the best objects, the walk is over. A driver with expansions drives slot by slot.

The objects of a driver are chosen 64 at a time, window by window (windows.pxd), newest first. Most objects hold a word
once, and then their length decides: from some length on, no object can be among the best. So the walk intersects the
bits of the driver's holders, of objects that are short enough, and of the holders of each term that objects of that
length need. Objects that hold a word more often are few, and have limits of their own. The remaining objects are
scored. Because objects come newest first, and newer ones win ties, objects that can only equal the worst are skipped,
too.

The objects of a rarer driver are examined one by one. If a dozen neighbours or more hold it, the bits of the other
words first exclude most of them: objects that lack a word and are too long for that.

If objects that hold every word come first (FULL), the walk first looks for these alone: every word is then needed. If
there are fewer than wanted, the walk begins again, and skips them.

Windows of common words and of families of common words are cached beside the lists, for later queries. The bounds of
all terms' postings in a window decide whether the walk has to examine it: its extremes, or the impacts of unread blocks
(Ding and Suel, "Faster top-k document retrieval using block-max indexes", 2011).

The walk does not read rows. If it needs unread blocks, it returns their keys; the caller reads them, passes them to
`give` and continues the walk.
"""

from libc.stdint cimport UINT32_MAX, UINT64_MAX, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memset

from sonicpy._native.bm25 cimport packed_length
from sonicpy._native.memory cimport prefetch
from sonicpy._native.merged_list cimport LOW_BITS, RUN_BITS, Merged, part_at
from sonicpy._native.object_scores cimport look_at
from sonicpy._native.plan cimport R_REQUIRED
from sonicpy._native.query_state cimport ANY, LENGTHS, ONCE, TF_MAX, QueryState, Slot, Term, block_of, enters, own_slot
from sonicpy._native.score_bounds cimport (
    driver_kind,
    driver_share,
    find_few_limits,
    find_limits,
    forget_limits,
    score_bound,
)
from sonicpy._native.term_windows cimport find_merged, find_slot_windows, find_windows, rewind_all, window_below
from sonicpy._native.top_k cimport EXACT, FULL, ScoredObject
from sonicpy._native.walk_choice cimport choose, find_able, may_be_best
from sonicpy._native.wanted_blocks cimport PATIENCE, ask_for_all, ask_for_next, ask_for_others
from sonicpy._native.windows cimport WINDOW_BITS, WINDOW_OBJECTS, highest_bit

cdef enum:
    AHEAD_FIRST = 4  # blocks of a driver's list read with those that are needed, at first
    LOOKUPS_WORTH = 8  # postings of a list, at most, that are put together for each object that is looked up in it
    DENSE = 12  # objects of a window, on average, that hold the driver
    WALKED_TERMS = 8  # the most of a query: a walk of more skips too little
    LOOKED_AT = 8  # objects until limits are found anew: old ones are higher, and finding them takes two look-ups
    ROWS_FEW = 12  # windows that hold a term, over all terms, that are added up before a walk has begun


cdef uint64_t[WALKED_TERMS + 1] ROW_LOOKUPS = [0, UINT32_MAX, UINT32_MAX, 40, 5, 4, 3, 2, 1]
cdef int64_t END_OF_WINDOWS = <int64_t> 1 << 32 - WINDOW_BITS


cdef int begin_walk(QueryState query) except -1:
    """Go to the first driver."""
    query.parts = <double *> block_of(query, query.term_count, sizeof(double))
    query.held = <double *> block_of(query, query.term_count, sizeof(double))
    find_slot_windows(query)
    start_driver(query)
    # Those that hold every word come first, wherever they are. While the best are fewer, no bound rules out anybody.
    query.only_full = query.is_full_slot and query.bringing > 1
    return 0


cdef uint64_t lookups_worth(QueryState query) noexcept:
    """Return the number of look-ups after which a walk is given up; a look-up is of one object in one list. 0: do not
    walk.

    With more terms, look-ups cost more, and a walk is less often faster than adding up all terms. In small buckets it
    never is. With a very rare required term, it always is.
    """
    cdef uint64_t rows = 0, walked = 0, windows = (query.packed.count >> WINDOW_BITS) + 1
    cdef Py_ssize_t number
    for number in range(query.term_count):
        rows += min(windows, query.terms[number].df)
    if rows <= ROWS_FEW:
        return 0
    if query.driver_count and query.terms[query.drivers[query.driver_count - 1]].role & R_REQUIRED:
        for number in range(query.driver_count):
            walked += query.terms[query.drivers[number]].df
        if walked <= rows:
            return UINT64_MAX
    return ROW_LOOKUPS[query.term_count] * rows if query.term_count <= WALKED_TERMS else 0


cdef int start_driver(QueryState query) except -1:
    """Go to the newest window of the driver's slot."""
    cdef const Term *term
    cdef const Slot *slot
    rewind_all(query)
    query.window = END_OF_WINDOWS
    query.end = -1
    query.able_window = -1
    query.summary = 0
    query.patience = PATIENCE
    forget_limits(query)
    memset(query.rests, 0xFF, LENGTHS * sizeof(double))  # NaN
    if query.driver:  # the holders of earlier drivers were examined there
        query.parts[query.drivers[query.driver - 1]] = query.held[query.drivers[query.driver - 1]] = 0.0
    query.ahead = AHEAD_FIRST
    if query.driver < query.driver_count:
        term = &query.terms[query.drivers[query.driver]]
        if query.slot >= term.count:
            return 0
        query.own = &query.here[query.drivers[query.driver]]
        if term.count > 1:
            slot = own_slot(query)
            query.own = &query.here[query.term_count]
            find_windows(query, query.own, slot.first, slot.first + slot.count)
            query.own.has_family = slot.count > 1
            if query.is_merged:
                find_merged(query, query.own, UINT64_MAX)
        query.kind = driver_kind(query)
        query.is_full_slot = query.kind == FULL
        if query.is_full_slot and query.skips_full:
            query.kind = EXACT
        query.share = driver_share(query)
    return 0


cdef int walk(QueryState query) except -2:
    """Continue a walk; return 0 at its end; -1: the walk needs blocks, or has exceeded its look-ups."""
    if not query.is_started:
        query.is_started = True
        if ask_for_all(query):
            return -1
    if not query.is_merged:
        query.is_merged = True
        find_all_merged(query)
    while query.driver < query.driver_count and query.top.k:
        if walk_driver(query) < 0:
            return -1
        if query.only_full:
            if query.wants_full or (query.top.size == query.top.k and query.top.objects[0].kind == FULL):
                break  # even the worst holds every word; a floor fills the top with objects of its own kind
            query.only_full, query.skips_full = False, True
        else:
            query.driver += 1
        query.slot = 0
        start_driver(query)
    return 0


cdef int find_all_merged(QueryState query) except -1:
    """Find the merged postings of rare terms. Lists with only a few look-ups are not merged for this."""
    cdef Py_ssize_t at, number, place
    cdef uint64_t most = UINT64_MAX
    for at in range(query.term_count):
        number = query.drivers[at]
        if query.terms[number].count == 1:
            find_merged(query, &query.here[number], most)
        for place in range(query.here[number].slot_count):
            if query.here[number].slots[place].here != NULL:
                find_merged(query, query.here[number].slots[place].here, most)
        if at == 0:
            most = query.terms[number].df * LOOKUPS_WORTH
    if query.driver < query.driver_count and query.own == &query.here[query.term_count]:
        find_merged(query, query.own, UINT64_MAX)
    return 0


cdef int walk_driver(QueryState query) except -2:
    """Examine the objects of the driver, slot by slot; return -1 if blocks are missing, or look-ups are exceeded."""
    cdef Py_ssize_t count = query.terms[query.drivers[query.driver]].count
    while query.slot < count:
        if (query.is_full_slot or not query.only_full) and walk_slot(query) < 0:
            return -1
        query.slot += 1
        start_driver(query)
    return 0


cdef int walk_slot(QueryState query) except -2:
    """Examine the objects of the driver's slot, window by window; return -1 as `walk_driver` does."""
    if query.window == END_OF_WINDOWS and query.end < 0:
        if not enters(query, query.kind, score_bound(query, ANY, 0, -1, 0) * query.share, UINT32_MAX):
            return 0
    if query.own.merged.list != NULL:
        return walk_merged(query, query.own.merged.list)
    if query.window == END_OF_WINDOWS:
        query.window = window_below(query, query.own, END_OF_WINDOWS)
    while query.window >= 0:
        if query.lookups > query.lookups_max:
            return -1
        if not query.summary:
            if choose(query) < 0:
                return -1
        if look_at_chosen(query) < 0:
            return -1
        query.window = window_below(query, query.own, query.window)
    return 0


cdef int walk_merged(QueryState query, const Merged *held) except -2:
    """Examine the objects of the driver's slot in its merged postings; return -1 as `walk_driver` does."""
    cdef Py_ssize_t at, run, end, part = held.parts - 1
    cdef int looked_at = 0
    cdef bint filtered
    cdef uint32_t iid
    cdef uint8_t packed, tf
    if query.end < 0:
        query.end = held.count
    while query.end > 0:
        if query.lookups > query.lookups_max:
            return -1
        run = (query.end - 1) >> RUN_BITS
        part = part_at(held, query.end - 1, part)
        find_few_limits(query, <uint32_t> part << LOW_BITS | held.lows[query.end - 1])
        if not query.limits[ANY]:
            return 0
        end = run << RUN_BITS
        filtered = (query.only_full or query.top.size == query.top.k) and is_dense(query, held, part)
        if held.shortest[run] >= query.limits[ONCE] and held.shortest_many[run] >= query.limits[ANY]:
            query.end = end
            continue
        if not filtered:
            fetch_lengths(query, held, query.end - 1, part)
        for at in range(query.end - 1, end - 1, -1):
            part = part_at(held, at, part)
            iid, tf = <uint32_t> part << LOW_BITS | held.lows[at], held.tfs[at]
            if filtered:
                if iid >> WINDOW_BITS != query.able_window:
                    find_able(query, iid)
                if not query.able[(iid & WINDOW_OBJECTS - 1) >> 6] >> (iid & 63) & 1:
                    continue
            if query.mask is not None and not query.mask.passes(iid):
                continue
            packed = packed_length(&query.packed, iid)
            if packed >= query.limits[tf if tf <= TF_MAX else ANY] or not may_be_best(query, iid, packed, tf):
                continue
            if look_at(query, iid, packed) < 0:
                query.end = at + 1
                ask_for_next(query, held)
                return -1
            looked_at += 1
            if looked_at == LOOKED_AT:
                find_few_limits(query, iid)
                looked_at = 0
        query.end = end
    return 0


cdef void fetch_lengths(QueryState query, const Merged *held, Py_ssize_t last, Py_ssize_t part) noexcept nogil:
    """Prefetch the lengths of the objects of a run of postings, which lie far apart in memory.

    Args:
        last: the place of the last posting of the run.
        part: the part of `held` with this posting, or a later one.
    """
    cdef Py_ssize_t at
    for at in range(last, max(last - (1 << RUN_BITS), -1), -1):
        part = part_at(held, at, part)
        prefetch(query.packed.packed + (part << LOW_BITS | held.lows[at]))


cdef bint is_dense(QueryState query, const Merged *held, Py_ssize_t part) noexcept nogil:
    """Return whether enough objects of a part hold the driver to examine the other words window by window."""
    return held.starts[part + 1] - held.starts[part] >= <uint32_t> (DENSE << LOW_BITS - WINDOW_BITS)


cdef int look_at_chosen(QueryState query) except -2:
    """Score the chosen objects of the window, newest first; return -1 if blocks are missing."""
    cdef Py_ssize_t word
    cdef uint64_t bit
    cdef uint32_t iid
    cdef uint8_t packed
    cdef ScoredObject worst = query.top.objects[0]
    cdef int looked_at = 0
    while query.summary:
        word = highest_bit(query.summary)
        while query.chosen[word]:
            iid = <uint32_t> (query.window << WINDOW_BITS | word << 6 | highest_bit(query.chosen[word]))
            bit = <uint64_t> 1 << (iid & 63)
            packed = packed_length(&query.packed, iid)
            if packed < min(query.limits[ANY], query.window_limit):
                if look_at(query, iid, packed) < 0:
                    ask_for_others(query)
                    return -1
                looked_at += 1
                if looked_at >= LOOKED_AT and query.top.size == query.top.k and (
                    query.top.objects[0].iid != worst.iid or query.top.objects[0].score != worst.score
                ):
                    worst = query.top.objects[0]
                    find_limits(query, iid)
                    looked_at = 0
            query.chosen[word] &= ~bit
        query.summary &= ~(<uint64_t> 1 << word)
    return 0
