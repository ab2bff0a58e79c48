"""What a query asks for: its terms, the words that stand for each, and the blocks of their lists.

What parts, scores and shares are stands in top_objects.pyx. Nothing here reads: the keys of blocks that nobody has read yet are returned; the caller reads the blocks and hands them
over with `give`.
"""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free

from sonicpy._native.bm25 cimport norms_of, part_of_score
from sonicpy._native.impacts cimport Block, impact_bound
from sonicpy._native.length_masks cimport LengthMasks
from sonicpy._native.list_lookup cimport Source, is_missing
from sonicpy._native.memory cimport reserve, resized, zeroed
from sonicpy._native.plan cimport PlannedList
from sonicpy._native.stored_postings cimport OpenBlock, StoredPostings
from sonicpy._native.top_k cimport CORRECTED, EXACT, Kind

from sonicpy._native.varint import DamagedBytes

cdef enum:
    ALL_MAX = 16  # blocks that are read at once, without a look at their bounds


cdef class QueryTerms:
    """The terms of a query.

    Args:
        lengths: of all objects by IID, packed, as bytes or a bytearray that stays as it is meanwhile; or their masks.
        average: mean length of the bucket's objects.
        k1, b: the constants of BM25.
        exponent: of the share of the query that an object holds.
        full_first: objects that hold every term as it was typed come before all others, as FULL.
    """

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

    def __dealloc__(self):
        free(self._sources)
        free(self._slots)
        free(self._terms)
        free(self._opened)
        free(self._asked)

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

    def add_lists(self, list lists not None, list postings not None) -> None:
        """Add the terms of a plan and the words that stand for them.

        Args:
            lists: PlannedLists; those of a term stand together, the word as it was typed first, then its family.
            postings: StoredPostings of each list that has a row, in the same order.

        Raises:
            ValueError: there is another number of postings.
        """
        cdef PlannedList one, form
        cdef Py_ssize_t place = 0, first, read = 0, count = len(lists)
        while place < count:
            one = lists[place]
            place += 1
            first = read
            read += one.row is not None
            if one._kind == EXACT and not one.is_form:
                self.add_term(one.weight, brings=one.inserts, required=one.required)
                if place < count and (<PlannedList?> lists[place]).is_form:
                    while place < count:
                        form = lists[place]
                        if not form.is_form:
                            break
                        read += form.row is not None
                        place += 1
                    if read > len(postings):
                        break
                    if read > first:
                        self.add_words(postings[first:read], one.family_weight, one.exact_weight)
                    continue
            if read > len(postings):
                break
            if one.row is not None:
                self.add_words([postings[first]], one.weight, kind=one._kind)
        if read != len(postings):
            raise ValueError(f"{count} lists have {read} or more postings, not {len(postings)}")

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
                stored.blocks, stored.block_count, NULL, NULL, 0, -1, -1, -1, 0, 255, stored.impacts, NULL,
            )
            for number in range(stored.impacts.count):
                tf_max = stored.impacts.pairs[number].tf
                self._sources[self._source_count].tf_max = max(self._sources[self._source_count].tf_max, tf_max)
                self._sources[self._source_count].length_min = min(
                    self._sources[self._source_count].length_min, stored.impacts.pairs[number].length
                )
            if stored.windows is not None:
                self._sources[self._source_count].windows = stored.windows.made
                self._sources[self._source_count].extremes = stored.windows.extremes
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
        if self._is_begun:
            raise ValueError("the query is being answered: nothing can be added")
        return 0

    @property
    def ceiling(self) -> float:
        """No object's score is above it."""
        return self._possible * (self._k1 + 1.0)

    cdef int open_sources(self) except -1:
        """Make room for a decoded block of each list."""
        cdef Py_ssize_t number
        if self._opened == NULL:
            self._opened = <OpenBlock *> zeroed(self._source_count, sizeof(OpenBlock))
            for number in range(self._source_count):
                self._opened[number].number = -1
                self._sources[number].opened = &self._opened[number]
        return 0

    cdef Py_ssize_t first_source(self, const Term *term) noexcept nogil:
        return self._slots[term.first].first if term.count else 0

    cdef Py_ssize_t end_source(self, const Term *term) noexcept nogil:
        cdef const Slot *last = &self._slots[term.first + term.count - 1]
        return last.first + last.count if term.count else 0

    # -- bounds of its parts -------------------------------------------------------------------------------------------

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

    # -- blocks that have to be read -----------------------------------------------------------------------------------

    # Other queries, on other threads, ask for the same blocks. So nothing between `ask` and `end_asking` makes an object of
    # Python: then the garbage collector may run, which lets other threads in.

    cdef void end_asking(self) noexcept nogil:
        """Let other queries ask for the blocks that were asked for."""
        cdef Py_ssize_t at
        for at in range(self._asked_count):
            self._sources[self._asked[at].source].blocks[self._asked[at].block].is_wanted = False

    cdef list keys_asked(self):
        cdef list keys = []
        cdef Py_ssize_t at
        self.end_asking()
        for at in range(self._asked_count):
            keys.append((<StoredPostings> self._postings[self._asked[at].source]).key_of(self._asked[at].block))
        return keys

    cdef bint ask_for_all(self) except -1:
        """Ask for all blocks, if they are few; return whether some are missing."""
        cdef Py_ssize_t number, block, missing = 0
        for number in range(self._source_count):
            for block in range(self._sources[number].count):
                missing += is_missing(&self._sources[number], block)
                if missing > ALL_MAX:
                    return False
        self.ask_for_missing()
        return self._asked_count > 0

    cdef int ask_for_missing(self) except -1:
        """Ask for all blocks that look-ups need."""
        cdef Py_ssize_t number, block
        for number in range(self._source_count):
            for block in range(self._sources[number].count):
                self.ask(number, block)
        return 0

    def give(self, list rows not None) -> None:
        """Take the (key, block) pairs found for the keys that `run` returned, in their order.

        Raises:
            DamagedBytes: a block is missing or cannot be read.
        """
        cdef Py_ssize_t at
        cdef bytes block
        if len(rows) != self._asked_count:
            raise DamagedBytes(f"{self._asked_count - len(rows)} blocks of postings are missing")
        for at in range(self._asked_count):
            block = (<tuple> rows[at])[1]
            (<StoredPostings> self._postings[self._asked[at].source]).put_block(self._asked[at].block, block)
        self._asked_count = 0

    cdef int ask(self, Py_ssize_t source, Py_ssize_t block) except -1:
        """Ask for a block, if its objects cannot be looked up without it."""
        if is_missing(&self._sources[source], block):
            self.ask_once(source, block)
        return 0

    cdef int ask_once(self, Py_ssize_t source, Py_ssize_t block) except -1:
        """Ask for a block, unless it is there or asked for."""
        cdef Block *wanted = &self._sources[source].blocks[block]
        if wanted.packed == NULL and not wanted.is_wanted:
            if not reserve(<void **> &self._asked, &self._asked_room, self._asked_count + 1, sizeof(Asked)):
                self.end_asking()
                raise MemoryError
            wanted.is_wanted = True
            self._asked[self._asked_count] = Asked(source, block)
            self._asked_count += 1
        return 0
