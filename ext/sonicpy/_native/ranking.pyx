"""Which objects answer a query, and in which order: postings in, IIDs out.

The postings of a query's terms are gathered into a table of objects (open addressing on the IID), scored, and the best
are selected. IIDs in a list need not be sorted (an old object that gains a term stands at that term's head); where
those of every list are, as in a bucket whose objects never change, the best are found by walking the lists, and there
is no table. No Python object is made for a posting.

    ObjectTable     objects by IID, in the order they came, and the selection of the best
      Ranker        BM25 and "all words, newest first"
      SonicTable    Sonic's scores (spec chapter 8): one per object and word, in 32 bits
    Best            the best so far, while lists are walked

BM25: Robertson, Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009), formula 3.15.
"""

from cpython.bytearray cimport PyByteArray_AS_STRING, PyByteArray_GET_SIZE
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.math cimport INFINITY, log
from libc.stdint cimport INT64_MAX, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memset

from sonicpy._native.lengths cimport unpack_length
from sonicpy._native.postings cimport BLOCK_POSTINGS, Posting, PostingList, WordRow, decode
from sonicpy._native.text cimport F_PART, F_SPECIAL, F_STOP, Terms

cdef enum Kind:
    FULL  # every word of the query as it was typed
    EXACT
    COMPLETED
    CORRECTED


cdef enum:
    ROOM_OBJECTS = 256  # what a table has room for at first
    SPARES = 4
    SPARE_OBJECTS_MAX = 65536  # larger tables are not kept for the next query
    KEYWORDS_MAX = 4  # a query with more words is a sentence: the object it looks for need not hold its numbers
    FIRST_OF_THREE_BYTES = 0xE0


cdef struct Room:  # memory of a table, handed on from query to query: taking it from the system costs more than ranking
    uint64_t *iids
    double *scores
    uint8_t *kinds
    int32_t *slots
    Py_ssize_t capacity


cdef Room spares[SPARES]
cdef int spare_count = 0


