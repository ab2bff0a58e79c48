"""The best objects of a query, found without touching what cannot be among them.

    part     weight * tf * (k1 + 1) / (tf + norm of the object's length)       what a list adds to a score
    score    the parts added up in the order of the query's terms, times share ** exponent
    share    the weight of the terms the object holds / the weight of all terms that bring objects
    order    by kind (FULL, EXACT, COMPLETED, CORRECTED), then by score, then newest object first

The walk is MaxScore (Turtle and Flood, "Query evaluation: strategies and optimizations", 1995). Terms drive in turn, those
that fewest objects hold first: the walk looks at the driver's objects, and at what they hold of the terms behind it. An
object that stands in a list of a term before was looked at there. So what the objects of a driver can score falls from
driver to driver, and once it is less than the worst of the best objects have, the walk is over. A driver with expansions
drives slot by slot.

The objects of a driver are chosen 64 at a time, window by window (windows.pxd), newest first. Most objects hold a word
once, and then their length decides: from some length on, none can be among the best. So the walk intersects the bits of
those who hold the driver with the bits of those who are short enough, and with the bits of the terms without which nobody
of that length is good enough. Those who hold a word more often are few, and have limits of their own. What is left is
scored. As objects come newest first, and newer ones win ties, what can only equal the worst is passed over, too.

Windows of common words and of families of common words are kept beside the lists, for later queries. Where blocks of a
list have not been read yet, their impacts tell whether they have to be (Ding and Suel, "Faster top-k document retrieval
using block-max indexes", 2011).

The walk reads nothing. Where it needs blocks that nobody has read yet, it returns their keys; the caller reads them,
hands them over with `give` and lets it go on.
"""

from libc.math cimport pow
from libc.stdint cimport UINT32_MAX, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memset

from sonicpy._native.bits cimport count_bits, lowest_bit
from sonicpy._native.bm25 cimport PackedLengths, norms_of, packed_length, part_of_score
from sonicpy._native.impacts cimport Block, impact_bound
from sonicpy._native.length_masks cimport LengthMasks
from sonicpy._native.list_lookup cimport (
    Source,
    block_for,
    has_window,
    is_read,
    look_up,
    newest_below,
    open_block,
    put_postings,
    search,
)
from sonicpy._native.memory cimport resized, zeroed
from sonicpy._native.score_parts cimport Part, Parts, add_part, parts_tuple
from sonicpy._native.stored_postings cimport OpenBlock, StoredPostings, Windows, decode_block, windows_of
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
from sonicpy._native.windows cimport (
    ROW_BYTES,
    WINDOW_BITS,
    WINDOW_OBJECTS,
    WINDOW_WORDS,
    Gathered,
    Holders,
    count_up_to_few,
    gather_all,
    highest_bit,
    intersect,
    intersect_two,
    list_many,
    tf_of,
)

from sonicpy._native.varint import DamagedBytes

cdef enum:
    AHEAD_FIRST = 4  # blocks of a driver's list read with those that are needed, at first
    AHEAD_MAX = 64
    ALL_MAX = 16  # blocks that are read at once, without a look at their bounds
    WANTED_MAX = 256  # blocks asked for at once, but for a driver that needs all of them
    LENGTHS = 256  # packed ones
    SHARED_TERMS = 6  # whose shares are remembered
    SHARES = 1 << SHARED_TERMS
    BOUNDED_TERMS = 64  # of a query, whose bounds are remembered for each length
    LEVELS = 9  # of bounds: an object holds a term once, twice, and so on, or
    ANY = 0  # as often as it likes
    ONCE = 1
    TF_MAX = 7  # the most often for which there is a level
    UNTYPED = 8  # once, and not the word that was typed
    CHOSEN_FEW = 4  # objects of a window that are looked at one by one rather than narrowed down


cdef int64_t END_OF_WINDOWS = <int64_t> 1 << 32 - WINDOW_BITS
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
    bint brings  # it brings objects; else it only adds to those that others bring
    bint required


cdef struct Gathering:
    Gathered gathered
    uint16_t places[WINDOW_OBJECTS]
    uint8_t tfs[WINDOW_OBJECTS]


cdef struct TermWindow:  # who holds a term in a window
    Py_ssize_t first, end  # its sources
    bint has_family  # they have one weight, and one of them was typed and weighs more
    Py_ssize_t kept  # the place of its Windows
    Holders **windows  # of its words together; NULL: they are rare
    Py_ssize_t window_count
    int64_t window  # -1: of none
    Holders held
    Holders typed  # who holds the word that was typed, if the term has a family
    Gathering *gathering  # what these refer to, unless common words have windows of their own
    Gathering *typed_gathering


cdef inline void clear(Gathered *gathered) noexcept nogil:
    gathered.summary = gathered.many = 0
    memset(gathered.bits, 0, ROW_BYTES)
    memset(gathered.twice, 0, ROW_BYTES)


cdef inline void take_holders(Gathering *gathering, Holders *held) noexcept nogil:
    held.summary = gathering.gathered.summary
    held.bits = gathering.gathered.bits
    held.many = list_many(&gathering.gathered, gathering.places, gathering.tfs)
    held.places, held.tfs = gathering.places, gathering.tfs
    held.shortest = held.shortest_many = 0  # not known


