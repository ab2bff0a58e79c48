"""Finds the best objects of a query by adding up all of its terms window by window.

A walk saves most with few terms and long lists. For queries of many words, or of words that rarely occur together, the
comparisons and look-ups of a walk cost many times more than they save. This strategy adds up the parts of all terms for
whole windows of objects, newest first (windows.pxd), in the order of the query's terms, so the scores are those of the
walk, bit for bit. Before that, window_choice.pyx excludes most objects.
"""

from libc.math cimport INFINITY, pow
from libc.stdint cimport UINT32_MAX, UINT64_MAX, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, qsort
from libc.string cimport memset

from sonicpy._native.bits cimport count_bits, lowest_bit
from sonicpy._native.bm25 cimport PackedLengths, packed_length
from sonicpy._native.list_lookup cimport Source, has_window, is_read, put_all_postings
from sonicpy._native.memory cimport resized
from sonicpy._native.merged_list cimport Merged
from sonicpy._native.object_scores cimport part_in_slot
from sonicpy._native.plan cimport R_BRINGS, R_FORBIDDEN
from sonicpy._native.query_state cimport (
    LENGTHS,
    SHARED_WEIGHTS,
    SLACK,
    Limits,
    QueryState,
    Ranked,
    Slot,
    Term,
    TermRow,
    TermWindow,
    block_of,
    enters,
)
from sonicpy._native.score_bounds cimport by_key, forget_limits
from sonicpy._native.slot_scores cimport part_of_once, part_of_slot, weight_of
from sonicpy._native.term_windows cimport hold_typed, rewind_all
from sonicpy._native.top_k cimport CORRECTED, EXACT, FULL, Kind, collect
from sonicpy._native.window_choice cimport (
    choose_among,
    find_needed,
    find_row,
    is_wanted,
    next_window,
    window_below_needed,
)
from sonicpy._native.windows cimport (
    ROW_BYTES,
    WINDOW_BITS,
    WINDOW_OBJECTS,
    WINDOW_WORDS,
    Gathered,
    clear,
    gather_all,
    highest_bit,
    tf_of,
)

cdef enum:
    TF_ENDS = 255  # where frequencies that were added up end
    PARTS_WORTH = 512  # objects of a term whose parts are remembered
    GATHERED_MIN = 6  # chosen objects for which the holders of slots are gathered, at least
    GATHERED_WORTH = 8  # postings of a term that are gathered for each chosen object, at most


cdef int score_windows(QueryState query) except -2:
    """Find the best objects; nothing must have been found before. Return -1 if blocks are missing."""
    cdef int64_t window = <int64_t> 1 << 32 - WINDOW_BITS
    begin_windows(query)
    while True:
        window = window_below_needed(query, window)
        if window < 0:
            return 0
        find_needed(query, <uint32_t> (window << WINDOW_BITS | (WINDOW_OBJECTS - 1)))
        if score_window(query, window) < 0:
            return -1


cdef int begin_windows(QueryState query) except -1:
    """Go to the newest window of each term."""
    cdef Py_ssize_t number
    if query.held_rows == NULL:
        query.held_rows = <TermRow *> block_of(query, query.term_count, sizeof(TermRow))
        query.by_bound = <Py_ssize_t *> block_of(query, query.bringing, sizeof(Py_ssize_t))
        query.alone = <Limits *> block_of(query, query.bringing, sizeof(Limits))
        query.next = <int64_t *> block_of(query, query.term_count, sizeof(int64_t))
    memset(query.shared, 0xFF, SHARED_WEIGHTS * sizeof(double))  # NaN
    order_by_bound(query)
    query.lacking = highest_share_lacking(query)
    rewind_all(query)
    for number in range(query.term_count):
        query.held_rows[number].window = -1
        query.next[number] = <int64_t> 1 << 32 - WINDOW_BITS
    query.needed_from = -1
    query.needs_all = False
    forget_limits(query)
    return 0


