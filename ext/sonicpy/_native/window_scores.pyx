"""The best objects of a query, window by window and all of its terms at once.

A walk saves the more, the fewer the terms are and the longer their lists. Questions of many words, and words of which no
object holds several, are the other extreme: what the walk compares and looks up costs many times what it saves. Here the
parts of all terms are added up for whole windows of objects, newest first (windows.pxd), in the order of the query's
terms, so the scores are those of the walk, bit for bit.

Most objects are left out before anything is added, by bits (MaxScore, see top_objects.pyx, for a window at a time). The
terms that add least could not bring an object among the best, all together: whoever may be there holds a needed term, one
of the others. And whoever holds a single needed term has to be short.
"""

from libc.math cimport pow
from libc.stdint cimport UINT32_MAX, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, qsort
from libc.string cimport memset

from sonicpy._native.bits cimport lowest_bit
from sonicpy._native.bm25 cimport packed_length, part_of_score
from sonicpy._native.list_lookup cimport look_up, newest_below
from sonicpy._native.memory cimport resized, zeroed
from sonicpy._native.merged_list cimport LOW_BITS, Merged, count_up_to, part_at
from sonicpy._native.query_terms cimport ANY, ONCE, SLACK, Slot, Term
from sonicpy._native.score_bounds cimport BOUNDED_TERMS, LENGTHS, Ranked, by_key
from sonicpy._native.term_windows cimport TermWindow, part_of_window, rewind
from sonicpy._native.top_k cimport CORRECTED, EXACT, FULL, Kind, ScoredObject, collect
from sonicpy._native.windows cimport ROW_BYTES, WINDOW_BITS, WINDOW_OBJECTS, WINDOW_WORDS, highest_bit, tf_of

cdef enum:
    TF_ENDS = 255  # where frequencies that were added up end
    PARTS_WORTH = 512  # objects of a term whose parts are remembered


cdef class WindowScores(WantedBlocks):
    """A query that is answered without a walk."""

    def __dealloc__(self):
        cdef Py_ssize_t number
        free(self._scores)
        if self._rows != NULL:
            for number in range(self._term_count):
                free(self._rows[number].own)
                free(self._rows[number].once)
                free(self._rows[number].slots)
        free(self._rows)
        free(self._by_bound)
        free(self._next)
        free(self._spare)
        free(self._alone)

    cdef int score_windows(self) except -2:
        """Find the best objects; -1: blocks are missing. Nothing has been found before."""
        cdef int64_t window = <int64_t> 1 << 32 - WINDOW_BITS
        begin_windows(self)
        while True:
            window = window_below_needed(self, window)
            if window < 0:
                return 0
            find_needed(self, <uint32_t> (window << WINDOW_BITS | (WINDOW_OBJECTS - 1)))
            if score_window(self, window) < 0:
                return -1

    cdef int64_t window_below(self, TermWindow *here, int64_t below) noexcept nogil:
        """Return the newest window below one that may hold objects of a term, or of the driver's slot; -1: there is none."""
        cdef Py_ssize_t number, end
        cdef int64_t newest = -1
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
            newest = max(newest, newest_below(&self._sources[number], <uint64_t> below << WINDOW_BITS))
        return newest >> WINDOW_BITS if newest >= 0 else -1

    cdef int part_in_slot(self, const Slot *slot, uint32_t iid, double norm, double *part) except -2:
        """Compute the part of an object in the words of a slot; return whether it holds any, or -1: a block is missing.

        Objects are looked up newest first.
        """
        cdef Py_ssize_t number
        cdef uint32_t total = 0, first = 0
        cdef int tf
        for number in range(slot.count):
            tf = look_up(&self._sources[slot.first + number], iid)
            if tf < 0:
                return -1
            total += tf
            if number == 0:
                first = tf
        part[0] = 0.0
        if not total:
            return 0
        part[0] = part_of_slot(slot, total, first, norm, self._k1)
        return 1


