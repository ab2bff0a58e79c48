"""The state of a query while it is answered, for native code: its plan, and the results of its steps so far.

QueryState contains only data. The steps are functions in other modules: see the table in docs/architecture.md.
"""

from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from sonicpy._native.bm25 cimport PackedLengths
from sonicpy._native.extremes cimport Extremes
from sonicpy._native.length_masks cimport LengthMasks
from sonicpy._native.list_lookup cimport Source
from sonicpy._native.mask cimport Mask
from sonicpy._native.merged_list cimport Merged
from sonicpy._native.plan cimport Plan
from sonicpy._native.stored_postings cimport OpenBlock, StoredPostings
from sonicpy._native.top_k cimport Kind, ScoredObject, TopK
from sonicpy._native.windows cimport WINDOW_OBJECTS, WINDOW_WORDS, Gathered, Holders

cdef extern from *:
    """
    #define SLACK (1.0 + 1e-9)  /* bounds are added up in another order than scores */
    """
    const double SLACK


cdef enum:
    LEVELS = 9  # of bounds: an object holds a term once, twice, and so on, or
    ANY = 0  # as often as it likes
    ONCE = 1
    TF_MAX = 7  # the most often for which there is a level
    UNTYPED = 8  # once, and not the word that was typed
    LENGTHS = 256  # packed ones
    SHARED_TERMS = 6  # whose shares are remembered
    SHARES = 1 << SHARED_TERMS
    SHARED_WEIGHTS = 16  # whose shares are remembered
    BOUNDED_TERMS = 64  # of a query, whose bounds are remembered for each length
    ROOM_TERMS = 3  # for whose bounds a room has room:
    ROOM_BOUNDS = 6913  # ROOM_TERMS * LEVELS * LENGTHS, and one more
    ROOM_WORDS = 1024  # of eight bytes of a room, for what a query needs by its terms and slots


cdef struct TermWindow


cdef struct Slot:  # words that represent a term with one weight: its family, or one expansion
    Py_ssize_t first, count  # its sources
    double weight  # of the frequencies of all its words together
    double exact_weight  # of those of its first word, which is the one that was typed
    double bound  # no object's part is larger
    Kind kind
    uint32_t gap, gap_size  # no word holds an IID from `gap` to `gap` + `gap_size` - 1
    TermWindow *here  # the holders of its words, if a walk knows them together; else NULL


cdef struct Term:  # a clause of the plan
    Py_ssize_t first, count  # its slots
    uint64_t df
    double weight  # of an object that holds the term itself
    double bound
    Kind kind  # the best of its slots that hold anything
    int role  # see plan.pxd


cdef struct Asked:  # a block that has to be read
    Py_ssize_t source
    Py_ssize_t block


cdef struct Gathering:
    Gathered gathered
    uint16_t places[WINDOW_OBJECTS]
    uint8_t tfs[WINDOW_OBJECTS]
    uint8_t lengths[WINDOW_OBJECTS]


cdef struct MergedWords:
    const Merged *list  # NULL: not put together
    const uint8_t *typed  # how often the object of each posting holds the typed word; NULL: they are no family
    Py_ssize_t end  # of the postings that a look-up has to look at, see `find_tf`
    Py_ssize_t window_end  # of those that no window held
    Py_ssize_t typed_end  # of those of which no window held the typed word


cdef struct TermWindow:  # the holders of a term in a window
    Py_ssize_t first, end  # its sources
    bint has_family  # they have one weight, and one of them was typed and weighs more
    Py_ssize_t kept  # the place of its Windows
    Holders **windows  # of its words together; NULL: they are rare
    Extremes *extremes  # by window, as these
    Extremes bound, typed_bound  # of the window that was asked for last, where no Windows keep them
    Py_ssize_t window_count
    int64_t window  # -1: of none
    Holders held
    Holders typed  # the holders of the typed word, if the term has a family
    Gathering *gathering  # what these refer to, unless common words have windows of their own
    Gathering *typed_gathering
    MergedWords merged  # its words together, if they are rare
    Slot *slots  # those of the term, if a walk knows the words of some together; else NULL
    Py_ssize_t slot_count


cdef struct Limits:  # packed lengths from which on no object is among the best
    int often  # however often it holds the needed terms
    int once  # if it holds each once


