"""Scores one object of the driver, if it can be among the best."""

from libc.math cimport pow
from libc.stdint cimport UINT32_MAX, int64_t, uint8_t, uint32_t, uint64_t

from sonicpy._native.admitted cimport is_kept
from sonicpy._native.list_lookup cimport Source, look_up
from sonicpy._native.plan cimport R_BRINGS
from sonicpy._native.query_state cimport (
    ANY,
    SLACK,
    QueryState,
    Slot,
    Term,
    TermWindow,
    end_source,
    enters,
    first_source,
    own_slot,
)
from sonicpy._native.score_bounds cimport score_bound, share_without
from sonicpy._native.slot_scores cimport part_at_most, part_of_slot, slot_at_most, weight_of
from sonicpy._native.term_windows cimport hold_typed, hold_window, merged_tf
from sonicpy._native.top_k cimport CORRECTED, EXACT, FULL, Kind, collect
from sonicpy._native.walk_choice cimport tf_held
from sonicpy._native.windows cimport WINDOW_BITS, tf_of

cdef enum:
    LOOK_UP = 2  # in place of whether an object holds a slot: look up the words of the slot one by one


cdef int look_at(QueryState query, uint32_t iid, uint8_t packed) except -2:
    """Score an object of the driver, as long as it can be among the best; return -1 if blocks are missing."""
    cdef Py_ssize_t at, number
    cdef const Term *term
    cdef const Slot *slot = NULL
    cdef double part = 0.0, known = 0.0, rest, matched, missing = 0.0, bound
    cdef uint64_t missing_terms = 0
    cdef Kind kind = CORRECTED, best
    cdef bint is_full = query.is_full_slot, brings = False
    cdef int held
    rest = query.rests[packed]
    if rest != rest:
        rest = query.rests[packed] = score_bound(query, ANY, 0, -1, packed) * SLACK
    for at in range(query.driver, query.term_count):
        number = query.drivers[at]
        term = &query.terms[number]
        if at == query.driver and term.count > 1:
            rest -= slot_at_most(query, own_slot(query), ANY, packed)
        else:
            rest -= part_at_most(query, number, ANY, packed)
        held = part_in(query, number, iid, packed, &part, &slot) if term.count else 0
        query.lookups += 1
        if held < 0:
            return -1
        if at == query.driver and slot < own_slot(query):  # it was scored as a holder of this slot
            return 0
        query.parts[number] = part if held else 0.0
        query.held[number] = weight_of(term, slot) if held and term.role & R_BRINGS else 0.0
        if not is_kept(term.role, held != 0):
            return 0
        if held:
            known += part
            if term.role & R_BRINGS:
                brings = True
                kind = min(kind, slot.kind)
                is_full = is_full and slot.kind == EXACT
        elif term.role & R_BRINGS:
            if query.only_full:
                return 0
            is_full = False
            missing += term.weight
            missing_terms |= <uint64_t> 1 << min(at, 63)
        if query.top.size == query.top.k and query.total > 0:
            bound = known + rest
            if not is_full and missing_terms:
                bound *= share_without(query, missing_terms, missing)
            best = FULL if is_full and not query.skips_full else min(kind, query.rest_kind[at])
            if not enters(query, best, bound * SLACK, iid):
                return 0
    if not brings or (query.skips_full if is_full else query.only_full):
        return 0
    held = was_looked_at(query, iid)
    if held:
        return -1 if held < 0 else 0
    known = matched = 0.0
    for number in range(query.term_count):  # in the order of the query: so equal objects have equal scores
        known += query.parts[number]
        matched += query.held[number]
    if query.total > 0:
        if is_full:
            kind = FULL
        else:
            known *= pow(matched / query.total, query.exponent)
    if enters(query, kind, known, iid):
        collect(&query.top, iid, kind, known, UINT32_MAX - iid)
    return 0


