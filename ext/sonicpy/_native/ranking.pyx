"""Which objects answer a query, and in which order: postings in, IIDs out.

A `Ranker` gathers the postings of a query's terms into a table of objects (open addressing on the IID), then scores
it in one of three ways and selects the best. IIDs in a list are not sorted (an old object that gains a term stands at
that term's head), so lists are gathered, never merged. No Python object is made for a posting.

BM25: Robertson, Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009), formula 3.15.
"""

from libc.math cimport exp2, log2
from libc.stdint cimport int32_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memset

from sonicpy._native.postings cimport BLOCK_POSTINGS, Posting, read_block

from sonicpy._native.postings import DamagedBytes

cdef enum:
    ROW_OBJECTS = 4000  # with the header of its page, one row of lengths fills one page of LMDB
    EXACT_LENGTHS = 64

# Objects whose lengths share a row of the store.
OBJECTS_PER_ROW = ROW_OBJECTS

cdef double STEPS_PER_DOUBLING = 16.0
cdef float LENGTHS[256]
cdef int _number
for _number in range(256):
    LENGTHS[_number] = (
        _number if _number < EXACT_LENGTHS else EXACT_LENGTHS * exp2((_number - EXACT_LENGTHS) / STEPS_PER_DOUBLING)
    )


def pack_length(uint64_t length) -> int:
    """Return the byte that stands for an object's length: exact below 64, then 16 steps a doubling (up to 250,000)."""
    cdef double step
    if length < EXACT_LENGTHS:
        return length
    step = EXACT_LENGTHS + log2(<double> length / EXACT_LENGTHS) * STEPS_PER_DOUBLING + 0.5
    return <int> step if step < 255 else 255


def unpack_length(uint8_t packed) -> float:
    """Return the length that a byte of `pack_length` stands for."""
    return LENGTHS[packed]


cdef struct Candidate:
    uint64_t iid
    double score
    double matched  # weight of the terms found in the object
    uint32_t required  # how many required terms were found
    int32_t last_term  # the term that touched it last: a term counts once


cdef struct Hit:
    uint32_t candidate
    uint32_t tf


cdef struct Gathered:
    Py_ssize_t first_hit
    Py_ssize_t end_hit
    double weight
    bint inserts


