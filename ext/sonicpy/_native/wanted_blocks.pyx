"""Which windows a walk has to look into, and which blocks it needs next: those of its window, and of some behind it that
look worth it by now.
"""

from libc.stdint cimport uint8_t, uint32_t, uint64_t

from sonicpy._native.bm25 cimport packed_length
from sonicpy._native.list_lookup cimport block_for, is_missing
from sonicpy._native.merged_list cimport LOW_BITS, Merged, part_at
from sonicpy._native.query_terms cimport ANY, TF_MAX, Term
from sonicpy._native.score_bounds cimport LENGTHS
from sonicpy._native.stored_postings cimport OpenBlock, decode_block
from sonicpy._native.windows cimport WINDOW_BITS, WINDOW_OBJECTS, highest_bit

cdef enum:
    RULED_OUT_WORTH = 12  # windows whose limits are looked for, for each that is ruled out
    PROBED_WINDOWS = 8
    WINDOWS_AHEAD = 8  # read together of a term that is looked up in all of them
    AHEAD_MAX = 256  # blocks of a driver's lists asked for at once
    WANTED_MAX = 256  # blocks asked for at once, but for a driver that needs all of them


cdef class WantedBlocks(ScoreBounds):
    """The place of a walk, and the blocks that it asks for from there."""

    cdef int limit_in(self, int64_t window) noexcept nogil:
        """Return `window_limit` of a window; LENGTHS where it rules out too few windows to be worth its time."""
        cdef int limit
        if self._patience <= 0 and window % PROBED_WINDOWS:
            return LENGTHS
        limit = self.window_limit(self._own, window)
        if not limit:
            self._patience = min(self._patience + RULED_OUT_WORTH, PATIENCE)
        elif self._top.size == self._top.k:
            self._patience -= 1
        return limit

    cdef Py_ssize_t newest_block(self, Py_ssize_t source, int64_t window) noexcept nogil:
        """Return the number of the newest block that may hold objects of a window."""
        cdef uint32_t newest = <uint32_t> (window << WINDOW_BITS | (WINDOW_OBJECTS - 1))
        return block_for(&self._sources[source], newest, self._sources[source].top)

    cdef Py_ssize_t count_blocks(self, Py_ssize_t number) noexcept nogil:
        """Return how many blocks of a term are still to be read for the window."""
        cdef const Term *term = &self._terms[number]
        cdef Py_ssize_t source, block, count = 0
        for source in range(self.first_source(term), self.end_source(term)):
            block = self.newest_block(source, self._window)
            while block >= 0:
                count += is_missing(&self._sources[source], block)
                if self._sources[source].blocks[block].lower <= <uint64_t> self._window << WINDOW_BITS:
                    break
                block -= 1
        return count

    cdef Py_ssize_t ask_window(self, const TermWindow *here, int64_t window) except -1:
        """Ask for the blocks of a term that may hold objects of a window; return how many are asked for."""
        cdef Py_ssize_t source, block
        for source in range(here.first, here.end):
            block = self.newest_block(source, window)
            while block >= 0:
                self.ask(source, block)
                if self._sources[source].blocks[block].lower <= <uint64_t> window << WINDOW_BITS:
                    break
                block -= 1
        return self._asked_count

    cdef int ask_others_ahead(self, const TermWindow *here) except -1:
        """Ask for the blocks of another term for the window, and for those behind it, if few of these are ruled out."""
        cdef int64_t window
        self.ask_window(here, self._window)
        if self._patience <= 0:
            for window in range(self._window - 1, max(self._window - WINDOWS_AHEAD, -1), -1):
                self.ask_window(here, window)
        return 0

    cdef int ask_ahead(self) except -1:
        """Ask for the blocks of the driver's slot for the window, and for some behind it that look worth it by now."""
        cdef Py_ssize_t asked = self.ask_window(self._own, self._window)
        cdef int64_t window = self._window - 1
        while window >= 0 and asked < self._ahead:
            if self.limit_in(window):
                asked = self.ask_window(self._own, window)
            window -= 1
        self._ahead = min(2 * self._ahead, AHEAD_MAX)
        return 0

    cdef int ask_for_others(self) except -1:
        """Ask for the blocks of other lists that the chosen objects, and the next ones behind the window, are to be looked
        up in."""
        cdef Py_ssize_t word, source, number, place
        cdef uint64_t left, objects = 0
        cdef uint64_t most = self.most_objects_ahead()
        cdef uint8_t packed
        cdef OpenBlock block
        for word in range(WINDOW_WORDS - 1, -1, -1):
            left = self._chosen[word] if self._summary >> word & 1 else 0
            while left and self._asked_count < WANTED_MAX:
                self.ask_for(<uint32_t> (self._window << WINDOW_BITS | word << 6 | highest_bit(left)))
                left &= ~(<uint64_t> 1 << highest_bit(left))
                objects += 1
        for source in range(self._own.first, self._own.end):
            number = self.newest_block(source, self._window)
            while number >= 0 and self._sources[source].blocks[number].packed != NULL:
                decode_block(&self._sources[source].blocks[number], &block)
                for place in range(block.count - 1, -1, -1):
                    if objects >= most or self._asked_count >= WANTED_MAX:
                        return 0
                    if block.iids[place] >> WINDOW_BITS >= <uint64_t> self._window:
                        continue
                    packed = packed_length(&self._packed, block.iids[place])
                    if packed < self._limits[block.tfs[place] if block.tfs[place] <= TF_MAX else ANY]:
                        self.ask_for(block.iids[place])
                        objects += 1
                number -= 1
        return 0

    cdef uint64_t most_objects_ahead(self) noexcept nogil:
        """Return how many objects to ask for: few while those that are found narrow the search down."""
        return WANTED_MAX if self._only_full or self._top.size == self._top.k else 2 * self._top.k

    cdef int ask_for_next(self, const Merged *held) except -1:
        """Ask for the blocks of other lists that the next objects of the driver are to be looked up in."""
        cdef Py_ssize_t end = self._end, part = held.parts - 1
        cdef uint32_t iid
        cdef uint64_t objects = 0
        cdef uint64_t most = self.most_objects_ahead()
        while end > 0 and objects < most and self._asked_count < WANTED_MAX:
            end -= 1
            part = part_at(held, end, part)
            iid = <uint32_t> part << LOW_BITS | held.lows[end]
            if packed_length(&self._packed, iid) < self._limits[held.tfs[end] if held.tfs[end] <= TF_MAX else ANY]:
                self.ask_for(iid)
                objects += 1
        return 0

    cdef int ask_for(self, uint32_t iid) except -1:
        """Ask for the blocks that an object is to be looked up in."""
        cdef Py_ssize_t number, found
        for number in range(self._source_count):
            found = block_for(&self._sources[number], iid, self._sources[number].block)
            if found >= 0:
                self.ask(number, found)
        return 0
