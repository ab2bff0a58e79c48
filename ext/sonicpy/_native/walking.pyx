"""The best objects of a few sorted lists, found by walking them: there is no table.

Few objects stand in several lists, and they score most. So each IID leaves a mark of its list in a small table of
bytes; those whose mark tells of another list are looked at first, in every list. Objects that stand in one list alone
follow, unless they cannot be among the best any more. Equals stand in the order in which a table would take them:
list by list, newest first.
"""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memset

from sonicpy._native.best cimport Best, floor_for, offer, sort_best
from sonicpy._native.bm25 cimport packed_length, part_of_score
from sonicpy._native.object_table cimport CORRECTED, FULL, Kind

cdef enum:
    MARKS = 1 << 15
    MARKS_MIN = 1 << 9
    MARKS_PER_POSTING = 16
    LENGTHS = 256  # packed ones
    AT_ONCE = 256  # postings

cdef uint8_t marks[MARKS]  # by IID: those of the lists that hold it, or another one; used within one call alone


cdef struct Walked:  # a list with postings
    const Run *run
    const uint32_t *iids
    Py_ssize_t count
    Py_ssize_t finger  # its postings behind this one are of newer objects than is looked at
    uint32_t order  # of its newest posting
    uint8_t mark
    bint shares_mark  # as the eighth list and all behind it do


cdef struct Alone:  # objects that stand in one list, and what they have to reach
    const double *norms
    double weight
    double share  # of the query's weight
    double k1
    double floor
    int good  # the packed length from which on a posting with tf 1 scores too little
    Kind kind


cdef void walk(const Lists *lists, Best *best) noexcept nogil:
    """Put the best of all objects in order."""
    cdef Walked walked[WALKED_MAX]
    cdef const Run *run
    cdef Py_ssize_t number, count = 0, total = 0
    cdef uint32_t mask = MARKS_MIN - 1
    for number in range(lists.count):
        run = &lists.runs[number]
        if run.begin < run.end:
            walked[count] = Walked(
                run, run.iids, run.end - run.begin, 0, <uint32_t> total, <uint8_t> (1 << min(count, 7)), count >= 7
            )
            total += walked[count].count
            count += 1
    if count == 8:  # nobody to share it with
        walked[7].shares_mark = False
    if count > 1:
        while mask < MARKS - 1 and <Py_ssize_t> mask < MARKS_PER_POSTING * total:
            mask = 2 * mask + 1
        mark_all(walked, count, mask)
        for number in range(count):
            if walked[number].run.inserts and not is_over(lists, best, walked, number, count):
                look_at_several(lists, best, walked, number, count, mask)
    for number in range(count):
        if walked[number].run.inserts and not is_over(lists, best, walked, number, count):
            look_at_alone(lists, best, &walked[number], mask, count == 1)
    sort_best(best)


cdef void mark_all(const Walked *walked, Py_ssize_t count, uint32_t mask) noexcept nogil:
    """Leave the marks of all lists; two different IIDs may share a place, which costs a look at the lists."""
    cdef const uint32_t *iids
    cdef Py_ssize_t number, place
    cdef uint8_t mark
    memset(marks, 0, mask + 1)
    for number in range(count):
        iids = walked[number].iids
        mark = walked[number].mark
        for place in range(walked[number].count):
            marks[iids[place] & mask] |= mark


cdef bint is_over(
    const Lists *lists, const Best *best, const Walked *walked, Py_ssize_t first, Py_ssize_t count
) noexcept nogil:
    """Whether whoever holds all the words has been seen, and those who do are enough."""
    return (
        best.size == best.wanted and best.worst_kind == FULL
        and most_matched(walked, first, count) < lists.total_weight
    )


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


cdef void look_at_several(
    const Lists *lists, Best *best, Walked *walked, Py_ssize_t at, Py_ssize_t count, uint32_t mask
) noexcept nogil:
    """Look at the objects of list number `at` that may stand in others too, newest first."""
    cdef uint32_t places[AT_ONCE]
    cdef const Walked *own = &walked[at]
    cdef const uint32_t *iids = own.iids
    cdef Py_ssize_t start = own.count, end, place, number, found
    for number in range(count):
        walked[number].finger = walked[number].count - 1
    while start > 0:
        end = start
        start = max(start - AT_ONCE, 0)
        found = 0
        for place in range(end - 1, start - 1, -1):  # without a branch that nobody can foresee
            places[found] = <uint32_t> place
            found += own.shares_mark or marks[iids[place] & mask] != own.mark
        for number in range(found):
            look_at(lists, best, walked, at, count, places[number], marks[iids[places[number]] & mask])