cdef class Ranker:
    """The objects that hold some of a query's terms.

    Args:
        terms: how many terms will be added at the most.
    """
    cdef Candidate *_candidates
    cdef Py_ssize_t _count, _capacity
    cdef int32_t *_slots
    cdef uint32_t _mask
    cdef Hit *_hits
    cdef Py_ssize_t _hit_count, _hit_capacity
    cdef Gathered *_terms
    cdef int _term_count, _term_capacity
    cdef uint32_t _required
    cdef double _total_weight

    def __cinit__(self, int terms):
        self._capacity = 256
        self._hit_capacity = 512
        self._mask = 511
        self._term_capacity = terms if terms > 0 else 1
        self._candidates = <Candidate *> malloc(self._capacity * sizeof(Candidate))
        self._hits = <Hit *> malloc(self._hit_capacity * sizeof(Hit))
        self._slots = <int32_t *> malloc((self._mask + 1) * sizeof(int32_t))
        self._terms = <Gathered *> malloc(self._term_capacity * sizeof(Gathered))
        if self._candidates == NULL or self._hits == NULL or self._slots == NULL or self._terms == NULL:
            raise MemoryError
        memset(self._slots, 0xFF, (self._mask + 1) * sizeof(int32_t))

    def __dealloc__(self):
        free(self._candidates)
        free(self._hits)
        free(self._slots)
        free(self._terms)

    def __len__(self) -> int:
        return self._count

    def add(
        self, list blocks, Py_ssize_t dead, double weight, *, bint required=False, bint inserts=True,
        bint again=False, Py_ssize_t full=0,
    ) -> bool:
        """Add the postings of one term; return False once the table holds `full` objects (0: never full).

        Args:
            blocks: its blocks, oldest first.
            dead: how many postings at the head of the first block do not count.
            weight: what the term counts for, for example its inverse document frequency.
            required: objects without this term will not answer.
            inserts: the term brings objects into the table; else it only adds to the score of those already there,
                and an object without it loses nothing.
            again: further postings of the term added last (another spelling), not of a new one.

        Raises:
            DamagedBytes: a block cannot be read.
            ValueError: more terms are added than were announced.
        """
        cdef Posting postings[BLOCK_POSTINGS]
        cdef Py_ssize_t number
        cdef int place, count
        cdef bytes block
        if not again:
            if self._term_count == self._term_capacity:
                raise ValueError(f"a ranker of {self._term_capacity} terms takes no further one")
            self._terms[self._term_count] = Gathered(self._hit_count, self._hit_count, weight, inserts)
            self._term_count += 1
            self._required += required
            if inserts:
                self._total_weight += weight
        for number in range(len(blocks) - 1, -1, -1):
            block = blocks[number]
            count = read_block(<const uint8_t *> block, len(block), postings)
            if count < 0:
                raise DamagedBytes(f"a block of postings of {len(block)} bytes cannot be read")
            for place in range(count - 1, (dead if number == 0 else 0) - 1, -1):
                if self.take(&postings[place], required, inserts) and self._count == full:
                    return False
        return True

    cdef bint take(self, const Posting *posting, bint required, bint inserts) except -1:
        """Note one posting; return whether its object is new."""
        cdef int32_t number = self.find(posting.iid)
        cdef bint is_new = number < 0
        cdef Candidate *candidate
        if is_new:
            if not inserts:
                return False
            number = self.insert(posting.iid)
        candidate = &self._candidates[number]
        if candidate.last_term == self._term_count:
            return False
        candidate.last_term = self._term_count
        candidate.required += required
        if self._hit_count == self._hit_capacity:
            self.grow_hits()
        self._hits[self._hit_count] = Hit(<uint32_t> number, posting.tf)
        self._hit_count += 1
        self._terms[self._term_count - 1].end_hit = self._hit_count
        return is_new

    cdef inline int32_t find(self, uint64_t iid) noexcept nogil:
        cdef uint32_t slot = mix(iid) & self._mask
        while self._slots[slot] >= 0 and self._candidates[self._slots[slot]].iid != iid:
            slot = (slot + 1) & self._mask
        return self._slots[slot]

    cdef int32_t insert(self, uint64_t iid) except -1:
        cdef uint32_t slot
        if self._count == self._capacity:
            self.grow()
        slot = mix(iid) & self._mask
        while self._slots[slot] >= 0:
            slot = (slot + 1) & self._mask
        self._slots[slot] = <int32_t> self._count
        self._candidates[self._count] = Candidate(iid, 0.0, 0.0, 0, 0)
        self._count += 1
        return <int32_t> (self._count - 1)

    cdef int grow(self) except -1:
        cdef Py_ssize_t capacity = 2 * self._capacity, number
        cdef uint32_t slots = <uint32_t> (2 * capacity), slot
        cdef Candidate *candidates = <Candidate *> realloc(self._candidates, capacity * sizeof(Candidate))
        if candidates == NULL:
            raise MemoryError
        self._candidates = candidates
        self._capacity = capacity
        cdef int32_t *table = <int32_t *> realloc(self._slots, slots * sizeof(int32_t))
        if table == NULL:
            raise MemoryError
        self._slots = table
        self._mask = slots - 1
        memset(table, 0xFF, slots * sizeof(int32_t))
        for number in range(self._count):
            slot = mix(candidates[number].iid) & self._mask
            while table[slot] >= 0:
                slot = (slot + 1) & self._mask
            table[slot] = <int32_t> number
        return 0

    cdef int grow_hits(self) except -1:
        cdef Hit *hits = <Hit *> realloc(self._hits, 2 * self._hit_capacity * sizeof(Hit))
        if hits == NULL:
            raise MemoryError
        self._hits = hits
        self._hit_capacity *= 2
        return 0

    def length_rows(self) -> list:
        """Return the numbers of the rows of lengths that `bm25` needs: IID // OBJECTS_PER_ROW, each once."""
        cdef Py_ssize_t number
        cdef uint64_t row, before = <uint64_t> -1
        cdef set rows = set()
        for number in range(self._count):
            row = self._candidates[number].iid // ROW_OBJECTS
            if row != before:
                rows.add(row)
                before = row
        return list(rows)

    def bm25(self, dict rows, double average, double k1, double b) -> None:
        """Score by BM25, scaled by the share of the query's weight that the object holds.

        Args:
            rows: row number -> lengths of its objects, one byte each (`pack_length`); a short row counts as zeros.
            average: mean length of the bucket's objects.
            k1, b: the constants of the formula.
        """
        cdef float *norms = <float *> malloc((self._count if self._count else 1) * sizeof(float))
        cdef Py_ssize_t number, step
        cdef uint64_t place, row, before = <uint64_t> -1
        cdef const uint8_t[:] lengths = b""
        cdef double length, weight
        cdef Hit hit
        if norms == NULL:
            raise MemoryError
        try:
            for number in range(self._count):
                row = self._candidates[number].iid // ROW_OBJECTS
                place = self._candidates[number].iid % ROW_OBJECTS
                if row != before:
                    lengths = rows.get(row, b"")
                    before = row
                length = LENGTHS[lengths[place]] if place < <uint64_t> lengths.shape[0] else 0.0
                norms[number] = k1 * (1.0 - b + b * length / average) if average > 0 else k1
            for number in range(self._term_count):
                weight = self._terms[number].weight
                for step in range(self._terms[number].first_hit, self._terms[number].end_hit):
                    hit = self._hits[step]
                    self._candidates[hit.candidate].score += (
                        weight * hit.tf * (k1 + 1.0) / (hit.tf + norms[hit.candidate])
                    )
                    if self._terms[number].inserts:
                        self._candidates[hit.candidate].matched += weight
        finally:
            free(norms)
        for number in range(self._count):
            if self._total_weight > 0:
                self._candidates[number].score *= self._candidates[number].matched / self._total_weight
        self.keep_required()

    def sonic(self, int words) -> None:
        """Score as Sonic does: the sum of the weights of the words found, over the number of `words`, in 32 bits.

        With a required word among them, objects that lack any word leave the table; each hole is filled by the then
        last object, so that equal scores change places as they do in Sonic.
        """
        cdef Py_ssize_t number, step
        cdef float *sums = <float *> malloc((self._count if self._count else 1) * sizeof(float))
        if sums == NULL:
            raise MemoryError
        try:
            memset(sums, 0, self._count * sizeof(float))
            for number in range(self._count):
                self._candidates[number].matched = 0
            for number in range(self._term_count):
                for step in range(self._terms[number].first_hit, self._terms[number].end_hit):
                    sums[self._hits[step].candidate] += <float> self._terms[number].weight
                    self._candidates[self._hits[step].candidate].matched += 1
            for number in range(self._count):
                self._candidates[number].score = <float> (sums[number] / <float> words)
        finally:
            free(sums)
        if self._required:
            self.swap_out_incomplete(words)

    cdef int swap_out_incomplete(self, int words) except -1:
        cdef Candidate *held = self._candidates
        cdef Py_ssize_t number, kept = self._count
        cdef Py_ssize_t *where = <Py_ssize_t *> malloc((self._count + 1) * sizeof(Py_ssize_t))
        cdef Py_ssize_t *who = <Py_ssize_t *> malloc((self._count + 1) * sizeof(Py_ssize_t))
        cdef Candidate *order = <Candidate *> malloc((self._count + 1) * sizeof(Candidate))
        try:
            if where == NULL or who == NULL or order == NULL:
                raise MemoryError
            for number in range(self._count):
                where[number] = who[number] = number
            for number in range(self._count):
                if held[number].matched < words:
                    kept -= 1
                    who[where[number]] = who[kept]
                    where[who[kept]] = where[number]
            for number in range(kept):
                order[number] = held[who[number]]
            for number in range(kept):
                held[number] = order[number]
            self._count = kept
        finally:
            free(where)
            free(who)
            free(order)
        return 0

    def newest(self) -> None:
        """Keep the objects that hold every term, in the order of the first term's associations, newest first."""
        cdef Py_ssize_t number, kept = 0
        for number in range(self._count):
            self._candidates[number].matched = 0
        for number in range(self._hit_count):
            self._candidates[self._hits[number].candidate].matched += 1
        for number in range(self._count):
            if self._candidates[number].matched == self._term_count:
                self._candidates[kept] = self._candidates[number]
                kept += 1
        self._count = kept

    cdef int keep_required(self) except -1:
        cdef Py_ssize_t number, kept = 0
        if not self._required:
            return 0
        for number in range(self._count):
            if self._candidates[number].required == self._required:
                self._candidates[kept] = self._candidates[number]
                kept += 1
        self._count = kept
        return 0

    def best(self, uint64_t offset, uint64_t limit) -> list:
        """Return the IIDs of the objects from place `offset` on, at most `limit`: best first, equals as they came."""
        cdef Py_ssize_t wanted, size = 0, number, swapped
        cdef uint32_t *heap
        cdef list out
        if offset >= <uint64_t> self._count:
            return []
        wanted = <Py_ssize_t> min(offset + limit, <uint64_t> self._count)
        heap = <uint32_t *> malloc((wanted + 1) * sizeof(uint32_t))
        if heap == NULL:
            raise MemoryError
        try:
            for number in range(self._count):  # the worst of the best stands at the root
                if size < wanted:
                    heap[size] = <uint32_t> number
                    size += 1
                    sift_up(self._candidates, heap, size - 1)
                elif wanted and is_better(self._candidates, <uint32_t> number, heap[0]):
                    heap[0] = <uint32_t> number
                    sift_down(self._candidates, heap, size, 0)
            while size > 1:  # heap sort: the worst goes to the end
                size -= 1
                swapped = heap[size]
                heap[size] = heap[0]
                heap[0] = <uint32_t> swapped
                sift_down(self._candidates, heap, size, 0)
            out = []
            for number in range(<Py_ssize_t> offset, wanted):
                out.append(self._candidates[heap[number]].iid)
            return out
        finally:
            free(heap)


cdef inline uint32_t mix(uint64_t iid) noexcept nogil:
    iid *= <uint64_t> 0x9E3779B97F4A7C15
    return <uint32_t> (iid >> 32)


cdef inline bint is_better(const Candidate *held, uint32_t left, uint32_t right) noexcept nogil:
    return held[left].score > held[right].score or (held[left].score == held[right].score and left < right)


cdef void sift_up(const Candidate *held, uint32_t *heap, Py_ssize_t at) noexcept nogil:
    cdef Py_ssize_t parent
    cdef uint32_t moved = heap[at]
    while at > 0:
        parent = (at - 1) >> 1
        if not is_better(held, heap[parent], moved):
            break
        heap[at] = heap[parent]
        at = parent
    heap[at] = moved


cdef void sift_down(const Candidate *held, uint32_t *heap, Py_ssize_t size, Py_ssize_t at) noexcept nogil:
    cdef Py_ssize_t child
    cdef uint32_t moved = heap[at]
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        if child + 1 < size and is_better(held, heap[child], heap[child + 1]):
            child += 1
        if not is_better(held, moved, heap[child]):
            break
        heap[at] = heap[child]
        at = child
    heap[at] = moved