cdef int begin_windows(WindowScores query) except -1:
    """Go to the newest window of each term."""
    cdef Py_ssize_t number
    if query._scores == NULL:
        query._scores = <double *> zeroed(WINDOW_OBJECTS, sizeof(double))
        query._rows = <TermRow *> zeroed(query._term_count, sizeof(TermRow))
        query._by_bound = <Py_ssize_t *> zeroed(query._bringing, sizeof(Py_ssize_t))
        query._alone = <Limits *> zeroed(query._bringing, sizeof(Limits))
        query._next = <int64_t *> zeroed(query._term_count, sizeof(int64_t))
        query._spare = <double *> zeroed(LENGTHS, sizeof(double))
    memset(query._scores, 0, WINDOW_OBJECTS * sizeof(double))
    order_by_bound(query)
    for number in range(query._source_count):
        query._sources[number].block = query._sources[number].top = query._sources[number].count - 1
        query._sources[number].next = UINT32_MAX
    for number in range(query._term_count):
        query._here[number].window = query._rows[number].window = -1
        rewind(&query._here[number].merged)
        query._next[number] = <int64_t> 1 << 32 - WINDOW_BITS
    query._needed_from = -1
    query._needs_all = False
    query.forget_limits()
    return 0


cdef int order_by_bound(WindowScores query) except -1:
    """Put the terms that bring objects in order, those that add least first."""
    cdef Ranked *ranked = <Ranked *> zeroed(query._bringing, sizeof(Ranked))
    cdef Py_ssize_t at
    query._best_kind = CORRECTED
    for at in range(query._bringing):
        ranked[at] = Ranked(query._terms[query._drivers[at]].bound, query._drivers[at])
        query._best_kind = min(query._best_kind, query._terms[query._drivers[at]].kind)
    qsort(ranked, query._bringing, sizeof(Ranked), by_key)
    for at in range(query._bringing):
        query._by_bound[at] = ranked[at].number
    free(ranked)
    return 0


cdef inline bint is_wanted(WindowScores query, Kind kind, double score, uint32_t iid) noexcept nogil:
    """Whether an object with at most this score, and at most this IID, can be among the best that will be found."""
    cdef const ScoredObject *floor = &query._floor
    if query._has_floor and (kind > floor.kind or (kind == floor.kind and score < floor.score)):
        return False
    return query.enters(kind, score, iid)


cdef void find_needed(WindowScores query, uint32_t newest) noexcept nogil:
    """Find what objects up to `newest` have to hold to be among the best, and how short they have to be."""
    cdef Py_ssize_t at, before = query._needed_from
    cdef bint is_full = query._top.size == query._top.k
    if before >= 0 and (not is_full or query.is_as_before(newest)):
        return
    query._needs_all = (is_full and query._top.objects[0].kind == FULL) or (
        query._has_floor and query._floor.kind == FULL
    )
    query._needed_from = count_spare(query, newest)
    if query._needed_from != before:
        memset(query._spare, 0xFF, LENGTHS * sizeof(double))  # NaN
        query._together = Limits(LENGTHS, LENGTHS)
        for at in range(query._bringing):
            query._alone[at] = Limits(LENGTHS, LENGTHS)
    query._limits_differ = False
    if (is_full or query._has_floor) and query._bringing <= BOUNDED_TERMS:
        find_all_limits(query, newest)


cdef Py_ssize_t count_spare(WindowScores query, uint32_t newest) noexcept nogil:
    """Return how many terms, those that add least, bring nobody up to `newest` among the best, all of them together."""
    cdef const Term *term
    cdef Py_ssize_t number, at
    cdef Kind kind = CORRECTED
    cdef double weight = 0.0, bound = 0.0
    for number in range(query._bringing, query._term_count):
        bound += query._terms[query._drivers[number]].bound
    for at in range(query._bringing):
        term = &query._terms[query._by_bound[at]]
        kind = min(kind, term.kind)
        weight += term.weight
        bound += term.bound
        if is_wanted(query, kind_of(query, kind, at + 1), bound * share_of(query, weight) * SLACK, newest):
            return at
    return query._bringing


