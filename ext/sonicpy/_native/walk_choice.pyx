"""Chooses the objects of a window, or of a run of postings, that a walk examines because quick tests do not exclude
them.
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from sonicpy._native.admitted cimport is_kept, kept_bits
from sonicpy._native.bits cimport count_common, lowest_bit
from sonicpy._native.plan cimport R_FORBIDDEN
from sonicpy._native.query_state cimport (
    ANY,
    BOUNDED_TERMS,
    LENGTHS,
    ONCE,
    TF_MAX,
    UNTYPED,
    QueryState,
    Term,
    TermWindow,
)
from sonicpy._native.score_bounds cimport find_limits, levels_of, limit_of_level, limit_without
from sonicpy._native.term_windows cimport hold_typed, hold_window, mark_merged, merged_tf, typed_tf
from sonicpy._native.wanted_blocks cimport ask_ahead, ask_others_ahead, ask_window, count_blocks, limit_in
from sonicpy._native.windows cimport (
    ROW_BYTES,
    WINDOW_BITS,
    WINDOW_OBJECTS,
    WINDOW_WORDS,
    Holders,
    count_up_to_few,
    intersect,
    intersect_two,
    tf_of,
)

cdef enum:
    WINDOW_LOOKUPS = 64  # a window takes as long as this number of look-ups, whatever it holds
    CHOSEN_FEW = 4  # objects of a window that are looked at one by one rather than narrowed down


cdef int find_able(QueryState query, uint32_t newest) except -1:
    """Find the objects in the window of `newest` that hold every other word, or are short enough to be among the best
    without it."""
    cdef int64_t window = newest >> WINDOW_BITS
    cdef Py_ssize_t at, word
    cdef TermWindow *here
    cdef const uint64_t *shorter
    cdef const uint64_t *holders
    cdef uint64_t marked[WINDOW_WORDS]
    cdef uint64_t room[WINDOW_WORDS]
    cdef int limit
    memset(query.able, 0xFF, ROW_BYTES)
    query.able_window = window
    for at in range(query.driver + 1, min(query.leading, query.driver + 1 + BOUNDED_TERMS)):
        here = &query.here[query.drivers[at]]
        if not query.terms[query.drivers[at]].count:
            continue
        limit = length_without(query, at, newest)
        if limit >= query.limits[ANY]:
            continue
        holders = known_holders(query, here, window, marked)
        if holders == NULL:
            continue
        shorter = query.masks.shorter(limit, window, room)
        for word in range(WINDOW_WORDS):
            query.able[word] &= shorter[word] | holders[word]
    return 0


cdef bint may_be_best(QueryState query, uint32_t iid, uint8_t packed, int tf) except -1:
    """Return whether an object of the driver, with a packed length and the frequency `tf` of the driver, can be among
    the best, by quick tests of its terms and frequencies."""
    cdef Py_ssize_t at
    cdef int held
    query.lookups += 1
    if tf == 1 and query.own.has_family and packed >= query.limits[UNTYPED]:
        if not typed_tf(&query.own.merged, iid):
            return False
    if query.top.size < query.top.k and not query.only_full:
        return True
    for at in range(query.driver + 1, min(query.term_count, query.driver + 1 + BOUNDED_TERMS)):
        held = tf_held(query, query.drivers[at], iid)
        if held < 0:
            return True
        if not is_kept(query.terms[query.drivers[at]].role, held != 0):
            return False
        if held == 0 and at < query.leading and packed >= length_without(query, at, iid):
            return False
        tf = max(tf, held)
    for at in range(query.driver):
        if tf_held(query, query.drivers[at], iid) > 0:
            return False  # it was looked at there
    return query.term_count > BOUNDED_TERMS or packed < limit_of_level(query, tf if tf <= TF_MAX else ANY, iid)


cdef inline int length_without(QueryState query, Py_ssize_t at, uint32_t newest) noexcept nogil:
    """Return the result of `limit_without`, which is cached for each term."""
    while query.without_count < at - query.driver:
        query.without_count += 1
        query.without[query.without_count - 1] = limit_without(query, query.driver + query.without_count, newest)
    return query.without[at - query.driver - 1]


cdef int tf_held(QueryState query, Py_ssize_t number, uint32_t iid) except -2:
    """Return the frequency of a term in an object, at most 255, or -1 if it is not quickly available."""
    cdef TermWindow *here = &query.here[number]
    cdef int64_t window = iid >> WINDOW_BITS
    if not query.terms[number].count:
        return 0
    if here.merged.list != NULL:
        return merged_tf(&here.merged, iid)
    if window < here.window_count and here.window != window:
        hold_window(query, here, window)
    return tf_of(&here.held, iid) if here.window == window else -1


cdef int choose(QueryState query) except -2:
    """Choose the objects of a window that may be among the best; return -1 if blocks are missing."""
    cdef TermWindow *own = query.own
    cdef Py_ssize_t at, chosen
    cdef int limit
    cdef bint is_common
    cdef uint32_t newest = <uint32_t> (query.window << WINDOW_BITS | (WINDOW_OBJECTS - 1))
    cdef const uint64_t *shorter
    cdef uint64_t needed
    cdef uint64_t among[WINDOW_WORDS]
    cdef uint64_t room[2][WINDOW_WORDS]
    if query.mask is not None and not query.mask.may(query.window):
        return 0
    query.lookups += WINDOW_LOOKUPS
    find_limits(query, newest)
    if not query.limits[ANY]:
        return 0
    is_common = query.window < own.window_count
    query.window_limit = limit = limit_in(query, query.window) if is_common else LENGTHS
    if not limit:
        return 0
    if not hold_window(query, own, query.window):
        if not is_common and not limit_in(query, query.window):  # nothing keeps it: only where it saves reading
            return 0
        ask_ahead(query)
        return -1
    memcpy(among, own.held.bits, ROW_BYTES)
    if query.mask is not None:
        query.mask.narrow(query.window, among)
    needed = intersect_needed(query, among, newest)
    drop_forbidden(query, among)
    shorter = query.masks.shorter(min(query.limits[ONCE], limit), query.window, room[0])
    intersect(among, shorter, query.chosen)
    if own.has_family and any_chosen(query):
        if not hold_typed(query, own, query.window):
            ask_window(query, own, query.window)
            return -1
        intersect_two(
            among, query.masks.shorter(min(query.limits[UNTYPED], limit), query.window, room[1]), own.typed.bits,
            shorter, query.chosen,
        )
        intersect(query.chosen, among, query.chosen)
    chosen = count_up_to_few(query.chosen, &query.summary)
    chosen += choose_many(query, own, among, query.limits, query.chosen)
    for at in range(query.driver + 1, query.leading):
        if chosen < CHOSEN_FEW:
            break
        if not needed >> min(at, 63) & 1 and narrow(query, at, newest, &chosen) < 0:
            query.summary = 0
            return -1
    if chosen >= CHOSEN_FEW:
        narrow_by_levels(query, newest)
    return 0


cdef uint64_t intersect_needed(QueryState query, uint64_t *among, uint32_t newest) except? 0:
    """Drop the objects of a window that lack a needed term whose holders are known.

    Returns:
        The places of the needed terms among the drivers, as bits.
    """
    cdef uint64_t needed = 0
    cdef Py_ssize_t at, number
    for at in range(query.driver + 1, min(query.leading, 63)):
        number = query.drivers[at]
        if at - query.driver < BOUNDED_TERMS and length_without(query, at, newest) == 0 and query.terms[number].count:
            if hold_window(query, &query.here[number], query.window):
                intersect(among, query.here[number].held.bits, among)
                needed |= <uint64_t> 1 << at
    return needed


cdef int drop_forbidden(QueryState query, uint64_t *among) except -1:
    """Drop the objects of a window that hold a forbidden term whose holders are quickly available."""
    cdef Py_ssize_t at, word, number
    cdef const uint64_t *holders
    cdef uint64_t room[WINDOW_WORDS]
    for at in range(query.leading, query.term_count):
        number = query.drivers[at]
        if query.terms[number].role & R_FORBIDDEN and query.terms[number].count:
            holders = known_holders(query, &query.here[number], query.window, room)
            if holders != NULL:
                for word in range(WINDOW_WORDS):
                    among[word] &= kept_bits(R_FORBIDDEN, holders[word])
    return 0


cdef const uint64_t *known_holders(
    QueryState query, TermWindow *here, int64_t window, uint64_t *room
) except? NULL:
    """Return the objects of a window that hold a term, as bits; NULL: the bits are not quickly available.

    Args:
        room: the place for bits that are not cached.
    """
    if here.merged.list != NULL:
        mark_merged(here.merged.list, window, room)
        return room
    if window < here.window_count and hold_window(query, here, window):
        return here.held.bits
    return NULL


cdef bint any_chosen(QueryState query) noexcept nogil:
    cdef uint64_t some = 0
    cdef Py_ssize_t word
    for word in range(WINDOW_WORDS):
        some |= query.chosen[word]
    return some != 0


cdef Py_ssize_t choose_many(
    QueryState query, TermWindow *here, const uint64_t *among, const int *limits, uint64_t *chosen
) noexcept nogil:
    """Choose the objects that hold a term more than once and are short enough for that; return the number of new ones.

    Args:
        here: the holders of the term in the window.
        among: bits of the objects to consider.
        limits: the limit of the length for each frequency of the term, as in `QueryState.limits`.
    """
    cdef const Holders *held = &here.held
    cdef Py_ssize_t at, place, count = 0
    cdef uint64_t bit
    cdef int tf, most = min(limits[ANY], query.window_limit)
    if query.window < here.window_count and here.extremes[query.window].shortest[1] >= most:
        return 0  # a window that was made has extremes
    for at in range(held.many):
        place = held.places[at]
        bit = <uint64_t> 1 << (place & 63)
        if among[place >> 6] & bit and not chosen[place >> 6] & bit:
            tf = held.tfs[at]
            if held.lengths[at] < min(most, limits[tf if tf <= TF_MAX else ANY]):
                if not query.summary >> (place >> 6) & 1:
                    chosen[place >> 6] = 0
                    query.summary |= <uint64_t> 1 << (place >> 6)
                chosen[place >> 6] |= bit
                count += 1
    return count


cdef int narrow(QueryState query, Py_ssize_t at, uint32_t newest, Py_ssize_t *chosen) except -2:
    """Drop the chosen objects that cannot be among the best because they lack a term; return -1 if blocks are missing.

    Args:
        at: the place of the term among the drivers.
        newest: the largest IID of the window.
        chosen: the number of chosen objects; set to the number of those that are left.
    """
    cdef Py_ssize_t number = query.drivers[at], word, words = 0
    cdef const Term *term = &query.terms[number]
    cdef const uint64_t *shorter
    cdef const uint64_t *bits
    cdef uint64_t room[WINDOW_WORDS]
    cdef uint64_t left[WINDOW_WORDS]
    cdef uint64_t summary = query.summary
    cdef int limit, found
    if at - query.driver > BOUNDED_TERMS:
        return 0
    limit = length_without(query, at, newest)
    if limit >= query.limits[ANY]:
        return 0
    found = hold_window(query, &query.here[number], query.window) if term.count else 1
    if not found:
        if chosen[0] < count_blocks(query, number):
            return 0
        ask_others_ahead(query, &query.here[number])
        return -1
    shorter = query.masks.shorter(limit, query.window, room)
    bits = query.here[number].held.bits
    while summary:
        word = lowest_bit(summary)
        summary &= summary - 1
        query.chosen[word] &= shorter[word] | (bits[word] if term.count else 0)
        if query.chosen[word]:
            left[words] = query.chosen[word]
            words += 1
        else:
            query.summary &= ~(<uint64_t> 1 << word)
    chosen[0] = count_common(left, left, words)
    return 0


cdef int narrow_by_levels(QueryState query, uint32_t newest) except -1:
    """Drop the chosen objects that are too long for their frequencies of the terms whose holders are known."""
    cdef Py_ssize_t at, word
    cdef uint64_t among[WINDOW_WORDS]
    cdef uint64_t room[2][WINDOW_WORDS]
    cdef uint64_t leveled = 0, summary = query.summary, some
    cdef TermWindow *here
    cdef const int *limits
    cdef const uint64_t *shorter
    cdef const uint64_t *typed
    for at in range(query.driver, min(query.term_count, BOUNDED_TERMS)):
        here = at_place(query, at)
        if here.window == query.window and (not here.has_family or hold_typed(query, here, query.window)):
            leveled |= <uint64_t> 1 << at
    if leveled & (leveled - 1) == 0:
        return 0
    limits = levels_of(query, leveled, newest)
    shorter = query.masks.shorter(limits[UNTYPED], query.window, room[0])
    typed = query.masks.shorter(limits[ONCE], query.window, room[1])
    memset(among, 0, ROW_BYTES)
    while summary:
        word = lowest_bit(summary)
        summary &= summary - 1
        among[word] = query.chosen[word]
        some = 0
        for at in range(query.driver, min(query.term_count, BOUNDED_TERMS)):
            if leveled >> at & 1 and at_place(query, at).typed.bits != NULL:
                some |= at_place(query, at).typed.bits[word]
        query.chosen[word] &= shorter[word] | (some & typed[word])
        if not query.chosen[word]:
            query.summary &= ~(<uint64_t> 1 << word)
    for at in range(query.driver, min(query.term_count, BOUNDED_TERMS)):
        if leveled >> at & 1:
            choose_many(query, at_place(query, at), among, limits, query.chosen)
    return 0


cdef inline TermWindow *at_place(QueryState query, Py_ssize_t at) noexcept nogil:
    """Return the data of the windows of the term at a place among the drivers; for the driver, those of its present
    slot."""
    return query.own if at == query.driver else &query.here[query.drivers[at]]