cdef class ObjectTable:
    """Objects by IID, in the order they came, each with a score."""
    cdef uint64_t *_iids
    cdef double *_scores
    cdef uint8_t *_kinds  # the best way (Kind) in which the object was found; better ones come first
    cdef uint32_t *_order  # the objects that are left after filters, in their order; NULL: all, as they came
    cdef Py_ssize_t _count, _capacity, _ordered
    cdef int32_t *_slots
    cdef uint32_t _mask
    cdef bint _is_unhashed  # the objects are not in `_slots` yet: one list alone needs none of them

    def __cinit__(self, *args):
        global spare_count
        cdef Room room
        if spare_count:
            spare_count -= 1
            room = spares[spare_count]
            self._capacity = room.capacity
            self._iids = room.iids
            self._scores = room.scores
            self._kinds = room.kinds
            self._slots = room.slots
        else:
            self._capacity = ROOM_OBJECTS
            self._iids = <uint64_t *> malloc(self._capacity * sizeof(uint64_t))
            self._scores = <double *> malloc(self._capacity * sizeof(double))
            self._kinds = <uint8_t *> malloc(self._capacity)
            self._slots = <int32_t *> malloc(2 * self._capacity * sizeof(int32_t))
            if self._iids == NULL or self._scores == NULL or self._kinds == NULL or self._slots == NULL:
                raise MemoryError
        self._mask = 2 * ROOM_OBJECTS - 1
        self._is_unhashed = True

    def __dealloc__(self):
        global spare_count
        free(self._order)
        if self._slots != NULL and spare_count < SPARES and self._capacity <= SPARE_OBJECTS_MAX:
            spares[spare_count] = Room(self._iids, self._scores, self._kinds, self._slots, self._capacity)
            spare_count += 1
            return
        free(self._iids)
        free(self._scores)
        free(self._kinds)
        free(self._slots)

    def __len__(self) -> int:
        return self._count if self._order == NULL else self._ordered

    cdef inline int32_t find(self, uint64_t iid) noexcept nogil:
        """Return the number of an object in the table, or -1."""
        cdef uint32_t slot = mix(iid) & self._mask
        if self._is_unhashed:
            self.hash_all()
        while self._slots[slot] >= 0 and self._iids[self._slots[slot]] != iid:
            slot = (slot + 1) & self._mask
        return self._slots[slot]

    cdef int32_t insert(self, uint64_t iid) except -1:
        """Put an object that is not there at the end of the table and return its number."""
        self.make_room(1)
        return self.put(iid)

    cdef inline int32_t put(self, uint64_t iid) noexcept nogil:
        """Insert where there is room."""
        cdef uint32_t slot = mix(iid) & self._mask
        while self._slots[slot] >= 0:
            slot = (slot + 1) & self._mask
        self._slots[slot] = <int32_t> self._count
        self._iids[self._count] = iid
        self._scores[self._count] = 0.0
        self._kinds[self._count] = EXACT
        self._count += 1
        return <int32_t> (self._count - 1)

    cdef int make_room(self, Py_ssize_t objects) except -1:
        """Make sure that so many objects more can be put; at most half of the slots are ever taken."""
        cdef uint32_t slots = self._mask + 1
        cdef Py_ssize_t capacity = self._capacity
        if 2 * (self._count + objects) <= <Py_ssize_t> slots:
            return 0
        while 2 * (self._count + objects) > <Py_ssize_t> slots:
            slots *= 2
        if <Py_ssize_t> slots > 2 * capacity:
            capacity = slots // 2
            self._iids = <uint64_t *> resized(self._iids, capacity * sizeof(uint64_t))
            self._scores = <double *> resized(self._scores, capacity * sizeof(double))
            self._kinds = <uint8_t *> resized(self._kinds, capacity)
            self._slots = <int32_t *> resized(self._slots, slots * sizeof(int32_t))
            self._capacity = capacity
        self._mask = slots - 1
        if not self._is_unhashed:
            self.hash_all()
        return 0

    cdef void hash_all(self) noexcept nogil:
        """Put all objects into the slots, afresh."""
        cdef Py_ssize_t number
        cdef uint32_t slot
        self._is_unhashed = False
        memset(self._slots, 0xFF, (self._mask + 1) * sizeof(int32_t))
        for number in range(self._count):
            slot = mix(self._iids[number]) & self._mask
            while self._slots[slot] >= 0:
                slot = (slot + 1) & self._mask
            self._slots[slot] = <int32_t> number

    cdef int begin_order(self) except -1:
        """Make room for the numbers of the objects that stay."""
        self._order = <uint32_t *> resized(self._order, (self._count + 1) * sizeof(uint32_t))
        self._ordered = 0
        return 0

    cdef inline void keep(self, Py_ssize_t number) noexcept nogil:
        self._order[self._ordered] = <uint32_t> number
        self._ordered += 1

    cdef inline uint32_t at(self, uint32_t place) noexcept nogil:
        return place if self._order == NULL else self._order[place]

    cdef inline bint is_better(self, uint32_t left, uint32_t right) noexcept nogil:
        """Whether the object at place `left` goes before the one at `right`."""
        cdef uint32_t a = self.at(left), b = self.at(right)
        if self._kinds[a] != self._kinds[b]:
            return self._kinds[a] < self._kinds[b]
        return self._scores[a] > self._scores[b] or (self._scores[a] == self._scores[b] and left < right)

    def best(self, uint64_t offset, uint64_t limit) -> list:
        """Return the IIDs of the objects from place `offset` on, at most `limit`: best first, equals as they came."""
        cdef Py_ssize_t end = 0, place
        cdef uint32_t *chosen = self.choose(offset, limit, &end)
        cdef list out = []
        if chosen == NULL:
            return out
        try:
            for place in range(<Py_ssize_t> offset, end):
                out.append(self._iids[self.at(chosen[place])])
            return out
        finally:
            free(chosen)

    def best_scored(self, uint64_t offset, uint64_t limit) -> list:
        """Return (IID, kind, score) of the same objects.

        The kind, which is compared before the score, is 0 for an object that holds every word as it was typed, 1 for
        some of the words, 2 for completions, 3 for corrections.
        """
        cdef Py_ssize_t end = 0, place
        cdef uint32_t *chosen = self.choose(offset, limit, &end)
        cdef uint32_t number
        cdef list out = []
        if chosen == NULL:
            return out
        try:
            for place in range(<Py_ssize_t> offset, end):
                number = self.at(chosen[place])
                out.append((self._iids[number], self._kinds[number], self._scores[number]))
            return out
        finally:
            free(chosen)

    cdef uint32_t *choose(self, uint64_t offset, uint64_t limit, Py_ssize_t *end) except? NULL:
        """Return the places of the objects before `end`, best first, to be freed; NULL: there are none from `offset`
        on."""
        cdef Py_ssize_t left = len(self), wanted, size = 0, number
        cdef uint32_t moved, at, worst = 0
        cdef uint32_t *heap
        end[0] = 0
        if offset >= <uint64_t> left:
            return NULL
        wanted = left if limit >= <uint64_t> left - offset else <Py_ssize_t> (offset + limit)
        heap = <uint32_t *> malloc((wanted + 1) * sizeof(uint32_t))
        if heap == NULL:
            raise MemoryError
        for number in range(left):  # the worst of the best stands at the root
            if size < wanted:
                heap[size] = <uint32_t> number
                size += 1
                self.sift_up(heap, size - 1)
                worst = self.at(heap[0])
                continue
            if not wanted:
                break
            # `is_better` written out for most, which are not: of equals those that came before stay.
            at = self.at(<uint32_t> number)
            if self._kinds[at] > self._kinds[worst] or (
                self._kinds[at] == self._kinds[worst] and self._scores[at] <= self._scores[worst]
            ):
                continue
            heap[0] = <uint32_t> number
            self.sift_down(heap, size, 0)
            worst = self.at(heap[0])
        while size > 1:  # heap sort: the worst goes to the end
            size -= 1
            moved = heap[size]
            heap[size] = heap[0]
            heap[0] = moved
            self.sift_down(heap, size, 0)
        end[0] = wanted
        return heap

    cdef void sift_up(self, uint32_t *heap, Py_ssize_t at) noexcept nogil:
        cdef Py_ssize_t parent
        cdef uint32_t moved = heap[at]
        while at > 0:
            parent = (at - 1) >> 1
            if not self.is_better(heap[parent], moved):
                break
            heap[at] = heap[parent]
            at = parent
        heap[at] = moved

    cdef void sift_down(self, uint32_t *heap, Py_ssize_t size, Py_ssize_t at) noexcept nogil:
        cdef Py_ssize_t child
        cdef uint32_t moved = heap[at]
        while True:
            child = 2 * at + 1
            if child >= size:
                break
            if child + 1 < size and self.is_better(heap[child], heap[child + 1]):
                child += 1
            if not self.is_better(moved, heap[child]):
                break
            heap[at] = heap[child]
            at = child
        heap[at] = moved


cdef inline uint32_t mix(uint64_t iid) noexcept nogil:
    iid *= <uint64_t> 0x9E3779B97F4A7C15
    return <uint32_t> (iid >> 32)


cdef void *resized(void *held, size_t size) except NULL:
    cdef void *grown = realloc(held, size)
    if grown == NULL:
        raise MemoryError
    return grown


cdef void *grown(void *held, Py_ssize_t *capacity, Py_ssize_t needed, size_t size) except NULL:
    """Return memory for at least so many items."""
    cdef Py_ssize_t wanted = max(needed, 2 * capacity[0])
    cdef void *found = resized(held, wanted * size)
    capacity[0] = wanted
    return found


cdef int check_dead(Py_ssize_t dead) except -1:
    if dead < 0:
        raise ValueError(f"{dead} postings cannot be dead")
    return 0


# -- BM25, and all words newest first -----------------------------------------------------------------------------

cdef struct Found:
    double matched  # weight of the terms found in the object
    uint32_t required  # how many required terms were found
    int32_t last_term  # the term that touched it last: a term counts once


cdef struct Hit:
    uint32_t object
    uint32_t tf


cdef struct Run:  # the postings of one `add` or `add_alternate`
    Py_ssize_t begin, end  # among the ranker's postings, in which they stand oldest first
    Py_ssize_t end_hit
    double weight
    int32_t term
    Kind kind
    bint required
    bint inserts


cdef struct Part:  # of an object's score
    Py_ssize_t run
    uint32_t tf
    double score


cdef struct Parts:  # of one object: how many are held, and those that are not
    Py_ssize_t held
    Py_ssize_t others
    double others_score


