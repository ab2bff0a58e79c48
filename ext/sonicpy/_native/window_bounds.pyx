"""Bounds of the scores of the objects of a window, computed from the bounds of the terms' postings in it."""

from libc.stdint cimport int64_t, uint8_t, uint32_t

from sonicpy._native.extremes cimport EXTREMES_TF, Extremes, levels_of_extremes, most_often, tf_of_level
from sonicpy._native.query_state cimport ANY, LENGTHS, SLACK, QueryState, Slot, TermWindow, enters, own_slot
from sonicpy._native.slot_scores cimport part_at_most, part_of_slot, part_of_typed
from sonicpy._native.term_windows cimport bound_typed, bound_window
from sonicpy._native.windows cimport WINDOW_BITS, WINDOW_OBJECTS

cdef enum:
    WINDOW_TERMS = 16  # of a query; windows are not bounded for more


cdef struct WindowTerm:  # a term behind the driver, and the extremes of its postings in a window
    Py_ssize_t number
    const Extremes *words
    const Extremes *typed  # of the word that was typed; NULL: the term has no family


cdef int limit_of_window(QueryState query, TermWindow *own, int64_t window) noexcept nogil:
    """Return the packed length from which on no object of the driver in a window can be among the best; 0: no object of
    any length can be.

    Args:
        own: the holders of the driver's slot.
        window: the window of the walk or an older one.
    """
    cdef WindowTerm others[WINDOW_TERMS]
    cdef const Slot *slot = own_slot(query)
    cdef const Extremes *words
    cdef const Extremes *typed
    cdef uint32_t newest = <uint32_t> (window << WINDOW_BITS | (WINDOW_OBJECTS - 1))
    cdef Py_ssize_t count
    cdef int often, low, high = LENGTHS
    cdef uint32_t tf
    cdef double rest, part
    if query.top.size < query.top.k or query.kind != query.top.objects[0].kind:
        return LENGTHS if enters(query, query.kind, 0.0, newest) else 0
    if query.term_count > WINDOW_TERMS:
        return LENGTHS
    words = bound_window(query, own, window)
    typed = bound_typed(query, own, window) if own.has_family else words
    count = find_others(query, window, others)
    rest = others_at_most(query, others, count, words.shortest[0])
    for often in range(levels_of_extremes(words), 0, -1):  # no object shorter than `high` holds it more often
        low = words.shortest[often - 1]
        if low < high:
            tf = tf_of_level(words, often)
            part = part_of_slot(slot, tf, min(tf, most_often(typed, high - 1)), query.norms[low], query.k1)
            if enters(query, query.kind, (part + rest) * query.share * SLACK, newest):
                return high
            high = low
    return 0


cdef Py_ssize_t find_others(QueryState query, int64_t window, WindowTerm *others) noexcept nogil:
    """Find the bounds of the postings of the terms behind the driver in a window; return the number of terms.

    Args:
        others: room for WINDOW_TERMS terms.
    """
    cdef Py_ssize_t at, count = 0
    cdef TermWindow *here
    for at in range(query.driver + 1, query.term_count):
        here = &query.here[query.drivers[at]]
        if here.first < here.end:
            others[count].number = query.drivers[at]
            others[count].words = bound_window(query, here, window)
            others[count].typed = bound_typed(query, here, window) if here.has_family else NULL
            count += 1
    return count


cdef double others_at_most(QueryState query, const WindowTerm *others, Py_ssize_t count, uint8_t packed) noexcept nogil:
    """Return the largest sum of the parts of the other terms in the score of an object with at least a packed
    length."""
    cdef const Extremes *words
    cdef const Slot *slot
    cdef Py_ssize_t at
    cdef int often
    cdef uint8_t length
    cdef double sum = 0.0, most
    for at in range(count):
        words, most = others[at].words, 0.0
        slot = &query.slots[query.terms[others[at].number].first]
        for often in range(1, levels_of_extremes(words) + 1):
            length = max(words.shortest[often - 1], packed)
            if others[at].typed == NULL:
                most = max(most, part_at_most(query, 
                    others[at].number, often if often < EXTREMES_TF or words.most == EXTREMES_TF else ANY, length
                ))
            else:
                most = max(most, part_of_slot(slot, tf_of_level(words, often), 0, query.norms[length], query.k1))
        sum += most
        if others[at].typed != NULL and slot.exact_weight != 0.0:
            words, most = others[at].typed, 0.0
            for often in range(1, levels_of_extremes(words) + 1):
                length = max(words.shortest[often - 1], packed)
                most = max(most, part_of_typed(slot, tf_of_level(words, often), query.norms[length], query.k1))
            sum += most
    return sum
