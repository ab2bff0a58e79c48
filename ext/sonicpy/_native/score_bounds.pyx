"""Bounds of the scores of unscored objects.

Terms drive in turn, the rarest first. Objects with an earlier driver have been scored already, so the bound of further
scores falls from driver to driver. Most objects hold a word once, and then their length decides: from some length on,
the limit, no object can be among the best.
"""

from libc.math cimport pow
from libc.stdint cimport UINT64_MAX, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, qsort
from libc.string cimport memset

from sonicpy._native.memory cimport resized
from sonicpy._native.plan cimport R_BRINGS, R_REQUIRED
from sonicpy._native.query_state cimport (
    ANY,
    BOUNDED_TERMS,
    LENGTHS,
    LEVELS,
    ONCE,
    ROOM_TERMS,
    SHARES,
    SLACK,
    TF_MAX,
    UNTYPED,
    QueryState,
    Ranked,
    Slot,
    Term,
    block_of,
    enters,
    own_slot,
)
from sonicpy._native.slot_scores cimport part_at_most, slot_at_most, weight_of
from sonicpy._native.top_k cimport CORRECTED, EXACT, FULL, Kind

cdef double BEHIND_ALL = <double> (<uint64_t> 1 << 48)  # no term has so many objects


cdef int begin_bounds(QueryState query) except -1:
    """Make room for bounds, and put the terms in the order in which they drive."""
    cdef Py_ssize_t count = query.term_count
    query.drivers = <Py_ssize_t *> block_of(query, count, sizeof(Py_ssize_t))
    query.places = <Py_ssize_t *> block_of(query, count, sizeof(Py_ssize_t))
    query.parts_at_most = query.room.parts_at_most
    if count > ROOM_TERMS:
        query.parts_at_most = <double *> resized(
            NULL, (min(count, BOUNDED_TERMS) * LEVELS * LENGTHS + 1) * sizeof(double)
        )
    query.rest_weight = <double *> block_of(query, count, sizeof(double))
    query.rest_kind = <Kind *> block_of(query, count, sizeof(Kind))
    memset(query.levels_begun, 0, min(count, BOUNDED_TERMS) * sizeof(uint32_t))
    memset(query.shares, 0xFF, SHARES * sizeof(double))
    put_in_order(query)
    return 0


cdef int put_in_order(QueryState query) except -1:
    """Put the terms in the order in which they drive, and add up the bounds of the terms behind each.

    The last driver is the first required term, which all objects that answer hold. A required term drives even if it
    brings nothing, because a rare one saves reading the others.
    """
    cdef Py_ssize_t number, at, term, count = query.term_count
    cdef double weight = 0.0
    cdef Kind kind = CORRECTED
    cdef Ranked *ranked = <Ranked *> block_of(query, count, sizeof(Ranked))
    for number in range(count):
        ranked[number] = Ranked(query.terms[number].df, number)
        if query.terms[number].role & (R_BRINGS | R_REQUIRED):
            query.leading += 1
        else:
            ranked[number].key += BEHIND_ALL
    qsort(ranked, count, sizeof(Ranked), by_key)
    for at in range(count):
        query.drivers[at] = ranked[at].number
    for at in range(count):
        query.places[query.drivers[at]] = at
    query.driver_count = query.leading
    for at in range(count - 1, -1, -1):
        term = query.drivers[at]
        query.rest_weight[at], query.rest_kind[at] = weight, kind
        if query.terms[term].role & R_REQUIRED:
            query.driver_count = at + 1
        if query.terms[term].role & R_BRINGS:
            weight += query.terms[term].weight
            kind = min(kind, query.terms[term].kind)
    return 0


