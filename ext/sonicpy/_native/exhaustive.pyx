"""The best objects of a query with short lists: every posting is read, term by term, and every object gets its score.

A walk saves the more, the longer the lists are. A question of twenty words about a few thousand texts is the other
extreme: what the walk compares and looks up costs a hundred times what it saves. Here a posting costs some ten
instructions. Parts are added up in the order of the query's terms, so the scores are those of the walk, bit for bit.
"""

from libc.math cimport pow
from libc.stdint cimport UINT16_MAX, UINT32_MAX, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free

from sonicpy._native.bm25 cimport packed_length, part_of_score
from sonicpy._native.memory cimport zeroed
from sonicpy._native.query_terms cimport SLACK, Slot, Term
from sonicpy._native.score_bounds cimport ScoreBounds
from sonicpy._native.stored_postings cimport OpenBlock, decode_block
from sonicpy._native.top_k cimport CORRECTED, EXACT, FULL, Kind, collect
from sonicpy._native.windows cimport highest_bit

cdef enum:
    TERMS_MIN = 3  # a walk of fewer terms skips enough
    POSTINGS_MAX = 256  # times the number of terms, squared: a walk looks each object up in all lists, and skips less
    OBJECTS_MIN = 2048  # of the bucket, each of which has a place: clearing two takes as long as reading a posting


cdef struct Scored:  # an object, while the terms are added up
    double score
    double matched  # the weights of the terms that it holds
    uint32_t slot  # the last one of which it holds a word, counted from 1
    uint32_t tf  # how often it holds the words of this slot
    uint16_t exact  # terms that bring it, and that it holds as they were typed or in their families
    uint16_t required  # terms that it has to hold
    uint8_t typed  # how often it holds the slot's first word
    uint8_t better  # by how much the best kind of its words is better than CORRECTED


cdef struct Everybody:
    Scored *objects  # by IID
    uint64_t *found  # who answers, a bit each
    uint32_t *touched  # who holds words of the slot that is added
    uint64_t count


cdef bint is_exhaustive(ScoreBounds query) noexcept:
    """Return whether the lists are so short that a look at all postings takes less than a walk."""
    cdef uint64_t postings = 0
    cdef Py_ssize_t number
    if query._term_count < TERMS_MIN or query._term_count > UINT16_MAX:
        return False
    for number in range(query._term_count):
        postings += query._terms[number].df
    return postings <= <uint64_t> (POSTINGS_MAX * query._term_count * query._term_count) and (
        query._packed.count <= 2 * postings + OBJECTS_MIN
    )


cdef bint ask_for_every_block(ScoreBounds query) except -1:
    """Ask for all blocks that nobody has read yet; return whether there are any."""
    cdef Py_ssize_t number, block
    for number in range(query._source_count):
        for block in range(query._sources[number].count):  # a query on another thread may be asking for it
            query._sources[number].blocks[block].is_wanted = False
    query.ask_for_every_block()
    return len(query._asked) > 0


cdef int score_every_object(ScoreBounds query) except -1:
    """Find the best objects, whose blocks have all been read."""
    cdef Py_ssize_t number, slot, required = 0
    cdef uint16_t bringing = 0
    cdef Everybody all = Everybody(NULL, NULL, NULL, 0)
    all.count = query._packed.count
    all.objects = <Scored *> zeroed(<Py_ssize_t> all.count + 1, sizeof(Scored))
    try:
        all.found = <uint64_t *> zeroed(<Py_ssize_t> (all.count >> 6) + 1, sizeof(uint64_t))
        all.touched = <uint32_t *> zeroed(<Py_ssize_t> all.count + 1, sizeof(uint32_t))
        for number in range(query._term_count):
            required += query._terms[number].required
            bringing += query._terms[number].brings
            for slot in range(query._terms[number].first, query._terms[number].first + query._terms[number].count):
                add_slot(query, &query._terms[number], slot, &all)
        for number in range(<Py_ssize_t> (all.count >> 6), -1, -1):
            collect_word(query, &all, number, required, bringing)
    finally:
        free(all.objects)
        free(all.found)
        free(all.touched)
    return 0


cdef int add_slot(ScoreBounds query, const Term *term, Py_ssize_t number, Everybody *all) except -1:
    """Add the parts of those who hold words of a slot and of none before it in the term."""
    cdef const Slot *slot = &query._slots[number]
    cdef OpenBlock held
    cdef Py_ssize_t source, block, place, touched = 0
    cdef uint32_t iid
    cdef Scored *one
    for source in range(slot.first, slot.first + slot.count):
        for block in range(query._sources[source].count):
            if query._sources[source].blocks[block].packed == NULL:
                raise RuntimeError("a block of postings was not read")
            decode_block(&query._sources[source].blocks[block], &held)
            for place in range(held.count):
                iid = held.iids[place]
                if iid >= all.count:
                    continue
                one = &all.objects[iid]
                if one.slot != <uint32_t> number + 1:
                    if one.slot > <uint32_t> term.first:
                        continue  # it holds words of a slot before
                    one.slot = <uint32_t> number + 1
                    one.tf = 0
                    one.typed = 0
                    all.touched[touched] = iid
                    touched += 1
                one.tf += held.tfs[place]
                if source == slot.first:
                    one.typed = held.tfs[place]
    for place in range(touched):
        add_part(query, term, slot, all.touched[place], all)
    return 0


cdef inline void add_part(
    ScoreBounds query, const Term *term, const Slot *slot, uint32_t iid, Everybody *all
) noexcept nogil:
    cdef Scored *one = &all.objects[iid]
    cdef double norm = query._norms[packed_length(&query._packed, iid)]
    cdef double part = part_of_score(slot.weight, one.tf, norm, query._k1)
    if slot.exact_weight != 0.0 and one.typed:
        part += part_of_score(slot.exact_weight, one.typed, norm, query._k1)
    one.score += part
    one.required += term.required
    if term.brings:
        all.found[iid >> 6] |= <uint64_t> 1 << (iid & 63)
        one.matched += query.weight_of(term, slot)
        one.exact += slot.kind == EXACT
        one.better = max(one.better, <uint8_t> (CORRECTED - slot.kind))


cdef int collect_word(
    ScoreBounds query, const Everybody *all, Py_ssize_t word, Py_ssize_t required, uint16_t bringing
) except -1:
    """Put those of 64 objects that are among the best there, newest first: of equals it wins."""
    cdef uint64_t left = all.found[word]
    cdef uint32_t iid
    while left:
        iid = <uint32_t> (word << 6 | highest_bit(left))
        left &= ~(<uint64_t> 1 << (iid & 63))
        if all.objects[iid].required == required:
            collect_scored(query, &all.objects[iid], iid, bringing)
    return 0


cdef inline void collect_scored(ScoreBounds query, const Scored *one, uint32_t iid, uint16_t bringing) noexcept nogil:
    cdef double score = one.score, share
    cdef Kind kind = <Kind> (CORRECTED - one.better)
    if query._total > 0:
        if query._full_first and one.exact == bringing:
            kind = FULL
        else:
            share = one.matched / query._total
            if query._exponent <= 1.0 and not query.enters(
                kind, score * (1.0 + query._exponent * (share - 1.0)) * SLACK, iid
            ):  # Bernoulli's inequality: a power costs more than all else
                return
            score *= pow(share, query._exponent)
    if query.enters(kind, score, iid):
        collect(&query._top, iid, kind, score, UINT32_MAX - iid)