cdef struct TermRow:  # the holders of a term in a window, and what the term adds to scores
    int64_t window  # -1: of none
    const uint64_t *bits
    uint64_t *own  # what these refer to, if the postings of the term were put together
    uint64_t words  # which words of these are not 0
    Py_ssize_t start, end  # of these, those in the window
    double *once  # by length: the part of an object that holds the term once; then if it is the typed word; NaN: not known
    uint16_t *slots  # by place in the window: the slot of which a chosen object holds a word, if there are several


cdef struct Ranked:  # a term, to be put in order
    double key
    Py_ssize_t number


cdef struct Room:  # the memory of a query, which the next query gets
    double average, k1, b  # of the norms
    double norms[LENGTHS]
    double rests[LENGTHS]
    double spare[LENGTHS]
    double scores[WINDOW_OBJECTS]
    double shares[SHARES]
    double shared[SHARED_WEIGHTS]
    double factors[SHARED_WEIGHTS]
    uint64_t chosen[WINDOW_WORDS]
    uint64_t able[WINDOW_WORDS]
    uint64_t among[WINDOW_WORDS]
    uint32_t levels_begun[BOUNDED_TERMS]
    int without[BOUNDED_TERMS]
    double parts_at_most[ROOM_BOUNDS]
    uint64_t blocks[ROOM_WORDS]


cdef struct Spill:  # the head of a block that a room had no room for
    Spill *next
    uint64_t unused  # blocks begin at 16 bytes


cdef class QueryState:
    # what is asked for
    cdef readonly Plan plan  # that `bind` gave to a bucket
    cdef readonly object reader
    cdef readonly list rows  # of the words of the plan
    cdef readonly Mask mask  # the objects that pass the filter; None: no filter
    cdef readonly uint64_t newest  # only this many objects of each word are read, the newest ones; 0: all
    cdef LengthMasks masks
    cdef PackedLengths packed
    cdef Room *room
    cdef size_t used_bytes  # of its blocks
    cdef Spill *spilled
    cdef double *norms  # by packed length
    cdef double k1, exponent
    cdef bint full_first
    cdef bint wants_full  # only objects that hold every word are looked for, and fewer than wanted may be found
    cdef bint is_begun
    cdef list postings  # StoredPostings of each source
    cdef Source *sources
    cdef Slot *slots
    cdef Term *terms
    cdef Py_ssize_t source_count, slot_count, term_count
    cdef Py_ssize_t source_room, slot_room, term_room
    cdef Py_ssize_t bringing  # terms that bring objects
    cdef double total  # weight of these
    cdef TopK top

    # blocks
    cdef OpenBlock *opened  # of each source
    cdef Asked *asked
    cdef Py_ssize_t asked_count, asked_room

    # the holders of the terms
    cdef list windows  # Windows of terms and slots, None of rare ones
    cdef list merged  # MergedLists and TypedFrequencies that the walk reads
    cdef readonly Py_ssize_t made_bytes  # of windows that this query made, for later ones
    cdef TermWindow *here  # of each term; behind them one of the driver's slot among several, and those of slots
    cdef Py_ssize_t here_count

    # bounds
    cdef Py_ssize_t *drivers  # terms in the order in which they drive; those that only add or forbid behind them
    cdef Py_ssize_t driver_count
    cdef Py_ssize_t leading  # terms that bring objects or are required, which come first
    cdef double *rest_weight  # of the terms behind each driver
    cdef Kind *rest_kind
    cdef double *parts_at_most  # by term, level and length: the largest part of an object that is not shorter
    cdef uint32_t *levels_begun  # of each term, for which these are bounds or NaN, as bits
    cdef double *shares  # by the terms that are missing, a bit each in the order in which they drive
    cdef Py_ssize_t *places  # of each term among the drivers
    cdef Py_ssize_t driver, slot  # the place of the term whose holders are looked at, and the number of its slot
    cdef Kind kind  # the best that they can have
    cdef bint only_full  # the walk looks for objects that hold every word, and for no other ones
    cdef double share
    cdef int limits[LEVELS]  # no longer object is among the best, by how often it holds the driver
    cdef int leveled_limits[LEVELS]  # the same, by how often it holds some terms
    cdef uint64_t leveled  # these terms, by their places among the drivers, as bits
    cdef bint is_leveled  # they were found for the limits as they are
    cdef int level_limits[LEVELS]  # the same, by how often it holds each of all terms
    cdef uint32_t levels_found  # which of these were found for the limits as they are, as bits
    cdef int64_t worst_iid  # of the worst of the best objects when these were found; -1: find them again
    cdef double worst_score
    cdef int *without  # the same of an object that lacks a term, by its place behind the driver
    cdef Py_ssize_t without_count  # how many of these were found

    # the walk
    cdef TermWindow *own  # the holders of a word of the driver's slot
    cdef int64_t window  # where the walk is
    cdef uint64_t *chosen  # objects of the window that are still to be looked at
    cdef uint64_t summary  # which words of these are not 0
    cdef Py_ssize_t ahead
    cdef int patience  # with limits of windows; see `limit_in`
    cdef Py_ssize_t end  # of the driver's merged postings, those that are still to be looked at; -1: all
    cdef double *parts  # of the object that is looked at, by term
    cdef double *held  # the weights of the terms that it holds
    cdef double *rests  # by length: the most that an object of the driver can score; NaN: not known yet
    cdef bint is_started
    cdef bint is_full_slot  # an object with the driver's slot may hold every word
    cdef bint skips_full  # objects that hold every word were found before
    cdef bint walks  # else the query is answered without a walk, or it was given up
    cdef uint64_t lookups  # of the walk, about
    cdef uint64_t lookups_max  # after which it is given up
    cdef bint is_merged  # the postings of rare words were put together as far as they were read
    cdef uint64_t *able  # the objects that may be among the best, for the other words that they hold
    cdef int64_t able_window
    cdef int window_limit  # no longer object of the window is among the best

    # windows, all terms at once
    cdef double *scores  # of the objects of a window that are among `among`, while the terms are added up
    cdef double *shared  # weights of terms that objects hold
    cdef double *factors  # for objects that hold terms of such a weight
    cdef TermRow *held_rows  # of each term
    cdef Kind best_kind  # of the terms
    cdef double lacking  # the highest factor of an object that holds no word of some term
    cdef uint64_t *among  # those of them that may be among the best
    cdef uint64_t among_words  # which words of these are not 0
    cdef Py_ssize_t *by_bound  # the terms that bring objects, those that add least first
    cdef int64_t *next  # by term: none of its objects that were not passed yet is in a newer window
    cdef Py_ssize_t needed_from  # the best objects hold one of `by_bound` from here on
    cdef bint has_floor
    cdef ScoredObject floor  # an object that was found before: none of the best is worse
    cdef bint needs_all  # they hold all of them
    cdef double *spare  # by length: the most that the other terms add; NaN: not known yet
    cdef bint limits_differ  # some by how often the terms are held
    cdef Limits together  # of objects that hold needed terms
    cdef Limits *alone  # by `by_bound`: of those that hold no other one