cdef int order_by_bound(QueryState query) except -1:
    """Sort the terms that bring objects, those that add least first."""
    cdef Ranked *ranked = <Ranked *> block_of(query, query.bringing, sizeof(Ranked))
    cdef Py_ssize_t at, number, count = 0
    query.best_kind = CORRECTED
    for at in range(query.term_count):
        number = query.drivers[at]
        if query.terms[number].role & R_BRINGS:
            ranked[count] = Ranked(query.terms[number].bound, number)
            query.best_kind = min(query.best_kind, query.terms[number].kind)
            count += 1
    qsort(ranked, query.bringing, sizeof(Ranked), by_key)
    for at in range(query.bringing):
        query.by_bound[at] = ranked[at].number
    return 0


cdef double highest_share_lacking(QueryState query) noexcept nogil:
    """Return the highest factor of an object that lacks at least one of the terms that bring objects."""
    cdef const Term *term
    cdef Py_ssize_t number, at
    cdef double most, least = INFINITY, matched = 0.0
    if query.total <= 0:
        return 1.0
    for number in range(query.term_count):
        term = &query.terms[number]
        if term.role & R_BRINGS:
            most = term.weight
            for at in range(term.first, term.first + term.count):
                most = max(most, weight_of(term, &query.slots[at]))
            if most >= least:  # the smallest is left out: so nothing has to be taken away from a sum
                matched += most
            else:
                if least != INFINITY:
                    matched += least
                least = most
    return pow(min(matched / query.total * SLACK, 1.0), query.exponent) * SLACK


cdef int score_window(QueryState query, int64_t window) except -2:
    """Score the objects of a window, after all newer windows; return -1 if blocks are missing."""
    cdef Py_ssize_t number, word
    cdef uint64_t words, whole
    cdef int found = choose_among(query, window)
    if found <= 0:
        return found
    words = query.among_words
    while words:
        word = lowest_bit(words)
        words &= words - 1
        memset(&query.scores[word << 6], 0, 64 * sizeof(double))
    for number in range(query.term_count):
        if query.terms[number].role & R_FORBIDDEN:
            continue
        if next_window(query, number, window + 1) == window and add_term(query, number, window) < 0:
            return -1
    words = query.among_words
    while words:
        word = highest_bit(words)
        words &= ~(<uint64_t> 1 << word)
        whole = holders_of_all(query, window, word)
        collect_all(query, window, word, query.among[word] & whole, FULL if query.full_first else query.best_kind, 1.0)
        if query.needs_all or (query.top.size == query.top.k and query.top.objects[0].kind < query.best_kind):
            continue
        collect_all(query, window, word, query.among[word] & ~whole, query.best_kind, query.lacking)
    return 0


cdef inline void collect_all(
    QueryState query, int64_t window, Py_ssize_t word, uint64_t left, Kind kind, double factor
) noexcept nogil:
    """Add those of 64 scored objects to the best that are good enough, newest first.

    Args:
        left: the objects, as bits.
        kind, factor: the best kind that these objects can have, and the highest factor of their scores.
    """
    cdef uint32_t first = <uint32_t> (window << WINDOW_BITS | word << 6)
    cdef const double *scores = &query.scores[word << 6]
    cdef Py_ssize_t place
    while left:
        place = highest_bit(left)
        left ^= <uint64_t> 1 << place
        if is_wanted(query, kind, scores[place] * factor, first | <uint32_t> place):
            collect_scored(query, scores[place], window, <uint32_t> (word << 6 | place))


cdef inline uint64_t holders_of_all(QueryState query, int64_t window, Py_ssize_t word) noexcept nogil:
    """Return, as bits, which of 64 objects of a window hold all terms that bring objects, each in any slot."""
    cdef Py_ssize_t number
    cdef uint64_t whole = UINT64_MAX
    for number in range(query.term_count):
        if query.terms[number].role & R_BRINGS:
            if query.held_rows[number].window != window:
                return 0
            whole &= query.held_rows[number].bits[word]
    return whole


