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

The objects of a rarer driver are walked one by one. Where a dozen neighbours or more hold it, the bits of the other words
drop most of them first: those who lack one and are too long for that.

Where objects that hold every word come before all others (FULL), the walk looks for these alone first: each word is then
one without which nobody is good enough. If they are fewer than wanted, it begins again, and passes them over.

Windows of common words and of families of common words are kept beside the lists, for later queries. What the postings of
all terms in a window can be tells whether the walk has to look into it: its extremes, or the impacts of blocks that have
not been read yet (Ding and Suel, "Faster top-k document retrieval using block-max indexes", 2011).

The walk reads nothing. Where it needs blocks that nobody has read yet, it returns their keys; the caller reads them,
hands them over with `give` and lets it go on.

All of it is one class, and one file: the walk stops in the middle when a block is missing, so its place is in fields that
every step changes, and calls between modules are not inlined.
"""

from libc.math cimport pow
from libc.stdint cimport UINT32_MAX, UINT64_MAX, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcpy, memset

from sonicpy._native.answers cimport count_of, keys_of_all, parts_of_all
from sonicpy._native.bits cimport count_bits, lowest_bit
from sonicpy._native.bm25 cimport packed_length, part_of_score
from sonicpy._native.list_lookup cimport look_up
from sonicpy._native.memory cimport prefetch, zeroed
from sonicpy._native.merged_list cimport LOW_BITS, RUN_BITS, Merged, part_at
from sonicpy._native.query_terms cimport ANY, ONCE, SLACK, TF_MAX, UNTYPED, Slot, Term
from sonicpy._native.score_bounds cimport BOUNDED_TERMS, LENGTHS
from sonicpy._native.term_windows cimport TermWindow, mark_merged, merged_tf, rewind, typed_tf
from sonicpy._native.top_k cimport (
    CORRECTED,
    EXACT,
    FULL,
    Kind,
    ScoredObject,
    begin_top,
    collect,
    empty_top,
    page_start,
    sort_top,
)
from sonicpy._native.wanted_blocks cimport PATIENCE
from sonicpy._native.window_scores cimport WindowScores
from sonicpy._native.windows cimport (
    ROW_BYTES,
    WINDOW_BITS,
    WINDOW_OBJECTS,
    WINDOW_WORDS,
    Holders,
    count_up_to_few,
    highest_bit,
    intersect,
    intersect_two,
    tf_of,
)

cdef enum:
    AHEAD_FIRST = 4  # blocks of a driver's list read with those that are needed, at first
    LOOKUPS_WORTH = 8  # postings of a list, at most, that are put together for each object that is looked up in it
    DENSE = 12  # objects of a window, on average, that hold the driver
    WINDOW_LOOKUPS = 64  # a window takes as long as so many look-ups, whoever is in it
    CHOSEN_FEW = 4  # objects of a window that are looked at one by one rather than narrowed down
    WALKED_TERMS = 8  # of a query, at most: a walk of more skips too little
    ROWS_FEW = 12  # windows that hold a term, over all terms, that are added up before a walk has begun


cdef uint64_t[WALKED_TERMS + 1] ROW_LOOKUPS = [0, UINT32_MAX, UINT32_MAX, 40, 5, 4, 3, 2, 1]
cdef int64_t END_OF_WINDOWS = <int64_t> 1 << 32 - WINDOW_BITS
cdef class TopObjects(WindowScores):
    """A query while it is answered. For the arguments see `QueryTerms`."""
    cdef double *_parts  # of the object that is looked at, by term
    cdef double *_held  # the weights of the terms that it holds
    cdef double _rests[LENGTHS]  # by length: the most that an object of the driver can score; NaN: not known yet
    cdef bint _is_started
    cdef bint _is_full_slot  # who holds the driver's slot may hold every word
    cdef bint _skips_full  # objects that hold every word were found before
    cdef bint _walks  # else the query is answered without a walk, or it was given up
    cdef uint64_t _lookups  # of the walk, about
    cdef uint64_t _lookups_max  # after which it is given up
    cdef bint _is_merged  # the postings of rare words were put together as far as they were read
    cdef uint64_t _able[WINDOW_WORDS]  # who may be among the best, for the other words that it holds
    cdef int64_t _able_window
    cdef int _window_limit  # no longer object of the window is among the best

    def __dealloc__(self):
        free(self._parts)
        free(self._held)

    def begin(self, uint64_t wanted, *, walks=None) -> None:
        """Begin to look for the best `wanted` objects.

        Args:
            walks: whether to walk; None: where that takes less.
        """
        cdef Py_ssize_t number
        cdef uint64_t most = 0
        self.check_unstarted()
        for number in range(self._term_count):
            most += self._terms[number].df
        begin_top(&self._top, <Py_ssize_t> min(wanted, most))
        self.open_sources()
        self.find_all_windows()
        self.begin_bounds()
        self._is_begun = True
        self._lookups_max = self.lookups_worth() if walks is None else UINT64_MAX if walks else 0
        self._walks = self._lookups_max > 0
        if not self._walks:
            return
        self._parts = <double *> zeroed(self._term_count, sizeof(double))
        self._held = <double *> zeroed(self._term_count, sizeof(double))
        self.start_driver()
        # Those that hold every word come first, wherever they are. While the best are fewer, no bound rules out anybody.
        self._only_full = self._is_full_slot and self._bringing > 1

    cdef uint64_t lookups_worth(self) noexcept:
        """Return after how many look-ups of an object in a list a walk is given up; 0: it is not worth a try.

        The more terms there are, the more a look-up takes, and the less often a walk takes less than adding up all terms.
        In small buckets it never does.
        """
        cdef uint64_t rows = 0, windows = (self._packed.count >> WINDOW_BITS) + 1
        cdef Py_ssize_t number
        if self._term_count > WALKED_TERMS:
            return 0
        for number in range(self._term_count):
            rows += min(windows, self._terms[number].df)
        return ROW_LOOKUPS[self._term_count] * rows if rows > ROWS_FEW else 0

    # -- from window to window ---------------------------------------------------------------------------------------

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
            rewind(&self._here[number].merged)
        self._window = END_OF_WINDOWS
        self._end = -1
        self._able_window = -1
        self._summary = 0
        self._patience = PATIENCE
        self.forget_limits()
        memset(self._rests, 0xFF, sizeof(self._rests))  # NaN
        if self._driver:  # whoever holds a driver from before was looked at there
            self._parts[self._drivers[self._driver - 1]] = self._held[self._drivers[self._driver - 1]] = 0.0
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
                if self._is_merged:
                    self.find_merged(self._own, UINT64_MAX)
            self._kind = self.best_kind()
            self._is_full_slot = self._kind == FULL
            if self._is_full_slot and self._skips_full:
                self._kind = EXACT
            self._share = self.best_share()
        return 0

    def run(self) -> list:
        """Go on; return the keys of the blocks of `postings` that have to be read next, or [] at the end."""
        self._asked_count = 0
        if not self._is_begun:
            raise ValueError("begin first")
        if not self._walks:
            return self.run_without()
        if not self._is_started:
            self._is_started = True
            if self.ask_for_all():
                return self.keys_asked()
        if not self._is_merged:
            self._is_merged = True
            self.find_all_merged()
        while self._driver < self._driver_count and self._top.k:
            if self.walk_driver() < 0:
                if self._lookups > self._lookups_max:
                    return self.give_up()
                if not self._asked_count:
                    raise RuntimeError("a walk waits, but not for any block")
                return self.keys_asked()
            if self._only_full:
                if self._top.size == self._top.k:
                    break
                self._only_full, self._skips_full = False, True
            else:
                self._driver += 1
            self._slot = 0
            self.start_driver()
        return []

    cdef list give_up(self):
        """Go on without the walk, which has cost as much already."""
        self._walks = False
        self._has_floor = self._top.size == self._top.k
        self._floor = self._top.objects[0]
        empty_top(&self._top)
        self.end_asking()
        self._asked_count = 0
        return self.run_without()

    cdef list run_without(self):
        """Return the keys of all blocks that have to be read; if there are none, find the objects and return []."""
        cdef Py_ssize_t number
        if not self._top.k:
            return []
        self.ask_for_missing()
        if self._asked_count:
            return self.keys_asked()
        for number in range(self._term_count):
            if self._terms[number].count == 1:
                self.find_merged(&self._here[number], UINT64_MAX)
        if self.score_windows() < 0:
            raise RuntimeError("blocks of postings are missing, but none has to be read")
        return []

    cdef int find_all_merged(self) except -1:
        """Find the postings of rare terms together. Those that only few objects are looked up in are not put together now."""
        cdef Py_ssize_t at, number
        cdef uint64_t most = UINT64_MAX
        for at in range(self._term_count):
            number = self._drivers[at]
            if self._terms[number].count == 1:
                self.find_merged(&self._here[number], most)
            if at == 0:
                most = self._terms[number].df * LOOKUPS_WORTH
        if self._driver < self._driver_count and self._own == &self._here[self._term_count]:
            self.find_merged(self._own, UINT64_MAX)
        return 0

    cdef int walk_driver(self) except -2:
        """Look at the objects of the driver, slot by slot; -1: blocks are missing, or it was too much already."""
        cdef Py_ssize_t count = self._terms[self._drivers[self._driver]].count
        while self._slot < count:
            if (self._is_full_slot or not self._only_full) and self.walk_slot() < 0:
                return -1
            self._slot += 1
            self.start_driver()
        return 0

    cdef int walk_slot(self) except -2:
        """Look at the objects of the driver's slot, window by window; -1: as above."""
        if self._window == END_OF_WINDOWS and self._end < 0:
            if not self.enters(self._kind, self.score_bound(ANY, 0, -1, 0) * self._share, UINT32_MAX):
                return 0
        if self._own.merged.list != NULL:
            return self.walk_merged(self._own.merged.list)
        if self._window == END_OF_WINDOWS:
            self._window = self.window_below(self._own, END_OF_WINDOWS)
        while self._window >= 0:
            if self._lookups > self._lookups_max:
                return -1
            if not self._summary:
                if self.choose() < 0:
                    return -1
            if self.look_at_chosen() < 0:
                return -1
            self._window = self.window_below(self._own, self._window)
        return 0

    cdef int walk_merged(self, const Merged *held) except -2:
        """Look at the objects of the driver's slot, whose postings were put together; -1: as above."""
        cdef Py_ssize_t at, run, end, part = held.parts - 1
        cdef bint filtered
        cdef uint32_t iid
        cdef uint8_t packed, tf
        if self._end < 0:
            self._end = held.count
        while self._end > 0:
            if self._lookups > self._lookups_max:
                return -1
            run = (self._end - 1) >> RUN_BITS
            part = part_at(held, self._end - 1, part)
            self.find_few_limits(<uint32_t> part << LOW_BITS | held.lows[self._end - 1])
            if not self._limits[ANY]:
                return 0
            end = run << RUN_BITS
            filtered = (self._only_full or self._top.size == self._top.k) and self.is_dense(held, part)
            if held.shortest[run] >= self._limits[ONCE] and held.shortest_many[run] >= self._limits[ANY]:
                self._end = end
                continue
            if not filtered:
                self.fetch_lengths(held, self._end - 1, part)
            for at in range(self._end - 1, end - 1, -1):
                part = part_at(held, at, part)
                iid, tf = <uint32_t> part << LOW_BITS | held.lows[at], held.tfs[at]
                if filtered:
                    if iid >> WINDOW_BITS != self._able_window:
                        self.find_able(iid)
                    if not self._able[(iid & WINDOW_OBJECTS - 1) >> 6] >> (iid & 63) & 1:
                        continue
                packed = packed_length(&self._packed, iid)
                if packed >= self._limits[tf if tf <= TF_MAX else ANY] or not self.may_be_best(iid, packed, tf):
                    continue
                if self.look_at(iid, packed) < 0:
                    self._end = at + 1
                    self.ask_for_next(held)
                    return -1
                self.find_few_limits(iid)
            self._end = end
        return 0

    cdef void fetch_lengths(self, const Merged *held, Py_ssize_t last, Py_ssize_t part) noexcept nogil:
        """Let the processor fetch the lengths of the objects of a run, which lie far apart in memory, ahead of their use.

        Args:
            last: the place of its last posting.
            part: at least that of this posting.
        """
        cdef Py_ssize_t at
        for at in range(last, max(last - (1 << RUN_BITS), -1), -1):
            part = part_at(held, at, part)
            prefetch(self._packed.packed + (part << LOW_BITS | held.lows[at]))

    cdef bint is_dense(self, const Merged *held, Py_ssize_t part) noexcept nogil:
        """Whether so many objects of a part hold the driver that it pays to look at the other words window by window."""
        return held.starts[part + 1] - held.starts[part] >= <uint32_t> (DENSE << LOW_BITS - WINDOW_BITS)

    cdef int find_able(self, uint32_t newest) except -1:
        """Find the objects of a window that hold each other word, or are short enough to be among the best without it."""
        cdef int64_t window = newest >> WINDOW_BITS
        cdef Py_ssize_t at, word
        cdef TermWindow *here
        cdef const uint64_t *shorter
        cdef const uint64_t *holders
        cdef uint64_t marked[WINDOW_WORDS]
        cdef uint64_t room[WINDOW_WORDS]
        cdef int limit
        memset(self._able, 0xFF, ROW_BYTES)
        self._able_window = window
        for at in range(self._driver + 1, min(self._bringing, self._driver + 1 + BOUNDED_TERMS)):
            here = &self._here[self._drivers[at]]
            if not self._terms[self._drivers[at]].count or (here.merged.list == NULL and window >= here.window_count):
                continue
            limit = self.length_without(at, newest)
            if limit >= self._limits[ANY]:
                continue
            if here.merged.list != NULL:
                mark_merged(here.merged.list, window, marked)
                holders = marked
            elif self.hold_window(here, window):
                holders = here.held.bits
            else:
                continue
            shorter = self._masks.shorter(limit, window, room)
            for word in range(WINDOW_WORDS):
                self._able[word] &= shorter[word] | holders[word]
        return 0

    cdef bint may_be_best(self, uint32_t iid, uint8_t packed, int tf) except -1:
        """Return whether an object of the driver may be among the best for all that is quickly found out: which terms it
        holds, and how often."""
        cdef Py_ssize_t at
        cdef int held
        self._lookups += 1
        if tf == 1 and self._own.has_family and packed >= self._limits[UNTYPED]:
            if not typed_tf(&self._own.merged, iid):
                return False
        if self._top.size < self._top.k and not self._only_full:
            return True
        for at in range(self._driver + 1, min(self._term_count, self._driver + 1 + BOUNDED_TERMS)):
            held = self.tf_held(self._drivers[at], iid)
            if held < 0:
                return True
            if held == 0 and at < self._bringing and packed >= self.length_without(at, iid):
                return False
            tf = max(tf, held)
        for at in range(self._driver):
            if self.tf_held(self._drivers[at], iid) > 0:
                return False  # it was looked at there
        return self._term_count > BOUNDED_TERMS or packed < self.limit_of_level(tf if tf <= TF_MAX else ANY, iid)

    cdef inline int length_without(self, Py_ssize_t at, uint32_t newest) noexcept nogil:
        """Return `limit_without`, remembered."""
        while self._without_count < at - self._driver:
            self._without_count += 1
            self._without[self._without_count - 1] = self.limit_without(self._driver + self._without_count, newest)
        return self._without[at - self._driver - 1]

    cdef int tf_held(self, Py_ssize_t number, uint32_t iid) except -2:
        """Return how often an object holds a term, at most 255, or -1 where that is not quickly found out."""
        cdef TermWindow *here = &self._here[number]
        cdef int64_t window = iid >> WINDOW_BITS
        if not self._terms[number].count:
            return 0
        if here.merged.list != NULL:
            return merged_tf(&here.merged, iid)
        if window < here.window_count and here.window != window:
            self.hold_window(here, window)
        return tf_of(&here.held, iid) if here.window == window else -1

    cdef int choose(self) except -2:
        """Choose the objects of a window that may be among the best; -1: blocks are missing."""
        cdef TermWindow *own = self._own
        cdef Py_ssize_t at, chosen
        cdef int limit
        cdef bint is_common
        cdef uint32_t newest = <uint32_t> (self._window << WINDOW_BITS | (WINDOW_OBJECTS - 1))
        cdef const uint64_t *shorter
        cdef uint64_t needed
        cdef uint64_t among[WINDOW_WORDS]
        cdef uint64_t room[2][WINDOW_WORDS]
        self._lookups += WINDOW_LOOKUPS
        self.find_limits(newest)
        if not self._limits[ANY]:
            return 0
        is_common = self._window < own.window_count
        self._window_limit = limit = self.limit_in(self._window) if is_common else LENGTHS
        if not limit:
            return 0
        if not self.hold_window(own, self._window):
            if not is_common and not self.limit_in(self._window):  # nothing keeps it: only where it saves reading
                return 0
            self.ask_ahead()
            return -1
        memcpy(among, own.held.bits, ROW_BYTES)
        needed = self.intersect_needed(among, newest)
        shorter = self._masks.shorter(min(self._limits[ONCE], limit), self._window, room[0])
        intersect(among, shorter, self._chosen)
        if own.has_family and self.any_chosen():
            if not self.hold_typed(own, self._window):
                self.ask_window(own, self._window)
                return -1
            intersect_two(
                among, self._masks.shorter(min(self._limits[UNTYPED], limit), self._window, room[1]), own.typed.bits,
                shorter, self._chosen,
            )
            intersect(self._chosen, among, self._chosen)
        chosen = count_up_to_few(self._chosen, &self._summary)
        chosen += self.choose_many(own, among, self._limits, self._chosen)
        for at in range(self._driver + 1, self._bringing):
            if chosen < CHOSEN_FEW:
                break
            if not needed >> min(at, 63) & 1 and self.narrow(at, newest, &chosen) < 0:
                self._summary = 0
                return -1
        if chosen >= CHOSEN_FEW:
            self.narrow_by_levels(newest)
        return 0

    cdef uint64_t intersect_needed(self, uint64_t *among, uint32_t newest) except? 0:
        """Drop the objects of a window that lack a term without which nobody is good enough, where its holders are known.

        Returns:
            the places of these terms among the drivers, as bits.
        """
        cdef uint64_t needed = 0
        cdef Py_ssize_t at, number
        for at in range(self._driver + 1, min(self._bringing, 63)):
            number = self._drivers[at]
            if at - self._driver < BOUNDED_TERMS and self.length_without(at, newest) == 0 and self._terms[number].count:
                if self.hold_window(&self._here[number], self._window):
                    intersect(among, self._here[number].held.bits, among)
                    needed |= <uint64_t> 1 << at
        return needed

    cdef bint any_chosen(self) noexcept nogil:
        cdef uint64_t some = 0
        cdef Py_ssize_t word
        for word in range(WINDOW_WORDS):
            some |= self._chosen[word]
        return some != 0

    cdef Py_ssize_t choose_many(
        self, TermWindow *here, const uint64_t *among, const int *limits, uint64_t *chosen
    ) noexcept nogil:
        """Choose the objects that hold a term more than once and are short enough for that; return how many are new.

        Args:
            here: who holds the term in the window.
            among: bits of the objects in question.
            limits: by how often they hold it; see `_limits`.
        """
        cdef const Holders *held = &here.held
        cdef Py_ssize_t at, place, count = 0
        cdef uint64_t bit
        cdef int tf, most = min(limits[ANY], self._window_limit)
        if self._window < here.window_count and here.extremes[self._window].shortest[1] >= most:
            return 0  # a window that was made has extremes
        for at in range(held.many):
            place = held.places[at]
            bit = <uint64_t> 1 << (place & 63)
            if among[place >> 6] & bit and not chosen[place >> 6] & bit:
                tf = held.tfs[at]
                if held.lengths[at] < min(most, limits[tf if tf <= TF_MAX else ANY]):
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
        cdef uint64_t room[WINDOW_WORDS]
        cdef uint64_t summary = self._summary
        cdef int limit, found
        if at - self._driver > BOUNDED_TERMS:
            return 0
        limit = self.length_without(at, newest)
        if limit >= self._limits[ANY]:
            return 0
        found = self.hold_window(&self._here[number], self._window) if term.count else 1
        if not found:
            if chosen[0] < self.count_blocks(number):
                return 0
            self.ask_others_ahead(&self._here[number])
            return -1
        shorter = self._masks.shorter(limit, self._window, room)
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

    cdef int narrow_by_levels(self, uint32_t newest) except -1:
        """Drop the chosen objects that are too long, by how often they hold the terms whose holders are known."""
        cdef Py_ssize_t at, word
        cdef uint64_t among[WINDOW_WORDS]
        cdef uint64_t room[2][WINDOW_WORDS]
        cdef uint64_t leveled = 0, summary = self._summary, some
        cdef TermWindow *here
        cdef const int *limits
        cdef const uint64_t *shorter
        cdef const uint64_t *typed
        for at in range(self._driver, min(self._term_count, BOUNDED_TERMS)):
            here = self.at_place(at)
            if here.window == self._window and (not here.has_family or self.hold_typed(here, self._window)):
                leveled |= <uint64_t> 1 << at
        if leveled & (leveled - 1) == 0:
            return 0
        limits = self.levels_of(leveled, newest)
        shorter = self._masks.shorter(limits[UNTYPED], self._window, room[0])
        typed = self._masks.shorter(limits[ONCE], self._window, room[1])
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
                self.choose_many(self.at_place(at), among, limits, self._chosen)
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
                if packed < min(self._limits[ANY], self._window_limit):
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

    # -- one object ----------------------------------------------------------------------------------------------------

    cdef int look_at(self, uint32_t iid, uint8_t packed) except -2:
        """Score an object of the driver, as far as it may be among the best; -1: blocks are missing."""
        cdef Py_ssize_t at, number
        cdef const Term *term
        cdef const Slot *slot = NULL
        cdef double part = 0.0, known = 0.0, rest, matched, missing = 0.0, bound
        cdef uint64_t missing_terms = 0
        cdef Kind kind = CORRECTED, best
        cdef bint is_full = self._is_full_slot
        cdef int held
        rest = self._rests[packed]
        if rest != rest:
            rest = self._rests[packed] = self.score_bound(ANY, 0, -1, packed) * SLACK
        for at in range(self._driver, self._term_count):
            number = self._drivers[at]
            term = &self._terms[number]
            if at == self._driver and term.count > 1:
                rest -= self.slot_at_most(self.own_slot(), ANY, packed)
            else:
                rest -= self.part_at_most(number, ANY, packed)
            held = self.part_in(number, iid, packed, &part, &slot) if term.count else 0
            self._lookups += 1
            if held < 0:
                return -1
            self._parts[number] = part if held else 0.0
            self._held[number] = self.weight_of(term, slot) if held and term.brings else 0.0
            if held:
                known += part
                if term.brings:
                    kind = min(kind, slot.kind)
                    is_full = is_full and slot.kind == EXACT
            elif term.required or (term.brings and self._only_full):
                return 0
            elif term.brings:
                is_full = False
                missing += term.weight
                missing_terms |= <uint64_t> 1 << min(at, 63)
            if self._top.size == self._top.k and self._total > 0:
                bound = known + rest
                if not is_full and missing_terms:
                    bound *= self.share_without(missing_terms, missing)
                best = FULL if is_full and not self._skips_full else min(kind, self._rest_kind[at])
                if not self.enters(best, bound * SLACK, iid):
                    return 0
        if self._skips_full if is_full else self._only_full:
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
        if here.merged.list != NULL:
            held = merged_tf(&here.merged, iid)
            if not held:
                return 0
            if term.count == 1 and held < 255:  # it ends there
                part[0] = part_of_score(slot.weight, held, self._norms[packed], self._k1)
                if slot.exact_weight != 0.0:
                    typed = held if slot.count == 1 else here.merged.typed[here.merged.end - 1]
                    if typed:
                        part[0] += part_of_score(slot.exact_weight, typed, self._norms[packed], self._k1)
                return 1
        elif window < here.window_count and here.window != window and number != self._drivers[self._driver]:
            self.hold_window(here, window)
        if here.merged.list == NULL and here.window == window:
            held = tf_of(&here.held, iid)
            if not held:
                return 0
            if term.count == 1 and held < 255:  # it ends there, also for several words together
                part[0] = part_of_score(slot.weight, held, self._norms[packed], self._k1)
                if slot.exact_weight == 0.0:
                    return 1
                if slot.count == 1:
                    typed = held
                elif self.hold_typed(here, window):
                    typed = tf_of(&here.typed, iid)
                else:  # the family has a window, and the word itself was not read as far
                    typed = look_up(&self._sources[slot.first], iid)
                    if typed < 0:
                        return -1
                if typed:
                    part[0] += part_of_score(slot.exact_weight, typed, self._norms[packed], self._k1)
                return 1
        for at in range(term.count):
            held = self.part_in_slot(slot + at, iid, self._norms[packed], part)
            if held:
                found[0] = slot + at
                return held
        return 0

    cdef int was_looked_at(self, uint32_t iid) except -2:
        """Return whether an object holds a term or a slot that drove before, or -1: a block is missing."""
        cdef Py_ssize_t at, number
        cdef Term *term
        cdef int tf
        for at in range(self._driver + 1):
            term = &self._terms[self._drivers[at]]
            if at < self._driver and self._here[self._drivers[at]].merged.list != NULL:
                if merged_tf(&self._here[self._drivers[at]].merged, iid):
                    return 1
                continue
            for number in range(self.first_source(term), self._own.first if at == self._driver else self.end_source(term)):
                tf = look_up(&self._sources[number], iid)
                if tf:
                    return -1 if tf < 0 else 1
        return 0

    # -- what was found ------------------------------------------------------------------------------------------------

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

    def blocks_to_count(self) -> list:
        """Return the keys of the blocks that `count` needs and nobody has read yet; hand them over with `give`."""
        return keys_of_all(self)

    def count(self) -> int:
        """Return how many objects answer the query."""
        return count_of(self)

    def parts(self, list iids not None, Py_ssize_t listed_max) -> list:
        """Return, for each of some objects that were found, what its score is made of.

        Args:
            listed_max: at most `listed_max` parts of each object are listed one by one, the largest ones.

        Returns:
            ([(number of the word, in the order in which they were added, tf, part of the score)], number of other
            parts, their sum).
        """
        return parts_of_all(self, iids, listed_max)