cdef void *block_of(QueryState query, Py_ssize_t count, size_t item_bytes) except NULL
cdef int put_term(QueryState query, double weight, int role) except -1
cdef int put_slot(QueryState query, double weight, double exact_weight, Kind kind) except -1
cdef int put_source(QueryState query, StoredPostings stored) except -1
cdef int end_slot(QueryState query) except -1
cdef int put_plan(QueryState query, Plan plan, list lists) except -1
cdef int check_unstarted(QueryState query) except -1
cdef int open_sources(QueryState query) except -1
cdef int note_made(QueryState query, reader) except -1


cdef inline Py_ssize_t first_source(QueryState query, const Term *term) noexcept nogil:
    return query.slots[term.first].first if term.count else 0


cdef inline Py_ssize_t end_source(QueryState query, const Term *term) noexcept nogil:
    cdef const Slot *last = &query.slots[term.first + term.count - 1]
    return last.first + last.count if term.count else 0


cdef inline const Slot *own_slot(QueryState query) noexcept nogil:
    """Return the slot of the driver that is walked at present."""
    return &query.slots[query.terms[query.drivers[query.driver]].first + query.slot]


cdef inline bint enters(QueryState query, Kind kind, double score, uint32_t iid) noexcept nogil:
    """Return whether an object of a kind, with at most this score and this IID, can be among the best."""
    cdef const ScoredObject *worst
    if query.top.size < query.top.k:
        return True
    worst = &query.top.objects[0]
    if kind != worst.kind:
        return kind < worst.kind
    return score > worst.score or (score == worst.score and iid > worst.iid)
