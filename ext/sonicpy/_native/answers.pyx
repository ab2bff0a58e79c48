"""How many objects answer a query, and what the scores of those that were found are made of."""

from libc.math cimport pow
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memset

from sonicpy._native.bits cimport count_bits
from sonicpy._native.bm25 cimport packed_length, part_of_score
from sonicpy._native.list_lookup cimport Source, block_for, has_window, open_block, search, stands_in_windows
from sonicpy._native.memory cimport zeroed
from sonicpy._native.query_terms cimport QueryTerms, Slot, Term
from sonicpy._native.score_parts cimport Part, Parts, add_part, parts_tuple
from sonicpy._native.stored_postings cimport OpenBlock, decode_block
from sonicpy._native.top_k cimport EXACT
from sonicpy._native.windows cimport WINDOW_BITS, WINDOW_WORDS, tf_of


cdef list keys_of_all(QueryTerms query):
    """Return the keys of the blocks that `count_of` needs and nobody has read yet; hand them over with `give`."""
    cdef Py_ssize_t term, number, block
    query._asked_count = 0
    for term in range(query._term_count):
        if query._terms[term].brings:
            for number in range(query.first_source(&query._terms[term]), query.end_source(&query._terms[term])):
                for block in range(query._sources[number].count):
                    query.ask(number, block)
    return query.keys_asked()


cdef uint64_t count_of(QueryTerms query) except? 0:
    """Return how many objects answer the query."""
    cdef uint64_t most = 0, found = 0
    cdef Py_ssize_t number, term
    cdef uint64_t *marks
    cdef uint64_t *some
    cdef Py_ssize_t words
    for number in range(query._source_count):
        if query._sources[number].count:
            most = max(most, newest_iid(&query._sources[number]))
    words = ((most >> WINDOW_BITS) + 1) * WINDOW_WORDS
    marks = <uint64_t *> zeroed(2 * words, sizeof(uint64_t))
    some = marks + words
    memset(marks, 0xFF if query._has_required else 0, words * sizeof(uint64_t))
    for term in range(query._term_count):
        if query._has_required and query._terms[term].required:
            memset(some, 0, words * sizeof(uint64_t))
            mark(query, &query._terms[term], some, words // WINDOW_WORDS)
            for number in range(words):
                marks[number] &= some[number]
        elif not query._has_required and query._terms[term].brings:
            mark(query, &query._terms[term], marks, words // WINDOW_WORDS)
    for number in range(words):
        found += count_bits(marks[number])
    free(marks)
    return found


cdef uint64_t newest_iid(const Source *source) noexcept nogil:
    cdef OpenBlock block
    if source.blocks[source.count - 1].packed == NULL:
        return 0
    decode_block(&source.blocks[source.count - 1], &block)
    return block.iids[block.count - 1]


cdef void mark(QueryTerms query, const Term *term, uint64_t *marks, Py_ssize_t windows) noexcept nogil:
    """Set the bits of the objects that a term brings, which stand in the first `windows` windows."""
    cdef Py_ssize_t number, block, place, window, word
    cdef const Source *source
    cdef OpenBlock held
    for number in range(query.first_source(term), query.end_source(term)):
        source = &query._sources[number]
        for window in range(min(source.window_count, windows)):
            if source.windows[window] != NULL:
                for word in range(WINDOW_WORDS):
                    marks[window * WINDOW_WORDS + word] |= source.windows[window].bits[word]
        for block in range(source.count):
            if source.blocks[block].packed == NULL or stands_in_windows(source, block):
                continue
            decode_block(&source.blocks[block], &held)
            for place in range(held.count):
                marks[held.iids[place] >> 6] |= <uint64_t> 1 << (held.iids[place] & 63)


cdef list parts_of_all(QueryTerms query, list iids, Py_ssize_t listed_max):
    """Return, for each of some objects that were found, what its score is made of.

    Args:
        listed_max: at most `listed_max` parts of each object are listed one by one, the largest ones.

    Returns:
        ([(number of the word, in the order in which they were added, tf, part of the score)], number of other
        parts, their sum).
    """
    cdef Part *listed = <Part *> zeroed(listed_max + 1, sizeof(Part))
    cdef list out = []
    query.open_sources()
    try:
        for iid in iids:
            out.append(parts_of(query, iid, listed, listed_max))
        return out
    finally:
        free(listed)


cdef tuple parts_of(QueryTerms query, uint32_t iid, Part *listed, Py_ssize_t listed_max):
    cdef Parts parts
    cdef double norm = query._norms[packed_length(&query._packed, iid)], matched = 0.0, share = 1.0
    cdef bint is_full = True
    cdef Py_ssize_t term
    memset(&parts, 0, sizeof(parts))
    for term in range(query._term_count):
        if query._terms[term].brings:
            matched += weight_in(query, &query._terms[term], iid, &is_full)
    if query._total > 0 and not is_full:
        share = pow(matched / query._total, query._exponent)
    for term in range(query._term_count):
        add_parts(query, &query._terms[term], iid, norm, share, &parts, listed, listed_max)
    return parts_tuple(&parts, listed)


cdef const Slot *slot_in(QueryTerms query, const Term *term, uint32_t iid) noexcept:
    """Return the words of a term that an object holds, or NULL."""
    cdef Py_ssize_t number, source
    for number in range(term.first, term.first + term.count):
        for source in range(query._slots[number].first, query._slots[number].first + query._slots[number].count):
            if tf_in(query, source, iid):
                return &query._slots[number]
    return NULL


cdef double weight_in(QueryTerms query, const Term *term, uint32_t iid, bint *is_full) noexcept:
    cdef const Slot *slot = slot_in(query, term, iid)
    is_full[0] = is_full[0] and slot != NULL and slot.kind == EXACT
    return query.weight_of(term, slot) if slot != NULL else 0.0


cdef int add_parts(
    QueryTerms query, const Term *term, uint32_t iid, double norm, double share, Parts *parts, Part *listed,
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
        part = part_of_score(slot.weight, total, norm, query._k1) * tf / total
        if source == slot.first and slot.exact_weight != 0.0:
            part += part_of_score(slot.exact_weight, tf, norm, query._k1)
        add_part(parts, listed, listed_max, Part(source, tf, part * share))
    return 0


cdef uint32_t tf_in(QueryTerms query, Py_ssize_t number, uint32_t iid) noexcept:
    """Return the tf of an object that was found in a list, 0 if it does not stand there."""
    cdef Source *source = &query._sources[number]
    cdef Py_ssize_t block = block_for(source, iid, source.count - 1)
    if has_window(source, iid >> WINDOW_BITS):
        return tf_of(source.windows[iid >> WINDOW_BITS], iid)
    if block < 0 or source.blocks[block].packed == NULL:
        return 0
    return search(open_block(source, block), iid)