cdef int add_term(QueryState query, Py_ssize_t number, int64_t window) except -2:
    """Add the parts of a term to the scores of the chosen objects that hold it; return -1 if blocks are missing."""
    cdef const Term *term = &query.terms[number]
    if not find_row(query, number, window):
        return -1
    if term.count > 1:
        return add_slots(query, number, <uint32_t> (window << WINDOW_BITS))
    if query.held_rows[number].once == NULL and term.df > PARTS_WORTH:
        query.held_rows[number].once = <double *> resized(NULL, 2 * LENGTHS * sizeof(double))
        memset(query.held_rows[number].once, 0xFF, 2 * LENGTHS * sizeof(double))  # NaN
    if query.here[number].merged.list != NULL:
        return add_merged(query, number, <uint32_t> (window << WINDOW_BITS))
    return add_held(query, number, window)


cdef int add_merged(QueryState query, Py_ssize_t number, uint32_t first) except -2:
    """Add the parts of a term with merged postings; return -1 if blocks are missing.

    Args:
        first: the smallest IID of the window.
    """
    cdef TermRow *row = &query.held_rows[number]
    cdef const Merged *merged = query.here[number].merged.list
    cdef const uint8_t *typed = query.here[number].merged.typed
    cdef const Slot *slot = &query.slots[query.terms[number].first]
    cdef const double *norms = query.norms
    cdef Py_ssize_t at
    cdef uint32_t place
    if typed == NULL:
        typed = merged.tfs
    for at in range(row.end - 1, row.start - 1, -1):
        place = merged.lows[at] & (WINDOW_OBJECTS - 1)
        if query.among[place >> 6] >> (place & 63) & 1:
            if merged.tfs[at] == 1:
                query.scores[place] += part_of_once(
                    slot, row.once, typed[at] != 0, packed_length(&query.packed, first | place), norms, query.k1
                )
            elif add_many(query, number, first | place, merged.tfs[at], typed[at]) < 0:
                return -1
    return 0


cdef int add_held(QueryState query, Py_ssize_t number, int64_t window) except -2:
    """Add the parts of a term whose holders were gathered; return -1 if blocks are missing."""
    cdef TermWindow *here = &query.here[number]
    cdef uint32_t first = <uint32_t> (window << WINDOW_BITS), place
    cdef uint64_t twice[WINDOW_WORDS]
    cdef uint64_t words, left, typed
    cdef const uint64_t *holds_typed = here.held.bits
    cdef const Slot *slot = &query.slots[query.terms[number].first]
    cdef const double *norms = query.norms
    cdef double *scores = query.scores
    cdef double *once = query.held_rows[number].once
    cdef double k1 = query.k1
    cdef PackedLengths lengths = query.packed
    cdef Py_ssize_t word, at
    cdef int tf
    if here.has_family and query.slots[query.terms[number].first].exact_weight != 0.0:
        if not hold_typed(query, here, window):
            return -1
        holds_typed = here.typed.bits
    memset(twice, 0, ROW_BYTES)
    for at in range(here.held.many - 1, -1, -1):
        place, tf = here.held.places[at], here.held.tfs[at]
        twice[place >> 6] |= <uint64_t> 1 << (place & 63)
        if query.among[place >> 6] >> (place & 63) & 1:
            if add_many(
                query, number, first | place, tf, tf if holds_typed == here.held.bits else tf_of(&here.typed, place)
            ) < 0:
                return -1
    words = here.held.summary & query.among_words
    while words:
        word = lowest_bit(words)
        words &= words - 1
        left = here.held.bits[word] & query.among[word] & ~twice[word]
        typed = holds_typed[word]
        while left:
            at = lowest_bit(left)
            left &= left - 1
            place = <uint32_t> (word << 6 | at)
            scores[place] += part_of_once(
                slot, once, typed >> at & 1, packed_length(&lengths, first | place), norms, k1
            )
    return 0


cdef int add_many(QueryState query, Py_ssize_t number, uint32_t iid, uint32_t tf, uint32_t typed) except -2:
    """Add the part of a term for an object that holds it more than once; return -1 if blocks are missing.

    The objects of a term must come newest first.
    """
    cdef const Slot *slot = &query.slots[query.terms[number].first]
    cdef double norm = query.norms[packed_length(&query.packed, iid)], part = 0.0
    if tf < TF_ENDS:
        part = part_of_slot(slot, tf, typed, norm, query.k1)
    elif part_in_slot(query, slot, iid, norm, &part) < 0:
        return -1
    query.scores[iid & (WINDOW_OBJECTS - 1)] += part
    return 0


