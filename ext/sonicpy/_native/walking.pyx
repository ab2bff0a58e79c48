"""The best objects of a few sorted postings lists, found by walking the lists: no table is filled.

Few objects are in several lists, and those score most. So every IID sets the mark of its list in a small table of
bytes; objects whose byte also has the mark of another list are looked at first, in every list. Objects of one list
alone follow, unless none of them can be among the best any more. Equals keep the order in which a table would take
them: list by list, newest first.
"""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, uint8_t, uint32_t
from libc.string cimport memset

from sonicpy._native.bm25 cimport packed_length, part_of_score
from sonicpy._native.top_k cimport CORRECTED, FULL, Kind, TopK, collect, min_score, sort_top

cdef enum:
    MARKS = 1 << 15
    MARKS_MIN = 1 << 9
    MARKS_PER_POSTING = 16
    LENGTHS = 256  # packed ones
    AT_ONCE = 256  # postings

cdef uint8_t marks[MARKS]  # by the low bits of an IID: the marks of the lists that hold one of these IIDs; per call


cdef struct Walked:  # a list with postings
    const TermScorer *scorer
    const uint32_t *iids
    Py_ssize_t count
    Py_ssize_t finger  # the postings behind this one are of newer objects than the current one
    uint32_t order  # of its newest posting
    uint8_t mark
    bint shares_mark  # the eighth list and all behind it have one mark


cdef struct Alone:  # the objects of one list that no other list holds, and the score they need
    const double *norms
    double weight
    double share  # of the query's weight
    double k1
    double floor
    int good  # the smallest packed length for which a posting with tf 1 scores too little
    Kind kind


cdef void walk(const PostingsLists *lists, TopK *top) noexcept nogil:
    """Put the best objects into `top`, in order."""
    cdef Walked walked[LISTS_MAX]
    cdef const TermScorer *scorer
    cdef Py_ssize_t number, count = 0, total = 0
    cdef uint32_t mask = MARKS_MIN - 1
    for number in range(lists.count):
        scorer = &lists.scorers[number]
        if scorer.begin < scorer.end:
            walked[count] = Walked(
                scorer, scorer.iids, scorer.end - scorer.begin, 0, <uint32_t> total, <uint8_t> (1 << min(count, 7)),
                count >= 7,
            )
            total += walked[count].count
            count += 1
    if count == 8:  # there is no ninth list to share it with
        walked[7].shares_mark = False
    if count > 1:
        while mask < MARKS - 1 and <Py_ssize_t> mask < MARKS_PER_POSTING * total:
            mask = 2 * mask + 1
        mark_all(walked, count, mask)
        for number in range(count):
            if walked[number].scorer.inserts and not is_over(lists, top, walked, number, count):
                look_at_several(lists, top, walked, number, count, mask)
    for number in range(count):
        if walked[number].scorer.inserts and not is_over(lists, top, walked, number, count):
            look_at_alone(lists, top, &walked[number], mask, count == 1)
    sort_top(top)


cdef void mark_all(const Walked *walked, Py_ssize_t count, uint32_t mask) noexcept nogil:
    """Set the marks of all lists; two IIDs with the same low bits share a byte, which costs a look at the lists."""
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
    const PostingsLists *lists, const TopK *top, const Walked *walked, Py_ssize_t first, Py_ssize_t count
) noexcept nogil:
    """Return whether every object that holds all words was looked at, and these fill the top k."""
    return (
        top.size == top.k and top.worst_kind == FULL
        and most_matched(walked, first, count) < lists.total_weight
    )


cdef double most_matched(const Walked *walked, Py_ssize_t first, Py_ssize_t count) noexcept nogil:
    """Return the largest possible sum of the weights of an object that no list before `first` holds."""
    cdef double found = 0.0, most = 0.0
    cdef Py_ssize_t number
    for number in range(first, count):
        if number > first and walked[number].scorer.term != walked[number - 1].scorer.term:
            found += most
            most = 0.0
        if walked[number].scorer.inserts:
            most = max(most, walked[number].scorer.weight)
    return found + most


cdef void look_at_several(
    const PostingsLists *lists, TopK *top, Walked *walked, Py_ssize_t at, Py_ssize_t count, uint32_t mask
) noexcept nogil:
    """Look at the objects of list number `at` that other lists may hold too, newest first."""
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
        for place in range(end - 1, start - 1, -1):  # without a branch, which no processor could predict
            places[found] = <uint32_t> place
            found += own.shares_mark or marks[iids[place] & mask] != own.mark
        for number in range(found):
            look_at(lists, top, walked, at, count, places[number], marks[iids[places[number]] & mask])


