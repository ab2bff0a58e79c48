"""The best objects of a query by reading every posting, term by term: every object gets its score.

A walk saves the more, the fewer the terms and the longer their lists are. A question of fifty words is the other
extreme: what the walk compares and looks up costs many times what it saves. Here a posting costs some ten instructions.
The objects are taken in ranges, newest first, whose scores fit into the processor's cache. Parts are added up in the
order of the query's terms, so the scores are those of the walk, bit for bit.
"""

from libc.math cimport pow
from libc.stdint cimport UINT16_MAX, UINT32_MAX, UINT64_MAX, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memset

from sonicpy._native.bm25 cimport packed_length, part_of_score
from sonicpy._native.list_lookup cimport open_block
from sonicpy._native.memory cimport zeroed
from sonicpy._native.query_terms cimport SLACK, Slot, Term
from sonicpy._native.score_bounds cimport ScoreBounds
from sonicpy._native.stored_postings cimport OpenBlock
from sonicpy._native.top_k cimport CORRECTED, EXACT, FULL, Kind, collect
from sonicpy._native.windows cimport highest_bit

cdef enum:
    TERMS_MIN = 3  # a walk of fewer terms skips enough
    TERMS_MANY = 16  # a walk of so many skips too little, unless few objects hold them
    POSTINGS_MAX = 512  # times the number of terms, squared: a walk looks each object up in all lists, and skips less
    OBJECTS_MIN = 2048  # of the bucket: a walk passes over ranges without postings faster
    WALK_WORTH = 2  # look-ups for each posting, divided by the number of terms: a look-up of many costs more
    RANGE_BITS = 13
    RANGE_OBJECTS = 1 << RANGE_BITS


cdef struct Scored:  # an object, while the terms are added up
    double score
    double matched  # the weights of the terms that it holds
    uint32_t slot  # the last one of which it holds a word, counted from 1
    uint32_t tf  # how often it holds the words of this slot
    uint16_t exact  # terms that bring it, and that it holds as they were typed or in their families
    uint16_t required  # terms that it has to hold
    uint8_t typed  # how often it holds the slot's first word
    uint8_t better  # by how much the best kind of its words is better than CORRECTED


cdef struct Cursor:  # how far a list was read, newest postings first
    const OpenBlock *held  # the block that it stands in
    int left  # postings of this block that are still to be read; 0: of the whole list


cdef struct Range:  # of objects, at most RANGE_OBJECTS
    uint32_t first  # the oldest
    bint is_touched
    Scored *objects
    uint64_t *found  # who answers, a bit each
    uint16_t *touched  # who holds words of the slot that is added


cdef bint is_exhaustive(ScoreBounds query) noexcept:
    """Return whether the terms are so many, or their lists so short, that a look at all postings takes less than a walk."""
    cdef uint64_t postings = count_postings(query)
    if query._term_count < TERMS_MIN or query._term_count > UINT16_MAX:
        return False
    if query._packed.count > 2 * postings + OBJECTS_MIN:
        return False
    return query._term_count >= TERMS_MANY or (
        postings <= <uint64_t> (POSTINGS_MAX * query._term_count * query._term_count)
    )


cdef uint64_t lookups_worth(ScoreBounds query) noexcept:
    """Return after how many look-ups of an object in a list a walk has cost so much that a look at all postings costs
    no more."""
    if query._term_count < TERMS_MIN or query._term_count > UINT16_MAX:
        return UINT64_MAX
    return WALK_WORTH * count_postings(query) // <uint64_t> query._term_count + OBJECTS_MIN


cdef uint64_t count_postings(ScoreBounds query) noexcept:
    cdef uint64_t postings = 0
    cdef Py_ssize_t number
    for number in range(query._term_count):
        postings += query._terms[number].df
    return postings


cdef bint ask_for_every_block(ScoreBounds query) except -1:
    """Ask for all blocks that nobody has read yet; return whether there are any."""
    query.ask_for_every_block()
    return query._asked_count > 0


cdef int score_every_object(ScoreBounds query) except -1:
    """Find the best objects, whose blocks have all been read."""
    cdef Py_ssize_t source, block, number, size = min(<Py_ssize_t> query._packed.count, RANGE_OBJECTS)
    cdef Cursor *cursors = NULL
    cdef Range some = Range(0, False, NULL, NULL, NULL)
    for source in range(query._source_count):
        for block in range(query._sources[source].count):
            if query._sources[source].blocks[block].packed == NULL:
                raise RuntimeError("a block of postings was not read")
    query.open_sources()
    try:
        cursors = <Cursor *> zeroed(query._source_count + 1, sizeof(Cursor))
        some.objects = <Scored *> zeroed(size + 1, sizeof(Scored))
        some.found = <uint64_t *> zeroed((size >> 6) + 1, sizeof(uint64_t))
        some.touched = <uint16_t *> zeroed(size + 1, sizeof(uint16_t))
        for source in range(query._source_count):
            begin_list(query, source, &cursors[source])
        for number in range(<Py_ssize_t> (query._packed.count >> RANGE_BITS), -1, -1):
            some.first = <uint32_t> (number << RANGE_BITS)
            score_range(query, cursors, &some)
            if number and some.is_touched:
                memset(some.objects, 0, size * sizeof(Scored))
                memset(some.found, 0, (size >> 6) * sizeof(uint64_t))
    finally:
        free(cursors)
        free(some.objects)
        free(some.found)
        free(some.touched)
    return 0