cdef int add_slots(QueryState query, Py_ssize_t number, uint32_t first) except -2:
    """Add the parts of a term with several slots: each chosen object gets the part of the first slot that it holds.

    Args:
        first: the smallest IID of the window.

    Returns:
        0; -1: blocks are missing.
    """
    cdef const Term *term = &query.terms[number]
    cdef TermRow *row = &query.held_rows[number]
    cdef uint64_t chosen[WINDOW_WORDS]
    cdef uint64_t words = query.among_words & row_words(row), some = 0
    cdef Py_ssize_t word, count = 0
    if row.slots == NULL:
        row.slots = <uint16_t *> resized(NULL, WINDOW_OBJECTS * sizeof(uint16_t))
    while words:
        word = lowest_bit(words)
        words &= words - 1
        chosen[word] = row.bits[word] & query.among[word]
        some |= <uint64_t> (chosen[word] != 0) << word
        count += count_bits(chosen[word])
    if count < GATHERED_MIN or count * GATHERED_WORTH < <Py_ssize_t> term.df // ((query.packed.count >> WINDOW_BITS) + 1):
        return look_slots_up(query, number, first, chosen, some)
    return gather_slots(query, number, first, chosen, some)


cdef inline uint64_t row_words(const TermRow *row) noexcept nogil:
    """Return a bit for each 64-bit word of the bits of a row that may be other than 0."""
    return row.words if row.bits == row.own else UINT64_MAX


cdef int look_slots_up(
    QueryState query, Py_ssize_t number, uint32_t first, const uint64_t *chosen, uint64_t words
) except -2:
    """Add the parts of a term with several slots for chosen objects, each of which is looked up; see `gather_slots`."""
    cdef const Term *term = &query.terms[number]
    cdef uint64_t left
    cdef Py_ssize_t word, at
    cdef uint32_t place
    cdef double part = 0.0
    cdef int held
    while words:
        word = highest_bit(words)
        words &= ~(<uint64_t> 1 << word)
        left = chosen[word]
        while left:
            place = <uint32_t> (word << 6 | highest_bit(left))
            left &= ~(<uint64_t> 1 << (place & 63))
            for at in range(term.count):
                held = part_in_slot(
                    query, &query.slots[term.first + at], first | place,
                    query.norms[packed_length(&query.packed, first | place)], &part,
                )
                if held < 0:
                    return -1
                if held:
                    query.scores[place] += part
                    query.held_rows[number].slots[place] = <uint16_t> at
                    break
    return 0


cdef int gather_slots(QueryState query, Py_ssize_t number, uint32_t first, uint64_t *chosen, uint64_t words) except -2:
    """Add the parts of a term with several slots for chosen objects, by gathering the objects that hold each slot.

    Args:
        first: the smallest IID of the window.
        chosen: the chosen objects as bits; set to those that hold no word of the term.
        words: the words of `chosen` that are not 0, as bits; the other words need not be set.

    Returns:
        0; -1: blocks are missing.
    """
    cdef const Term *term = &query.terms[number]
    cdef const Slot *slot
    cdef Gathered held, typed
    cdef uint64_t here, left
    cdef Py_ssize_t at, word
    cdef uint32_t place
    cdef bint has_typed
    for at in range(term.count):
        slot = &query.slots[term.first + at]
        has_typed = slot.count > 1 and slot.exact_weight != 0.0
        if gather_slot(query, slot, first, &held, &typed, has_typed) < 0:
            return -1
        here = held.summary & words
        while here:
            word = highest_bit(here)
            here &= ~(<uint64_t> 1 << word)
            left = held.bits[word] & chosen[word]
            chosen[word] &= ~left
            while left:  # newest first, as objects are looked up
                place = <uint32_t> (word << 6 | highest_bit(left))
                left &= ~(<uint64_t> 1 << (place & 63))
                query.held_rows[number].slots[place] = <uint16_t> at
                if add_gathered(query, slot, first | place, &held, &typed if has_typed else &held) < 0:
                    return -1
    return 0


