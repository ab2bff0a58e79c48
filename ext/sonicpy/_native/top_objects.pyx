"""The best objects of a query, found without touching what cannot be among them.

    part     weight * tf * (k1 + 1) / (tf + norm of the object's length)       what a list adds to a score
    score    the parts added up in the order of the query's terms, times share ** exponent
    share    the weight of the terms the object holds / the weight of all terms that bring objects
    order    by kind (FULL, EXACT, COMPLETED, CORRECTED), then by score, then newest object first

The walk is MaxScore (Turtle and Flood, "Query evaluation: strategies and optimizations", 1995) with a bound for each
block (Ding and Suel, "Faster top-k document retrieval using block-max indexes", 2011). Terms drive in turn, those that
fewest objects hold first: the driver's objects are looked at newest first, and each is looked up in the lists of the
terms behind it. An object that stands in a list of a term before was looked at there. So what the objects of a driver
can score falls from driver to driver, and once it is less than the worst of the best objects have, the walk is over.
Before that, whole blocks of a driver are passed over by their bounds, single objects by their own part and the largest
parts of the others, and look-ups by the bound of the block that would have to be read. As objects come newest first,
and newer ones win ties, what can only equal the worst is passed over, too.

The walk reads nothing. Where it needs blocks that nobody has read yet, it returns their keys; the caller reads them,
hands them over with `give` and lets it go on.
"""

from libc.math cimport INFINITY, pow
from libc.stdint cimport UINT32_MAX, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memset

from sonicpy._native.bits cimport count_bits
from sonicpy._native.bm25 cimport PackedLengths, lengths_of, norms_of, packed_length, part_of_score
from sonicpy._native.impacts cimport Block, impact_bound, is_marked
from sonicpy._native.lengths cimport pack_length
from sonicpy._native.list_lookup cimport Source, block_for, look_up, open_block, search
from sonicpy._native.memory cimport resized, zeroed
from sonicpy._native.score_parts cimport Part, Parts, add_part, parts_tuple
from sonicpy._native.stored_postings cimport OpenBlock, StoredPostings, decode_block
from sonicpy._native.top_k cimport (
    CORRECTED,
    EXACT,
    FULL,
    Kind,
    ScoredObject,
    TopK,
    begin_top,
    collect,
    end_top,
    page_start,
    sort_top,
)

from sonicpy._native.varint import DamagedBytes

cdef enum:
    AHEAD_FIRST = 4  # blocks of a driver read with the one that is needed, at first
    AHEAD_MAX = 64
    ALL_MAX = 16  # blocks that are read at once, without a look at their bounds
    WANTED_MAX = 256  # blocks asked for at once, but for a driver that needs all of them
    LENGTHS = 256  # packed ones
    SHARED_TERMS = 6  # whose shares are remembered
    SHARES = 1 << SHARED_TERMS
    SEEDS = 12  # blocks of the first driver that are looked at before all others
    SEEDED_BLOCKS = 24  # in a list of fewer blocks, none is
    BOUNDED_TERMS = 64  # of a query, whose bounds are remembered for each length

cdef double SLACK = 1.0 + 1e-9  # bounds are added up in another order than scores


cdef struct Slot:  # words that stand for a term with one weight: its family, or one expansion
    Py_ssize_t first, count  # its sources
    double weight  # of the frequencies of all its words together
    double exact_weight  # of those of its first word, which is the one that was typed
    double bound  # no object's part is larger
    Kind kind


cdef struct Term:
    Py_ssize_t first, count  # its slots
    uint64_t df
    double weight  # of an object that holds the term itself
    double bound
    Kind kind  # the best of its slots that hold anything
    Py_ssize_t only  # its one source, if that is all it has and the word counts for itself alone; else -1
    bint brings  # it brings objects; else it only adds to those that others bring
    bint required


