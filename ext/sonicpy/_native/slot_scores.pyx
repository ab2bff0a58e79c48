"""The largest part that a slot, or a term, can have in a score."""

from libc.stdint cimport uint8_t, uint32_t

from sonicpy._native.impacts cimport impact_bound
from sonicpy._native.list_lookup cimport Source
from sonicpy._native.query_state cimport ANY, ONCE, SLACK, UNTYPED, QueryState, Slot, Term


cdef double find_part(QueryState query, const Term *term, int level, uint8_t packed) noexcept nogil:
    cdef Py_ssize_t number
    cdef double bound = 0.0
    if level == UNTYPED and term.count > 1:
        level = ONCE
    for number in range(term.first, term.first + term.count):
        bound = max(bound, slot_at_most(query, &query.slots[number], level, packed))
    return bound


cdef double slot_at_most(QueryState query, const Slot *slot, int level, uint8_t packed) noexcept nogil:
    """Return the largest part that a slot can have in a score; see `part_at_most`."""
    cdef uint32_t tf = 1 if level == UNTYPED else level
    if level == ANY:
        return slot_bound(query, slot, packed)
    return part_of_slot(slot, tf, tf if level != UNTYPED or slot.count == 1 else 0, query.norms[packed], query.k1)


cdef double slot_bound(QueryState query, const Slot *slot, uint8_t packed) noexcept nogil:
    """Return the largest part that a slot can have in a score, for any frequency."""
    cdef const Source *source = &query.sources[slot.first]
    cdef Py_ssize_t number
    cdef uint32_t tf = 0
    cdef uint8_t shortest = 255
    cdef double bound
    if slot.count == 1:
        bound = impact_bound(&source.impacts, slot.weight + slot.exact_weight, query.norms, query.k1, packed)
        return bound * SLACK if slot.exact_weight != 0.0 else bound
    for number in range(slot.first, slot.first + slot.count):
        tf += query.sources[number].tf_max
        shortest = min(shortest, query.sources[number].length_min)
    if not tf:
        return 0.0
    bound = part_of_slot(slot, tf, 0, query.norms[max(shortest, packed)], query.k1)
    bound += impact_bound(&source.impacts, slot.exact_weight, query.norms, query.k1, packed)
    return bound * SLACK