cdef class TopObjects:
    """A query while it is answered.

    Args:
        lengths: of all objects by IID, packed, as bytes or a bytearray that stays as it is meanwhile; or their masks.
        average: mean length of the bucket's objects.
        k1, b: the constants of BM25.
        exponent: of the share of the query that an object holds.
        full_first: objects that hold every term as it was typed come before all others, as FULL.
    """
    cdef LengthMasks _masks
    cdef PackedLengths _packed
    cdef double _norms[256]
    cdef double _k1, _exponent
    cdef list _postings  # StoredPostings of each source
    cdef list _windows  # Windows of terms and slots, None of rare ones
    cdef readonly Py_ssize_t made_bytes  # of windows that this query made, for later ones
    cdef Source *_sources
    cdef Slot *_slots
    cdef Term *_terms
    cdef Py_ssize_t _source_count, _slot_count, _term_count
    cdef Py_ssize_t _source_room, _slot_room, _term_room
    cdef double _total  # weight of the terms that bring objects
    cdef double _possible  # weight of all terms
    cdef bint _has_required
    cdef bint _full_first
    # the walk
    cdef Py_ssize_t *_drivers  # terms in the order in which they drive; those that only add behind them
    cdef Py_ssize_t _driver_count
    cdef Py_ssize_t _bringing  # terms that bring objects, which come first
    cdef double *_rest_weight  # of the terms behind each driver
    cdef Kind *_rest_kind
    cdef double *_parts_at_most  # by term, level and length: the largest part of an object that is not shorter
    cdef double _shares[SHARES]  # by the terms that are missing, a bit each in the order in which they drive
    cdef double *_parts  # of the object that is looked at, by term
    cdef double *_held  # the weights of the terms that it holds
    cdef Py_ssize_t *_places  # of each term among the drivers
    cdef TermWindow *_here  # of each term
    cdef Py_ssize_t _driver, _slot  # the place of the term whose holders are looked at, and the number of its slot
    cdef TermWindow *_own  # who holds a word of this slot
    cdef Kind _kind  # the best that they can have
    cdef double _share
    cdef int64_t _window  # where the walk is
    cdef int _limits[LEVELS]  # no longer object is among the best, by how often it holds the driver
    cdef int64_t _worst_iid  # of the worst of the best objects when these were found; -1: find them again
    cdef double _worst_score
    cdef int _without[BOUNDED_TERMS]  # the same of an object that lacks a term, by its place behind the driver
    cdef Py_ssize_t _without_count  # how many of these were found
    cdef uint64_t _chosen[WINDOW_WORDS]  # objects of the window that are still to be looked at
    cdef uint64_t _summary  # which words of these are not 0
    cdef Py_ssize_t _ahead
    cdef TopK _top
    cdef OpenBlock *_opened  # of each source
    cdef bint _is_started
    cdef list _asked  # (StoredPostings, block number) asked for

    def __cinit__(
        self, lengths not None, double average, double k1, double b, double exponent, *, bint full_first=True
    ):
        cdef const double *norms = norms_of(average, k1, b)
        cdef int number
        self._masks = lengths if isinstance(lengths, LengthMasks) else LengthMasks(lengths)
        self._packed = self._masks.packed
        for number in range(256):
            self._norms[number] = norms[number]
        self._k1, self._exponent, self._full_first = k1, exponent, full_first
        self._postings = []
        self._windows = []
        self._asked = []
        self._driver = -1

    def __dealloc__(self):
        cdef Py_ssize_t number
        free(self._sources)
        free(self._slots)
        free(self._terms)
        free(self._drivers)
        free(self._places)
        free(self._opened)
        free(self._parts_at_most)
        if self._here != NULL:
            for number in range(self._term_count + 1):
                free(self._here[number].gathering)
                free(self._here[number].typed_gathering)
        free(self._here)
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
        self._terms[self._term_count] = Term(self._slot_count, 0, 0, weight, 0.0, CORRECTED, brings, required)
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
                stored.blocks, stored.block_count, NULL, 0, -1, -1, -1, 0, 255, stored.impacts, NULL,
            )
            for number in range(stored.impacts.count):
                tf_max = stored.impacts.pairs[number].tf
                self._sources[self._source_count].tf_max = max(self._sources[self._source_count].tf_max, tf_max)
                self._sources[self._source_count].length_min = min(
                    self._sources[self._source_count].length_min, stored.impacts.pairs[number].length
                )
            if stored.windows is not None:
                self._sources[self._source_count].windows = stored.windows.made
                self._sources[self._source_count].window_count = stored.windows.count
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
        cdef Py_ssize_t number, count = self._term_count
        cdef const Term *term
        cdef uint64_t most = 0
        self.check_unstarted()
        for number in range(count):
            most += self._terms[number].df
        begin_top(&self._top, <Py_ssize_t> min(wanted, most))
        self._drivers = <Py_ssize_t *> zeroed(count, sizeof(Py_ssize_t))
        self._places = <Py_ssize_t *> zeroed(count, sizeof(Py_ssize_t))
        self._parts_at_most = <double *> zeroed(min(count, BOUNDED_TERMS) * LEVELS * LENGTHS, sizeof(double))
        memset(self._parts_at_most, 0xFF, min(count, BOUNDED_TERMS) * LEVELS * LENGTHS * sizeof(double))  # NaN
        self.open_sources()
        self._here = <TermWindow *> zeroed(count + 1, sizeof(TermWindow))  # the last one is of a slot among several
        for number in range(count):
            term = &self._terms[number]
            self.find_windows(&self._here[number], self.first_source(term), self.end_source(term))
            self._here[number].has_family = term.count == 1 and self._slots[term.first].count > 1
        self._rest_weight = <double *> zeroed(count, sizeof(double))
        self._rest_kind = <Kind *> zeroed(count, sizeof(Kind))
        self._parts = <double *> zeroed(count, sizeof(double))
        self._held = <double *> zeroed(count, sizeof(double))
        memset(self._shares, 0xFF, sizeof(self._shares))
        self._driver = 0
        self.put_in_order()
        self.start_driver()

    cdef int find_windows(self, TermWindow *here, Py_ssize_t first, Py_ssize_t end) except -1:
        """Find the windows of some words together, if they are common."""
        cdef Windows windows = None
        if first < end:
            windows = windows_of(self._postings[first:end], (self._packed.count >> WINDOW_BITS) + 1)
        here.first, here.end, here.window = first, end, -1
        here.has_family = False
        here.typed.bits = NULL
        here.kept = len(self._windows)
        here.windows, here.window_count = NULL, 0
        self._windows.append(windows)
        if windows is not None:
            here.windows, here.window_count = windows.made, windows.count
        return 0

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
        self._bringing = self._driver_count
        for at in range(self._driver_count):
            if self._terms[self._drivers[at]].required:
                self._driver_count = at + 1  # whoever answers holds this term
                break

    cdef bint drives_before(self, Py_ssize_t one, Py_ssize_t other) noexcept nogil:
        cdef const Term *a = &self._terms[one]
        cdef const Term *b = &self._terms[other]
        if a.brings != b.brings:
            return a.brings
        return a.df < b.df

    cdef int start_driver(self) except -1:
        """Go to the newest window of the driver's slot."""
        cdef Py_ssize_t number
        cdef const Term *term
        cdef const Slot *slot
        for number in range(self._source_count):
            self._sources[number].block = self._sources[number].top = self._sources[number].count - 1
            self._sources[number].next = UINT32_MAX
        for number in range(self._term_count + 1):
            self._here[number].window = -1
        self._window = END_OF_WINDOWS
        self._summary = 0
        self._worst_iid = -1
        self._ahead = AHEAD_FIRST
        if self._driver < self._driver_count:
            term = &self._terms[self._drivers[self._driver]]
            if self._slot >= term.count:
                return 0
            self._own = &self._here[self._drivers[self._driver]]
            if term.count > 1:
                slot = self.own_slot()
                self._own = &self._here[self._term_count]
                self.find_windows(self._own, slot.first, slot.first + slot.count)
                self._own.has_family = slot.count > 1
            self._kind = self.best_kind()
            self._share = self.best_share()
        return 0

    cdef inline const Slot *own_slot(self) noexcept nogil:
        return &self._slots[self._terms[self._drivers[self._driver]].first + self._slot]

    # -- bounds ------------------------------------------------------------------------------------------------------

    cdef inline double part_at_most(self, Py_ssize_t number, int level, uint8_t packed) noexcept nogil:
        """Return the largest part that a term can add to an object that is not shorter than this.

        Args:
            level: how often the object holds the term, at most; see LEVELS.
        """
        cdef double *most
        if number >= BOUNDED_TERMS:
            return self.find_part(&self._terms[number], level, packed)
        most = &self._parts_at_most[(number * LEVELS + level) * LENGTHS + packed]
        if most[0] != most[0]:
            most[0] = self.find_part(&self._terms[number], level, packed)
        return most[0]

    cdef double find_part(self, const Term *term, int level, uint8_t packed) noexcept nogil:
        cdef Py_ssize_t number
        cdef double bound = 0.0
        if level == UNTYPED and term.count > 1:
            level = ONCE
        for number in range(term.first, term.first + term.count):
            bound = max(bound, self.slot_at_most(&self._slots[number], level, packed))
        return bound

    cdef double slot_at_most(self, const Slot *slot, int level, uint8_t packed) noexcept nogil:
        """Return the largest part that the words of a slot can add; see `part_at_most`."""
        cdef uint32_t tf = 1 if level == UNTYPED else level
        cdef double part
        if level == ANY:
            return self.slot_bound(slot, packed)
        part = part_of_score(slot.weight, tf, self._norms[packed], self._k1)
        if slot.exact_weight != 0.0 and (level != UNTYPED or slot.count == 1):
            part += part_of_score(slot.exact_weight, tf, self._norms[packed], self._k1)
        return part

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

    cdef double score_bound(self, int level, uint64_t leveled, Py_ssize_t without, uint8_t packed) noexcept nogil:
        """Return a bound on the score of an object of the driver before it is scaled by its share of the query: added up
        in the order in which a score is, so that no rounding makes it smaller.

        Args:
            level: how often the object holds each of some terms, at most; see `part_at_most`.
            leveled: these terms, by their places among the drivers, as bits.
            without: the place of a term that it lacks; -1: of none.
            packed: the object's length, or a shorter one.
        """
        cdef Py_ssize_t number, place
        cdef double bound = 0.0
        for number in range(self._term_count):
            place = self._places[number]
            if place == self._driver and self._terms[number].count > 1:
                bound += self.slot_at_most(self.own_slot(), level if leveled else ANY, packed)
            elif place >= self._driver and place != without:
                bound += self.part_at_most(number, level if place < 64 and leveled >> place & 1 else 0, packed)
        return bound

    cdef int limit(
        self, int level, uint64_t leveled, Py_ssize_t without, Kind kind, double share, uint32_t iid, int high
    ) noexcept nogil:
        """Return the packed length from which on no object at most as new as `iid` can be among the best: bounds fall with
        the length.

        Args:
            level, leveled, without: see `score_bound`.
            kind, share: the best kind and share that the object can have.
            high: the limit is at most this one.
        """
        cdef int low = 0, middle
        if self._top.size < self._top.k or kind < self._top.objects[0].kind:
            return high
        if kind > self._top.objects[0].kind:
            return 0
        if high and self.enters(
            kind, self.score_bound(level, leveled, without, <uint8_t> (high - 1)) * share, iid
        ):
            return high
        while low < high:
            middle = (low + high) // 2
            if self.enters(kind, self.score_bound(level, leveled, without, <uint8_t> middle) * share, iid):
                low = middle + 1
            else:
                high = middle
        return low

    cdef void find_limits(self, uint32_t iid) noexcept nogil:
        """Find the lengths from which on objects of the driver cannot be among the best, by how often they hold it."""
        cdef uint64_t own = <uint64_t> 1 << self._driver if self._driver < 64 else 0
        if self.is_as_before(iid):
            return
        self._without_count = 0
        self.find_levels(own, iid, self.limit(ANY, 0, -1, self._kind, self._share, iid, LENGTHS), self._limits)

    cdef inline bint is_as_before(self, uint32_t iid) noexcept nogil:
        """Whether the limits are those that were found last: they depend on the worst of the best objects alone, unless an
        equal object would be newer."""
        cdef const ScoredObject *worst = &self._top.objects[0]
        if self._top.size < self._top.k:
            return False
        if worst.iid == self._worst_iid and worst.score == self._worst_score and iid < self._worst_iid:
            return True
        self._worst_iid = <int64_t> worst.iid if iid < worst.iid else -1
        self._worst_score = worst.score
        return False

    cdef void find_levels(self, uint64_t leveled, uint32_t iid, int any, int *limits) noexcept nogil:
        """Find the limit of each level; see `limit`."""
        cdef int level
        limits[ANY] = any
        for level in range(TF_MAX, ANY, -1):
            any = limits[level] = self.limit(level, leveled, -1, self._kind, self._share, iid, any)
        limits[UNTYPED] = self.limit(UNTYPED, leveled, -1, self._kind, self._share, iid, any)

    cdef Kind best_kind(self) noexcept nogil:
        """Return the best kind that an object of the driver may have."""
        cdef Py_ssize_t at
        cdef const Slot *slot = self.own_slot()
        if self._full_first and self._driver == 0 and slot.kind == EXACT and self._total > 0:
            for at in range(self._term_count):
                if self._terms[at].brings and self._terms[at].kind != EXACT:
                    break
            else:
                return FULL
        return min(slot.kind, self._rest_kind[self._driver])

    cdef double best_share(self) noexcept nogil:
        """Return the largest factor for the share of the query that an object of the driver can have."""
        cdef double weight
        if self._kind == FULL or self._total <= 0:
            return 1.0
        weight = self.weight_of(&self._terms[self._drivers[self._driver]], self.own_slot())
        weight += self._rest_weight[self._driver]
        return pow(min(weight / self._total * SLACK, 1.0), self._exponent)

    cdef double block_bound(self, const Slot *slot, Py_ssize_t source, const Block *block) noexcept nogil:
        """Return a bound on the scores of the objects that hold a word of the driver, by the impacts of their block."""
        cdef double weight = slot.weight + (slot.exact_weight if source == slot.first else 0.0)
        cdef double most = 0.0, part, others = self.others_of(slot, source)
        cdef Py_ssize_t term, at
        cdef uint8_t length
        cdef int number
        for number in range(block.impacts.count):
            length = block.impacts.pairs[number].length
            part = part_of_score(weight, block.impacts.pairs[number].tf, self._norms[length], self._k1) + others
            for term in range(self._term_count):
                if self._places[term] > self._driver:
                    part += self.part_at_most(term, 0, length)
            if part > most:
                most = part
        return most * self._share * SLACK

    cdef double others_of(self, const Slot *slot, Py_ssize_t source) noexcept nogil:
        """Return what the other words of a slot can add to the part of an object that holds one of them."""
        cdef Py_ssize_t number
        cdef uint32_t tf = 0
        cdef uint8_t shortest = 255
        cdef double bound
        if slot.count == 1:
            return 0.0
        for number in range(slot.first, slot.first + slot.count):
            if number != source:
                tf += self._sources[number].tf_max
                shortest = min(shortest, self._sources[number].length_min)
        if not tf:
            return 0.0
        # BM25 is concave in tf: two words together never score more than each by itself.
        bound = part_of_score(slot.weight, tf, self._norms[shortest], self._k1)
        if source != slot.first:
            bound += part_of_score(
                slot.exact_weight, self._sources[slot.first].tf_max, self._norms[self._sources[slot.first].length_min],
                self._k1,
            )
        return bound * SLACK

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

    # -- from window to window ---------------------------------------------------------------------------------------

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
            self._slot = 0
            self.start_driver()
        return []

    cdef int walk_driver(self) except -2:
        """Look at the objects of the driver, slot by slot; -1: blocks are missing."""
        cdef Py_ssize_t count = self._terms[self._drivers[self._driver]].count
        while self._slot < count:
            if self.walk_slot() < 0:
                return -1
            self._slot += 1
            self.start_driver()
        return 0

    cdef int walk_slot(self) except -2:
        """Look at the objects of the driver's slot, window by window; -1: blocks are missing."""
        if self._window == END_OF_WINDOWS:
            if not self.enters(self._kind, self.score_bound(ANY, 0, -1, 0) * self._share, UINT32_MAX):
                return 0
            self._window = self.window_below(END_OF_WINDOWS)
        while self._window >= 0:
            if not self._summary:
                if self.choose() < 0:
                    return -1
            if self.look_at_chosen() < 0:
                return -1
            self._window = self.window_below(self._window)
        return 0

    cdef int64_t window_below(self, int64_t window) noexcept nogil:
        """Return the newest window below one that may hold objects of the driver's slot; -1: there is none."""
        cdef Py_ssize_t source
        cdef int64_t newest = -1
        if window <= self._own.window_count:
            return window - 1
        for source in range(self._own.first, self._own.end):
            newest = max(newest, newest_below(&self._sources[source], <uint64_t> window << WINDOW_BITS))
        return newest >> WINDOW_BITS if newest >= 0 else -1

    cdef int choose(self) except -2:
        """Choose the objects of a window that may be among the best; -1: blocks are missing."""
        cdef TermWindow *own = self._own
        cdef Py_ssize_t at, chosen
        cdef uint32_t newest = <uint32_t> (self._window << WINDOW_BITS | (WINDOW_OBJECTS - 1))
        cdef const uint64_t *shorter
        self.find_limits(newest)
        if not self._limits[ANY] or self.is_hopeless():
            return 0
        if not self.hold_window(own, self._window):
            if not self.may_enter():
                return 0
            self.ask_ahead()
            return -1
        shorter = self._masks.shorter(self._limits[ONCE], self._window)
        intersect(own.held.bits, shorter, self._chosen)
        if own.has_family and self.any_chosen():
            if not self.hold_typed(own, self._window):
                self.ask_window(own)
                return -1
            intersect_two(
                own.held.bits, self._masks.shorter(self._limits[UNTYPED], self._window), own.typed.bits, shorter,
                self._chosen,
            )
        chosen = count_up_to_few(self._chosen, &self._summary)
        chosen += self.choose_many(&own.held, own.held.bits, self._limits, self._chosen)
        for at in range(self._driver + 1, self._bringing):
            if chosen < CHOSEN_FEW:
                break
            if self.narrow(at, newest, &chosen) < 0:
                self._summary = 0
                return -1
        if chosen >= CHOSEN_FEW:
            self.narrow_by_levels(newest)
        return 0

    cdef bint is_hopeless(self) noexcept nogil:
        """Whether nobody who holds the driver in the window is short enough, as far as the window tells."""
        cdef const Holders *held
        if self._window >= self._own.window_count or self._own.windows[self._window] == NULL:
            return False
        held = self._own.windows[self._window]
        return held.shortest >= self._limits[ONCE] and held.shortest_many >= self._limits[ANY]

    cdef bint any_chosen(self) noexcept nogil:
        cdef uint64_t some = 0
        cdef Py_ssize_t word
        for word in range(WINDOW_WORDS):
            some |= self._chosen[word]
        return some != 0

    cdef Py_ssize_t choose_many(
        self, const Holders *held, const uint64_t *among, const int *limits, uint64_t *chosen
    ) noexcept nogil:
        """Choose the objects that hold a term more than once and are short enough for that; return how many are new.

        Args:
            among: bits of the objects in question.
            limits: by how often they hold it; see `_limits`.
        """
        cdef Py_ssize_t at, place, count = 0
        cdef uint64_t bit
        if held.shortest_many >= limits[ANY]:
            return 0
        for at in range(held.many):
            place = held.places[at]
            bit = <uint64_t> 1 << (place & 63)
            if among[place >> 6] & bit and not chosen[place >> 6] & bit and (
                packed_length(&self._packed, self._window << WINDOW_BITS | place) < limits[held.tfs[at] if held.tfs[at] <= TF_MAX else ANY]
            ):
                if not self._summary >> (place >> 6) & 1:
                    chosen[place >> 6] = 0
                    self._summary |= <uint64_t> 1 << (place >> 6)
                chosen[place >> 6] |= bit
                count += 1
        return count

    cdef int narrow(self, Py_ssize_t at, uint32_t newest, Py_ssize_t *chosen) except -2:
        """Drop the chosen objects that cannot be among the best because they lack a term; -1: blocks are missing."""
        cdef Py_ssize_t number = self._drivers[at], word
        cdef const Term *term = &self._terms[number]
        cdef const uint64_t *shorter
        cdef const uint64_t *bits
        cdef uint64_t summary = self._summary
        cdef int limit, found
        while self._without_count < min(at - self._driver, BOUNDED_TERMS):
            self._without_count += 1
            self._without[self._without_count - 1] = self.limit_without(self._driver + self._without_count, newest)
        limit = self._without[at - self._driver - 1] if at - self._driver <= BOUNDED_TERMS else self._limits[ANY]
        if limit >= self._limits[ANY]:
            return 0
        found = self.hold_window(&self._here[number], self._window) if term.count else 1
        if not found:
            if chosen[0] < self.count_blocks(number):
                return 0
            self.ask_window(&self._here[number])
            return -1
        shorter = self._masks.shorter(limit, self._window)
        bits = self._here[number].held.bits
        chosen[0] = 0
        while summary:
            word = lowest_bit(summary)
            summary &= summary - 1
            self._chosen[word] &= shorter[word] | (bits[word] if term.count else 0)
            if self._chosen[word]:
                chosen[0] += count_bits(self._chosen[word])
            else:
                self._summary &= ~(<uint64_t> 1 << word)
        return 0

    cdef int limit_without(self, Py_ssize_t at, uint32_t newest) noexcept nogil:
        """Return the length from which on an object of the driver that lacks a term cannot be among the best."""
        cdef const Term *term = &self._terms[self._drivers[at]]
        cdef Kind kind = self.own_slot().kind
        cdef Py_ssize_t other
        cdef double weight = self.weight_of(&self._terms[self._drivers[self._driver]], self.own_slot()), share = 1.0
        if term.required:
            return 0
        for other in range(self._driver + 1, self._bringing):
            if other != at:
                kind = min(kind, self._terms[self._drivers[other]].kind)
                weight += self._terms[self._drivers[other]].weight
        if self._total > 0:
            share = pow(min(weight / self._total * SLACK, 1.0), self._exponent)
        return self.limit(0, 0, at, kind, share, newest, self._limits[ANY])

    cdef int narrow_by_levels(self, uint32_t newest) except -1:
        """Drop the chosen objects that are too long, by how often they hold the terms whose holders are known."""
        cdef Py_ssize_t at, word
        cdef uint64_t among[WINDOW_WORDS]
        cdef uint64_t leveled = 0, summary = self._summary, some
        cdef TermWindow *here
        cdef int limits[LEVELS]
        cdef const uint64_t *shorter
        cdef const uint64_t *typed
        for at in range(self._driver, min(self._term_count, BOUNDED_TERMS)):
            here = self.at_place(at)
            if here.window == self._window and (not here.has_family or self.hold_typed(here, self._window)):
                leveled |= <uint64_t> 1 << at
        if leveled & (leveled - 1) == 0:
            return 0
        self.find_levels(leveled, newest, self._limits[ANY], limits)
        shorter = self._masks.shorter(limits[UNTYPED], self._window)
        typed = self._masks.shorter(limits[ONCE], self._window)
        memset(among, 0, ROW_BYTES)
        while summary:
            word = lowest_bit(summary)
            summary &= summary - 1
            among[word] = self._chosen[word]
            some = 0
            for at in range(self._driver, min(self._term_count, BOUNDED_TERMS)):
                if leveled >> at & 1 and self.at_place(at).typed.bits != NULL:
                    some |= self.at_place(at).typed.bits[word]
            self._chosen[word] &= shorter[word] | (some & typed[word])
            if not self._chosen[word]:
                self._summary &= ~(<uint64_t> 1 << word)
        for at in range(self._driver, min(self._term_count, BOUNDED_TERMS)):
            if leveled >> at & 1:
                self.choose_many(&self.at_place(at).held, among, limits, self._chosen)
        return 0

    cdef inline TermWindow *at_place(self, Py_ssize_t at) noexcept nogil:
        """Return who holds the term at a place among the drivers; of the driver, the slot that the walk is at."""
        return self._own if at == self._driver else &self._here[self._drivers[at]]

    cdef int look_at_chosen(self) except -2:
        """Score the chosen objects of the window, newest first; -1: blocks are missing."""
        cdef Py_ssize_t word
        cdef uint64_t bit
        cdef uint32_t iid
        cdef uint8_t packed
        cdef ScoredObject worst = self._top.objects[0]
        while self._summary:
            word = highest_bit(self._summary)
            while self._chosen[word]:
                iid = <uint32_t> (self._window << WINDOW_BITS | word << 6 | highest_bit(self._chosen[word]))
                bit = <uint64_t> 1 << (iid & 63)
                packed = packed_length(&self._packed, iid)
                if packed < self._limits[ANY]:
                    if self.look_at(iid, packed) < 0:
                        self.ask_for_others()
                        return -1
                    if self._top.size == self._top.k and (
                        self._top.objects[0].iid != worst.iid or self._top.objects[0].score != worst.score
                    ):
                        worst = self._top.objects[0]
                        self.find_limits(iid)
                self._chosen[word] &= ~bit
            self._summary &= ~(<uint64_t> 1 << word)
        return 0

    cdef int hold_window(self, TermWindow *here, int64_t window) except -2:
        """Find who holds a term, or the driver's slot, in a window; 0: blocks are missing."""
        cdef Py_ssize_t at
        cdef bint kept = window < here.window_count
        cdef Source *source
        if here.window == window:
            return 1
        if kept and here.windows[window] != NULL:
            here.held = here.windows[window][0]
            here.typed.bits = NULL
            here.window = window
            return 1
        for at in range(here.first, here.end):
            if not has_window(&self._sources[at], window) and not is_read(&self._sources[at], window):
                return 0
        here.window = window
        here.typed.bits = NULL
        if here.gathering == NULL:
            here.gathering = <Gathering *> zeroed(1, sizeof(Gathering))
        clear(&here.gathering.gathered)
        for at in range(here.first, here.end):
            source = &self._sources[at]
            if at == here.first and here.has_family:
                self.hold_typed(here, window)
                gather_all(&here.gathering.gathered, &here.typed, <uint32_t> (window << WINDOW_BITS))
            elif has_window(source, window):
                gather_all(&here.gathering.gathered, source.windows[window], <uint32_t> (window << WINDOW_BITS))
            else:
                put_postings(source, window, &here.gathering.gathered)
        if kept:
            self.made_bytes += (<Windows> self._windows[here.kept]).keep(window, &here.gathering.gathered, &self._packed)
            here.held = here.windows[window][0]
        else:
            take_holders(here.gathering, &here.held)
        return 1

    cdef int hold_typed(self, TermWindow *here, int64_t window) except -2:
        """Find who holds the typed word of a family in a window; 0: blocks are missing."""
        cdef Source *source = &self._sources[here.first]
        cdef Windows windows
        if here.typed.bits != NULL:
            return 1
        if has_window(source, window):
            here.typed = source.windows[window][0]
            return 1
        if not is_read(source, window):
            return 0
        if here.typed_gathering == NULL:
            here.typed_gathering = <Gathering *> zeroed(1, sizeof(Gathering))
        clear(&here.typed_gathering.gathered)
        put_postings(source, window, &here.typed_gathering.gathered)
        if window < source.window_count:
            windows = (<StoredPostings> self._postings[here.first]).windows
            self.made_bytes += windows.keep(window, &here.typed_gathering.gathered, &self._packed)
            here.typed = source.windows[window][0]
        else:
            take_holders(here.typed_gathering, &here.typed)
        return 1

    # -- blocks that have to be read ---------------------------------------------------------------------------------

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

    cdef bint may_enter(self) noexcept nogil:
        """Whether some object of the window that holds the driver's slot may be among the best, by the impacts of blocks."""
        cdef Py_ssize_t source, block
        for source in range(self._own.first, self._own.end):
            block = self.newest_block(source)
            while block >= 0:
                if self.block_may_enter(self.own_slot(), source, block):
                    return True
                if self._sources[source].blocks[block].lower <= <uint64_t> self._window << WINDOW_BITS:
                    break
                block -= 1
        return False

    cdef inline bint block_may_enter(self, const Slot *slot, Py_ssize_t source, Py_ssize_t block) noexcept nogil:
        cdef const Source *held = &self._sources[source]
        return self.enters(self._kind, self.block_bound(slot, source, &held.blocks[block]), self.highest(held, block))

    cdef Py_ssize_t newest_block(self, Py_ssize_t source) noexcept nogil:
        """Return the number of the newest block that may hold objects of the window."""
        cdef uint32_t newest = <uint32_t> (self._window << WINDOW_BITS | (WINDOW_OBJECTS - 1))
        return block_for(&self._sources[source], newest, self._sources[source].top)

    cdef Py_ssize_t count_blocks(self, Py_ssize_t number) noexcept nogil:
        """Return how many blocks of a term are still to be read for the window."""
        cdef const Term *term = &self._terms[number]
        cdef Py_ssize_t source, block, count = 0
        for source in range(self.first_source(term), self.end_source(term)):
            block = self.newest_block(source)
            while block >= 0:
                count += self._sources[source].blocks[block].packed == NULL
                if self._sources[source].blocks[block].lower <= <uint64_t> self._window << WINDOW_BITS:
                    break
                block -= 1
        return count

    cdef int ask_window(self, const TermWindow *here) except -1:
        """Ask for the blocks of a term that may hold objects of the window."""
        cdef Py_ssize_t source, block
        for source in range(here.first, here.end):
            block = self.newest_block(source)
            while block >= 0:
                self.ask(source, block)
                if self._sources[source].blocks[block].lower <= <uint64_t> self._window << WINDOW_BITS:
                    break
                block -= 1
        return 0

    cdef int ask_ahead(self) except -1:
        """Ask for the blocks of the driver's slot for the window, and for some behind it that look worth it by now."""
        cdef Py_ssize_t source, block, asked
        self.ask_window(self._own)
        for source in range(self._own.first, self._own.end):
            block = self.newest_block(source)
            asked = 0
            while block >= 0 and asked < self._ahead:
                if self._sources[source].blocks[block].packed == NULL and (
                    self.block_may_enter(self.own_slot(), source, block)
                ):
                    self.ask(source, block)
                    asked += 1
                block -= 1
        self._ahead = min(2 * self._ahead, AHEAD_MAX)
        return 0

    cdef int ask_for_others(self) except -1:
        """Ask for the blocks of other lists that the chosen objects, and the next ones behind the window, are to be looked
        up in."""
        cdef Py_ssize_t word, source, number, place
        cdef uint64_t left, objects = 0
        cdef uint64_t most = WANTED_MAX if self._top.size == self._top.k else 2 * self._top.k
        cdef uint8_t packed
        cdef OpenBlock block
        for word in range(WINDOW_WORDS - 1, -1, -1):
            left = self._chosen[word] if self._summary >> word & 1 else 0
            while left and len(self._asked) < WANTED_MAX:
                self.ask_for(<uint32_t> (self._window << WINDOW_BITS | word << 6 | highest_bit(left)))
                left &= ~(<uint64_t> 1 << highest_bit(left))
                objects += 1
        for source in range(self._own.first, self._own.end):
            number = self.newest_block(source)
            while number >= 0 and self._sources[source].blocks[number].packed != NULL:
                decode_block(&self._sources[source].blocks[number], &block)
                for place in range(block.count - 1, -1, -1):
                    if objects >= most or len(self._asked) >= WANTED_MAX:
                        return 0
                    if block.iids[place] >> WINDOW_BITS >= <uint64_t> self._window:
                        continue
                    packed = packed_length(&self._packed, block.iids[place])
                    if packed < self._limits[block.tfs[place] if block.tfs[place] <= TF_MAX else ANY]:
                        self.ask_for(block.iids[place])
                        objects += 1
                number -= 1
        return 0

    cdef int ask_for(self, uint32_t iid) except -1:
        """Ask for the blocks that an object is to be looked up in."""
        cdef Py_ssize_t number, found
        for number in range(self._source_count):
            found = block_for(&self._sources[number], iid, self._sources[number].block)
            if found >= 0:
                self.ask(number, found)
        return 0

    # -- one object --------------------------------------------------------------------------------------------------

    cdef int look_at(self, uint32_t iid, uint8_t packed) except -2:
        """Score an object of the driver, as far as it may be among the best; -1: blocks are missing."""
        cdef Py_ssize_t at, number
        cdef const Term *term
        cdef const Slot *slot = NULL
        cdef double part = 0.0, known = 0.0, rest, matched, missing = 0.0, bound
        cdef uint64_t missing_terms = 0
        cdef Kind kind = CORRECTED
        cdef bint is_full = self._kind == FULL
        cdef int held
        rest = self.score_bound(0, 0, -1, packed) * SLACK
        memset(self._parts, 0, self._term_count * sizeof(double))
        memset(self._held, 0, self._term_count * sizeof(double))
        for at in range(self._driver, self._term_count):
            number = self._drivers[at]
            term = &self._terms[number]
            if at == self._driver and term.count > 1:
                rest -= self.slot_at_most(self.own_slot(), ANY, packed)
            else:
                rest -= self.part_at_most(number, ANY, packed)
            held = self.part_in(number, iid, packed, &part, &slot) if term.count else 0
            if held < 0:
                return -1
            if held:
                self._parts[number] = part
                known += part
                if term.brings:
                    self._held[number] = self.weight_of(term, slot)
                    kind = min(kind, slot.kind)
                    is_full = is_full and slot.kind == EXACT
                continue
            if term.required:
                return 0
            if term.brings:
                is_full = False
                missing += term.weight
                missing_terms |= <uint64_t> 1 << min(at, 63)
            if self._top.size == self._top.k and self._total > 0:
                bound = known + rest
                if not is_full and missing_terms:
                    bound *= self.share_without(missing_terms, missing)
                if not self.enters(FULL if is_full else min(kind, self._rest_kind[at]), bound * SLACK, iid):
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

    cdef inline double weight_of(self, const Term *term, const Slot *slot) noexcept nogil:
        """Return what an object that holds a slot's words gains in share."""
        return term.weight if slot.kind == EXACT else slot.weight + slot.exact_weight

    cdef int part_in(
        self, Py_ssize_t number, uint32_t iid, uint8_t packed, double *part, const Slot **found
    ) except -2:
        """Compute the part of an object in a term, and find the slot; return whether it holds it, or -1: a block is
        missing."""
        cdef const Term *term = &self._terms[number]
        cdef TermWindow *here = &self._here[number]
        cdef int64_t window = iid >> WINDOW_BITS
        cdef Py_ssize_t at
        cdef const Slot *slot = &self._slots[term.first]
        cdef int held, typed
        found[0] = slot
        if window < here.window_count and here.window != window and number != self._drivers[self._driver]:
            self.hold_window(here, window)
        if here.window == window:
            held = tf_of(&here.held, iid)
            if not held:
                return 0
            if term.count == 1 and held < 255:  # it ends there, also for several words together
                part[0] = part_of_score(slot.weight, held, self._norms[packed], self._k1)
                if slot.exact_weight == 0.0:
                    return 1
                if slot.count == 1:
                    typed = held
                elif not self.hold_typed(here, window):
                    return -1
                else:
                    typed = tf_of(&here.typed, iid)
                if typed:
                    part[0] += part_of_score(slot.exact_weight, typed, self._norms[packed], self._k1)
                return 1
        for at in range(term.count):
            held = self.part_in_slot(slot + at, iid, self._norms[packed], part)
            if held:
                found[0] = slot + at
                return held
        return 0

    cdef int part_in_slot(self, const Slot *slot, uint32_t iid, double norm, double *part) except -2:
        """Compute the part of an object in the words of a slot; return whether it holds any, or -1: a block is missing."""
        cdef Py_ssize_t number
        cdef uint32_t total = 0, first = 0
        cdef int tf
        for number in range(slot.count):
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
        """Return whether an object holds a term or a slot that drove before, or -1: a block is missing."""
        cdef Py_ssize_t at, number
        cdef Term *term
        cdef int tf
        for at in range(self._driver + 1):
            term = &self._terms[self._drivers[at]]
            for number in range(self.first_source(term), self._own.first if at == self._driver else self.end_source(term)):
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
        if block < 0 or source.blocks[block].packed == NULL:
            return 0
        return search(open_block(source, block), iid)