cdef class TopObjects:
    """A query while it is answered.

    Args:
        lengths: of all objects by IID, packed, as bytes or a bytearray that stays as it is meanwhile.
        average: mean length of the bucket's objects.
        k1, b: the constants of BM25.
        exponent: of the share of the query that an object holds.
        full_first: objects that hold every term as it was typed come before all others, as FULL.
    """
    cdef object _lengths
    cdef PackedLengths _packed
    cdef double _norms[256]
    cdef double _k1, _exponent
    cdef list _postings  # StoredPostings of each source
    cdef Source *_sources
    cdef Slot *_slots
    cdef Term *_terms
    cdef Py_ssize_t _source_count, _slot_count, _term_count
    cdef Py_ssize_t _source_room, _slot_room, _term_room
    cdef double _total  # weight of the terms that bring objects
    cdef double _possible  # weight of all terms
    cdef uint8_t _shortest  # an object that holds all terms is not shorter, packed
    cdef bint _has_required
    cdef bint _has_family
    cdef bint _full_first
    # the walk
    cdef Py_ssize_t *_drivers  # terms in the order in which they drive; those that only add behind them
    cdef Py_ssize_t _driver_count
    cdef double *_rest_weight  # of the terms behind each driver
    cdef Kind *_rest_kind
    cdef double *_bounds  # by term and length: the largest part of an object that is not shorter
    cdef int _hopeless
    cdef double _hopeless_score
    cdef int64_t _hopeless_iid  # of the worst object for which `_hopeless` was found; -1: none
    cdef double _once[LENGTHS]  # by length: the most that an object of the driver's list scores that holds its word once
    cdef double _rest[LENGTHS]  # by length: the bounds of all terms behind the driver
    cdef double _shares[SHARES]  # by the terms that are missing, a bit each in the order in which they drive
    cdef double *_parts  # of the object that is looked at, by term
    cdef double *_held  # the weights of the terms that it holds
    cdef Py_ssize_t _driver, _slot, _source, _block, _place  # where the walk is
    cdef Py_ssize_t _ahead
    cdef Py_ssize_t _seeds[SEEDS]  # blocks of the first driver, best bound first
    cdef Py_ssize_t _seed_count, _seed  # how many, 0 once they are done, and which of them the walk is at
    cdef double *_block_bounds  # of the blocks of the driver
    cdef bint _is_late  # the walk waits for the block that it is at
    cdef Py_ssize_t *_places  # of each term among the drivers
    cdef TopK _top
    cdef OpenBlock *_opened  # of each source
    cdef bint _is_started
    cdef list _asked  # (StoredPostings, block number) asked for

    def __cinit__(
        self, lengths not None, double average, double k1, double b, double exponent, *, bint full_first=True
    ):
        cdef const double *norms = norms_of(average, k1, b)
        cdef int number
        self._lengths = lengths
        self._packed = lengths_of(lengths)
        for number in range(256):
            self._norms[number] = norms[number]
        self._k1, self._exponent, self._full_first = k1, exponent, full_first
        self._postings = []
        self._asked = []
        self._driver = -1

    def __dealloc__(self):
        free(self._sources)
        free(self._slots)
        free(self._terms)
        free(self._drivers)
        free(self._block_bounds)
        free(self._places)
        free(self._opened)
        free(self._bounds)
        free(self._rest_weight)
        free(self._rest_kind)
        free(self._parts)
        free(self._held)
        end_top(&self._top)

    # -- what is asked for -------------------------------------------------------------------------------------------

    def add_term(self, double weight, *, bint brings=True, bint required=False) -> None:
        """Add the next term of the query.

        Args:
            weight: what an object that holds it gains in share; 0 or more.
            brings: objects that hold it answer the query; else it only adds to their scores.
            required: objects that do not hold it do not answer.
        """
        self.check_unstarted()
        if self._term_count == self._term_room:
            self._term_room = 2 * self._term_room + 8
            self._terms = <Term *> resized(self._terms, self._term_room * sizeof(Term))
        self._terms[self._term_count] = Term(
            self._slot_count, 0, 0, weight, 0.0, CORRECTED, -1, brings, required
        )
        self._term_count += 1
        self._possible += weight
        if brings:
            self._total += weight
        self._has_required |= required

    def add_words(
        self, list postings not None, double weight, double exact_weight=0.0, *, int kind=EXACT
    ) -> None:
        """Add words that stand for the term added last, behind those added before; an object that holds some of those
        keeps them.

        Args:
            postings: StoredPostings of each word; their frequencies in an object add up.
            weight: of the frequencies together.
            exact_weight: of the frequency of the first word.
            kind: EXACT (1), COMPLETED (2) or CORRECTED (3).
        """
        cdef StoredPostings stored
        cdef Term *term
        cdef Slot slot
        cdef Py_ssize_t number
        cdef uint32_t tf = 0
        self.check_unstarted()
        if not self._term_count:
            raise ValueError("words stand for a term: add one first")
        term = &self._terms[self._term_count - 1]
        slot = Slot(self._source_count, len(postings), weight, exact_weight, 0.0, <Kind> kind)
        for stored in postings:
            if self._source_count == self._source_room:
                self._source_room = 2 * self._source_room + 16
                self._sources = <Source *> resized(self._sources, self._source_room * sizeof(Source))
            self._postings.append(stored)
            self._sources[self._source_count] = Source(
                stored.blocks, stored.block_count, 0, 0, 0, 255, stored.impacts, NULL
            )
            for number in range(stored.impacts.count):
                tf_max = stored.impacts.pairs[number].tf
                self._sources[self._source_count].tf_max = max(self._sources[self._source_count].tf_max, tf_max)
                self._sources[self._source_count].length_min = min(
                    self._sources[self._source_count].length_min, stored.impacts.pairs[number].length
                )
            tf += self._sources[self._source_count].tf_max
            term.df += stored.df
            self._source_count += 1
        slot.bound = self.slot_bound(&slot, 0)
        if self._slot_count == self._slot_room:
            self._slot_room = 2 * self._slot_room + 16
            self._slots = <Slot *> resized(self._slots, self._slot_room * sizeof(Slot))
        self._slots[self._slot_count] = slot
        self._slot_count += 1
        if slot.kind == EXACT and weight + exact_weight > term.weight:  # the typed word is rarer than its family
            self._possible += weight + exact_weight - term.weight
        term.count += 1
        term.only = slot.first if term.count == 1 and slot.count == 1 and slot.exact_weight == 0.0 else -1
        if term.brings and term.count == 1:  # words of one family may be one word of an object
            self._shortest = min(self._shortest + (slot.count == 1 or not self._has_family), 63)
            self._has_family |= slot.count > 1
        if tf:
            term.bound = max(term.bound, slot.bound)
            term.kind = min(term.kind, slot.kind)

    cdef int check_unstarted(self) except -1:
        if self._driver >= 0:
            raise ValueError("the query is being answered: nothing can be added")
        return 0

    @property
    def ceiling(self) -> float:
        """No object's score is above it."""
        return self._possible * (self._k1 + 1.0)

    # -- the walk ----------------------------------------------------------------------------------------------------

    def begin(self, uint64_t wanted) -> None:
        """Begin to look for the best `wanted` objects."""
        cdef Py_ssize_t number, at, term, count = self._term_count
        cdef uint64_t most = 0
        self.check_unstarted()
        for number in range(count):
            most += self._terms[number].df
        begin_top(&self._top, <Py_ssize_t> min(wanted, most))
        self._drivers = <Py_ssize_t *> zeroed(count, sizeof(Py_ssize_t))
        self._bounds = <double *> zeroed(min(count, BOUNDED_TERMS) * LENGTHS, sizeof(double))
        memset(self._bounds, 0xFF, min(count, BOUNDED_TERMS) * LENGTHS * sizeof(double))  # NaN: not computed yet
        self.open_sources()
        self._places = <Py_ssize_t *> zeroed(count, sizeof(Py_ssize_t))
        self._rest_weight = <double *> zeroed(count, sizeof(double))
        self._rest_kind = <Kind *> zeroed(count, sizeof(Kind))
        self._parts = <double *> zeroed(count, sizeof(double))
        self._held = <double *> zeroed(count, sizeof(double))
        memset(self._shares, 0xFF, sizeof(self._shares))
        self._driver = 0
        self.put_in_order()
        self.start_driver()

    cdef int open_sources(self) except -1:
        """Make room for a decoded block of each list."""
        cdef Py_ssize_t number
        if self._opened == NULL:
            self._opened = <OpenBlock *> zeroed(self._source_count, sizeof(OpenBlock))
            for number in range(self._source_count):
                self._opened[number].number = -1
                self._sources[number].opened = &self._opened[number]
        return 0

    cdef void put_in_order(self) noexcept:
        """Put the terms in the order in which they drive, and add up what stands behind each."""
        cdef Py_ssize_t number, at, term, count = self._term_count
        cdef double weight = 0.0
        cdef Kind kind = CORRECTED
        for number in range(count):  # insertion sort: few terms
            at = number
            while at > 0 and self.drives_before(number, self._drivers[at - 1]):
                self._drivers[at] = self._drivers[at - 1]
                at -= 1
            self._drivers[at] = number
        for at in range(count):
            self._places[self._drivers[at]] = at
        self._driver_count = 0
        for at in range(count - 1, -1, -1):
            term = self._drivers[at]
            self._rest_weight[at], self._rest_kind[at] = weight, kind
            if self._terms[term].brings:
                self._driver_count = max(self._driver_count, at + 1)
                weight += self._terms[term].weight
                kind = min(kind, self._terms[term].kind)
        if self._has_required:
            self._driver_count = min(self._driver_count, 1)  # whoever answers stands in the first one's lists

    cdef bint drives_before(self, Py_ssize_t one, Py_ssize_t other) noexcept nogil:
        cdef const Term *a = &self._terms[one]
        cdef const Term *b = &self._terms[other]
        if a.brings != b.brings:
            return a.brings
        if a.required != b.required:
            return a.required
        return a.df < b.df

    cdef void start_driver(self) noexcept:
        """Go to the first slot of the driver, with all lists at their newest postings."""
        if self._driver < self._driver_count:
            memset(self._rest, 0xFF, sizeof(self._rest))
            self._slot = 0
            self._source = 0
            self.start_source()

    cdef inline double rest_for(self, uint8_t packed) noexcept nogil:
        """Return what the terms behind the driver can add to an object that is not shorter than this."""
        cdef Py_ssize_t at
        cdef double rest = self._rest[packed]
        if rest == rest:  # not NaN
            return rest
        rest = 0.0
        for at in range(self._driver + 1, self._term_count):
            rest += self.term_bound(self._drivers[at], packed)
        self._rest[packed] = rest
        return rest

    cdef inline double term_bound(self, Py_ssize_t number, uint8_t packed) noexcept nogil:
        """Return the largest part that a term can add to an object that is not shorter than this."""
        cdef double bound
        if number >= BOUNDED_TERMS:
            return self._terms[number].bound
        bound = self._bounds[number * LENGTHS + packed]
        if bound != bound:
            bound = self._bounds[number * LENGTHS + packed] = self.find_term_bound(&self._terms[number], packed)
        return bound

    cdef double find_term_bound(self, const Term *term, uint8_t packed) noexcept nogil:
        cdef Py_ssize_t number
        cdef double bound = 0.0
        for number in range(term.first, term.first + term.count):
            bound = max(bound, self.slot_bound(&self._slots[number], packed))
        return bound

    cdef double slot_bound(self, const Slot *slot, uint8_t packed) noexcept nogil:
        cdef const Source *source = &self._sources[slot.first]
        cdef Py_ssize_t number
        cdef uint32_t tf = 0
        cdef uint8_t shortest = 255
        cdef double bound
        if slot.count == 1:
            bound = impact_bound(&source.impacts, slot.weight + slot.exact_weight, self._norms, self._k1, packed)
            return bound * SLACK if slot.exact_weight != 0.0 else bound
        for number in range(slot.first, slot.first + slot.count):
            tf += self._sources[number].tf_max
            shortest = min(shortest, self._sources[number].length_min)
        if not tf:
            return 0.0
        bound = part_of_score(slot.weight, tf, self._norms[max(shortest, packed)], self._k1)
        bound += impact_bound(&source.impacts, slot.exact_weight, self._norms, self._k1, packed)
        return bound * SLACK

    cdef void go_to_newest(self) noexcept nogil:
        """Let the next look-up in each list begin at its newest postings."""
        cdef Py_ssize_t number
        for number in range(self._source_count):
            self._sources[number].block = self._sources[number].count - 1
            self._sources[number].place = -1

    cdef void start_source(self) noexcept:
        self.go_to_newest()
        self._seed_count = 0
        self._block = -1
        self._place = -1
        self._ahead = AHEAD_FIRST
        if self._slot < self._terms[self._drivers[self._driver]].count:
            self._block = self.own_source().count

    cdef Slot *own_slot(self) noexcept nogil:
        return &self._slots[self._terms[self._drivers[self._driver]].first + self._slot]

    cdef Source *own_source(self) noexcept nogil:
        return &self._sources[self.own_slot().first + self._source]

    cdef inline double own_weight(self, const Slot *slot) noexcept nogil:
        """Return the weight of the frequency of the word that the walk is at, in the driver's slot."""
        return slot.weight + (slot.exact_weight if self._source == 0 else 0.0)

    def run(self) -> list:
        """Go on; return the keys of the blocks of `postings` that have to be read next, or [] at the end."""
        self._asked = []
        if self._driver < 0:
            raise ValueError("begin first")
        if not self._is_started:
            self._is_started = True
            if self.ask_for_all():
                return self.keys_asked()
        while self._driver < self._driver_count and self._top.k:
            if self.walk_driver() < 0:
                return self.keys_asked()
            self._driver += 1
            self.start_driver()
        return []

    cdef list keys_asked(self):
        cdef StoredPostings stored
        cdef Py_ssize_t number
        for stored, number in self._asked:  # other queries, on other threads, read the same postings
            stored.blocks[number].is_wanted = False
        return [(<StoredPostings> stored).key_of(number) for stored, number in self._asked]

    cdef bint ask_for_all(self) except -1:
        """Ask for all blocks, if they are few; return whether some are missing."""
        cdef Py_ssize_t number, block, missing = 0
        for number in range(self._source_count):
            for block in range(self._sources[number].count):
                missing += self._sources[number].blocks[block].packed == NULL
                if missing > ALL_MAX:
                    return False
        for number in range(self._source_count):
            for block in range(self._sources[number].count):
                self.ask(number, block)
        return len(self._asked) > 0

    def give(self, list rows not None) -> None:
        """Take the (key, block) pairs found for the keys that `run` returned, in their order.

        Raises:
            DamagedBytes: a block is missing or cannot be read.
        """
        cdef StoredPostings stored
        cdef Py_ssize_t number, at = 0
        cdef bytes block
        if len(rows) != len(self._asked):
            raise DamagedBytes(f"{len(self._asked) - len(rows)} blocks of postings are missing")
        for stored, number in self._asked:
            block = (<tuple> rows[at])[1]
            stored.put_block(number, block)
            at += 1
        self._asked = []

    cdef int ask(self, Py_ssize_t source, Py_ssize_t block) except -1:
        """Ask for a block, unless it is there or asked for."""
        cdef Block *wanted = &self._sources[source].blocks[block]
        if wanted.packed == NULL and not wanted.is_wanted:
            wanted.is_wanted = True
            self._asked.append((self._postings[source], block))
        return 0

    cdef int walk_driver(self) except -2:
        """Look at the objects of the driver; -1: blocks are missing."""
        cdef Term *term = &self._terms[self._drivers[self._driver]]
        cdef int found
        while self._slot < term.count:
            while self._source < self.own_slot().count:
                found = self.walk_source()
                if found < 0:
                    return -1
                self._source += 1
                if self._source < self.own_slot().count:
                    self.start_source()
            self._slot += 1
            self._source = 0
            if self._slot < term.count:
                self.start_source()
        return 0

    cdef int walk_source(self) except -2:
        """Look at the objects of one word of the driver, block by block; -1: blocks are missing."""
        cdef Slot *slot = self.own_slot()
        cdef Source *source = self.own_source()
        cdef const OpenBlock *block = source.opened
        cdef Kind kind = self.best_kind()
        cdef double share = self.best_share(kind), part, others = self.others_of_slot(slot)
        cdef double weight = self.own_weight(slot)
        cdef uint8_t packed
        cdef uint32_t iid
        cdef int found, hopeless
        if self._block == source.count and self._place < 0:
            part = self.slot_bound(slot, 0)
            if not self.enters(kind, self.score_bound(part, 0) * share, UINT32_MAX):
                return 0
            self.start_blocks(kind, share, others)
        while True:
            if self._place < 0:
                self.next_block(kind)
                if self._block < 0:
                    return 0
                if source.blocks[self._block].packed == NULL:
                    self.ask_ahead(source, slot, kind)
                    self._is_late = True
                    return -1
                self._place = source.blocks[self._block].count
            if block.number != self._block:
                open_block(source, self._block)
            hopeless = self.hopeless_length(kind, weight, share, others, block.iids[block.count - 1])
            while self._place > 0:
                self._place -= 1
                packed = packed_length(&self._packed, block.iids[self._place])
                if block.tfs[self._place] == 1:
                    if packed >= hopeless:
                        continue
                    part = self.once(packed, weight, share, others)
                else:
                    part = part_of_score(weight, block.tfs[self._place], self._norms[packed], self._k1) + others
                    part = self.score_bound(part, packed) * share
                iid = block.iids[self._place]
                if not self.enters(kind, part, iid):
                    continue
                found = self.look_at(iid, block.tfs[self._place], packed)
                if found < 0:
                    self.ask_for_others(slot, kind, share, others)
                    self._place += 1
                    return -1
                hopeless = self.hopeless_length(kind, weight, share, others, iid)
            self._place = -1

    cdef inline double once(self, uint8_t packed, double weight, double share, double others) noexcept nogil:
        """Return a bound on the score of an object of the driver that holds its word once."""
        cdef double bound = self._once[packed]
        if bound != bound:
            bound = part_of_score(weight, 1, self._norms[packed], self._k1) + others
            bound = self._once[packed] = self.score_bound(bound, packed) * share
        return bound

    cdef inline int hopeless_length(
        self, Kind kind, double weight, double share, double others, uint32_t iid
    ) noexcept nogil:
        """Return the packed length from which on an object at most as new as `iid` that holds the driver's word once
        cannot be among the best: bounds fall with the length."""
        cdef const ScoredObject *worst = &self._top.objects[0]
        cdef int low = 0, high = LENGTHS, middle
        if self._top.size < self._top.k or kind < worst.kind:
            return LENGTHS
        if worst.score == self._hopeless_score and worst.iid == self._hopeless_iid and iid < self._hopeless_iid:
            return self._hopeless
        while low < high:
            middle = (low + high) // 2
            if self.enters(kind, self.once(<uint8_t> middle, weight, share, others), iid):
                low = middle + 1
            else:
                high = middle
        self._hopeless, self._hopeless_score, self._hopeless_iid = low, worst.score, <int64_t> worst.iid
        if iid >= worst.iid:
            self._hopeless_iid = -1  # equals may still enter
        return low

    cdef int start_blocks(self, Kind kind, double share, double others) except -1:
        """Bound what the objects of each block of the driver score, and choose blocks to look at before all others: those
        with the highest bounds make the worst of the best objects score much from the start."""
        cdef Slot *slot = self.own_slot()
        cdef Source *source = self.own_source()
        cdef uint8_t shortest = self._shortest if kind == FULL else 0
        cdef Py_ssize_t number, at
        cdef double bound
        memset(self._once, 0xFF, sizeof(self._once))
        self._hopeless_iid = -1
        self._block_bounds = <double *> resized(self._block_bounds, (source.count + 1) * sizeof(double))
        self._seed_count = 0
        self._seed = -1
        for number in range(source.count - 1, -1, -1):
            bound = self.block_bound(slot, &source.blocks[number], shortest, others) * share
            self._block_bounds[number] = bound
            if self._driver or self._slot or self._source or source.count < SEEDED_BLOCKS:
                continue
            if self._seed_count == SEEDS and bound <= self._block_bounds[self._seeds[SEEDS - 1]]:
                continue
            at = self._seed_count if self._seed_count < SEEDS else SEEDS - 1
            self._seed_count = at + 1
            while at > 0 and bound > self._block_bounds[self._seeds[at - 1]]:
                self._seeds[at] = self._seeds[at - 1]
                at -= 1
            self._seeds[at] = number
        return 0

    cdef void next_block(self, Kind kind) noexcept:
        """Go to the next block of the driver that may hold one of the best objects; -1: there is none."""
        cdef Source *source = self.own_source()
        if self._is_late:  # its postings were asked for
            self._is_late = False
            return
        if self._seed_count:
            if self._seed >= 0:
                self._block_bounds[self._seeds[self._seed]] = -INFINITY  # looked at
            self._seed += 1
            self.go_to_newest()
            if self._seed < self._seed_count:
                self._block = self._seeds[self._seed]
                if self.enters(kind, self._block_bounds[self._block], self.highest(source, self._block)):
                    return
            self._seed_count = 0
            self._block = source.count
        self._block -= 1
        while self._block >= 0 and (
            self._block_bounds[self._block] == -INFINITY
            or not self.enters(kind, self._block_bounds[self._block], self.highest(source, self._block))
        ):
            self._block -= 1

    cdef double score_bound(self, double own, uint8_t packed) noexcept nogil:
        """Return a bound on the score of an object of the driver before it is scaled by its share of the query: added up
        in the order in which a score is, so that no rounding makes it smaller.

        Args:
            own: what the driver adds.
            packed: the object's length, or a shorter one.
        """
        cdef Py_ssize_t number
        cdef double bound = 0.0
        for number in range(self._term_count):
            if self._places[number] == self._driver:
                bound += own
            elif self._places[number] > self._driver:
                bound += self.term_bound(number, packed)
        return bound

    cdef double others_of_slot(self, const Slot *slot) noexcept nogil:
        """Return what the other words of a slot can add to an object's part."""
        cdef Py_ssize_t number
        cdef uint32_t tf = 0
        cdef uint8_t shortest = 255
        cdef double bound
        if slot.count == 1:
            return 0.0
        for number in range(slot.first, slot.first + slot.count):
            if number != slot.first + self._source:
                tf += self._sources[number].tf_max
                shortest = min(shortest, self._sources[number].length_min)
        if not tf:
            return 0.0
        # BM25 is concave in tf: two words together never score more than each by itself.
        bound = part_of_score(slot.weight, tf, self._norms[shortest], self._k1)
        if self._source:
            bound += part_of_score(
                slot.exact_weight, self._sources[slot.first].tf_max, self._norms[self._sources[slot.first].length_min],
                self._k1,
            )
        return bound * SLACK

    cdef Kind best_kind(self) noexcept nogil:
        """Return the best kind that an object of the driver's slot may have."""
        cdef Py_ssize_t at
        cdef Slot *slot = self.own_slot()
        if self._full_first and self._driver == 0 and slot.kind == EXACT and self._total > 0:
            for at in range(self._term_count):
                if self._terms[at].brings and self._terms[at].kind != EXACT:
                    break
            else:
                return FULL
        return min(slot.kind, self._rest_kind[self._driver])

    cdef double best_share(self, Kind kind) noexcept nogil:
        """Return the largest factor for the share of the query that an object of the driver can have."""
        cdef double weight
        if kind == FULL or self._total <= 0:
            return 1.0
        weight = self._terms[self._drivers[self._driver]].weight + self._rest_weight[self._driver]
        return pow(min(weight / self._total * SLACK, 1.0), self._exponent)

    cdef inline double block_bound(
        self, const Slot *slot, const Block *block, uint8_t shortest, double others
    ) noexcept nogil:
        """Return a bound on the scores of the objects of a block of the driver."""
        cdef double weight = self.own_weight(slot), most = 0.0, part
        cdef uint8_t length
        cdef int number
        for number in range(block.impacts.count):
            length = max(block.impacts.pairs[number].length, shortest)
            part = part_of_score(weight, block.impacts.pairs[number].tf, self._norms[length], self._k1) + others
            part = self.score_bound(part, length)
            if part > most:
                most = part
        return most

    cdef inline uint32_t highest(self, const Source *source, Py_ssize_t block) noexcept nogil:
        """Return an IID that no object of a block is above."""
        return source.blocks[block + 1].lower - 1 if block + 1 < source.count else UINT32_MAX

    cdef inline double share_without(self, uint64_t missing, double weight) noexcept nogil:
        """Return the factor for an object that lacks some terms.

        Args:
            missing: the places of the terms among the drivers, as bits.
            weight: of these terms together.
        """
        cdef double share
        if missing >= SHARES:
            return pow(max(self._total - weight, 0.0) / self._total, self._exponent)
        share = self._shares[missing]
        if share != share:
            share = self._shares[missing] = pow(max(self._total - weight, 0.0) / self._total, self._exponent)
        return share

    cdef inline bint enters(self, Kind kind, double score, uint32_t iid) noexcept nogil:
        """Whether an object with at most this score, and at most this IID, can be among the best."""
        cdef const ScoredObject *worst
        if self._top.size < self._top.k:
            return True
        worst = &self._top.objects[0]
        if kind != worst.kind:
            return kind < worst.kind
        return score > worst.score or (score == worst.score and iid > worst.iid)

    cdef int ask_ahead(self, const Source *source, const Slot *slot, Kind kind) except -1:
        """Ask for the block the walk is at, and for some behind it that look worth it by now."""
        cdef Py_ssize_t number = self._block, own = slot.first + self._source, at
        cdef Py_ssize_t most = self._ahead if self._top.size == self._top.k else self._top.k // 16 + self._ahead
        if self._seed_count:
            for at in range(self._seed, self._seed_count):
                self.ask(own, self._seeds[at])
            return 0
        while number >= 0 and <Py_ssize_t> len(self._asked) < most:
            if number == self._block or self.enters(kind, self._block_bounds[number], self.highest(source, number)):
                self.ask(own, number)
            number -= 1
        self._ahead = min(2 * self._ahead, AHEAD_MAX)
        return 0

    cdef int ask_for_others(self, const Slot *slot, Kind kind, double share, double others) except -1:
        """Ask for the blocks of other lists that the next objects of the driver are to be looked up in."""
        cdef Py_ssize_t place = self._place + 1, number = self._block
        cdef const Source *source = self.own_source()
        cdef OpenBlock block
        cdef uint8_t packed
        cdef double part
        cdef uint32_t iid
        decode_block(&source.blocks[number], &block)
        while len(self._asked) < WANTED_MAX:
            if place == 0:
                number -= 1
                if self._seed_count or number < 0 or source.blocks[number].packed == NULL:
                    break
                place = decode_block(&source.blocks[number], &block)
            place -= 1
            iid = block.iids[place]
            packed = packed_length(&self._packed, iid)
            part = part_of_score(
                self.own_weight(slot),
                block.tfs[place], self._norms[packed], self._k1,
            ) + others
            if self.enters(kind, self.score_bound(part, packed) * share, iid):
                self.ask_for(iid)
        return 0

    cdef int ask_for(self, uint32_t iid) except -1:
        """Ask for the blocks that an object is to be looked up in."""
        cdef Py_ssize_t at, number, found
        cdef const Term *term
        for at in range(self._term_count):
            term = &self._terms[self._drivers[at]]
            if not term.count:
                continue
            for number in range(self.first_source(term), self.end_source(term)):
                found = block_for(&self._sources[number], iid, self._sources[number].block)
                if found >= 0:
                    self.ask(number, found)
        return 0

    cdef inline double bound_there(self, Py_ssize_t term_number, uint32_t iid, uint8_t packed) noexcept:
        """Return what a term can add to the part of one object, by the blocks it would stand in."""
        cdef Term *term = &self._terms[term_number]
        cdef Slot *slot
        cdef Source *source
        cdef Py_ssize_t found
        if term.count != 1 or self._slots[term.first].count != 1:
            return self.term_bound(term_number, packed)
        slot = &self._slots[term.first]
        source = &self._sources[slot.first]
        if source.block < 0:
            return 0.0
        found = block_for(source, iid, source.block)
        if found < 0:
            return 0.0
        return impact_bound(
            &source.blocks[found].impacts, slot.weight + slot.exact_weight, self._norms, self._k1, packed
        ) * SLACK

    cdef int look_at(self, uint32_t iid, uint32_t own_tf, uint8_t packed) except -2:
        """Score an object of the driver, as far as it may be among the best; -1: blocks are missing."""
        cdef Py_ssize_t at, number, slot_number, term_number, held
        cdef Term *term
        cdef Slot *slot
        cdef double norm = self._norms[packed], part = 0.0, known, rest = self.rest_for(packed), matched, bound
        cdef double missing = 0.0
        cdef uint64_t missing_terms = 0
        cdef Kind kind, kind_bound
        cdef bint is_full = self._full_first and self._driver == 0 and self._total > 0
        if is_full and self._top.size == self._top.k and self._top.objects[0].kind == FULL and self.lacks_some(iid):
            return 0
        # the driver's own term: its earlier slots and words were looked at before
        term_number = self._drivers[self._driver]
        term = &self._terms[term_number]
        memset(self._parts, 0, self._term_count * sizeof(double))
        memset(self._held, 0, self._term_count * sizeof(double))
        slot_number = term.first + self._slot
        slot = &self._slots[slot_number]
        if term.only >= 0:
            part = part_of_score(slot.weight, own_tf, norm, self._k1)
        elif self.part_in(slot, iid, norm, self._source, own_tf, &part) < 0:
            return -1
        self._parts[term_number] = part
        known = part
        self._held[term_number] = self.weight_of(term, slot)
        is_full = is_full and slot.kind == EXACT
        kind = slot.kind
        for at in range(self._driver + 1, self._term_count):
            term_number = self._drivers[at]
            term = &self._terms[term_number]
            rest -= self.term_bound(term_number, packed)
            held = 0
            if term.only >= 0 and self.is_read(term, iid):
                held = look_up(&self._sources[term.only], iid)
                if held > 0:
                    part = part_of_score(self._slots[term.first].weight, held, norm, self._k1)
                    self._parts[term_number] = part
                    known += part
                    if term.brings:
                        self._held[term_number] = self.weight_of(term, &self._slots[term.first])
                        kind = EXACT if self._slots[term.first].kind == EXACT else min(
                            kind, self._slots[term.first].kind
                        )
                        is_full = is_full and self._slots[term.first].kind == EXACT
            elif term.count:
                if self._top.size == self._top.k and not self.is_read(term, iid):
                    # by the block that it would stand in, before that block is read
                    bound = known + self.bound_there(term_number, iid, packed) + rest
                    kind_bound = FULL if is_full else min(kind, min(term.kind, self._rest_kind[at]))
                    if not self.enters(kind_bound, bound * SLACK, iid):
                        return 0
                for slot_number in range(term.first, term.first + term.count):
                    slot = &self._slots[slot_number]
                    held = self.part_in(slot, iid, norm, -1, 0, &part)
                    if held < 0:
                        return -1
                    if held:
                        self._parts[term_number] = part
                        known += part
                        if term.brings:
                            self._held[term_number] = self.weight_of(term, slot)
                            kind = min(kind, slot.kind)
                            is_full = is_full and slot.kind == EXACT
                        break
            if held:
                continue
            if term.required:
                return 0
            if term.brings:
                is_full = False
                missing += term.weight
                missing_terms |= <uint64_t> 1 << min(at, 63)
            if self._top.size == self._top.k and self._total > 0:
                kind_bound = FULL if is_full else min(kind, self._rest_kind[at])
                bound = known + rest
                if not is_full and missing_terms:
                    bound *= self.share_without(missing_terms, missing)
                if not self.enters(kind_bound, bound * SLACK, iid):
                    return 0
        held = self.was_looked_at(iid)
        if held:
            return -1 if held < 0 else 0
        known = matched = 0.0
        for number in range(self._term_count):  # in the order of the query: so equal objects have equal scores
            known += self._parts[number]
            matched += self._held[number]
        if self._total > 0:
            if is_full:
                kind = FULL
            else:
                known *= pow(matched / self._total, self._exponent)
        if self.enters(kind, known, iid):
            collect(&self._top, iid, kind, known, UINT32_MAX - iid)
        return 0

    cdef inline bint lacks_some(self, uint32_t iid) noexcept nogil:
        """Whether an object certainly lacks one of the terms behind the driver that bring objects."""
        cdef Py_ssize_t at
        cdef const Term *term
        for at in range(self._driver + 1, self._driver_count):
            term = &self._terms[self._drivers[at]]
            if term.only >= 0 and look_up(&self._sources[term.only], iid) == 0:
                return True
        return False

    cdef inline bint is_read(self, const Term *term, uint32_t iid) noexcept nogil:
        """Whether the block is there that an object would stand in, of a term with one word."""
        cdef Source *source = &self._sources[self._slots[term.first].first]
        if term.count > 1 or self._slots[term.first].count > 1 or source.block < 0:
            return True
        return source.blocks[source.block].lower <= iid and source.blocks[source.block].packed != NULL

    cdef inline double weight_of(self, const Term *term, const Slot *slot) noexcept nogil:
        """Return what an object that holds a slot's words gains in share."""
        return term.weight if slot.kind == EXACT else slot.weight + slot.exact_weight

    cdef int part_in(
        self, const Slot *slot, uint32_t iid, double norm, Py_ssize_t own, uint32_t own_tf, double *part
    ) except -2:
        """Compute the part of an object in the words of a slot; return whether it holds any, or -1: a block is missing.

        Args:
            own: the source in the slot that is known to hold it `own_tf` times; -1: none is.
        """
        cdef Py_ssize_t number
        cdef uint32_t total = 0, first = 0
        cdef int tf
        for number in range(slot.count):
            if number == own:
                tf = <int> own_tf
            else:
                tf = look_up(&self._sources[slot.first + number], iid)
                if tf < 0:
                    return -1
            total += tf
            if number == 0:
                first = tf
        part[0] = 0.0
        if not total:
            return 0
        part[0] = part_of_score(slot.weight, total, norm, self._k1)
        if slot.exact_weight != 0.0 and first:
            part[0] += part_of_score(slot.exact_weight, first, norm, self._k1)
        return 1

    cdef int was_looked_at(self, uint32_t iid) except -2:
        """Return whether an object was looked at in a list before the one the walk is in, or -1: a block is missing."""
        cdef Py_ssize_t at, number, last
        cdef Term *term
        cdef int tf
        for at in range(self._driver + 1):
            term = &self._terms[self._drivers[at]]
            if not term.count:
                continue
            last = self.end_source(term)
            if at == self._driver:
                last = self.own_slot().first + self._source
            for number in range(self.first_source(term), last):
                tf = look_up(&self._sources[number], iid)
                if tf:
                    return -1 if tf < 0 else 1
        return 0

    def best(self, uint64_t offset) -> list:
        """Return (IID, kind, score) of the objects found, best first, from place `offset` on."""
        cdef Py_ssize_t number
        cdef const ScoredObject *found
        cdef list objects = []
        sort_top(&self._top)
        for number in range(page_start(&self._top, offset), self._top.size):
            found = &self._top.objects[number]
            objects.append((found.iid, <int> found.kind, found.score))
        return objects

    def best_shown(self, uint64_t offset, int whole, double fraction_max) -> tuple:
        """Return the IIDs of the same objects, and their scores as users see them: `whole` minus the kind, plus the
        share of the ceiling, at most `fraction_max`."""
        cdef Py_ssize_t number
        cdef const ScoredObject *found
        cdef double ceiling = self._possible * (self._k1 + 1.0), share
        cdef list iids = [], scores = []
        sort_top(&self._top)
        for number in range(page_start(&self._top, offset), self._top.size):
            found = &self._top.objects[number]
            share = found.score / ceiling if ceiling > 0 else 0.0
            iids.append(found.iid)
            scores.append((whole - <int> found.kind) + (share if share < fraction_max else fraction_max))
        return iids, scores

    # -- how many there are, and why ---------------------------------------------------------------------------------

    def blocks_to_count(self) -> list:
        """Return the keys of the blocks that `count` needs and nobody has read yet; hand them over with `give`."""
        cdef Py_ssize_t term, number, block
        self._asked = []
        for term in range(self._term_count):
            if self._terms[term].brings:
                for number in range(self.first_source(&self._terms[term]), self.end_source(&self._terms[term])):
                    for block in range(self._sources[number].count):
                        self.ask(number, block)
        return self.keys_asked()

    def count(self) -> int:
        """Return how many objects answer the query."""
        cdef uint64_t most = 0, found = 0
        cdef Py_ssize_t number, term
        cdef uint8_t *marks
        cdef uint8_t *some
        for number in range(self._source_count):
            if self._sources[number].count:
                most = max(most, self.newest_iid(&self._sources[number]))
        marks = <uint8_t *> zeroed(2 * (most // 8 + 1), 1)
        some = marks + most // 8 + 1
        memset(marks, 0xFF if self._has_required else 0, most // 8 + 1)
        for term in range(self._term_count):
            if self._has_required and self._terms[term].required:
                memset(some, 0, most // 8 + 1)
                self.mark(&self._terms[term], some)
                for number in range(<Py_ssize_t> (most // 8 + 1)):
                    marks[number] &= some[number]
            elif not self._has_required and self._terms[term].brings:
                self.mark(&self._terms[term], marks)
        for number in range(<Py_ssize_t> (most // 8 + 1)):
            found += count_bits(marks[number])
        free(marks)
        return found

    cdef Py_ssize_t first_source(self, const Term *term) noexcept nogil:
        return self._slots[term.first].first if term.count else 0

    cdef Py_ssize_t end_source(self, const Term *term) noexcept nogil:
        cdef const Slot *last = &self._slots[term.first + term.count - 1]
        return last.first + last.count if term.count else 0

    cdef uint64_t newest_iid(self, const Source *source) noexcept nogil:
        cdef OpenBlock block
        if source.blocks[source.count - 1].packed == NULL:
            return 0
        decode_block(&source.blocks[source.count - 1], &block)
        return block.iids[block.count - 1]

    cdef void mark(self, const Term *term, uint8_t *marks) noexcept nogil:
        """Set the bits of the objects that a term brings."""
        cdef Py_ssize_t number, block, place
        cdef OpenBlock held
        for number in range(self.first_source(term), self.end_source(term)):
            for block in range(self._sources[number].count):
                if self._sources[number].blocks[block].packed == NULL:
                    continue
                decode_block(&self._sources[number].blocks[block], &held)
                for place in range(held.count):
                    marks[held.iids[place] >> 3] |= <uint8_t> (1 << (held.iids[place] & 7))

    def parts(self, list iids not None, Py_ssize_t listed_max) -> list:
        """Return, for each of some objects that were found, what its score is made of.

        Args:
            listed_max: at most `listed_max` parts of each object are listed one by one, the largest ones.

        Returns:
            ([(number of the word, in the order in which they were added, tf, part of the score)], number of other
            parts, their sum).
        """
        cdef Part *listed = <Part *> zeroed(listed_max + 1, sizeof(Part))
        cdef list out = []
        self.open_sources()
        try:
            for iid in iids:
                out.append(self.parts_of(iid, listed, listed_max))
            return out
        finally:
            free(listed)

    cdef tuple parts_of(self, uint32_t iid, Part *listed, Py_ssize_t listed_max):
        cdef Parts parts
        cdef double norm = self._norms[packed_length(&self._packed, iid)], matched = 0.0, share = 1.0
        cdef bint is_full = True
        cdef Py_ssize_t term
        memset(&parts, 0, sizeof(parts))
        for term in range(self._term_count):
            if self._terms[term].brings:
                matched += self.weight_in(&self._terms[term], iid, &is_full)
        if self._total > 0 and not is_full:
            share = pow(matched / self._total, self._exponent)
        for term in range(self._term_count):
            self.add_parts(&self._terms[term], iid, norm, share, &parts, listed, listed_max)
        return parts_tuple(&parts, listed)

    cdef const Slot *slot_in(self, const Term *term, uint32_t iid) noexcept:
        """Return the words of a term that an object holds, or NULL."""
        cdef Py_ssize_t number, source
        for number in range(term.first, term.first + term.count):
            for source in range(self._slots[number].first, self._slots[number].first + self._slots[number].count):
                if self.tf_in(source, iid):
                    return &self._slots[number]
        return NULL

    cdef double weight_in(self, const Term *term, uint32_t iid, bint *is_full) noexcept:
        cdef const Slot *slot = self.slot_in(term, iid)
        is_full[0] = is_full[0] and slot != NULL and slot.kind == EXACT
        return self.weight_of(term, slot) if slot != NULL else 0.0

    cdef int add_parts(
        self, const Term *term, uint32_t iid, double norm, double share, Parts *parts, Part *listed,
        Py_ssize_t listed_max,
    ) except -1:
        cdef const Slot *slot = self.slot_in(term, iid)
        cdef Py_ssize_t source
        cdef uint32_t tf, total = 0
        cdef double part
        if slot == NULL:
            return 0
        for source in range(slot.first, slot.first + slot.count):
            total += self.tf_in(source, iid)
        for source in range(slot.first, slot.first + slot.count):
            tf = self.tf_in(source, iid)
            if not tf:
                continue
            part = part_of_score(slot.weight, total, norm, self._k1) * tf / total
            if source == slot.first and slot.exact_weight != 0.0:
                part += part_of_score(slot.exact_weight, tf, norm, self._k1)
            add_part(parts, listed, listed_max, Part(source, tf, part * share))
        return 0

    cdef uint32_t tf_in(self, Py_ssize_t number, uint32_t iid) noexcept:
        """Return the tf of an object that was found in a list, 0 if it does not stand there."""
        cdef Source *source = &self._sources[number]
        cdef Py_ssize_t block = block_for(source, iid, source.count - 1)
        if block < 0 or source.blocks[block].packed == NULL or not is_marked(source.blocks[block].marks, iid):
            return 0
        if source.opened.number != block:
            open_block(source, block)
        return search(source.opened, iid)