cdef int part_in(
    QueryState query, Py_ssize_t number, uint32_t iid, uint8_t packed, double *part, const Slot **found
) except -2:
    """Compute the part and the slot of a term in an object's score; return 1 if the object holds the term, else 0; -1:
    a block is missing."""
    cdef const Term *term = &query.terms[number]
    cdef TermWindow *here = &query.here[number]
    cdef TermWindow *known = here  # of a slot
    cdef const Slot *slot = &query.slots[term.first]
    cdef bint drives = number == query.drivers[query.driver], is_own = drives
    cdef Py_ssize_t at
    cdef int held
    found[0] = slot
    if term.count > 1 and has_window_of(query, here, iid, drives) and not tf_of(&here.held, iid):
        return 0
    for at in range(term.count):
        if term.count > 1:
            is_own = drives and at == query.slot
            known = query.own if is_own else slot[at].here
        held = LOOK_UP if known == NULL else part_together(query, known, slot + at, iid, packed, is_own, part)
        if held == LOOK_UP:
            held = part_in_slot(query, slot + at, iid, query.norms[packed], part)
        if held:
            found[0] = slot + at
            return held
    return 0


cdef inline bint has_window_of(QueryState query, TermWindow *here, uint32_t iid, bint drives) except -1:
    """Return whether the holders of some words are known in the window of an object; those of the driver belong to the
    walk."""
    cdef int64_t window = iid >> WINDOW_BITS
    if window < here.window_count and here.window != window and not drives:
        hold_window(query, here, window)
    return here.window == window


cdef int part_together(
    QueryState query, TermWindow *here, const Slot *slot, uint32_t iid, uint8_t packed, bint drives, double *part
) except -2:
    """Compute the part of a slot as `part_in_slot` does, by the merged postings or the window of its words; return LOOK_UP
    if they do not decide it."""
    cdef int held, typed
    if here.merged.list != NULL:
        held = merged_tf(&here.merged, iid)
    elif has_window_of(query, here, iid, drives):
        held = tf_of(&here.held, iid)
    else:
        return LOOK_UP
    if not held:
        return 0
    if held >= 255:  # it ends there, also for several words together
        return LOOK_UP
    if slot.exact_weight == 0.0 or slot.count == 1:
        typed = held
    elif here.merged.list != NULL:
        typed = here.merged.typed[here.merged.end - 1]
    elif hold_typed(query, here, iid >> WINDOW_BITS):
        typed = tf_of(&here.typed, iid)
    else:  # the family has a window, and the word itself was not read as far
        typed = look_up(&query.sources[slot.first], iid)
        if typed < 0:
            return -1
    part[0] = part_of_slot(slot, held, typed, query.norms[packed], query.k1)
    return 1


cdef int part_in_slot(QueryState query, const Slot *slot, uint32_t iid, double norm, double *part) except -2:
    """Compute the part of a slot in an object's score; return 1 if the object holds a word of the slot, else 0; -1: a
    block is missing.

    Objects are looked up newest first.
    """
    cdef Py_ssize_t number
    cdef uint32_t total = 0, first = 0, begin = 0, end = UINT32_MAX  # the gap that all words share
    cdef Source *source
    cdef int tf
    part[0] = 0.0
    if iid - slot.gap < slot.gap_size:  # as often with words that are all rare
        return 0
    for number in range(slot.count):
        source = &query.sources[slot.first + number]
        tf = look_up(source, iid)
        if tf < 0:
            return -1
        total += tf
        if number == 0:
            first = tf
        begin = max(begin, source.gap)
        end = min(end, source.gap + source.gap_size if iid - source.gap < source.gap_size else 0)
    if not total:
        (<Slot *> slot).gap, (<Slot *> slot).gap_size = begin, end - begin if end > begin else 0
        return 0
    part[0] = part_of_slot(slot, total, first, norm, query.k1)
    return 1


cdef int was_looked_at(QueryState query, uint32_t iid) except -2:
    """Return 1 if an object holds an earlier driver, so that it was scored already, else 0; -1: a block is missing."""
    cdef Py_ssize_t at, number, source
    cdef Term *term
    cdef int tf
    for at in range(query.driver):
        number = query.drivers[at]
        tf = tf_held(query, number, iid)
        if tf > 0:
            return 1
        if tf == 0:
            continue
        term = &query.terms[number]
        for source in range(first_source(query, term), end_source(query, term)):
            tf = look_up(&query.sources[source], iid)
            if tf:
                return -1 if tf < 0 else 1
    return 0