cdef void find_all_limits(WindowScores query, uint32_t newest) noexcept nogil:
    """Find the lengths from which on objects up to `newest` are not among the best."""
    cdef const Term *term
    cdef Py_ssize_t at
    cdef Kind kind = CORRECTED
    cdef double weight = 0.0
    for at in range(query._needed_from):
        kind = min(kind, query._terms[query._by_bound[at]].kind)
        weight += query._terms[query._by_bound[at]].weight
    for at in range(query._needed_from, query._bringing):
        term = &query._terms[query._by_bound[at]]
        find_limits(
            query, at, at + 1, kind_of(query, min(kind, term.kind), query._needed_from + 1),
            share_of(query, weight + term.weight), newest, &query._alone[at],
        )
    find_limits(
        query, query._needed_from, query._bringing, kind_of(query, query._best_kind, query._bringing), 1.0, newest,
        &query._together,
    )


cdef inline Kind kind_of(WindowScores query, Kind kind, Py_ssize_t terms) noexcept nogil:
    """Return the best kind of an object that holds at most so many terms that bring objects."""
    return FULL if query._full_first and terms == query._bringing else kind


cdef inline double share_of(WindowScores query, double weight) noexcept nogil:
    return pow(min(weight / query._total * SLACK, 1.0), query._exponent) if query._total > 0 else 1.0


cdef void find_limits(
    WindowScores query, Py_ssize_t first, Py_ssize_t end, Kind kind, double share, uint32_t newest, Limits *limits
) noexcept nogil:
    """Find the limits of objects that hold no needed term but those from one place to another.

    Args:
        kind, share: the best kind and share that they can have.
        limits: as they were before; they only fall.
    """
    limits.often = find_limit(query, first, end, ANY, kind, share, newest, limits.often)
    limits.once = find_limit(query, first, end, ONCE, kind, share, newest, min(limits.once, limits.often))
    query._limits_differ |= limits.once < limits.often


cdef int find_limit(
    WindowScores query, Py_ssize_t first, Py_ssize_t end, int level, Kind kind, double share, uint32_t newest, int high
) noexcept nogil:
    cdef int low = 0, middle
    cdef Py_ssize_t at
    cdef double bound
    while low < high:
        middle = (low + high) // 2
        bound = spare_at_most(query, middle)
        for at in range(first, end):
            bound += query.part_at_most(query._by_bound[at], level, <uint8_t> middle)
        if is_wanted(query, kind, bound * share * SLACK, newest):
            low = middle + 1
        else:
            high = middle
    return low


cdef double spare_at_most(WindowScores query, int packed) noexcept nogil:
    """Return the most that the terms that are not needed add to an object that is not shorter."""
    cdef Py_ssize_t at
    cdef double most = query._spare[packed]
    if most != most:
        most = 0.0
        for at in range(query._bringing, query._term_count):
            most += query.part_at_most(query._drivers[at], ANY, <uint8_t> packed)
        for at in range(query._needed_from):
            most += query.part_at_most(query._by_bound[at], ANY, <uint8_t> packed)
        query._spare[packed] = most
    return most


cdef int64_t window_below_needed(WindowScores query, int64_t window) noexcept nogil:
    """Return the newest window below one that may hold objects of a needed term; -1: there is none."""
    cdef Py_ssize_t at
    cdef int64_t newest = -1
    for at in range(max(query._needed_from, 0), query._bringing):
        newest = max(newest, next_window(query, query._by_bound[at], window))
    return newest


cdef int64_t next_window(WindowScores query, Py_ssize_t number, int64_t below) noexcept nogil:
    """Return the same of one term."""
    if query._next[number] >= below:
        query._next[number] = query.window_below(&query._here[number], below)
    return query._next[number]


