"""Chooses the objects of a window that may be among the best, for the strategy that adds up all terms window by window.

Most objects are excluded by bits before anything is added up (MaxScore, see walk.pyx, for a window at a time). The
spare terms, which add least, cannot bring an object among the best even together: so an object among the best holds at
least one of the other, needed terms. An object that holds only one of these has to be short.
"""

from libc.math cimport pow
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from sonicpy._native.admitted cimport kept_bits
from sonicpy._native.bits cimport lowest_bit
from sonicpy._native.length_masks cimport MASKS
from sonicpy._native.merged_list cimport Merged
from sonicpy._native.plan cimport R_BRINGS, R_FORBIDDEN, R_REQUIRED
from sonicpy._native.query_state cimport (
    ANY,
    BOUNDED_TERMS,
    LENGTHS,
    ONCE,
    SLACK,
    Limits,
    QueryState,
    Term,
    TermRow,
    TermWindow,
    block_of,
)
from sonicpy._native.score_bounds cimport is_as_before
from sonicpy._native.slot_scores cimport part_at_most
from sonicpy._native.term_windows cimport hold_window, part_of_window, window_below
from sonicpy._native.top_k cimport CORRECTED, FULL, Kind
from sonicpy._native.windows cimport ROW_BYTES, WINDOW_BITS, WINDOW_OBJECTS, WINDOW_WORDS


cdef void find_needed(QueryState query, uint32_t newest) noexcept nogil:
    """Find the terms that objects up to `newest` need to be among the best, and the limits of their lengths."""
    cdef Py_ssize_t at, before = query.needed_from
    cdef bint is_full = query.top.size == query.top.k
    if before >= 0 and (not is_full or is_as_before(query, newest)):
        return
    query.needs_all = query.wants_full or (is_full and query.top.objects[0].kind == FULL) or (
        query.has_floor and query.floor.kind == FULL
    )
    query.needed_from = count_spare(query, newest)
    if query.needed_from != before:
        memset(query.spare, 0xFF, LENGTHS * sizeof(double))  # NaN
        query.together = Limits(LENGTHS, LENGTHS)
        for at in range(query.bringing):
            query.alone[at] = Limits(LENGTHS, LENGTHS)
    query.limits_differ = False
    if (is_full or query.has_floor) and query.bringing <= BOUNDED_TERMS:
        find_all_limits(query, newest)


cdef Py_ssize_t count_spare(QueryState query, uint32_t newest) noexcept nogil:
    """Return the number of spare terms: those that add least, and alone bring no object up to `newest` among the
    best."""
    cdef const Term *term
    cdef Py_ssize_t number, at
    cdef Kind kind = CORRECTED
    cdef double weight = 0.0, bound = 0.0
    for number in range(query.term_count):
        if not query.terms[number].role & R_BRINGS:
            bound += query.terms[number].bound
    for at in range(query.bringing):
        term = &query.terms[query.by_bound[at]]
        kind = min(kind, term.kind)
        weight += term.weight
        bound += term.bound
        if is_wanted(query, kind_of(query, kind, at + 1), bound * share_of(query, weight) * SLACK, newest):
            return at
    return query.bringing


cdef void find_all_limits(QueryState query, uint32_t newest) noexcept nogil:
    """Find the lengths from which on objects up to `newest` cannot be among the best."""
    cdef const Term *term
    cdef Py_ssize_t at
    cdef Kind kind = CORRECTED
    cdef double weight = 0.0
    for at in range(query.needed_from):
        kind = min(kind, query.terms[query.by_bound[at]].kind)
        weight += query.terms[query.by_bound[at]].weight
    for at in range(query.needed_from, query.bringing):
        term = &query.terms[query.by_bound[at]]
        find_limits_of(
            query, at, at + 1, kind_of(query, min(kind, term.kind), query.needed_from + 1),
            share_of(query, weight + term.weight), newest, &query.alone[at],
        )
    find_limits_of(
        query, query.needed_from, query.bringing, kind_of(query, query.best_kind, query.bringing), 1.0, newest,
        &query.together,
    )


cdef inline Kind kind_of(QueryState query, Kind kind, Py_ssize_t terms) noexcept nogil:
    """Return the best kind of an object that holds at most `terms` of the terms that bring objects."""
    return FULL if query.full_first and terms == query.bringing else kind


cdef inline double share_of(QueryState query, double weight) noexcept nogil:
    return pow(min(weight / query.total * SLACK, 1.0), query.exponent) if query.total > 0 else 1.0


cdef void find_limits_of(
    QueryState query, Py_ssize_t first, Py_ssize_t end, Kind kind, double share, uint32_t newest, Limits *limits
) noexcept nogil:
    """Find the limits of the lengths of objects that hold, of the needed terms, only those from `first` to `end`.

    Args:
        kind, share: the best kind and share that these objects can have.
        limits: the earlier limits; they only fall.
    """
    limits.often = find_limit(query, first, end, ANY, kind, share, newest, limits.often)
    limits.once = find_limit(query, first, end, ONCE, kind, share, newest, min(limits.once, limits.often))
    query.limits_differ |= limits.once < limits.often


