"""The parts of the scores of found objects."""

from libc.math cimport pow
from libc.stdint cimport uint32_t
from libc.stdlib cimport free
from libc.string cimport memset

from sonicpy._native.bm25 cimport packed_length
from sonicpy._native.list_lookup cimport Source, block_for, has_window, open_block, search
from sonicpy._native.memory cimport zeroed
from sonicpy._native.plan cimport R_BRINGS
from sonicpy._native.query_state cimport QueryState, Slot, Term, open_sources
from sonicpy._native.score_parts cimport Part, Parts, add_part, parts_tuple
from sonicpy._native.slot_scores cimport part_of_slot, part_of_typed, weight_of
from sonicpy._native.top_k cimport EXACT
from sonicpy._native.windows cimport WINDOW_BITS, tf_of


cdef list parts_of_all(QueryState query, list iids, Py_ssize_t listed_max):
    """Return, for each found object, the parts of its score.

    Args:
        listed_max: the most parts of each object that are listed one by one, the largest ones.

    Returns:
        For each object ([(number of the word, in the order in which words were added; tf; part of the score)], number
        of other parts, their sum).
    """
    cdef Part *listed = <Part *> zeroed(listed_max + 1, sizeof(Part))
    cdef list out = []
    open_sources(query)
    try:
        for iid in iids:
            out.append(parts_of(query, iid, listed, listed_max))
        return out
    finally:
        free(listed)


cdef tuple parts_of(QueryState query, uint32_t iid, Part *listed, Py_ssize_t listed_max):
    cdef Parts parts
    cdef double norm = query.norms[packed_length(&query.packed, iid)], matched = 0.0, share = 1.0
    cdef bint is_full = True
    cdef Py_ssize_t term
    memset(&parts, 0, sizeof(parts))
    for term in range(query.term_count):
        if query.terms[term].role & R_BRINGS:
            matched += weight_in(query, &query.terms[term], iid, &is_full)
    if query.total > 0 and not is_full:
        share = pow(matched / query.total, query.exponent)
    for term in range(query.term_count):
        add_parts(query, &query.terms[term], iid, norm, share, &parts, listed, listed_max)
    return parts_tuple(&parts, listed)


cdef const Slot *slot_in(QueryState query, const Term *term, uint32_t iid) noexcept:
    """Return the first slot of a term that has a word of an object, or NULL."""
    cdef Py_ssize_t number, source
    for number in range(term.first, term.first + term.count):
        for source in range(query.slots[number].first, query.slots[number].first + query.slots[number].count):
            if tf_in(query, source, iid):
                return &query.slots[number]
    return NULL


cdef double weight_in(QueryState query, const Term *term, uint32_t iid, bint *is_full) noexcept:
    cdef const Slot *slot = slot_in(query, term, iid)
    is_full[0] = is_full[0] and slot != NULL and slot.kind == EXACT
    return weight_of(term, slot) if slot != NULL else 0.0


cdef int add_parts(
    QueryState query, const Term *term, uint32_t iid, double norm, double share, Parts *parts, Part *listed,
    Py_ssize_t listed_max,
) except -1:
    cdef const Slot *slot = slot_in(query, term, iid)
    cdef Py_ssize_t source
    cdef uint32_t tf, total = 0
    cdef double part
    if slot == NULL:
        return 0
    for source in range(slot.first, slot.first + slot.count):
        total += tf_in(query, source, iid)
    for source in range(slot.first, slot.first + slot.count):
        tf = tf_in(query, source, iid)
        if not tf:
            continue
        part = part_of_slot(slot, total, 0, norm, query.k1) * tf / total
        if source == slot.first:
            part += part_of_typed(slot, tf, norm, query.k1)
        add_part(parts, listed, listed_max, Part(source, tf, part * share))
    return 0


cdef uint32_t tf_in(QueryState query, Py_ssize_t number, uint32_t iid) noexcept:
    """Return the tf of a found object in a list, or 0."""
    cdef Source *source = &query.sources[number]
    cdef Py_ssize_t block = block_for(source, iid, source.count - 1)
    if has_window(source, iid >> WINDOW_BITS):
        return tf_of(source.windows[iid >> WINDOW_BITS], iid)
    if block < 0 or source.blocks[block].packed == NULL:
        return 0
    return search(open_block(source, block), iid)