cdef int choose_among(WindowScores query, int64_t window) except -2:
    """Choose the objects of a window that may be among the best; return whether there are any, -1: blocks are missing."""
    cdef Py_ssize_t at, number, word
    cdef uint64_t some[WINDOW_WORDS]
    cdef uint64_t often[WINDOW_WORDS]
    cdef uint64_t bit, words
    cdef const TermRow *row
    memset(some, 0, ROW_BYTES)  # who holds a needed term
    memset(often, 0, ROW_BYTES)  # who holds one more than once
    memset(query._among, 0, ROW_BYTES)  # who holds several
    for at in range(query._needed_from, query._bringing):
        number = query._by_bound[at]
        if next_window(query, number, window + 1) < window:
            continue
        if not find_row(query, number, window):
            return -1
        row = &query._rows[number]
        if row.bits == row.own:
            words = row.words
            while words:
                word = lowest_bit(words)
                words &= words - 1
                query._among[word] |= some[word] & row.own[word]
                some[word] |= row.own[word]
        else:
            for word in range(WINDOW_WORDS):
                query._among[word] |= some[word] & row.bits[word]
                some[word] |= row.bits[word]
        if query._limits_differ:
            mark_often(query, number, often)
    if query._together.often < LENGTHS:
        keep_short(query, &query._together, window, often)
    for at in range(query._needed_from, query._bringing):
        number = query._by_bound[at]
        if query._rows[number].window == window and query._alone[at].often:
            add_short(query, &query._alone[at], window, often, &query._rows[number])
    for number in range(query._term_count):
        if query._terms[number].required or (query._needs_all and query._terms[number].brings):
            if next_window(query, number, window + 1) < window:
                return 0
            if not find_row(query, number, window):
                return -1
            for word in range(WINDOW_WORDS):
                query._among[word] &= query._rows[number].bits[word]
    query._among_words = 0
    for word in range(WINDOW_WORDS):
        bit = query._among[word] != 0
        query._among_words |= bit << word
    return query._among_words != 0


cdef void mark_often(WindowScores query, Py_ssize_t number, uint64_t *often) noexcept nogil:
    """Set the bits of those who hold a term more than once, unless all of them are too long."""
    cdef const TermWindow *here = &query._here[number]
    cdef const TermRow *row = &query._rows[number]
    cdef const Merged *merged = here.merged.list
    cdef Py_ssize_t at
    cdef uint32_t place
    if merged != NULL:
        for at in range(row.start, row.end):
            if merged.tfs[at] > 1:
                place = merged.lows[at] & (WINDOW_OBJECTS - 1)
                often[place >> 6] |= <uint64_t> 1 << (place & 63)
    elif row.window >= here.window_count or here.extremes[row.window].shortest[1] < query._together.often:
        for at in range(here.held.many):
            place = here.held.places[at]
            often[place >> 6] |= <uint64_t> 1 << (place & 63)


cdef int keep_short(WindowScores query, const Limits *limits, int64_t window, const uint64_t *often) except -1:
    """Drop the chosen objects that are too long for how often they hold needed terms."""
    cdef uint64_t room[2][WINDOW_WORDS]
    cdef const uint64_t *short_enough = query._masks.shorter(limits.often, window, room[0])
    cdef const uint64_t *shorter = query._masks.shorter(limits.once, window, room[1])
    cdef Py_ssize_t word
    for word in range(WINDOW_WORDS):
        query._among[word] &= shorter[word] | (short_enough[word] & often[word])
    return 0


cdef int add_short(
    WindowScores query, const Limits *limits, int64_t window, const uint64_t *often, const TermRow *row
) except -1:
    """Choose those who hold a term and are short enough for how often they do."""
    cdef uint64_t room[2][WINDOW_WORDS]
    cdef const uint64_t *short_enough = query._masks.shorter(limits.often, window, room[0])
    cdef const uint64_t *shorter = query._masks.shorter(limits.once, window, room[1])
    cdef uint64_t words = row.words
    cdef Py_ssize_t word
    if row.bits == row.own:
        while words:
            word = lowest_bit(words)
            words &= words - 1
            query._among[word] |= row.own[word] & (shorter[word] | (short_enough[word] & often[word]))
    else:
        for word in range(WINDOW_WORDS):
            query._among[word] |= row.bits[word] & (shorter[word] | (short_enough[word] & often[word]))
    return 0


cdef int find_row(WindowScores query, Py_ssize_t number, int64_t window) except -2:
    """Find who holds a term in a window; 0: blocks are missing."""
    cdef TermWindow *here = &query._here[number]
    cdef TermRow *row = &query._rows[number]
    cdef const Merged *merged = here.merged.list
    cdef uint32_t place
    cdef Py_ssize_t start, at
    if row.window == window:
        return 1
    if merged == NULL:
        if not query.hold_window(here, window):
            return 0
        row.bits = here.held.bits
    else:
        if row.own == NULL:
            row.own = <uint64_t *> zeroed(WINDOW_WORDS, sizeof(uint64_t))
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


# -- what they score ---------------------------------------------------------------------------------------------------


