"""The best objects of a few sorted lists, found by walking them: there is no table.

Most objects stand in one list alone, and most of those cannot be among the best, so both are found out with few steps.
Each object is looked at where the first list that brings it has it: so they come in the order of a table, in which
equals stay.
"""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memset

from sonicpy._native.best cimport Best, floor_for, offer, sort_best
from sonicpy._native.bm25 cimport packed_length, part_of_score
from sonicpy._native.object_table cimport CORRECTED, FULL, Kind
from sonicpy._native.postings cimport Posting, PostingList

cdef enum:
    MARKS = 1 << 14
    MARKS_MIN = 1 << 9
    MARKS_PER_POSTING = 8
    ONCE = 1
    LENGTHS = 256  # packed ones

cdef uint8_t marks[MARKS]  # by IID: none, one (ONCE) or more of the postings; used within one call alone


cdef struct Walked:  # a list with postings
    const Run *run
    Py_ssize_t finger  # its postings behind this one are of newer objects than is looked at


cdef struct Alone:  # objects that stand in one list, and what they have to exceed
    const double *norms
    double weight
    double share  # of the query's weight
    double k1
    double floor
    int good  # the packed length from which on a posting with tf 1 scores too little
    Kind kind


cdef inline double score_alone(const Alone *alone, uint32_t tf, int packed) noexcept nogil:
    return part_of_score(alone.weight, tf, alone.norms[packed], alone.k1) * alone.share


cdef inline void expect(Alone *alone, const Best *best) noexcept nogil:
    """Find out what an object of the list has to exceed now."""
    cdef int low = 0, middle
    cdef double floor = floor_for(best, alone.kind)
    if floor <= alone.floor:  # it never falls
        return
    alone.floor = floor
    while low < alone.good:  # the first length that scores too little; none longer scores more
        middle = (low + alone.good) // 2
        if score_alone(alone, 1, middle) > alone.floor:
            low = middle + 1
        else:
            alone.good = middle


cdef inline void take_alone(Alone *alone, Best *best, uint64_t iid, uint32_t tf, uint8_t packed) noexcept nogil:
    """Offer an object of the list if it scores enough."""
    cdef double score
    if tf == 1 and packed >= alone.good:
        return
    score = score_alone(alone, tf, packed)
    if score > alone.floor:
        offer(best, iid, alone.kind, score)
        expect(alone, best)


cdef void mark_all(const Walked *walked, Py_ssize_t count, const Posting *postings, uint32_t mask) noexcept nogil:
    """Mark the IIDs of all lists; two different ones may share a mark, which costs a look at the lists."""
    cdef Py_ssize_t number, place
    cdef uint32_t at
    memset(marks, 0, mask + 1)
    for number in range(count):
        for place in range(walked[number].run.begin, walked[number].run.end):
            at = <uint32_t> postings[place].iid & mask
            marks[at] = <uint8_t> (2 * marks[at] | ONCE)


cdef void walk(const Lists *lists, Best *best) noexcept nogil:
    """Put the best of all objects in order."""
    cdef Walked walked[WALKED_MAX]
    cdef const Run *run
    cdef Py_ssize_t number, count = 0, total = 0
    cdef uint32_t mask = MARKS_MIN - 1
    for number in range(lists.count):
        run = &lists.runs[number]
        if run.begin < run.end:
            walked[count].run = run
            total += run.end - run.begin
            count += 1
    if count > 1:
        while mask < MARKS - 1 and <Py_ssize_t> mask < MARKS_PER_POSTING * total:
            mask = 2 * mask + 1
        mark_all(walked, count, lists.postings, mask)
    for number in range(count):
        if not walked[number].run.inserts:
            continue
        if best.size == best.wanted and best.worst_kind == FULL and most_matched(
            walked, number, count
        ) < lists.total_weight:
            break  # who holds all the words has been seen by now
        walk_one(lists, best, walked, number, count, mask)
    sort_best(best)