cdef void look_at(
    const Lists *lists, Best *best, Walked *walked, Py_ssize_t at, Py_ssize_t count, Py_ssize_t place, uint8_t mark
) noexcept nogil:
    """Score an object that may stand in several lists; as in a table, each term counts once."""
    cdef uint32_t iid = walked[at].iids[place]
    cdef double norm = lists.norms[packed_length(&lists.lengths, iid)]
    cdef const Run *run
    cdef Py_ssize_t number, found
    cdef double score = 0.0, matched = 0.0
    cdef uint32_t required = 0
    cdef int32_t last_term = 0
    cdef Kind kind = CORRECTED
    for number in range(count):
        run = walked[number].run
        found = place
        if number != at:
            if not mark & walked[number].mark or not seek(&walked[number], iid):
                continue
            if number < at:
                if run.inserts:
                    return  # it was looked at there
                continue  # what only adds to objects came before any brought this one
            found = walked[number].finger
        if run.term == last_term:
            continue
        last_term = run.term
        required += run.required
        if run.inserts:
            kind = min(kind, run.kind)
            matched += run.weight
        score += part_of_score(run.weight, run.tfs[found], norm, lists.k1)
    if lists.total_weight > 0:
        if matched == lists.total_weight:
            kind = FULL
        else:
            score *= matched / lists.total_weight
    if required == lists.required and score >= floor_for(best, kind):
        offer(best, iid, kind, score, order_of(&walked[at], place))


cdef inline bint seek(Walked *walked, uint32_t iid) noexcept nogil:
    """Move the finger to the newest posting of an object that is not newer than one; return whether it is that one.

    In steps that double, since most of what is looked for is far away.
    """
    cdef const uint32_t *iids = walked.iids
    cdef Py_ssize_t high = walked.finger, low, middle, step = 1
    if high < 0:
        return False
    if iids[high] > iid:
        low = high - 1
        while low >= 0 and iids[low] > iid:
            high = low
            step *= 2
            low = high - step
        low = max(low, -1)
        while high - low > 1:
            middle = (low + high) // 2
            if iids[middle] > iid:
                high = middle
            else:
                low = middle
        walked.finger = high = low
    return high >= 0 and iids[high] == iid


cdef void look_at_alone(
    const Lists *lists, Best *best, const Walked *own, uint32_t mask, bint is_only
) noexcept nogil:
    """Look at the objects that stand in one list and in no other, newest first."""
    cdef const uint32_t *iids = own.iids
    cdef const uint8_t *tfs = own.run.tfs
    cdef Alone alone = alone_in(lists, own.run)
    cdef Py_ssize_t place
    cdef uint8_t packed
    cdef double score
    expect(&alone, best, own.order)
    if own.shares_mark or score_alone(&alone, own.run.tf_max, 0) < alone.floor:
        return
    for place in range(own.count - 1, -1, -1):
        if not is_only and marks[iids[place] & mask] != own.mark:
            continue
        packed = packed_length(&lists.lengths, iids[place])
        if tfs[place] == 1 and packed >= alone.good:
            continue
        score = score_alone(&alone, tfs[place], packed)
        if score > alone.floor or (score == alone.floor and order_of(own, place) < best.chosen[0].order):
            offer(best, iids[place], alone.kind, score, order_of(own, place))
            expect(&alone, best, order_of(own, place))


cdef inline uint32_t order_of(const Walked *walked, Py_ssize_t place) noexcept nogil:
    return walked.order + <uint32_t> (walked.count - 1 - place)


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


cdef inline double score_alone(const Alone *alone, uint32_t tf, int packed) noexcept nogil:
    return part_of_score(alone.weight, tf, alone.norms[packed], alone.k1) * alone.share


cdef inline void expect(Alone *alone, const Best *best, uint32_t order) noexcept nogil:
    """Find out what an object of the list has to reach from place `order` on."""
    cdef int low = 0, middle
    cdef double floor = floor_for(best, alone.kind), score
    cdef bint takes_equals
    if floor <= alone.floor:  # it never falls
        return
    alone.floor = floor
    takes_equals = best.chosen[0].order > order
    while low < alone.good:  # the first length that scores too little; none longer scores more
        middle = (low + alone.good) // 2
        score = score_alone(alone, 1, middle)
        if score > floor or (takes_equals and score == floor):
            low = middle + 1
        else:
            alone.good = middle