cdef int find_limit(
    QueryState query, Py_ssize_t first, Py_ssize_t end, int level, Kind kind, double share, uint32_t newest, int high
) noexcept nogil:
    cdef int low = 0, middle = MASKS - 1
    cdef Py_ssize_t at
    cdef double bound
    while low < high:
        if high < MASKS:
            middle = (low + high) // 2
        bound = spare_at_most(query, middle)
        for at in range(first, end):
            bound += part_at_most(query, query.by_bound[at], level, <uint8_t> middle)
        if not is_wanted(query, kind, bound * share * SLACK, newest):
            high = middle
        elif high < MASKS:
            low = middle + 1
        else:
            return high  # no mask is for longer objects
    return high


cdef double spare_at_most(QueryState query, int packed) noexcept nogil:
    """Return the largest sum of the parts of the spare terms in the score of an object with at least a packed
    length."""
    cdef Py_ssize_t at
    cdef double most = query.spare[packed]
    if most != most:
        most = 0.0
        for at in range(query.term_count):
            if not query.terms[at].role & R_BRINGS:
                most += part_at_most(query, at, ANY, <uint8_t> packed)
        for at in range(query.needed_from):
            most += part_at_most(query, query.by_bound[at], ANY, <uint8_t> packed)
        query.spare[packed] = most
    return most


cdef int64_t window_below_needed(QueryState query, int64_t window) noexcept nogil:
    """Return the newest window before `window` that may have objects with a needed term and all required terms; -1:
    there is none."""
    cdef Py_ssize_t at
    cdef int64_t newest = -1
    for at in range(max(query.needed_from, 0), query.bringing):
        newest = max(newest, next_window(query, query.by_bound[at], window))
    for at in range(query.leading):
        if query.terms[query.drivers[at]].role & R_REQUIRED:
            newest = min(newest, next_window(query, query.drivers[at], window))
    return newest


cdef int64_t next_window(QueryState query, Py_ssize_t number, int64_t below) noexcept nogil:
    """Return the next window below `below` with an object of a term."""
    if query.next[number] >= below:
        query.next[number] = window_below(query, &query.here[number], below)
    return query.next[number]


cdef int choose_among(QueryState query, int64_t window) except -2:
    """Choose the objects of a window that may be among the best; return 1 if there are any, else 0; -1: blocks are
    missing."""
    cdef Py_ssize_t number, word
    cdef uint64_t bit
    cdef int role, found
    cdef bint of_all = query.needs_all and query.bringing > 1
    if query.mask is not None and not query.mask.may(window):
        return 0
    found = choose_of_all(query, window) if of_all else choose_by_bounds(query, window)
    if found <= 0:
        return found
    for number in range(query.term_count):
        role = query.terms[number].role
        if role & R_BRINGS and query.needs_all:
            if of_all:
                continue
            role |= R_REQUIRED
        if not role & (R_REQUIRED | R_FORBIDDEN):
            continue
        if next_window(query, number, window + 1) < window:
            if role & R_REQUIRED:
                return 0
            continue
        if not find_row(query, number, window):
            return -1
        for word in range(WINDOW_WORDS):
            query.among[word] &= kept_bits(role, query.held_rows[number].bits[word])
    if query.mask is not None:
        query.mask.narrow(window, query.among)
    query.among_words = 0
    for word in range(WINDOW_WORDS):
        bit = query.among[word] != 0
        query.among_words |= bit << word
    return query.among_words != 0


cdef int choose_of_all(QueryState query, int64_t window) except -2:
    """Choose the objects of a window that hold all terms that bring objects, and are not too long; return as
    `choose_among` does."""
    cdef Py_ssize_t at, number, word, count = 0
    cdef uint64_t often[WINDOW_WORDS]
    cdef uint64_t some
    cdef const uint64_t *bits
    for at in range(query.bringing):
        if next_window(query, query.by_bound[at], window + 1) < window:
            return 0
    for at in range(query.bringing - 1, -1, -1):  # those that add most are the rarest
        number = query.by_bound[at]
        if not find_row(query, number, window):
            return -1
        bits = query.held_rows[number].bits
        if not count:
            memcpy(query.among, bits, ROW_BYTES)
        else:
            some = 0
            for word in range(WINDOW_WORDS):
                query.among[word] &= bits[word]
                some |= query.among[word]
            if not some:
                return 0
        count += 1
    if query.together.often < LENGTHS:
        memset(often, 0, ROW_BYTES)
        if query.limits_differ:
            for at in range(query.needed_from, query.bringing):
                mark_often(query, query.by_bound[at], often)
        keep_short(query, &query.together, window, often)
    return 1