cdef int score_window(WindowScores query, int64_t window) except -2:
    """Score the objects of a window, all newer ones of which were scored; -1: blocks are missing."""
    cdef Py_ssize_t number, word, place
    cdef uint64_t words, left
    cdef int found = choose_among(query, window)
    if found <= 0:
        return found
    for number in range(query._term_count):
        if next_window(query, number, window + 1) == window and add_term(query, number, window) < 0:
            return -1
    words = query._among_words
    while words:
        word = highest_bit(words)
        words &= ~(<uint64_t> 1 << word)
        left = query._among[word]
        while left:
            place = word << 6 | highest_bit(left)
            left &= ~(<uint64_t> 1 << (place & 63))
            collect_scored(query, query._scores[place], window, <uint32_t> place)
            query._scores[place] = 0.0
    return 0


cdef int add_term(WindowScores query, Py_ssize_t number, int64_t window) except -2:
    """Add the parts of those chosen who hold a term; -1: blocks are missing."""
    cdef const Term *term = &query._terms[number]
    if not find_row(query, number, window):
        return -1
    if term.count > 1:
        return add_slots(query, number, <uint32_t> (window << WINDOW_BITS))
    if query._rows[number].once == NULL and term.df > PARTS_WORTH:
        query._rows[number].once = <double *> resized(NULL, 2 * LENGTHS * sizeof(double))
        memset(query._rows[number].once, 0xFF, 2 * LENGTHS * sizeof(double))  # NaN
    if query._here[number].merged.list != NULL:
        return add_merged(query, number, <uint32_t> (window << WINDOW_BITS))
    return add_held(query, number, window)


cdef inline double part_of_once(WindowScores query, Py_ssize_t number, bint is_typed, uint32_t iid) noexcept nogil:
    """Return the part of an object that holds a term once; that of a common term is remembered by the object's length."""
    cdef uint8_t packed = packed_length(&query._packed, iid)
    cdef const Slot *slot = &query._slots[query._terms[number].first]
    cdef double *once = query._rows[number].once
    if once == NULL:
        return part_of_slot(slot, 1, is_typed, query._norms[packed], query._k1)
    once += packed + (LENGTHS if is_typed else 0)
    if once[0] != once[0]:
        once[0] = part_of_slot(slot, 1, is_typed, query._norms[packed], query._k1)
    return once[0]


cdef int add_merged(WindowScores query, Py_ssize_t number, uint32_t first) except -2:
    """Add the parts of a term whose postings were put together."""
    cdef TermRow *row = &query._rows[number]
    cdef const Merged *merged = query._here[number].merged.list
    cdef const uint8_t *typed = query._here[number].merged.typed
    cdef Py_ssize_t at
    cdef uint32_t place
    if typed == NULL:
        typed = merged.tfs
    for at in range(row.end - 1, row.start - 1, -1):
        place = merged.lows[at] & (WINDOW_OBJECTS - 1)
        if query._among[place >> 6] >> (place & 63) & 1:
            if merged.tfs[at] == 1:
                query._scores[place] += part_of_once(query, number, typed[at] != 0, first | place)
            elif add_many(query, number, first | place, merged.tfs[at], typed[at]) < 0:
                return -1
    return 0


cdef int add_held(WindowScores query, Py_ssize_t number, int64_t window) except -2:
    """Add the parts of a term whose holders were gathered."""
    cdef TermRow *row = &query._rows[number]
    cdef TermWindow *here = &query._here[number]
    cdef uint32_t first = <uint32_t> (window << WINDOW_BITS), place
    cdef uint64_t twice[WINDOW_WORDS]
    cdef uint64_t words, left, typed
    cdef const uint64_t *holds_typed = here.held.bits
    cdef Py_ssize_t word, at
    cdef int tf
    if here.has_family and query._slots[query._terms[number].first].exact_weight != 0.0:
        if not query.hold_typed(here, window):
            return -1
        holds_typed = here.typed.bits
    memset(twice, 0, ROW_BYTES)
    for at in range(here.held.many - 1, -1, -1):
        place, tf = here.held.places[at], here.held.tfs[at]
        twice[place >> 6] |= <uint64_t> 1 << (place & 63)
        if query._among[place >> 6] >> (place & 63) & 1:
            if add_many(
                query, number, first | place, tf, tf if holds_typed == here.held.bits else tf_of(&here.typed, place)
            ) < 0:
                return -1
    words = here.held.summary & query._among_words
    while words:
        word = lowest_bit(words)
        words &= words - 1
        left = here.held.bits[word] & query._among[word] & ~twice[word]
        typed = holds_typed[word]
        while left:
            at = lowest_bit(left)
            left &= left - 1
            place = <uint32_t> (word << 6 | at)
            query._scores[place] += part_of_once(query, number, typed >> at & 1, first | place)
    return 0