cdef void walk_held(const Lists *lists, PostingList held, Best *best) noexcept:
    """The same, where the only list stands in `held`."""
    cdef const Run *run = lists.runs
    cdef const uint32_t *iids = held._iids
    cdef const uint8_t *tfs = held._tfs
    cdef Py_ssize_t place
    cdef Alone alone = alone_in(lists, run)
    if not run.inserts:
        return
    expect(&alone, best)
    for place in range(run.end - 1, run.begin - 1, -1):
        take_alone(&alone, best, iids[place], tfs[place], packed_length(&lists.lengths, iids[place]))
    sort_best(best)


cdef double most_matched(const Walked *walked, Py_ssize_t first, Py_ssize_t count) noexcept nogil:
    """Return what the weights of an object that no list before `first` brings can add up to."""
    cdef double found = 0.0, most = 0.0
    cdef Py_ssize_t number
    for number in range(first, count):
        if number > first and walked[number].run.term != walked[number - 1].run.term:
            found += most
            most = 0.0
        if walked[number].run.inserts:
            most = max(most, walked[number].run.weight)
    return found + most


cdef void walk_one(
    const Lists *lists, Best *best, Walked *walked, Py_ssize_t at, Py_ssize_t count, uint32_t mask
) noexcept nogil:
    """Look at the objects that list number `at` brings before any other does."""
    cdef const Run *run = walked[at].run
    cdef const Posting *posting
    cdef Py_ssize_t place
    cdef Alone alone = alone_in(lists, run)
    for place in range(count):
        walked[place].finger = walked[place].run.end - 1
    expect(&alone, best)
    for place in range(run.end - 1, run.begin - 1, -1):
        posting = &lists.postings[place]
        if count > 1 and marks[posting.iid & mask] != ONCE:
            look_at(lists, best, walked, at, count, posting)
            expect(&alone, best)
            continue
        take_alone(&alone, best, posting.iid, posting.tf, packed_length(&lists.lengths, posting.iid))


cdef inline Alone alone_in(const Lists *lists, const Run *run) noexcept nogil:
    """Return what the objects score that stand in a list alone."""
    cdef Alone alone = Alone(lists.norms, run.weight, 1.0, lists.k1, -INFINITY, LENGTHS, run.kind)
    if run.required != lists.required:  # an object that no other list has lacks what is required
        alone.floor, alone.good = INFINITY, 0
    if lists.total_weight > 0:
        if run.weight == lists.total_weight:
            alone.kind = FULL
        else:
            alone.share = run.weight / lists.total_weight
    return alone


cdef void look_at(
    const Lists *lists, Best *best, Walked *walked, Py_ssize_t at, Py_ssize_t count, const Posting *posting
) noexcept nogil:
    """Score an object that may stand in several lists; as in a table, each term counts once."""
    cdef const Posting *postings = lists.postings
    cdef double norm = lists.norms[packed_length(&lists.lengths, posting.iid)]
    cdef uint64_t iid = posting.iid
    cdef const Run *run
    cdef Py_ssize_t number, finger
    cdef double score = 0.0, matched = 0.0
    cdef uint32_t required = 0
    cdef int32_t last_term = 0
    cdef Kind kind = CORRECTED
    cdef uint32_t tf
    for number in range(count):
        run = walked[number].run
        tf = posting.tf
        if number != at:
            finger = walked[number].finger
            while finger >= run.begin and postings[finger].iid > iid:
                finger -= 1
            walked[number].finger = finger
            if finger < run.begin or postings[finger].iid != iid:
                continue
            if number < at:
                if run.inserts:
                    return  # it was looked at there
                continue  # what only adds to objects came before any brought this one
            tf = postings[finger].tf
        if run.term == last_term:
            continue
        last_term = run.term
        required += run.required
        if run.inserts:
            kind = min(kind, run.kind)
            matched += run.weight
        score += part_of_score(run.weight, tf, norm, lists.k1)
    if lists.total_weight > 0:
        if matched == lists.total_weight:
            kind = FULL
        else:
            score *= matched / lists.total_weight
    if required == lists.required and score > floor_for(best, kind):
        offer(best, iid, kind, score)