cdef inline int add_gathered(
    QueryState query, const Slot *slot, uint32_t iid, const Gathered *held, const Gathered *typed
) except -2:
    """Add the part of a slot to the score of an object that holds a word of the slot.

    Args:
        held: the words of the slot, gathered over the window of the object.
        typed: the same of the typed word alone, if its part differs; else the same as `held`.

    Returns:
        0; -1: blocks are missing.
    """
    cdef uint32_t tf = gathered_tf(held, iid)
    cdef double norm = query.norms[packed_length(&query.packed, iid)], part = 0.0
    if tf < TF_ENDS:
        part = part_of_slot(slot, tf, gathered_tf(typed, iid), norm, query.k1)
    elif part_in_slot(query, slot, iid, norm, &part) < 0:
        return -1
    query.scores[iid & (WINDOW_OBJECTS - 1)] += part
    return 0


cdef inline uint32_t gathered_tf(const Gathered *held, uint32_t iid) noexcept nogil:
    """Return the frequency of the gathered words in an object of the window."""
    cdef Py_ssize_t place = iid & (WINDOW_OBJECTS - 1)
    if held.twice[place >> 6] >> (place & 63) & 1:
        return held.tfs[place]
    return held.bits[place >> 6] >> (place & 63) & 1


cdef int gather_slot(
    QueryState query, const Slot *slot, uint32_t first, Gathered *held, Gathered *typed, bint has_typed
) except -2:
    """Gather the postings of a slot in the window that begins with object `first`, and, with `has_typed`, those of the
    typed word; return -1 if blocks are missing."""
    cdef Py_ssize_t number
    clear(held)
    if has_typed:
        clear(typed)
    for number in range(slot.count):
        if not gather_source(&query.sources[slot.first + number], first, held):
            return -1
        if has_typed and number == 0:
            gather_source(&query.sources[slot.first], first, typed)
    return 0


cdef inline bint gather_source(Source *source, uint32_t first, Gathered *held) noexcept nogil:
    """Gather the postings of a word in the window; return False if blocks are missing."""
    cdef Py_ssize_t window = first >> WINDOW_BITS
    if has_window(source, window):
        gather_all(held, source.windows[window], first)
    elif is_read(source, window):
        put_all_postings(source, window, held)
    else:
        return False
    return True


cdef inline double factor_of(QueryState query, double matched) noexcept nogil:
    """Return the factor for an object that holds terms with the weight `matched`; the factors of SHARED_WEIGHTS weights
    are cached."""
    cdef uint64_t bits = (<uint64_t *> &matched)[0]
    cdef Py_ssize_t place = (bits >> 48 ^ bits >> 44) & (SHARED_WEIGHTS - 1)
    if query.shared[place] != matched:
        query.shared[place] = matched
        query.factors[place] = pow(matched / query.total, query.exponent)
    return query.factors[place]


cdef inline void collect_scored(QueryState query, double score, int64_t window, uint32_t place) noexcept nogil:
    """Add an object to the best, if it is good enough; newer objects were added before."""
    cdef uint32_t iid = <uint32_t> (window << WINDOW_BITS | place)
    cdef Py_ssize_t number, at, exact = 0
    cdef double matched = 0.0
    cdef Kind kind = CORRECTED
    cdef const Term *term
    cdef const Slot *slot
    for number in range(query.term_count):
        term = &query.terms[number]
        if not term.role & R_BRINGS or query.held_rows[number].window != window:
            continue
        if query.held_rows[number].bits[place >> 6] >> (place & 63) & 1:
            at = query.held_rows[number].slots[place] if term.count > 1 else 0
            slot = &query.slots[term.first + min(at, term.count - 1)]  # never behind the slots, whatever the lists say
            matched += weight_of(term, slot)
            kind = min(kind, slot.kind)
            exact += slot.kind == EXACT
    if query.total > 0:
        if query.full_first and exact == query.bringing:
            kind = FULL
        else:
            score *= factor_of(query, matched)
    if enters(query, kind, score, iid):
        collect(&query.top, iid, kind, score, UINT32_MAX - iid)