cdef void look_at(
    const PostingsLists *lists, TopK *top, Walked *walked, Py_ssize_t at, Py_ssize_t count, Py_ssize_t place,
    uint8_t mark,
) noexcept nogil:
    """Score an object that several lists may hold; as in a table, each term counts once."""
    cdef uint32_t iid = walked[at].iids[place]
    cdef double norm = lists.norms[packed_length(&lists.lengths, iid)]
    cdef const TermScorer *scorer
    cdef Py_ssize_t number, found
    cdef double score = 0.0, matched = 0.0
    cdef uint32_t required = 0
    cdef int32_t last_term = 0
    cdef Kind kind = CORRECTED
    for number in range(count):
        scorer = walked[number].scorer
        found = place
        if number != at:
            if not mark & walked[number].mark or not seek(&walked[number], iid):
                continue
            if number < at:
                if scorer.inserts:
                    return  # that list looked at it
                continue  # the list only adds to objects of lists before it
            found = walked[number].finger
        if scorer.term == last_term:
            continue
        last_term = scorer.term
        required += scorer.required
        if scorer.inserts:
            kind = min(kind, scorer.kind)
            matched += scorer.weight
        score += part_of_score(scorer.weight, scorer.tfs[found], norm, lists.k1)
    if lists.total_weight > 0:
        if matched == lists.total_weight:
            kind = FULL
        else:
            score *= matched / lists.total_weight
    if required == lists.required and score >= min_score(top, kind):
        collect(top, iid, kind, score, order_of(&walked[at], place))


cdef inline bint seek(Walked *walked, uint32_t iid) noexcept nogil:
    """Move the finger to the newest posting whose IID is at most `iid`; return whether the two are equal.

    The steps double, since most wanted postings are far away.
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
    const PostingsLists *lists, TopK *top, const Walked *own, uint32_t mask, bint is_only
) noexcept nogil:
    """Look at the objects that only this list holds, newest first."""
    cdef const uint32_t *iids = own.iids
    cdef const uint8_t *tfs = own.scorer.tfs
    cdef Alone alone = alone_in(lists, own.scorer)
    cdef Py_ssize_t place
    cdef uint8_t packed
    cdef double score
    expect(&alone, top, own.order)
    if own.shares_mark or score_alone(&alone, own.scorer.tf_max, 0) < alone.floor:
        return
    for place in range(own.count - 1, -1, -1):
        if not is_only and marks[iids[place] & mask] != own.mark:
            continue
        packed = packed_length(&lists.lengths, iids[place])
        if tfs[place] == 1 and packed >= alone.good:
            continue
        score = score_alone(&alone, tfs[place], packed)
        if score > alone.floor or (score == alone.floor and order_of(own, place) < top.objects[0].order):
            collect(top, iids[place], alone.kind, score, order_of(own, place))
            expect(&alone, top, order_of(own, place))


cdef inline uint32_t order_of(const Walked *walked, Py_ssize_t place) noexcept nogil:
    return walked.order + <uint32_t> (walked.count - 1 - place)


cdef inline Alone alone_in(const PostingsLists *lists, const TermScorer *scorer) noexcept nogil:
    """Return how the objects score that only this list holds."""
    cdef Alone alone = Alone(lists.norms, scorer.weight, 1.0, lists.k1, -INFINITY, LENGTHS, scorer.kind)
    if scorer.required != lists.required:  # an object of this list alone lacks a required term
        alone.floor, alone.good = INFINITY, 0
    if lists.total_weight > 0:
        if scorer.weight == lists.total_weight:
            alone.kind = FULL
        else:
            alone.share = scorer.weight / lists.total_weight
    return alone


cdef inline double score_alone(const Alone *alone, uint32_t tf, int packed) noexcept nogil:
    return part_of_score(alone.weight, tf, alone.norms[packed], alone.k1) * alone.share


cdef inline void expect(Alone *alone, const TopK *top, uint32_t order) noexcept nogil:
    """Update the score that an object of the list needs from place `order` on."""
    cdef int low = 0, middle
    cdef double floor = min_score(top, alone.kind), score
    cdef bint takes_equals
    if floor <= alone.floor:  # the score never falls
        return
    alone.floor = floor
    takes_equals = top.objects[0].order > order
    while low < alone.good:  # the first length that scores too little; none longer scores more
        middle = (low + alone.good) // 2
        score = score_alone(alone, 1, middle)
        if score > floor or (takes_equals and score == floor):
            low = middle + 1
        else:
            alone.good = middle