cdef void begin_list(ScoreBounds query, Py_ssize_t source, Cursor *cursor) noexcept nogil:
    """Go to the newest posting of an object of the bucket."""
    go_to_block(query, source, cursor, query._sources[source].count - 1)
    while cursor.left and cursor.held.iids[cursor.left - 1] >= query._packed.count:
        pass_over(query, source, cursor)


cdef inline void pass_over(ScoreBounds query, Py_ssize_t source, Cursor *cursor) noexcept nogil:
    """Go to the posting that is next older."""
    cursor.left -= 1
    if not cursor.left:
        go_to_block(query, source, cursor, cursor.held.number - 1)


cdef void go_to_block(ScoreBounds query, Py_ssize_t source, Cursor *cursor, Py_ssize_t number) noexcept nogil:
    cursor.left = 0
    if number >= 0:
        cursor.held = open_block(&query._sources[source], number)
        cursor.left = cursor.held.count


cdef void score_range(ScoreBounds query, Cursor *cursors, Range *some) noexcept nogil:
    """Score the objects of a range, all newer ones of which were scored."""
    cdef Py_ssize_t number, word, at, newest, required = 0
    cdef uint16_t bringing = 0
    cdef const Term *term
    cdef const Slot *slot
    some.is_touched = False
    for number in range(query._term_count):
        term = &query._terms[number]
        required += term.required
        bringing += term.brings
        for at in range(term.first, term.first + term.count):
            slot = &query._slots[at]
            if slot.count == 1:
                add_list(query, term, at, &cursors[slot.first], some)
            else:
                add_lists(query, term, at, cursors, some)
    if not some.is_touched:
        return
    newest = min(<Py_ssize_t> query._packed.count - some.first, RANGE_OBJECTS) - 1
    for word in range(newest >> 6, -1, -1):
        if some.found[word]:
            collect_word(query, some, word, required, bringing)


cdef void add_list(ScoreBounds query, const Term *term, Py_ssize_t number, Cursor *cursor, Range *some) noexcept nogil:
    """Add the parts of those of a range who hold the one word of a slot, and none of a slot before it in the term."""
    cdef const Slot *slot = &query._slots[number]
    cdef const OpenBlock *held
    cdef Scored *objects = some.objects
    cdef uint32_t place, first = some.first, before = <uint32_t> term.first
    cdef int left
    while cursor.left:
        held, left = cursor.held, cursor.left
        while left and held.iids[left - 1] >= first:
            left -= 1
            place = held.iids[left] - first
            if objects[place].slot <= before:
                objects[place].slot = <uint32_t> number + 1
                objects[place].tf = objects[place].typed = held.tfs[left]
                add_part(query, term, slot, place, some)
        cursor.left = left
        if left:
            return
        go_to_block(query, slot.first, cursor, held.number - 1)


cdef void add_lists(ScoreBounds query, const Term *term, Py_ssize_t number, Cursor *cursors, Range *some) noexcept nogil:
    """Do the same for a slot of several words, whose frequencies add up."""
    cdef const Slot *slot = &query._slots[number]
    cdef Py_ssize_t source, at, touched = 0
    cdef Cursor *cursor
    cdef Scored *one
    cdef uint32_t place
    for source in range(slot.first, slot.first + slot.count):
        cursor = &cursors[source]
        while cursor.left and cursor.held.iids[cursor.left - 1] >= some.first:
            place = cursor.held.iids[cursor.left - 1] - some.first
            one = &some.objects[place]
            if one.slot <= <uint32_t> term.first:
                one.slot = <uint32_t> number + 1
                one.tf = one.typed = 0
                some.touched[touched] = <uint16_t> place
                touched += 1
            if one.slot == <uint32_t> number + 1:
                one.tf += cursor.held.tfs[cursor.left - 1]
                if source == slot.first:
                    one.typed = cursor.held.tfs[cursor.left - 1]
            pass_over(query, source, cursor)
    for at in range(touched):
        add_part(query, term, slot, some.touched[at], some)


cdef inline void add_part(
    ScoreBounds query, const Term *term, const Slot *slot, uint32_t place, Range *some
) noexcept nogil:
    cdef Scored *one = &some.objects[place]
    cdef double norm = query._norms[packed_length(&query._packed, some.first + place)]
    cdef double part = part_of_score(slot.weight, one.tf, norm, query._k1)
    if slot.exact_weight != 0.0 and one.typed:
        part += part_of_score(slot.exact_weight, one.typed, norm, query._k1)
    one.score += part
    one.required += term.required
    some.is_touched = True
    if term.brings:
        some.found[place >> 6] |= <uint64_t> 1 << (place & 63)
        one.matched += query.weight_of(term, slot)
        one.exact += slot.kind == EXACT
        one.better = max(one.better, <uint8_t> (CORRECTED - slot.kind))


cdef void collect_word(
    ScoreBounds query, const Range *some, Py_ssize_t word, Py_ssize_t required, uint16_t bringing
) noexcept nogil:
    """Put those of 64 objects that are among the best there, newest first: of equals it wins."""
    cdef uint64_t left = some.found[word]
    cdef uint32_t place
    while left:
        place = <uint32_t> (word << 6 | highest_bit(left))
        left &= ~(<uint64_t> 1 << (place & 63))
        if some.objects[place].required == required:
            collect_scored(query, &some.objects[place], some.first + place, bringing)


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