cdef struct PackedLengths:  # packed, by IID
    const uint8_t *packed
    uint64_t count


cdef PackedLengths lengths_of(object lengths) except *:
    """Return where the lengths stand, as long as `lengths` is neither changed nor let go."""
    if type(lengths) is bytearray:
        return PackedLengths(<const uint8_t *> PyByteArray_AS_STRING(lengths), <uint64_t> PyByteArray_GET_SIZE(lengths))
    if type(lengths) is bytes:
        return PackedLengths(<const uint8_t *> PyBytes_AS_STRING(lengths), <uint64_t> PyBytes_GET_SIZE(lengths))
    raise TypeError(f"lengths are bytes or a bytearray, not {type(lengths).__name__}")


cdef inline uint8_t packed_length(const PackedLengths *lengths, uint64_t iid) noexcept nogil:
    return lengths.packed[iid] if iid < lengths.count else 0


cdef struct Norms:  # what lengths do to scores, by packed length, for one bucket at one moment
    double average, k1, b
    double norms[256]


cdef Norms last_norms  # most queries are for the bucket of the query before
last_norms.k1 = -1.0


cdef const double *norms_of(double average, double k1, double b) noexcept:
    """Return the norms of all packed lengths; they stand until the next call."""
    cdef Py_ssize_t number
    cdef double *norms = last_norms.norms
    if last_norms.average == average and last_norms.k1 == k1 and last_norms.b == b:
        return norms
    last_norms.average, last_norms.k1, last_norms.b = average, k1, b
    for number in range(256):
        norms[number] = k1 * (1.0 - b + b * unpack_length(<uint8_t> number) / average) if average > 0 else k1
    return norms


cpdef double idf(uint64_t objects, uint64_t df) noexcept:
    """Return the weight of a word that `df` of `objects` objects hold: ln(1 + (N - df + 0.5) / (df + 0.5))."""
    return log(1.0 + (<double> (max(objects, df) - df) + 0.5) / (<double> df + 0.5))


