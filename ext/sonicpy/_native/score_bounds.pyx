"""Bounds on the scores of objects that have not been looked at.

Terms drive in turn, those that fewest objects hold first. An object that stands in a list of a term before was looked at
there. So what the objects of a driver can score falls from driver to driver. Most objects hold a word once, and then
their length decides: from some length on, the limit, none can be among the best.
"""

from libc.math cimport pow
from libc.stdint cimport UINT64_MAX, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, qsort
from libc.string cimport memset

from sonicpy._native.bm25 cimport part_of_score
from sonicpy._native.extremes cimport EXTREMES_TF, Extremes, levels_of_extremes, most_often, tf_of_level
from sonicpy._native.memory cimport resized, zeroed
from sonicpy._native.query_terms cimport ANY, LEVELS, ONCE, SLACK, TF_MAX, UNTYPED, Slot, Term
from sonicpy._native.term_windows cimport TermWindow
from sonicpy._native.top_k cimport CORRECTED, EXACT, FULL, Kind, end_top
from sonicpy._native.windows cimport WINDOW_BITS, WINDOW_OBJECTS

cdef double BEHIND_ALL = <double> (<uint64_t> 1 << 48)  # no term has so many objects


cdef class ScoreBounds(TermWindows):
    """The terms of a query in the order in which they drive, the best objects so far, and what others can score."""

    def __dealloc__(self):
        free(self._drivers)
        free(self._places)
        free(self._parts_at_most)
        free(self._rest_weight)
        free(self._rest_kind)
        end_top(&self._top)

    cdef int begin_bounds(self) except -1:
        """Make room for bounds, and put the terms in order."""
        cdef Py_ssize_t count = self._term_count
        self._drivers = <Py_ssize_t *> zeroed(count, sizeof(Py_ssize_t))
        self._places = <Py_ssize_t *> zeroed(count, sizeof(Py_ssize_t))
        self._parts_at_most = <double *> resized(
            NULL, (min(count, BOUNDED_TERMS) * LEVELS * LENGTHS + 1) * sizeof(double)
        )
        self._rest_weight = <double *> zeroed(count, sizeof(double))
        self._rest_kind = <Kind *> zeroed(count, sizeof(Kind))
        memset(self._shares, 0xFF, sizeof(self._shares))
        self.put_in_order()
        return 0

    cdef int put_in_order(self) except -1:
        """Put the terms in the order in which they drive, and add up what stands behind each."""
        cdef Py_ssize_t number, at, term, count = self._term_count
        cdef double weight = 0.0
        cdef Kind kind = CORRECTED
        cdef Ranked *ranked = <Ranked *> zeroed(count, sizeof(Ranked))
        for number in range(count):
            ranked[number] = Ranked(self._terms[number].df, number)
            if not self._terms[number].brings:
                ranked[number].key += BEHIND_ALL
        qsort(ranked, count, sizeof(Ranked), by_key)
        for at in range(count):
            self._drivers[at] = ranked[at].number
        free(ranked)
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
        cdef int low = 0, middle, step = 1
        if self._top.size < self._top.k or kind < self._top.objects[0].kind:
            return high
        if kind > self._top.objects[0].kind:
            return 0
        if high and self.enters(
            kind, self.score_bound(level, leveled, without, <uint8_t> (high - 1)) * share, iid
        ):
            return high
        high = max(high - 1, 0)
        low = high - step
        while low > 0 and not self.enters(
            kind, self.score_bound(level, leveled, without, <uint8_t> low) * share, iid
        ):  # a limit falls by little at a time
            high = low
            step *= 2
            low = high - step
        low = max(low, 0)
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
        self._is_leveled = False
        self._levels_found = 0
        self._limits[ANY] = self.limit(ANY, 0, -1, self._kind, self._share, iid, self._limits[ANY])
        self.find_levels(own, iid, self._limits)

    cdef void forget_limits(self) noexcept nogil:
        """Begin with another driver."""
        cdef int level
        self._worst_iid = -1
        self._without_count = 0
        self._is_leveled = False
        self._leveled = 0
        self._levels_found = 0
        for level in range(LEVELS):
            self._limits[level] = self._level_limits[level] = LENGTHS

    cdef void find_levels(self, uint64_t leveled, uint32_t iid, int *limits) noexcept nogil:
        """Find the limit of each level; see `limit`. With the same driver, limits only fall."""
        cdef int level, any = limits[ANY]
        for level in range(TF_MAX, ANY, -1):
            any = limits[level] = self.limit(level, leveled, -1, self._kind, self._share, iid, min(any, limits[level]))
        limits[UNTYPED] = self.limit(
            UNTYPED, leveled, -1, self._kind, self._share, iid, min(any, limits[UNTYPED])
        )

    cdef const int *levels_of(self, uint64_t leveled, uint32_t iid) noexcept nogil:
        """Return the limit of each level of some terms; see `limit`."""
        cdef int level
        if leveled != self._leveled:
            for level in range(LEVELS):
                self._leveled_limits[level] = LENGTHS
        elif self._is_leveled:
            return self._leveled_limits
        self._leveled = leveled
        self._is_leveled = True
        self._leveled_limits[ANY] = self._limits[ANY]
        self.find_levels(leveled, iid, self._leveled_limits)
        return self._leveled_limits

    cdef void find_few_limits(self, uint32_t iid) noexcept nogil:
        """Find the same limits, but no other ones for objects that hold the driver twice or more often."""
        cdef uint64_t own = <uint64_t> 1 << self._driver if self._driver < 64 else 0
        cdef int level, any
        if self.is_as_before(iid):
            return
        self._without_count = 0
        self._levels_found = 0
        any = self.limit(ANY, 0, -1, self._kind, self._share, iid, self._limits[ANY])
        for level in range(ANY, TF_MAX + 1):
            self._limits[level] = any
        self._limits[ONCE] = self.limit(ONCE, own, -1, self._kind, self._share, iid, any)
        self._limits[UNTYPED] = self.limit(UNTYPED, own, -1, self._kind, self._share, iid, self._limits[ONCE])

    cdef int limit_of_level(self, int level, uint32_t iid) noexcept nogil:
        """Return the limit of objects that hold no term more often than a level tells; see `limit`."""
        if not self._levels_found >> level & 1:
            self._levels_found |= 1 << level
            self._level_limits[level] = self.limit(
                level, UINT64_MAX, -1, self._kind, self._share, iid, min(self._limits[ANY], self._level_limits[level])
            )
        return self._level_limits[level]

    cdef int limit_without(self, Py_ssize_t at, uint32_t newest) noexcept nogil:
        """Return the length from which on an object of the driver that lacks a term cannot be among the best."""
        cdef const Term *term = &self._terms[self._drivers[at]]
        cdef Kind kind = self.own_slot().kind
        cdef Py_ssize_t other
        cdef double weight = self.weight_of(&self._terms[self._drivers[self._driver]], self.own_slot()), share = 1.0
        if term.required or self._only_full:
            return 0
        for other in range(self._driver + 1, self._bringing):
            if other != at:
                kind = min(kind, self._terms[self._drivers[other]].kind)
                weight += self._terms[self._drivers[other]].weight
        if self._total > 0:
            share = pow(min(weight / self._total * SLACK, 1.0), self._exponent)
        return self.limit(0, 0, at, kind, share, newest, self._limits[ANY])

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

    cdef int window_limit(self, TermWindow *own, int64_t window) noexcept nogil:
        """Return the packed length from which on no object of the driver in a window can be among the best, for what the
        postings of the terms in this window can be; 0: none of its objects can.

        Args:
            own: who holds the driver's slot.
            window: the one that the walk is in or an older one.
        """
        cdef WindowTerm others[WINDOW_TERMS]
        cdef const Extremes *words
        cdef const Extremes *typed
        cdef uint32_t newest = <uint32_t> (window << WINDOW_BITS | (WINDOW_OBJECTS - 1))
        cdef Py_ssize_t count
        cdef int often, low, high = LENGTHS
        cdef uint32_t tf
        cdef double rest, part
        if self._top.size < self._top.k or self._kind != self._top.objects[0].kind:
            return LENGTHS if self.enters(self._kind, 0.0, newest) else 0
        if self._term_count > WINDOW_TERMS:
            return LENGTHS
        words = self.bound_window(own, window)
        typed = self.bound_typed(own, window) if own.has_family else words
        count = self.find_others(window, others)
        rest = self.others_at_most(others, count, words.shortest[0])
        for often in range(levels_of_extremes(words), 0, -1):  # nobody shorter than `high` holds it more often
            low = words.shortest[often - 1]
            if low < high:
                tf = tf_of_level(words, often)
                part = self.own_at_most(tf, min(tf, most_often(typed, high - 1)), <uint8_t> low)
                if self.enters(self._kind, (part + rest) * self._share * SLACK, newest):
                    return high
                high = low
        return 0

    cdef Py_ssize_t find_others(self, int64_t window, WindowTerm *others) noexcept nogil:
        """Find what the postings of the terms behind the driver can be in a window; return how many terms they are."""
        cdef Py_ssize_t at, count = 0
        cdef TermWindow *here
        for at in range(self._driver + 1, self._term_count):
            here = &self._here[self._drivers[at]]
            if here.first < here.end:
                others[count].number = self._drivers[at]
                others[count].words = self.bound_window(here, window)
                others[count].typed = self.bound_typed(here, window) if here.has_family else NULL
                count += 1
        return count

    cdef double own_at_most(self, uint32_t tf, uint32_t typed_tf, uint8_t packed) noexcept nogil:
        """Return the largest part that the driver's slot can add.

        Args:
            tf, typed_tf: how often an object can hold its words, and the one that was typed.
            packed: no object in question is shorter.
        """
        cdef const Slot *slot = self.own_slot()
        cdef double part = part_of_score(slot.weight, tf, self._norms[packed], self._k1)
        if slot.exact_weight != 0.0:
            part += part_of_score(slot.exact_weight, typed_tf, self._norms[packed], self._k1)
        return part

    cdef double others_at_most(self, const WindowTerm *others, Py_ssize_t count, uint8_t packed) noexcept nogil:
        """Return the largest sum of the parts that the other terms can add to an object that is not shorter than this."""
        cdef const Extremes *words
        cdef const Slot *slot
        cdef Py_ssize_t at
        cdef int often
        cdef uint8_t length
        cdef double sum = 0.0, most
        for at in range(count):
            words, most = others[at].words, 0.0
            slot = &self._slots[self._terms[others[at].number].first]
            for often in range(1, levels_of_extremes(words) + 1):
                length = max(words.shortest[often - 1], packed)
                if others[at].typed == NULL:
                    most = max(most, self.part_at_most(
                        others[at].number, often if often < EXTREMES_TF or words.most == EXTREMES_TF else ANY, length
                    ))
                else:
                    most = max(most, part_of_score(
                        slot.weight, tf_of_level(words, often), self._norms[length], self._k1
                    ))
            sum += most
            if others[at].typed != NULL and slot.exact_weight != 0.0:
                words, most = others[at].typed, 0.0
                for often in range(1, levels_of_extremes(words) + 1):
                    length = max(words.shortest[often - 1], packed)
                    most = max(most, part_of_score(
                        slot.exact_weight, tf_of_level(words, often), self._norms[length], self._k1
                    ))
                sum += most
        return sum


cdef int by_key(const void *left, const void *right) noexcept nogil:
    """The smaller key first; of equal ones the term that stands before the other."""
    cdef const Ranked *one = <const Ranked *> left
    cdef const Ranked *other = <const Ranked *> right
    if one.key != other.key:
        return 1 if one.key > other.key else -1
    return (one.number > other.number) - (one.number < other.number)
