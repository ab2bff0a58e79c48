"""A query before it is answered: the clauses of a plan, and the lists of postings of their words.

walk.pyx defines parts, scores and shares. This module reads no rows.
"""

cimport cython
from libc.stdint cimport uint32_t
from libc.stdlib cimport free
from libc.string cimport memcpy, memset

from sonicpy._native.bm25 cimport norms_of
from sonicpy._native.length_masks cimport LengthMasks
from sonicpy._native.list_lookup cimport Source
from sonicpy._native.memory cimport resized, zeroed
from sonicpy._native.plan cimport R_BRINGS, R_FORBIDDEN, Clause, Plan, Slot as PlannedSlot
from sonicpy._native.slot_scores cimport slot_bound
from sonicpy._native.stored_postings cimport OpenBlock, StoredPostings
from sonicpy._native.top_k cimport CORRECTED, Kind, end_top

cdef enum:
    ROOMS = 4  # of queries that are gone, which later ones get: 100 KB each


@cython.no_gc  # its plan, its postings and its reader do not refer to it
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
        take_room(self, average, k1, b)
        self.k1, self.exponent, self.full_first = k1, exponent, full_first
        self.postings = []
        self.windows = []
        self.merged = []

    def __dealloc__(self):
        cdef Py_ssize_t number
        if self.here != NULL:
            for number in range(self.here_count):
                free(self.here[number].gathering)
                free(self.here[number].typed_gathering)
        if self.held_rows != NULL:
            for number in range(self.term_count):
                free(self.held_rows[number].once)
                free(self.held_rows[number].slots)
        free(self.opened)
        free(self.asked)
        if self.parts_at_most != NULL and self.parts_at_most != self.room.parts_at_most:
            free(self.parts_at_most)
        give_room_back(self)
        end_top(&self.top)


# -- memory --------------------------------------------------------------------------------------------------------

cdef Room *idle[ROOMS]  # of queries that are gone
cdef int idle_count = 0


cdef int take_room(QueryState query, double average, double k1, double b) except -1:
    """Give a query its memory, in which the norms of lengths are."""
    global idle_count
    cdef Room *room
    if idle_count:
        idle_count -= 1
        room = idle[idle_count]
    else:
        room = <Room *> resized(NULL, sizeof(Room))
        room.k1 = -1.0  # it has no norms
    query.room = room
    if room.average != average or room.k1 != k1 or room.b != b:
        room.average, room.k1, room.b = average, k1, b
        memcpy(room.norms, norms_of(average, k1, b), LENGTHS * sizeof(double))
    query.norms, query.rests, query.spare, query.scores = room.norms, room.rests, room.spare, room.scores
    query.shares, query.shared, query.factors = room.shares, room.shared, room.factors
    query.chosen, query.able, query.among = room.chosen, room.able, room.among
    query.levels_begun, query.without = room.levels_begun, room.without
    return 0


cdef int give_room_back(QueryState query) noexcept:
    global idle_count
    cdef Spill *spilled
    while query.spilled != NULL:
        spilled = query.spilled
        query.spilled = spilled.next
        free(spilled)
    if query.room == NULL:
        return 0
    if idle_count < ROOMS:
        idle[idle_count] = query.room
        idle_count += 1
    else:
        free(query.room)
    query.room = NULL
    return 0


cdef void *block_of(QueryState query, Py_ssize_t count, size_t item_bytes) except NULL:
    """Return room for `count` items of zero bytes, which is freed with the query."""
    cdef size_t size = (count * item_bytes + 15) & ~<size_t> 15
    cdef Spill *spilled
    cdef void *block
    if query.used_bytes + size <= sizeof(query.room.blocks):
        block = <char *> query.room.blocks + query.used_bytes
        query.used_bytes += size
        memset(block, 0, size)
        return block
    spilled = <Spill *> zeroed(1, sizeof(Spill) + size)
    spilled.next = query.spilled
    query.spilled = spilled
    return spilled + 1


cdef void *larger_block(QueryState query, const void *before, Py_ssize_t count, Py_ssize_t room, size_t item_bytes) except NULL:
    """Return room for `room` items, the first `count` of which are copied from an earlier block."""
    cdef void *block = block_of(query, room, item_bytes)
    if count:
        memcpy(block, before, count * item_bytes)
    return block


# -- terms and slots -----------------------------------------------------------------------------------------------

cdef int put_term(QueryState query, double weight, int role) except -1:
    """Add the next term of the query; see `Clause`."""
    check_unstarted(query)
    if query.term_count == query.term_room:
        query.term_room = 2 * query.term_room + 4
        query.terms = <Term *> larger_block(query, query.terms, query.term_count, query.term_room, sizeof(Term))
    query.terms[query.term_count] = Term(query.slot_count, 0, 0, weight, 0.0, CORRECTED, role)
    query.term_count += 1
    if role & R_BRINGS:
        query.bringing += 1
        query.total += weight
    return 0


cdef int put_slot(QueryState query, double weight, double exact_weight, Kind kind) except -1:
    """Begin a slot with these weights and this kind of the last term; `end_slot` ends it. Slots of a forbidden term add
    nothing to a score. Raises ValueError if there is no term yet.
    """
    check_unstarted(query)
    if not query.term_count:
        raise ValueError("words stand for a term: add one first")
    if query.terms[query.term_count - 1].role & R_FORBIDDEN:
        weight = exact_weight = 0.0
    if query.slot_count == query.slot_room:
        query.slot_room = 2 * query.slot_room + 8
        query.slots = <Slot *> larger_block(query, query.slots, query.slot_count, query.slot_room, sizeof(Slot))
    query.slots[query.slot_count] = Slot(query.source_count, 0, weight, exact_weight, 0.0, kind, 0, 0, NULL)
    return 0


cdef int put_source(QueryState query, StoredPostings stored) except -1:
    """Add a word to the last slot."""
    cdef Py_ssize_t number
    cdef Source *source
    if query.source_count == query.source_room:
        query.source_room = 2 * query.source_room + 8
        query.sources = <Source *> larger_block(
            query, query.sources, query.source_count, query.source_room, sizeof(Source)
        )
    query.postings.append(stored)
    source = &query.sources[query.source_count]
    source[0] = Source(stored.blocks, stored.block_count, NULL, NULL, 0, -1, -1, -1, 0, 255, stored.impacts, NULL, 0, 0)
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


cdef int note_made(QueryState query, reader) except -1:
    """Note the windows and merged lists that a query made since the last call, which the cached postings keep."""
    if query.made_bytes:
        reader.note_made(query.made_bytes)
        query.made_bytes = 0
    return 0