cdef bint is_keywords(Terms terms) except -1:
    """Return whether a query is words to look for, not a sentence. Of a run without blanks each second pair is one."""
    cdef const uint8_t *flags = <const uint8_t *> <const char *> terms.flags
    cdef Py_ssize_t number, words = 0, pairs = 0
    cdef bytes term
    for number in range(len(terms.words)):
        term = terms.words[number]
        pairs += flags[number] & (F_PART | F_STOP) == F_PART
        # The letters of a run are told from stop words by their script alone: theirs are the code points from U+0800.
        if not flags[number] & (F_SPECIAL | F_PART) and not (
            flags[number] & F_STOP and (<const uint8_t *> <const char *> term)[0] >= FIRST_OF_THREE_BYTES
        ):
            words += 1
    return max(words, pairs // 2) <= KEYWORDS_MAX


cdef inline double part_of_score(double weight, uint32_t tf, double norm, double k1) noexcept nogil:
    return weight * tf * (k1 + 1.0) / (tf + norm)


cpdef double shown_score(int whole, int kind, double score, double ceiling, double fraction_max) noexcept nogil:
    """Return a score as users see it: `whole` less the kind, and the share of the ceiling, at most `fraction_max`."""
    cdef double share = score / ceiling if ceiling > 0 else 0.0
    return (whole - kind) + (share if share < fraction_max else fraction_max)


cdef void take_part(Parts *parts, Part *held, Py_ssize_t most, Part part) noexcept nogil:
    """Hold a part; where there is no room, the smallest one is only added up."""
    cdef Py_ssize_t number, smallest = 0
    cdef Part let_go = part
    if parts.held < most:
        held[parts.held] = part
        parts.held += 1
        return
    for number in range(1, most):
        if held[number].score < held[smallest].score:
            smallest = number
    if most and held[smallest].score < part.score:
        let_go = held[smallest]
        held[smallest] = part
    parts.others += 1
    parts.others_score += let_go.score


cdef tuple told(const Parts *parts, const Part *held):
    cdef Py_ssize_t number
    found = sorted([(held[number].run, held[number].tf, held[number].score) for number in range(parts.held)])
    return found, parts.others, parts.others_score


# -- the best while lists are walked

cdef enum:
    WALKED_MAX = 32  # lists; of more, a table is made
    BEST_MAX = 1024  # objects to find; of more, a table is made
    BEST_KEPT = 32  # objects for which no memory is asked for
    MARKS = 1 << 14
    MARKS_MIN = 1 << 9
    MARKS_PER_POSTING = 8
    ONCE = 1
    LENGTHS = 256  # packed ones

cdef uint8_t marks[MARKS]  # by IID: none, one (ONCE) or more of the postings; used within one call alone


cdef struct Walked:  # a list with postings
    Run *run
    Py_ssize_t finger  # its postings behind this one are of newer objects than is looked at


cdef struct Alone:  # objects that stand in one list, and what they have to exceed
    const double *norms
    double weight
    double share  # of the query's weight
    double k1
    double floor
    int good  # the packed length from which on a posting with tf 1 scores too little
    Kind kind


cdef struct Chosen:
    double score
    uint64_t iid
    uint32_t order  # in which it came
    Kind kind


cdef struct Best:  # a heap whose root is the worst of the best
    Chosen *chosen
    Py_ssize_t size
    Py_ssize_t wanted
    uint32_t offered
    Kind worst_kind  # of the root, once the heap is full
    double worst_score
    Chosen few[BEST_KEPT]


cdef int begin_best(Best *best, Py_ssize_t wanted) except -1:
    best.size = 0
    best.wanted = wanted
    best.offered = 0
    best.chosen = best.few
    best.worst_kind = CORRECTED
    best.worst_score = -INFINITY if wanted else INFINITY
    if wanted > BEST_KEPT:
        best.chosen = <Chosen *> malloc(wanted * sizeof(Chosen))
        if best.chosen == NULL:
            raise MemoryError
    return 0


cdef void end_best(Best *best) noexcept nogil:
    if best.chosen != best.few:
        free(best.chosen)


cdef inline double floor_for(const Best *best, Kind kind) noexcept nogil:
    """Return the score that an object of a kind, coming now, has to exceed to be among the best."""
    if best.size < best.wanted or kind < best.worst_kind:
        return INFINITY if not best.wanted else -INFINITY
    return best.worst_score if kind == best.worst_kind else INFINITY


cdef inline bint goes_before(const Chosen *one, const Chosen *other) noexcept nogil:
    if one.kind != other.kind:
        return one.kind < other.kind
    return one.score > other.score or (one.score == other.score and one.order < other.order)


cdef void offer(Best *best, uint64_t iid, Kind kind, double score) noexcept nogil:
    """Take an object among the best, in the place of the worst if need be; its score exceeds `floor_for`."""
    cdef Chosen chosen = Chosen(score, iid, best.offered, kind)
    cdef Py_ssize_t at, parent
    best.offered += 1
    if best.size == best.wanted:
        sink(best.chosen, best.size, chosen)
    else:
        at = best.size
        best.size += 1
        while at > 0:
            parent = (at - 1) >> 1
            if not goes_before(&best.chosen[parent], &chosen):
                break
            best.chosen[at] = best.chosen[parent]
            at = parent
        best.chosen[at] = chosen
    if best.size == best.wanted:
        best.worst_kind = best.chosen[0].kind
        best.worst_score = best.chosen[0].score


cdef void sink(Chosen *chosen, Py_ssize_t size, Chosen moved) noexcept nogil:
    """Put an object in the place of the root, and the worst of all there."""
    cdef Py_ssize_t at = 0, child
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        if child + 1 < size and goes_before(&chosen[child], &chosen[child + 1]):
            child += 1
        if not goes_before(&moved, &chosen[child]):
            break
        chosen[at] = chosen[child]
        at = child
    chosen[at] = moved


cdef void sort_best(Best *best) noexcept nogil:
    """Heap sort: the best goes to the front."""
    cdef Py_ssize_t size = best.size
    cdef Chosen moved
    while size > 1:
        size -= 1
        moved = best.chosen[size]
        best.chosen[size] = best.chosen[0]
        sink(best.chosen, size, moved)


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


cdef struct Notes:  # memory of a ranker, handed on as `Room` is
    Found *found
    Py_ssize_t found_capacity
    Hit *hits
    Py_ssize_t hit_capacity
    Posting *postings
    Py_ssize_t posting_capacity
    Run *runs
    Py_ssize_t run_capacity


cdef Notes spare_notes[SPARES]
cdef int spare_notes_count = 0


cdef class Ranker(ObjectTable):
    """The objects that hold some of a query's terms, or words that stand for them."""
    cdef Notes _notes
    cdef PostingList _held  # the first list, while it is the only one: it is read where it stands
    cdef Found _first  # of every object of the first list, while it is the only one
    cdef Py_ssize_t _posting_count, _hit_count, _run_count
    cdef Py_ssize_t _gathered  # runs whose objects are in the table
    cdef bint _is_sorted  # every list is, by IID, and no weight is below zero
    cdef bint _is_unscored  # `bm25` was asked for, and what is in the table has no scores yet
    cdef object _lengths
    cdef double _average, _k1, _b
    cdef int32_t _terms
    cdef uint32_t _required
    cdef double _total_weight, _possible_weight
    cdef readonly double ceiling  # no object's score by `bm25` is above it

    def __cinit__(self):
        global spare_notes_count
        if spare_notes_count:
            spare_notes_count -= 1
            self._notes = spare_notes[spare_notes_count]
        self._is_sorted = True

    def __dealloc__(self):
        global spare_notes_count
        cdef Notes *notes = &self._notes
        cdef Py_ssize_t largest = max(
            max(notes.found_capacity, notes.hit_capacity), max(notes.posting_capacity, notes.run_capacity)
        )
        if spare_notes_count < SPARES and largest <= SPARE_OBJECTS_MAX:
            spare_notes[spare_notes_count] = notes[0]
            spare_notes_count += 1
            return
        free(notes.found)
        free(notes.hits)
        free(notes.postings)
        free(notes.runs)

    def __len__(self) -> int:
        self.settle()
        return self._count if self._order == NULL else self._ordered

    @property
    def is_empty(self) -> bool:
        """Whether no term brought an object so far; cheaper to ask than the number of objects."""
        cdef Py_ssize_t number
        for number in range(self._run_count):
            if self._notes.runs[number].inserts and self._notes.runs[number].begin < self._notes.runs[number].end:
                return False
        return True

    def add(
        self, postings not None, Py_ssize_t dead, double weight, *, bint required=False, bint inserts=True
    ) -> None:
        """Add the postings of the next term.

        Args:
            postings: a PostingList, or its blocks, oldest first; no object stands in them twice.
            dead: how many postings at the head of the first block do not count.
            weight: what the term counts for, for example its inverse document frequency.
            required: objects without this term will not answer.
            inserts: the term brings objects into the table; else it only adds to the score of those already there,
                and an object without it loses nothing.

        Raises:
            DamagedBytes: a block cannot be read.
            ValueError: `dead` is negative.
        """
        self.add_term(postings, dead, weight, required, inserts)

    def add_alternate(self, postings not None, Py_ssize_t dead, double weight, bint completed) -> None:
        """Add the postings of a word that stands for the term added last; objects that hold the term, or were found
        by an alternate added before, keep that.

        Args:
            weight: as in `add`, already lowered.
            completed: the word begins with the term; else it corrects it.

        Raises:
            DamagedBytes: a block cannot be read.
        """
        self.note_run(postings, dead, weight, COMPLETED if completed else CORRECTED, False, True)

    def add_terms(
        self, reader, Terms terms not None, uint64_t objects, wanted, Py_ssize_t corrected_max, others, trace
    ) -> None:
        """Add the terms of a query, each by its `idf`. Special words are required, except in a sentence; stop words
        only add to what others find, and bring objects where there are no others, or where those bring none.

        Args:
            reader: what `words(terms)` gives rows of and `postings(row)` their postings.
            objects: how many the bucket holds.
            wanted: a term that so many objects hold finds enough.
            corrected_max: so many terms at the most may be helped by others.
            others: called with the number of a term that finds too little, itself, the number of objects that hold it
                and its weight; adds words that stand for it.
            trace: is told what is added and what is not; None: nobody wants to know.

        Raises:
            DamagedBytes: a block cannot be read.
            ValueError: the reader gives another number of rows.
        """
        cdef const uint8_t *flags = <const uint8_t *> <const char *> terms.flags
        cdef Py_ssize_t number, count = len(terms.words), corrected = 0
        cdef int64_t enough = min(wanted, INT64_MAX)
        cdef list rows = reader.words(terms.words)
        cdef WordRow row
        cdef bint has_words = False, has_stops = False, beside, inserts, required
        cdef double weight
        cdef int64_t found
        if len(rows) != count:
            raise ValueError(f"{count} terms need as many rows, not {len(rows)}")
        for number in range(count):
            if flags[number] & F_STOP:
                has_stops = True
            else:
                has_words = True
        for beside in range(2 if has_words and has_stops else 1):  # stop words beside others come last
            inserts = not beside or self.is_empty
            for number in range(count):
                if beside != (has_words and flags[number] & F_STOP != 0):
                    continue
                row = rows[number]
                required = flags[number] & F_SPECIAL and is_keywords(terms)
                if row is None:
                    found, weight = 0, idf(objects, 0)
                    self.add_term([], 0, weight, required, inserts)
                else:
                    # By holders, not by postings: the window hides how common a word is.
                    found, weight = <int64_t> row._word.df, idf(objects, row._word.holders)
                    self.add_term(reader.postings(row), <Py_ssize_t> row._word.dead, weight, required, inserts)
                if trace is not None:
                    trace.exact(number, terms.words[number], row, weight, required=required, only_adds=not inserts)
                if flags[number] & (F_SPECIAL | F_STOP | F_PART) or found >= enough or corrected == corrected_max:
                    if trace is not None:
                        trace.keep(number, flags[number], is_enough=found >= enough)
                    continue
                corrected += 1
                others(number, terms.words[number], found, weight)

    cdef int add_term(self, postings, Py_ssize_t dead, double weight, bint required, bint inserts) except -1:
        self._terms += 1
        self._required += required
        self._possible_weight += weight
        if inserts:
            self._total_weight += weight
        return self.note_run(postings, dead, weight, EXACT, required, inserts)

    cdef int note_run(
        self, postings, Py_ssize_t dead, double weight, Kind kind, bint required, bint inserts
    ) except -1:
        """Read the postings of a list. Which objects they make is seen to once somebody asks."""
        cdef Notes *notes = &self._notes
        cdef Py_ssize_t begin = self._posting_count, end = begin, number, place, most, skipped = 0
        cdef list blocks
        cdef bint is_sorted = weight >= 0
        cdef PostingList held = postings if isinstance(postings, PostingList) else None
        check_dead(dead)
        self.copy_held()
        most = begin + (held._count if held is not None else len(<list?> postings) * BLOCK_POSTINGS)
        if most > notes.posting_capacity:
            notes.postings = <Posting *> grown(notes.postings, &notes.posting_capacity, most, sizeof(Posting))
        if self._run_count == notes.run_capacity:
            notes.runs = <Run *> grown(notes.runs, &notes.run_capacity, self._run_count + 16, sizeof(Run))
        if held is not None:
            if self._run_count:
                held.copy(notes.postings + begin)
            else:
                self._held = held
            end += held._count
            begin += min(dead, held._first_count)
            is_sorted &= held._is_sorted
        else:
            blocks = postings
            for number in range(len(blocks)):
                end += decode(blocks[number], notes.postings + end)
                if number == 0:
                    skipped = min(dead, end - begin)
            begin += skipped
            for place in range(begin + 1, end):
                is_sorted &= notes.postings[place - 1].iid < notes.postings[place].iid
        self._is_sorted &= is_sorted
        notes.runs[self._run_count] = Run(begin, end, 0, weight, self._terms, kind, required, inserts)
        self._run_count += 1
        self._posting_count = end
        return 0

    cdef void copy_held(self) noexcept:
        """Put the first list beside the others."""
        if self._held is not None:
            self._held.copy(self._notes.postings)
            self._held = None

    cdef int settle(self) except -1:
        """Put the objects of all runs into the table, and score them if that was asked for."""
        self.copy_held()
        while self._gathered < self._run_count:
            self.gather(&self._notes.runs[self._gathered])
            self._gathered += 1
        if self._is_unscored:
            self._is_unscored = False
            self.score_all()
        return 0

    cdef int gather(self, Run *run) except -1:
        cdef Notes *notes = &self._notes
        cdef Py_ssize_t place, most = run.end - run.begin
        cdef Py_ssize_t objects = most if run.inserts else 0
        cdef bint is_first = self._count == 0 and run.inserts
        if self._is_unhashed and self._count:
            self.hash_all()
            self.note_first()
        self.make_room(objects)
        if self._count + objects > notes.found_capacity:
            notes.found = <Found *> grown(notes.found, &notes.found_capacity, self._count + objects, sizeof(Found))
        if self._hit_count + most > notes.hit_capacity:
            notes.hits = <Hit *> grown(notes.hits, &notes.hit_capacity, self._hit_count + most, sizeof(Hit))
        for place in range(run.end - 1, run.begin - 1, -1):
            if is_first:
                self.take_first(&notes.postings[place], run.kind)
            else:
                self.take(&notes.postings[place], run)
        if is_first:
            self._is_unhashed = True
            self._first = Found(0.0, run.required, run.term)
        run.end_hit = self._hit_count
        return 0

    cdef void note_first(self) noexcept nogil:
        """Note of the objects of the first list what a second list, or scores over several, have to know."""
        cdef Py_ssize_t number
        for number in range(self._count):
            self._notes.found[number] = self._first

    cdef inline void take_first(self, const Posting *posting, Kind kind) noexcept nogil:
        """Take a posting of the first list: an object stands in a list once, so none of them is there yet."""
        cdef int32_t number = <int32_t> self._count
        self._iids[number] = posting.iid
        self._scores[number] = 0.0
        self._kinds[number] = kind
        self._notes.hits[self._hit_count] = Hit(<uint32_t> number, posting.tf)
        self._hit_count += 1
        self._count += 1

    cdef inline void take(self, const Posting *posting, const Run *run) noexcept nogil:
        cdef int32_t number = self.find(posting.iid)
        cdef Found *found
        if number < 0:
            if not run.inserts:
                return
            number = self.put(posting.iid)
            self._notes.found[number] = Found(0.0, 0, 0)
            self._kinds[number] = run.kind
        found = &self._notes.found[number]
        if found.last_term == run.term:
            return
        found.last_term = run.term
        found.required += run.required
        if run.inserts and run.kind < self._kinds[number]:
            self._kinds[number] = run.kind
        self._notes.hits[self._hit_count] = Hit(<uint32_t> number, posting.tf)
        self._hit_count += 1

    def bm25(self, lengths not None, double average, double k1, double b) -> None:
        """Score by BM25, scaled by the share of the query's weight that the object holds; who holds all of it comes
        before all others.

        Args:
            lengths: of all objects by IID, one byte each (`pack_length`), as bytes or a bytearray that stays as it is
                while this ranker is asked; those beyond its end count as zero.
            average: mean length of the bucket's objects.
            k1, b: the constants of the formula.
        """
        lengths_of(lengths)
        self._lengths, self._average, self._k1, self._b = lengths, average, k1, b
        self.ceiling = self._possible_weight * (k1 + 1.0)
        self._is_unscored = True

    cdef int score_all(self) except -1:
        """Score what is in the table."""
        cdef PackedLengths lengths = lengths_of(self._lengths)
        cdef const double *norms = norms_of(self._average, self._k1, self._b)
        cdef double k1 = self._k1, weight
        cdef Py_ssize_t number, step = 0
        cdef Found *found = self._notes.found
        cdef Run *run
        cdef Hit hit
        if self._run_count == 1:  # every object has the whole weight, and whatever is required
            weight = self._notes.runs[0].weight
            for number in range(self._count):
                self._scores[number] = part_of_score(
                    weight, self._notes.hits[number].tf, norms[packed_length(&lengths, self._iids[number])], k1
                )
            if self._total_weight > 0:
                memset(self._kinds, FULL, self._count)
            return 0
        if self._is_unhashed:
            self.note_first()
        for number in range(self._run_count):
            run = &self._notes.runs[number]
            while step < run.end_hit:
                hit = self._notes.hits[step]
                self._scores[hit.object] += part_of_score(
                    run.weight, hit.tf, norms[packed_length(&lengths, self._iids[hit.object])], k1
                )
                if run.inserts:
                    found[hit.object].matched += run.weight
                step += 1
        if self._total_weight > 0:
            for number in range(self._count):
                # Equal only if the same weights were added in the same order: an alternate weighs less.
                if found[number].matched == self._total_weight:
                    self._kinds[number] = FULL
                else:
                    self._scores[number] *= found[number].matched / self._total_weight
        if self._required:
            self.begin_order()
            for number in range(self._count):
                if found[number].required == self._required:
                    self.keep(number)
        return 0

    def best(self, uint64_t offset, uint64_t limit) -> list:
        """Return the IIDs of the objects from place `offset` on, at most `limit`: best first, equals as they came."""
        cdef Best best
        cdef list out = []
        cdef Py_ssize_t place
        if not self.walks(offset, limit):
            self.settle()
            return ObjectTable.best(self, offset, limit)
        begin_best(&best, <Py_ssize_t> (offset + limit))
        try:
            self.walk(&best)
            for place in range(<Py_ssize_t> offset, best.size):
                out.append(best.chosen[place].iid)
        finally:
            end_best(&best)
        return out

    def best_scored(self, uint64_t offset, uint64_t limit) -> list:
        """Return (IID, kind, score) of the same objects.

        The kind, which is compared before the score, is 0 for an object that holds every word as it was typed, 1 for
        some of the words, 2 for completions, 3 for corrections.
        """
        cdef Best best
        cdef list out = []
        cdef Py_ssize_t place
        if not self.walks(offset, limit):
            self.settle()
            return ObjectTable.best_scored(self, offset, limit)
        begin_best(&best, <Py_ssize_t> (offset + limit))
        try:
            self.walk(&best)
            for place in range(<Py_ssize_t> offset, best.size):
                out.append((best.chosen[place].iid, best.chosen[place].kind, best.chosen[place].score))
        finally:
            end_best(&best)
        return out

    def best_shown(self, uint64_t offset, uint64_t limit, int whole, double fraction_max) -> tuple:
        """Return the IIDs of the same objects, and their scores as users see them: `whole` less the kind, and the share
        of the ceiling as a fraction, `fraction_max` at the most."""
        cdef Best best
        cdef list iids = [], shown = []
        cdef Py_ssize_t place
        if not self.walks(offset, limit):
            for iid, kind, score in self.best_scored(offset, limit):
                iids.append(iid)
                shown.append(shown_score(whole, kind, score, self.ceiling, fraction_max))
            return iids, shown
        begin_best(&best, <Py_ssize_t> (offset + limit))
        try:
            self.walk(&best)
            for place in range(<Py_ssize_t> offset, best.size):
                iids.append(best.chosen[place].iid)
                shown.append(shown_score(
                    whole, best.chosen[place].kind, best.chosen[place].score, self.ceiling, fraction_max
                ))
        finally:
            end_best(&best)
        return iids, shown

    cdef bint walks(self, uint64_t offset, uint64_t limit) noexcept nogil:
        """Whether the best are found by walking the lists: these are sorted and few, and nothing is in the table."""
        return (
            self._is_unscored
            and self._is_sorted
            and not self._gathered
            and self._run_count <= WALKED_MAX
            and offset <= BEST_MAX
            and limit <= BEST_MAX
        )

    cdef int walk(self, Best *best) except -1:
        """Put the best of all objects in order, without a table.

        Most objects stand in one list alone, and most of those cannot be among the best, so both are found out with
        few steps. Each object is looked at where the first list that brings it has it: so they come in the order of
        the table, in which equals stay.
        """
        cdef PackedLengths lengths = lengths_of(self._lengths)
        cdef const double *norms = norms_of(self._average, self._k1, self._b)
        cdef Walked walked[WALKED_MAX]
        cdef Posting *postings = self._notes.postings
        cdef Run *run
        cdef Py_ssize_t number, count = 0, total = 0
        cdef uint32_t mask = MARKS_MIN - 1
        if self._held is not None:
            if self._notes.runs[0].inserts:
                self.walk_held(best, &self._notes.runs[0], &lengths, norms)
                sort_best(best)
            return 0
        for number in range(self._run_count):
            run = &self._notes.runs[number]
            if run.begin < run.end:
                walked[count].run = run
                total += run.end - run.begin
                count += 1
        if count > 1:
            while mask < MARKS - 1 and <Py_ssize_t> mask < MARKS_PER_POSTING * total:
                mask = 2 * mask + 1
            mark_all(walked, count, postings, mask)
        for number in range(count):
            run = walked[number].run
            if not run.inserts:
                continue
            if best.size == best.wanted and best.worst_kind == FULL and self.most_matched(
                walked, number, count
            ) < self._total_weight:
                break  # who holds all the words has been seen by now
            self.walk_one(best, walked, number, count, mask, &lengths, norms)
        sort_best(best)
        return 0

    cdef double most_matched(self, const Walked *walked, Py_ssize_t first, Py_ssize_t count) noexcept nogil:
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
        self,
        Best *best,
        Walked *walked,
        Py_ssize_t at,
        Py_ssize_t count,
        uint32_t mask,
        const PackedLengths *lengths,
        const double *norms,
    ) noexcept nogil:
        """Look at the objects that list number `at` brings before any other does."""
        cdef const Run *run = walked[at].run
        cdef const Posting *postings = self._notes.postings
        cdef const Posting *posting
        cdef Py_ssize_t place
        cdef Alone alone = self.alone(run, norms)
        for place in range(count):
            walked[place].finger = walked[place].run.end - 1
        expect(&alone, best)
        for place in range(run.end - 1, run.begin - 1, -1):
            posting = &postings[place]
            if count > 1 and marks[posting.iid & mask] != ONCE:
                self.look_at(best, walked, at, count, posting, norms[packed_length(lengths, posting.iid)])
                expect(&alone, best)
                continue
            take_alone(&alone, best, posting.iid, posting.tf, packed_length(lengths, posting.iid))

    cdef void walk_held(
        self, Best *best, const Run *run, const PackedLengths *lengths, const double *norms
    ) noexcept nogil:
        """Look at the objects of the only list, where it stands."""
        cdef const uint32_t *iids = self._held._iids
        cdef const uint8_t *tfs = self._held._tfs
        cdef Py_ssize_t place
        cdef Alone alone = self.alone(run, norms)
        expect(&alone, best)
        for place in range(run.end - 1, run.begin - 1, -1):
            take_alone(&alone, best, iids[place], tfs[place], packed_length(lengths, iids[place]))

    cdef inline Alone alone(self, const Run *run, const double *norms) noexcept nogil:
        """Return what the objects score that stand in a list alone."""
        cdef Alone alone = Alone(norms, run.weight, 1.0, self._k1, -INFINITY, LENGTHS, run.kind)
        if run.required != self._required:  # an object that no other list has lacks what is required
            alone.floor, alone.good = INFINITY, 0
        if self._total_weight > 0:
            if run.weight == self._total_weight:
                alone.kind = FULL
            else:
                alone.share = run.weight / self._total_weight
        return alone

    cdef void look_at(
        self, Best *best, Walked *walked, Py_ssize_t at, Py_ssize_t count, const Posting *posting, double norm
    ) noexcept nogil:
        """Score an object that may stand in several lists; as `take` does, each term counts once."""
        cdef const Posting *postings = self._notes.postings
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
            score += part_of_score(run.weight, tf, norm, self._k1)
        if self._total_weight > 0:
            if matched == self._total_weight:
                kind = FULL
            else:
                score *= matched / self._total_weight
        if required == self._required and score > floor_for(best, kind):
            offer(best, iid, kind, score)

    def parts(
        self, list iids, Py_ssize_t most, lengths not None, double average, double k1, double b
    ) -> list:
        """Return, for each of some objects, what its score by `bm25` with the same arguments is made of.

        Args:
            most: so many parts of each object, the largest ones, are told one by one.

        Returns:
            ([(number of the call of `add` or `add_alternate`, tf, part of the score)], how many parts more, their sum).
        """
        cdef const double *norms = norms_of(average, k1, b)
        cdef PackedLengths held_lengths = lengths_of(lengths)
        cdef double share, norm
        cdef Py_ssize_t number, step = 0, place, count = len(iids)
        cdef int32_t object
        cdef Run *run
        cdef Hit hit
        self.settle()
        cdef int32_t *places = <int32_t *> malloc((self._count + 1) * sizeof(int32_t))
        cdef Parts *parts = <Parts *> calloc(count + 1, sizeof(Parts))
        cdef Part *held = <Part *> malloc((count * most + 1) * sizeof(Part))
        try:
            if places == NULL or parts == NULL or held == NULL:
                raise MemoryError
            memset(places, 0xFF, self._count * sizeof(int32_t))
            for place in range(count):
                object = self.find(iids[place])
                if object >= 0:
                    places[object] = <int32_t> place
            for number in range(self._run_count):
                run = &self._notes.runs[number]
                while step < run.end_hit:
                    hit = self._notes.hits[step]
                    step += 1
                    place = places[hit.object]
                    if place < 0:
                        continue
                    share = 1.0
                    if self._total_weight > 0 and self._run_count > 1:
                        share = self._notes.found[hit.object].matched / self._total_weight
                    norm = norms[packed_length(&held_lengths, self._iids[hit.object])]
                    take_part(&parts[place], held + place * most, most, Part(
                        number, hit.tf, share * part_of_score(run.weight, hit.tf, norm, k1)
                    ))
            return [told(&parts[place], held + place * most) for place in range(count)]
        finally:
            free(places)
            free(parts)
            free(held)

    def newest(self) -> None:
        """Keep the objects that hold every term or an alternate of it, in the order in which they came."""
        cdef Py_ssize_t number
        cdef Found *found
        self.settle()
        found = self._notes.found
        for number in range(self._count):
            found[number].matched = 0
            self._kinds[number] = EXACT
        for number in range(self._hit_count):
            found[self._notes.hits[number].object].matched += 1
        self.begin_order()
        for number in range(self._count):
            if found[number].matched == self._terms:
                self.keep(number)


