"""The part that the words of a slot have in a score, and its upper bound, for other native code."""

from libc.stdint cimport uint8_t, uint32_t
from libc.string cimport memset

from sonicpy._native.bm25 cimport part_of_score
from sonicpy._native.query_state cimport BOUNDED_TERMS, LENGTHS, LEVELS, QueryState, Slot, Term
from sonicpy._native.top_k cimport EXACT


cdef double find_part(QueryState query, const Term *term, int level, uint8_t packed) noexcept nogil
cdef double slot_at_most(QueryState query, const Slot *slot, int level, uint8_t packed) noexcept nogil
cdef double slot_bound(QueryState query, const Slot *slot, uint8_t packed) noexcept nogil


cdef inline double part_of_typed(const Slot *slot, uint32_t typed, double norm, double k1) noexcept nogil:
    """Return the additional part that the typed word of a slot has in an object's score.

    Args:
        typed: the frequency of the typed word in the object.
    """
    return part_of_score(slot.exact_weight, typed, norm, k1) if slot.exact_weight != 0.0 and typed else 0.0


cdef inline double part_of_slot(const Slot *slot, uint32_t tf, uint32_t typed, double norm, double k1) noexcept nogil:
    """Return the part that a slot has in an object's score.

    Args:
        tf: the frequency of the words of the slot in the object.
        typed: the frequency of the typed word in the object.
    """
    return part_of_score(slot.weight, tf, norm, k1) + part_of_typed(slot, typed, norm, k1)


cdef inline double weight_of(const Term *term, const Slot *slot) noexcept nogil:
    """Return the weight that a slot has in an object's share of the query."""
    return term.weight if slot.kind == EXACT else slot.weight + slot.exact_weight


cdef inline double part_of_once(
    const Slot *slot, double *once, bint is_typed, uint8_t packed, const double *norms, double k1
) noexcept nogil:
    """Return the part of a term for an object of a packed length that holds it once.

    Args:
        once: the parts of a common term by length, which are cached; NULL: the term is rare.
    """
    if once == NULL:
        return part_of_slot(slot, 1, is_typed, norms[packed], k1)
    once += packed + (LENGTHS if is_typed else 0)
    if once[0] != once[0]:
        once[0] = part_of_slot(slot, 1, is_typed, norms[packed], k1)
    return once[0]


cdef inline double part_at_most(QueryState query, Py_ssize_t number, int level, uint8_t packed) noexcept nogil:
    """Return the largest part that a term can have in the score of an object with at least a packed length.

    Args:
        level: the largest frequency of the term in the object; see LEVELS.
    """
    cdef double *most
    if number >= BOUNDED_TERMS:
        return find_part(query, &query.terms[number], level, packed)
    most = &query.parts_at_most[(number * LEVELS + level) * LENGTHS]
    if not query.levels_begun[number] >> level & 1:  # most queries need bounds of few levels
        memset(most, 0xFF, LENGTHS * sizeof(double))  # NaN
        query.levels_begun[number] |= 1 << level
    most += packed
    if most[0] != most[0]:
        most[0] = find_part(query, &query.terms[number], level, packed)
    return most[0]