cdef double score_bound(QueryState query, int level, uint64_t leveled, Py_ssize_t without, uint8_t packed) noexcept nogil:
    """Return a bound of the score of an object of the driver, before the score is scaled by its share of the query.

    Parts are added up in the order of a score, so that rounding does not make the bound too small.

    Args:
        level: the largest frequency of the leveled terms in the object; see `part_at_most`.
        leveled: the leveled terms, as bits of their places among the drivers.
        without: the place of a term that the object lacks; -1: none.
        packed: the object's length, or a shorter one.
    """
    cdef Py_ssize_t number, place
    cdef double bound = 0.0
    if query.term_count == 1 and query.terms[0].count == 1 and query.driver == 0 and without < 0:
        return part_at_most(query, 0, level if leveled & 1 else 0, packed)
    for number in range(query.term_count):
        place = query.places[number]
        if place == query.driver and query.terms[number].count > 1:
            bound += slot_at_most(
                query, own_slot(query), level if place < 64 and leveled >> place & 1 else ANY, packed
            )
        elif place >= query.driver and place != without:
            bound += part_at_most(query, number, level if place < 64 and leveled >> place & 1 else 0, packed)
    return bound


cdef int length_limit(
    QueryState query, int level, uint64_t leveled, Py_ssize_t without, Kind kind, double share, uint32_t iid, int high
) noexcept nogil:
    """Return the packed length from which on no object up to `iid` can be among the best: bounds fall with the length.

    Args:
        level, leveled, without: see `score_bound`.
        kind, share: the best kind and share that the object can have.
        high: an upper bound of the limit.
    """
    cdef int low = 0, middle, step = 1
    if query.top.size < query.top.k or kind < query.top.objects[0].kind:
        return high
    if kind > query.top.objects[0].kind:
        return 0
    if high and enters(query, 
        kind, score_bound(query, level, leveled, without, <uint8_t> (high - 1)) * share, iid
    ):
        return high
    high = max(high - 1, 0)
    low = high - step
    while low > 0 and not enters(query, 
        kind, score_bound(query, level, leveled, without, <uint8_t> low) * share, iid
    ):  # a limit falls by little at a time
        high = low
        step *= 2
        low = high - step
    low = max(low, 0)
    while low < high:
        middle = (low + high) // 2
        if enters(query, kind, score_bound(query, level, leveled, without, <uint8_t> middle) * share, iid):
            low = middle + 1
        else:
            high = middle
    return low


cdef void find_limits(QueryState query, uint32_t iid) noexcept nogil:
    """Find, for each frequency of the driver, the length from which on an object cannot be among the best."""
    cdef uint64_t own = <uint64_t> 1 << query.driver if query.driver < 64 else 0
    if is_as_before(query, iid):
        return
    query.without_count = 0
    query.is_leveled = False
    query.levels_found = 0
    query.limits[ANY] = length_limit(query, ANY, 0, -1, query.kind, query.share, iid, query.limits[ANY])
    find_levels(query, own, iid, query.limits)


cdef void forget_limits(QueryState query) noexcept nogil:
    """Forget the limits, because another driver follows."""
    cdef int level
    query.worst_iid = -1
    query.without_count = 0
    query.is_leveled = False
    query.leveled = 0
    query.levels_found = 0
    for level in range(LEVELS):
        query.limits[level] = query.level_limits[level] = LENGTHS


cdef void find_levels(QueryState query, uint64_t leveled, uint32_t iid, int *limits) noexcept nogil:
    """Find the limit of each level; see `length_limit`. With the same driver, limits only fall."""
    cdef int level, any = limits[ANY]
    for level in range(TF_MAX, ANY, -1):
        any = min(any, limits[level])
        any = limits[level] = length_limit(query, level, leveled, -1, query.kind, query.share, iid, any)
    limits[UNTYPED] = length_limit(query, 
        UNTYPED, leveled, -1, query.kind, query.share, iid, min(any, limits[UNTYPED])
    )


cdef const int *levels_of(QueryState query, uint64_t leveled, uint32_t iid) noexcept nogil:
    """Return the limit of each level of the given terms; see `length_limit`."""
    cdef int level
    if leveled != query.leveled:
        for level in range(LEVELS):
            query.leveled_limits[level] = LENGTHS
    elif query.is_leveled:
        return query.leveled_limits
    query.leveled = leveled
    query.is_leveled = True
    query.leveled_limits[ANY] = query.limits[ANY]
    find_levels(query, leveled, iid, query.leveled_limits)
    return query.leveled_limits


