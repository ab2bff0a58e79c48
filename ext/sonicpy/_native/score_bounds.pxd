"""Bounds on the scores of objects that have not been looked at, for native code."""

from libc.math cimport pow
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memset

from sonicpy._native.extremes cimport Extremes
from sonicpy._native.query_terms cimport LEVELS, Slot, Term
from sonicpy._native.term_windows cimport TermWindow, TermWindows
from sonicpy._native.top_k cimport Kind, ScoredObject, TopK

cdef enum:
    LENGTHS = 256  # packed ones
    SHARED_TERMS = 6  # whose shares are remembered
    SHARES = 1 << SHARED_TERMS
    WINDOW_TERMS = 16  # of a query; windows are not bounded for more
    BOUNDED_TERMS = 64  # of a query, whose bounds are remembered for each length


cdef struct WindowTerm:  # a term behind the driver, and what its postings in a window can be
    Py_ssize_t number
    const Extremes *words
    const Extremes *typed  # of the word that was typed; NULL: the term has no family


cdef struct Ranked:  # a term, to be put in order
    double key
    Py_ssize_t number


cdef int by_key(const void *left, const void *right) noexcept nogil


cdef class ScoreBounds(TermWindows):
    cdef Py_ssize_t *_drivers  # terms in the order in which they drive; those that only add behind them
    cdef Py_ssize_t _driver_count
    cdef Py_ssize_t _bringing  # terms that bring objects, which come first
    cdef double *_rest_weight  # of the terms behind each driver
    cdef Kind *_rest_kind
    cdef double *_parts_at_most  # by term, level and length: the largest part of an object that is not shorter
    cdef uint32_t _levels_begun[BOUNDED_TERMS]  # of each term, for which these are bounds or NaN, as bits
    cdef double _shares[SHARES]  # by the terms that are missing, a bit each in the order in which they drive
    cdef Py_ssize_t *_places  # of each term among the drivers
    cdef Py_ssize_t _driver, _slot  # the place of the term whose holders are looked at, and the number of its slot
    cdef Kind _kind  # the best that they can have
    cdef bint _only_full  # the walk looks for objects that hold every word, and for no other ones
    cdef double _share
    cdef int _limits[LEVELS]  # no longer object is among the best, by how often it holds the driver
    cdef int _leveled_limits[LEVELS]  # the same, by how often it holds some terms
    cdef uint64_t _leveled  # these terms, by their places among the drivers, as bits
    cdef bint _is_leveled  # they were found for the limits as they are
    cdef int _level_limits[LEVELS]  # the same, by how often it holds each of all terms
    cdef uint32_t _levels_found  # which of these were found for the limits as they are, as bits
    cdef int64_t _worst_iid  # of the worst of the best objects when these were found; -1: find them again
    cdef double _worst_score
    cdef int _without[BOUNDED_TERMS]  # the same of an object that lacks a term, by its place behind the driver
    cdef Py_ssize_t _without_count  # how many of these were found
    cdef TopK _top

    cdef int begin_bounds(self) except -1
    cdef int put_in_order(self) except -1
    cdef double score_bound(self, int level, uint64_t leveled, Py_ssize_t without, uint8_t packed) noexcept nogil
    cdef int limit(
        self, int level, uint64_t leveled, Py_ssize_t without, Kind kind, double share, uint32_t iid, int high
    ) noexcept nogil
    cdef void find_limits(self, uint32_t iid) noexcept nogil
    cdef void find_few_limits(self, uint32_t iid) noexcept nogil
    cdef void forget_limits(self) noexcept nogil
    cdef void find_levels(self, uint64_t leveled, uint32_t iid, int *limits) noexcept nogil
    cdef const int *levels_of(self, uint64_t leveled, uint32_t iid) noexcept nogil
    cdef int limit_without(self, Py_ssize_t at, uint32_t newest) noexcept nogil
    cdef int limit_of_level(self, int level, uint32_t iid) noexcept nogil
    cdef Kind best_kind(self) noexcept nogil
    cdef double best_share(self) noexcept nogil
    cdef int window_limit(self, TermWindow *own, int64_t window) noexcept nogil
    cdef Py_ssize_t find_others(self, int64_t window, WindowTerm *others) noexcept nogil
    cdef double own_at_most(self, uint32_t tf, uint32_t typed_tf, uint8_t packed) noexcept nogil
    cdef double others_at_most(self, const WindowTerm *others, Py_ssize_t count, uint8_t packed) noexcept nogil

    cdef inline const Slot *own_slot(self) noexcept nogil:
        return &self._slots[self._terms[self._drivers[self._driver]].first + self._slot]

    cdef inline double part_at_most(self, Py_ssize_t number, int level, uint8_t packed) noexcept nogil:
        """Return the largest part that a term can add to an object that is not shorter than this.

        Args:
            level: how often the object holds the term, at most; see LEVELS.
        """
        cdef double *most
        if number >= BOUNDED_TERMS:
            return self.find_part(&self._terms[number], level, packed)
        most = &self._parts_at_most[(number * LEVELS + level) * LENGTHS]
        if not self._levels_begun[number] >> level & 1:  # most queries need bounds of few levels
            memset(most, 0xFF, LENGTHS * sizeof(double))  # NaN
            self._levels_begun[number] |= 1 << level
        most += packed
        if most[0] != most[0]:
            most[0] = self.find_part(&self._terms[number], level, packed)
        return most[0]

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