# -- Sonic --------------------------------------------------------------------------------------------------------

cdef struct Score:
    int32_t word
    float value
    int32_t visit  # the call of `visit` that gave it
    int32_t following  # the object's score for a later word, or -1


cdef struct Chain:  # numbers of an object's first and last score, by rising word
    int32_t first
    int32_t last


cdef class SonicTable(ObjectTable):
    """Sonic's table: object -> one optional score for each word of the query. Arithmetic is in 32 bits.

    Args:
        words: how many words the query has.
        full: how many objects make the table full (the window); 0: it never is.
    """
    cdef Chain *_chains
    cdef Py_ssize_t _chain_capacity
    cdef Score *_held
    cdef Py_ssize_t _held_count, _held_capacity
    cdef int32_t _words, _visits
    cdef Py_ssize_t _full

    def __cinit__(self, int words, Py_ssize_t full):
        self._words = words
        self._full = full
        self._chain_capacity = self._held_capacity = 256
        self._chains = <Chain *> malloc(self._chain_capacity * sizeof(Chain))
        self._held = <Score *> malloc(self._held_capacity * sizeof(Score))
        if self._chains == NULL or self._held == NULL:
            raise MemoryError

    def __dealloc__(self):
        free(self._chains)
        free(self._held)

    @property
    def is_full(self) -> bool:
        """Whether the table holds as many objects as it takes before alternates are left out."""
        return self._full > 0 and self._count >= self._full

    def visit(
        self, int32_t word, postings not None, Py_ssize_t dead, float score, Py_ssize_t budget
    ) -> tuple:
        """Give the objects of a list, newest first, a score for a word; a score that is there is only lowered.

        Args:
            postings, dead: as in `Ranker.add`.
            budget: how many objects are visited at the most, new or not; -1: all.

        Returns:
            How many were visited, and whether an object was put into a full table, which ends the visit.

        Raises:
            DamagedBytes: a block cannot be read.
        """
        cdef Posting block[BLOCK_POSTINGS]
        cdef Py_ssize_t number, visits = 0
        cdef PostingList held
        cdef list blocks
        cdef int place
        check_dead(dead)
        self._visits += 1
        if isinstance(postings, PostingList):
            held = postings
            for number in range(held._count - 1, min(dead, held._first_count) - 1, -1):
                if visits == budget:
                    return visits, False
                visits += 1
                if self.give(held._iids[number], word, score) and self._full and self._count >= self._full:
                    return visits, True
            return visits, False
        blocks = postings
        for number in range(len(blocks) - 1, -1, -1):
            for place in range(decode(blocks[number], block) - 1, (dead if number == 0 else 0) - 1, -1):
                if visits == budget:
                    return visits, False
                visits += 1
                if self.give(block[place].iid, word, score) and self._full and self._count >= self._full:
                    return visits, True
        return visits, False

    cdef bint give(self, uint64_t iid, int32_t word, float score) except -1:
        """Note the score and return whether the object is new."""
        cdef int32_t number = self.find(iid), at, before = -1
        cdef bint is_new = number < 0
        cdef Chain *chain
        if is_new:
            number = self.insert(iid)
            if self._count > self._chain_capacity:
                self._chains = <Chain *> resized(self._chains, 2 * self._chain_capacity * sizeof(Chain))
                self._chain_capacity *= 2
            self._chains[number] = Chain(-1, -1)
        chain = &self._chains[number]
        at = chain.first
        if chain.last >= 0 and self._held[chain.last].word < word:  # words mostly come in their order
            before = chain.last
            at = -1
        while at >= 0 and self._held[at].word < word:
            before = at
            at = self._held[at].following
        if at >= 0 and self._held[at].word == word:
            if score < self._held[at].value:
                self._held[at].value = score
                self._held[at].visit = self._visits - 1
            return is_new
        if self._held_count == self._held_capacity:
            self._held = <Score *> resized(self._held, 2 * self._held_capacity * sizeof(Score))
            self._held_capacity *= 2
        self._held[self._held_count] = Score(word, score, self._visits - 1, at)
        if before < 0:
            chain.first = <int32_t> self._held_count
        else:
            self._held[before].following = <int32_t> self._held_count
        if at < 0:
            chain.last = <int32_t> self._held_count
        self._held_count += 1
        return is_new

    def parts(self, list iids, Py_ssize_t most) -> list:
        """Return, for each of some objects, what its score is made of: as `Ranker.parts`, where the number is that of
        the call of `visit`, and tf is always 0."""
        cdef int32_t number, at
        cdef Parts parts
        cdef Part *held = <Part *> malloc((most + 1) * sizeof(Part))
        if held == NULL:
            raise MemoryError
        out = []
        try:
            for iid in iids:
                memset(&parts, 0, sizeof(parts))
                number = self.find(iid)
                at = -1 if number < 0 else self._chains[number].first
                while at >= 0:
                    take_part(
                        &parts, held, most, Part(self._held[at].visit, 0, self._held[at].value / <float> self._words)
                    )
                    at = self._held[at].following
                out.append(told(&parts, held))
            return out
        finally:
            free(held)

    def finish(self, bint all_words) -> None:
        """Score: the sum over the words, divided by their number.

        With `all_words`, objects that lack a score leave the table one by one; each hole is filled by the then last
        object, so that equal scores change places as they do in Sonic.
        """
        cdef Py_ssize_t number, kept = self._count
        cdef int32_t at, words
        cdef float total
        cdef uint32_t *places
        if all_words:
            self.begin_order()
            for number in range(self._count):
                self.keep(number)
        places = <uint32_t *> malloc((self._count + 1) * sizeof(uint32_t))
        if places == NULL:
            raise MemoryError
        try:
            for number in range(self._count):
                places[number] = <uint32_t> number
            for number in range(self._count):
                total = 0.0
                words = 0
                at = self._chains[number].first
                while at >= 0:
                    total += self._held[at].value
                    words += 1
                    at = self._held[at].following
                self._scores[number] = <float> (total / <float> self._words)
                if all_words and words < self._words:
                    kept -= 1
                    self._order[places[number]] = self._order[kept]
                    places[self._order[kept]] = places[number]
            if all_words:
                self._ordered = kept
        finally:
            free(places)


def completion_score(double weight, Py_ssize_t word_bytes, Py_ssize_t typed_bytes) -> float:
    """Return Sonic's score of a completion: weight * 20 / (20 + share of bytes that the completion is longer)."""
    cdef float longer = <float> abs(word_bytes - typed_bytes) / <float> typed_bytes
    return <float> (<float> 20.0 / (<float> 20.0 + longer)) * <float> weight


def correction_score(double weight, int distance, Py_ssize_t typed_bytes) -> float:
    """Return Sonic's score of a correction: weight * (1 - distance / bytes of the typed word, at the most 1)."""
    cdef float share = min(<float> 1.0, <float> distance / <float> typed_bytes)
    return <float> (<float> 1.0 - share) * <float> weight