cdef int choose_by_bounds(QueryState query, int64_t window) except -2:
    """Choose the objects of a window that hold needed terms, and are not too long; return as `choose_among` does."""
    cdef Py_ssize_t at, number, word
    cdef uint64_t some[WINDOW_WORDS]
    cdef uint64_t often[WINDOW_WORDS]
    cdef uint64_t words
    cdef const TermRow *row
    memset(some, 0, ROW_BYTES)  # the objects with a needed term
    memset(often, 0, ROW_BYTES)  # the objects that hold one more than once
    memset(query.among, 0, ROW_BYTES)  # the objects that hold several
    for at in range(query.needed_from, query.bringing):
        number = query.by_bound[at]
        if next_window(query, number, window + 1) < window:
            continue
        if not find_row(query, number, window):
            return -1
        row = &query.held_rows[number]
        if row.bits == row.own:
            words = row.words
            while words:
                word = lowest_bit(words)
                words &= words - 1
                query.among[word] |= some[word] & row.own[word]
                some[word] |= row.own[word]
        else:
            for word in range(WINDOW_WORDS):
                query.among[word] |= some[word] & row.bits[word]
                some[word] |= row.bits[word]
        if query.limits_differ:
            mark_often(query, number, often)
    if query.together.often < LENGTHS:
        keep_short(query, &query.together, window, often)
    for at in range(query.needed_from, query.bringing):
        number = query.by_bound[at]
        if query.held_rows[number].window == window and query.alone[at].often:
            add_short(query, &query.alone[at], window, often, &query.held_rows[number])
    return 1


cdef void mark_often(QueryState query, Py_ssize_t number, uint64_t *often) noexcept nogil:
    """Set the bits of the objects that hold a term more than once, unless all of them are too long."""
    cdef const TermWindow *here = &query.here[number]
    cdef const TermRow *row = &query.held_rows[number]
    cdef const Merged *merged = here.merged.list
    cdef Py_ssize_t at
    cdef uint32_t place
    if merged != NULL:
        for at in range(row.start, row.end):
            if merged.tfs[at] > 1:
                place = merged.lows[at] & (WINDOW_OBJECTS - 1)
                often[place >> 6] |= <uint64_t> 1 << (place & 63)
    elif row.window >= here.window_count or here.extremes[row.window].shortest[1] < query.together.often:
        for at in range(here.held.many):
            place = here.held.places[at]
            often[place >> 6] |= <uint64_t> 1 << (place & 63)


cdef int keep_short(QueryState query, const Limits *limits, int64_t window, const uint64_t *often) except -1:
    """Drop the chosen objects that are too long for their frequencies of needed terms.

    Args:
        often: the objects that hold a needed term more than once, as bits.
    """
    cdef uint64_t room[2][WINDOW_WORDS]
    cdef const uint64_t *short_enough = query.masks.shorter(limits.often, window, room[0])
    cdef const uint64_t *shorter = query.masks.shorter(limits.once, window, room[1])
    cdef Py_ssize_t word
    for word in range(WINDOW_WORDS):
        query.among[word] &= shorter[word] | (short_enough[word] & often[word])
    return 0


cdef int add_short(
    QueryState query, const Limits *limits, int64_t window, const uint64_t *often, const TermRow *row
) except -1:
    """Choose the objects that hold a term and are short enough for its frequency."""
    cdef uint64_t room[2][WINDOW_WORDS]
    cdef const uint64_t *short_enough = query.masks.shorter(limits.often, window, room[0])
    cdef const uint64_t *shorter = query.masks.shorter(limits.once, window, room[1])
    cdef uint64_t words = row.words
    cdef Py_ssize_t word
    if row.bits == row.own:
        while words:
            word = lowest_bit(words)
            words &= words - 1
            query.among[word] |= row.own[word] & (shorter[word] | (short_enough[word] & often[word]))
    else:
        for word in range(WINDOW_WORDS):
            query.among[word] |= row.bits[word] & (shorter[word] | (short_enough[word] & often[word]))
    return 0


cdef int find_row(QueryState query, Py_ssize_t number, int64_t window) except -2:
    """Find the objects of a window that hold a term; return 0 if blocks are missing."""
    cdef TermWindow *here = &query.here[number]
    cdef TermRow *row = &query.held_rows[number]
    cdef const Merged *merged = here.merged.list
    cdef uint32_t place
    cdef Py_ssize_t start, at
    if row.window == window:
        return 1
    if merged == NULL:
        if not hold_window(query, here, window):
            return 0
        row.bits = here.held.bits
    else:
        if row.own == NULL:
            row.own = <uint64_t *> block_of(query, WINDOW_WORDS, sizeof(uint64_t))
        while row.words:
            row.own[lowest_bit(row.words)] = 0
            row.words &= row.words - 1
        start = part_of_window(merged, window, &here.merged.window_end)
        row.end = at = here.merged.window_end
        while at > start and merged.lows[at - 1] >= <uint16_t> (window << WINDOW_BITS):
            at -= 1
            place = merged.lows[at] & (WINDOW_OBJECTS - 1)
            row.own[place >> 6] |= <uint64_t> 1 << (place & 63)
            row.words |= <uint64_t> 1 << (place >> 6)
        row.start = here.merged.window_end = at
        row.bits = row.own
    row.window = window
    return 1