cdef int add_many(WindowScores query, Py_ssize_t number, uint32_t iid, uint32_t tf, uint32_t typed) except -2:
    """Add the part of one who holds a term more than once. Those of a term come newest first."""
    cdef const Slot *slot = &query._slots[query._terms[number].first]
    cdef double norm = query._norms[packed_length(&query._packed, iid)], part = 0.0
    if tf < TF_ENDS:
        part = part_of_slot(slot, tf, typed, norm, query._k1)
    elif query.part_in_slot(slot, iid, norm, &part) < 0:
        return -1
    query._scores[iid & (WINDOW_OBJECTS - 1)] += part
    return 0


cdef int add_slots(WindowScores query, Py_ssize_t number, uint32_t first) except -2:
    """Add the parts of those chosen who hold a term of several slots: each gets that of the first one it holds."""
    cdef const Term *term = &query._terms[number]
    cdef TermRow *row = &query._rows[number]
    cdef uint64_t words = query._among_words, left
    cdef Py_ssize_t word, at
    cdef uint32_t place
    cdef double part = 0.0
    cdef int held
    if row.slots == NULL:
        row.slots = <uint16_t *> resized(NULL, WINDOW_OBJECTS * sizeof(uint16_t))
    while words:
        word = highest_bit(words)
        words &= ~(<uint64_t> 1 << word)
        left = row.bits[word] & query._among[word]
        while left:
            place = <uint32_t> (word << 6 | highest_bit(left))
            left &= ~(<uint64_t> 1 << (place & 63))
            for at in range(term.count):
                held = query.part_in_slot(
                    &query._slots[term.first + at], first | place,
                    query._norms[packed_length(&query._packed, first | place)], &part
                )
                if held < 0:
                    return -1
                if held:
                    query._scores[place] += part
                    row.slots[place] = <uint16_t> at
                    break
    return 0


cdef inline void collect_scored(WindowScores query, double score, int64_t window, uint32_t place) noexcept nogil:
    """Put an object among the best, if it is: newer ones were put there before."""
    cdef uint32_t iid = <uint32_t> (window << WINDOW_BITS | place)
    cdef Py_ssize_t number, exact = 0
    cdef double matched = 0.0
    cdef Kind kind = CORRECTED
    cdef const Term *term
    cdef const Slot *slot
    if not query._full_first and not is_wanted(query, query._best_kind, score, iid):
        return
    for number in range(query._term_count):
        term = &query._terms[number]
        if not term.brings or query._rows[number].window != window:
            continue
        if query._rows[number].bits[place >> 6] >> (place & 63) & 1:
            slot = &query._slots[term.first + (query._rows[number].slots[place] if term.count > 1 else 0)]
            matched += query.weight_of(term, slot)
            kind = min(kind, slot.kind)
            exact += slot.kind == EXACT
    if query._total > 0:
        if query._full_first and exact == query._bringing:
            kind = FULL
        else:
            score *= pow(matched / query._total, query._exponent)
    if query.enters(kind, score, iid):
        collect(&query._top, iid, kind, score, UINT32_MAX - iid)


cdef inline double part_of_slot(const Slot *slot, uint32_t tf, uint32_t typed, double norm, double k1) noexcept nogil:
    """Return what an object's score gains from a slot.

    Args:
        tf: how often the object holds the words of the slot.
        typed: how often it holds the one that was typed.
    """
    cdef double part = part_of_score(slot.weight, tf, norm, k1)
    if slot.exact_weight != 0.0 and typed:
        part += part_of_score(slot.exact_weight, typed, norm, k1)
    return part