cdef void find_few_limits(QueryState query, uint32_t iid) noexcept nogil:
    """Find the limits like `find_limits`, with one limit for all objects that hold the driver more than once."""
    cdef uint64_t own = <uint64_t> 1 << query.driver if query.driver < 64 else 0
    cdef int level, any
    if is_as_before(query, iid):
        return
    query.without_count = 0
    query.levels_found = 0
    any = length_limit(query, ANY, 0, -1, query.kind, query.share, iid, query.limits[ANY])
    for level in range(ANY, TF_MAX + 1):
        query.limits[level] = any
    query.limits[ONCE] = length_limit(query, ONCE, own, -1, query.kind, query.share, iid, any)
    query.limits[UNTYPED] = length_limit(query, UNTYPED, own, -1, query.kind, query.share, iid, query.limits[ONCE])


cdef int limit_of_level(QueryState query, int level, uint32_t iid) noexcept nogil:
    """Return the limit of objects with frequencies up to a level; see `length_limit`."""
    if not query.levels_found >> level & 1:
        query.levels_found |= 1 << level
        query.level_limits[level] = length_limit(query, 
            level, UINT64_MAX, -1, query.kind, query.share, iid, min(query.limits[ANY], query.level_limits[level])
        )
    return query.level_limits[level]


cdef int limit_without(QueryState query, Py_ssize_t at, uint32_t newest) noexcept nogil:
    """Return the length from which on an object of the driver that lacks a term cannot be among the best.

    Args:
        at: the place of the term, behind the driver, among those that bring objects or are required.
        newest: no object to consider has a larger IID.
    """
    cdef const Term *term = &query.terms[query.drivers[at]]
    cdef const Term *held = &query.terms[query.drivers[query.driver]]
    cdef Kind kind = CORRECTED
    cdef Py_ssize_t other
    cdef double weight = 0.0, share = 1.0
    cdef bint brings = held.role & R_BRINGS
    if term.role & R_REQUIRED or query.only_full:
        return 0
    if brings:
        kind = own_slot(query).kind
        weight = weight_of(held, own_slot(query))
    for other in range(query.driver + 1, query.leading):
        held = &query.terms[query.drivers[other]]
        if other != at and held.role & R_BRINGS:
            brings = True
            kind = min(kind, held.kind)
            weight += held.weight
    if not brings:
        return 0
    if query.total > 0:
        share = pow(min(weight / query.total * SLACK, 1.0), query.exponent)
    return length_limit(query, 0, 0, at, kind, share, newest, query.limits[ANY])


cdef Kind driver_kind(QueryState query) noexcept nogil:
    """Return the best kind that an object of the driver may have."""
    cdef Py_ssize_t at
    cdef const Slot *slot = own_slot(query)
    cdef bint brings = query.terms[query.drivers[query.driver]].role & R_BRINGS
    if query.full_first and query.driver == 0 and query.total > 0 and (slot.kind == EXACT or not brings):
        for at in range(query.term_count):
            if query.terms[at].role & R_BRINGS and query.terms[at].kind != EXACT:
                break
        else:
            return FULL
    return min(slot.kind, query.rest_kind[query.driver]) if brings else query.rest_kind[query.driver]


cdef double driver_share(QueryState query) noexcept nogil:
    """Return the largest factor for the share of the query that an object of the driver can have."""
    cdef const Term *term = &query.terms[query.drivers[query.driver]]
    cdef double weight = weight_of(term, own_slot(query)) if term.role & R_BRINGS else 0.0
    if query.kind == FULL or query.total <= 0:
        return 1.0
    weight += query.rest_weight[query.driver]
    return pow(min(weight / query.total * SLACK, 1.0), query.exponent)


cdef int by_key(const void *left, const void *right) noexcept nogil:
    """Compare two terms by key, then by place in the query, for qsort."""
    cdef const Ranked *one = <const Ranked *> left
    cdef const Ranked *other = <const Ranked *> right
    if one.key != other.key:
        return 1 if one.key > other.key else -1
    return (one.number > other.number) - (one.number < other.number)
