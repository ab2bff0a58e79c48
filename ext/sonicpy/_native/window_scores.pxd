"""The best objects of a query, window by window and all terms at once, for native code."""

from libc.stdint cimport int64_t, uint16_t, uint32_t, uint64_t

from sonicpy._native.query_terms cimport Slot
from sonicpy._native.term_windows cimport TermWindow
from sonicpy._native.top_k cimport Kind, ScoredObject
from sonicpy._native.wanted_blocks cimport WantedBlocks
from sonicpy._native.windows cimport WINDOW_WORDS


cdef struct Limits:  # packed lengths from which on no object is among the best
    int often  # however often it holds the needed terms
    int once  # if it holds each once


cdef struct TermRow:  # who holds a term in a window, and what that adds to scores
    int64_t window  # -1: of none
    const uint64_t *bits
    uint64_t *own  # what these refer to, if the postings of the term were put together
    uint64_t words  # which words of these are not 0
    Py_ssize_t start, end  # of these, those in the window
    double *once  # by length: the part of an object that holds the term once; then if it is the typed word; NaN: not known
    uint16_t *slots  # by place in the window: the slot of which a chosen object holds a word, if there are several


cdef class WindowScores(WantedBlocks):
    cdef double *_scores  # of the objects of a window, while the terms are added up
    cdef TermRow *_rows  # of each term
    cdef Kind _best_kind  # of the terms
    cdef uint64_t _among[WINDOW_WORDS]  # those of them that may be among the best
    cdef uint64_t _among_words  # which words of these are not 0
    cdef Py_ssize_t *_by_bound  # the terms that bring objects, those that add least first
    cdef int64_t *_next  # by term: none of its objects that were not passed yet is in a newer window
    cdef Py_ssize_t _needed_from  # the best objects hold one of `_by_bound` from here on
    cdef bint _has_floor
    cdef ScoredObject _floor  # an object that was found before: none of the best is worse
    cdef bint _needs_all  # they hold all of them
    cdef double *_spare  # by length: the most that the other terms add; NaN: not known yet
    cdef bint _limits_differ  # some by how often the terms are held
    cdef Limits _together  # of objects that hold needed terms
    cdef Limits *_alone  # by `_by_bound`: of those that hold no other one

    cdef int score_windows(self) except -2
    cdef int64_t window_below(self, TermWindow *here, int64_t below) noexcept nogil
    cdef int part_in_slot(self, const Slot *slot, uint32_t iid, double norm, double *part) except -2
