"""A query before it is answered: the clauses of a plan, and the lists of postings of their words.

walk.pyx defines parts, scores and shares. This module reads no rows.
"""

from libc.stdint cimport uint32_t
from libc.stdlib cimport free
from libc.string cimport memcpy

from sonicpy._native.bm25 cimport norms_of
from sonicpy._native.length_masks cimport LengthMasks
from sonicpy._native.list_lookup cimport Source
from sonicpy._native.memory cimport resized, zeroed
from sonicpy._native.plan cimport R_BRINGS, R_FORBIDDEN, Clause, Plan, Slot as PlannedSlot
from sonicpy._native.slot_scores cimport slot_bound
from sonicpy._native.stored_postings cimport OpenBlock, StoredPostings
from sonicpy._native.top_k cimport CORRECTED, Kind, end_top


cdef class QueryState:
    """The state of a query while it is answered.

    Args:
        lengths: the packed lengths of all objects by IID, as bytes or a bytearray that must not change meanwhile; or
            their LengthMasks.
        average: the mean length of the objects.
        k1, b: the constants of BM25.
        exponent: the exponent of the share of the query that an object holds.
        full_first: whether objects that hold every term as typed come first, with the kind FULL.
    """

    def __cinit__(
        self, lengths not None, double average, double k1, double b, double exponent, *, bint full_first=True
    ):
        self.masks = lengths if isinstance(lengths, LengthMasks) else LengthMasks(lengths)
        self.packed = self.masks.packed
        self.norms = <double *> resized(NULL, LENGTHS * sizeof(double))
        memcpy(self.norms, norms_of(average, k1, b), LENGTHS * sizeof(double))
        self.k1, self.exponent, self.full_first = k1, exponent, full_first
        self.postings = []
        self.windows = []
        self.merged = []

    def __dealloc__(self):
        cdef Py_ssize_t number
        if self.here != NULL:
            for number in range(self.term_count + 1):
                free(self.here[number].gathering)
                free(self.here[number].typed_gathering)
        if self.held_rows != NULL:
            for number in range(self.term_count):
                free(self.held_rows[number].own)
                free(self.held_rows[number].once)
                free(self.held_rows[number].slots)
        free(self.norms)
        free(self.rests)
        free(self.sources)
        free(self.slots)
        free(self.terms)
        free(self.opened)
        free(self.asked)
        free(self.here)
        free(self.drivers)
        free(self.places)
        free(self.parts_at_most)
        free(self.rest_weight)
        free(self.rest_kind)
        free(self.parts)
        free(self.held)
        free(self.scores)
        free(self.held_rows)
        free(self.by_bound)
        free(self.next)
        free(self.spare)
        free(self.alone)
        end_top(&self.top)


cdef int put_term(QueryState query, double weight, int role) except -1:
    """Add the next term of the query; see `Clause`."""
    check_unstarted(query)
    if query.term_count == query.term_room:
        query.term_room = 2 * query.term_room + 8
        query.terms = <Term *> resized(query.terms, query.term_room * sizeof(Term))
    query.terms[query.term_count] = Term(query.slot_count, 0, 0, weight, 0.0, CORRECTED, role)
    query.term_count += 1
    if role & R_BRINGS:
        query.bringing += 1
        query.total += weight
    return 0


cdef int put_slot(QueryState query, double weight, double exact_weight, Kind kind) except -1:
    """Add a slot to the last term. Slots of a forbidden term add nothing to a score."""
    check_unstarted(query)
    if not query.term_count:
        raise ValueError("words stand for a term: add one first")
    if query.terms[query.term_count - 1].role & R_FORBIDDEN:
        weight = exact_weight = 0.0
    if query.slot_count == query.slot_room:
        query.slot_room = 2 * query.slot_room + 16
        query.slots = <Slot *> resized(query.slots, query.slot_room * sizeof(Slot))
    query.slots[query.slot_count] = Slot(query.source_count, 0, weight, exact_weight, 0.0, kind)
    return 0


cdef int put_source(QueryState query, StoredPostings stored) except -1:
    """Add a word to the last slot."""
    cdef Py_ssize_t number
    cdef Source *source
    if query.source_count == query.source_room:
        query.source_room = 2 * query.source_room + 16
        query.sources = <Source *> resized(query.sources, query.source_room * sizeof(Source))
    query.postings.append(stored)
    source = &query.sources[query.source_count]
    source[0] = Source(stored.blocks, stored.block_count, NULL, NULL, 0, -1, -1, -1, 0, 255, stored.impacts, NULL)
    for number in range(stored.impacts.count):
        source.tf_max = max(source.tf_max, stored.impacts.pairs[number].tf)
        source.length_min = min(source.length_min, stored.impacts.pairs[number].length)
    if stored.windows is not None:
        source.windows = stored.windows.made
        source.extremes = stored.windows.extremes
        source.window_count = stored.windows.count
    query.terms[query.term_count - 1].df += stored.df
    query.slots[query.slot_count].count += 1
    query.source_count += 1
    return 0


cdef int end_slot(QueryState query) except -1:
    """Compute the bounds of the last slot, after adding its words."""
    cdef Term *term = &query.terms[query.term_count - 1]
    cdef Slot *slot = &query.slots[query.slot_count]
    cdef uint32_t tf = 0
    cdef Py_ssize_t number
    for number in range(slot.first, slot.first + slot.count):
        tf += query.sources[number].tf_max
    slot.bound = slot_bound(query, slot, 0)
    query.slot_count += 1
    term.count += 1
    if tf:
        term.bound = max(term.bound, slot.bound)
        term.kind = min(term.kind, slot.kind)
    return 0


cdef int put_plan(QueryState query, Plan plan, list lists) except -1:
    """Add the clauses of a plan, with the postings of their words.

    Args:
        lists: the StoredPostings of the words of the plan, in their order; None: no object holds the word; False: the
            postings of the word are in the list of an earlier word of its slot.
    """
    cdef Clause clause
    cdef PlannedSlot slot
    cdef Py_ssize_t word, at = 0, read
    for clause in plan.clauses:
        put_term(query, clause.weight, clause.role)
        for slot in clause.slots:
            read = 0
            for word in range(len(slot.words)):
                if lists[at] is not None and lists[at] is not False:
                    if not read:  # a part of a bucket may lack the word that was typed
                        put_slot(query, slot.weight, slot.exact_weight if word == 0 else 0.0, slot.kind)
                    put_source(query, lists[at])
                    read += 1
                at += 1
            if read:
                end_slot(query)
    return 0


cdef int check_unstarted(QueryState query) except -1:
    if query.is_begun:
        raise ValueError("the query is being answered: nothing can be added")
    return 0


cdef int open_sources(QueryState query) except -1:
    """Make room for a decoded block of each list."""
    cdef Py_ssize_t number
    if query.opened == NULL:
        query.opened = <OpenBlock *> resized(NULL, (query.source_count + 1) * sizeof(OpenBlock))
        for number in range(query.source_count):
            query.opened[number].number = -1
            query.sources[number].opened = &query.opened[number]
    return 0
