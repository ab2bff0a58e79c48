"""Who holds the terms of a query, window by window, for native code."""

from libc.stdint cimport int64_t, uint8_t, uint16_t

from sonicpy._native.query_terms cimport QueryTerms
from sonicpy._native.windows cimport WINDOW_OBJECTS, Gathered, Holders


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


cdef class TermWindows(QueryTerms):
    cdef list _windows  # Windows of terms and slots, None of rare ones
    cdef readonly Py_ssize_t made_bytes  # of windows that this query made, for later ones
    cdef TermWindow *_here  # of each term; behind them one of a slot among several

    cdef int find_all_windows(self) except -1
    cdef int find_windows(self, TermWindow *here, Py_ssize_t first, Py_ssize_t end) except -1
    cdef int hold_window(self, TermWindow *here, int64_t window) except -2
    cdef int hold_typed(self, TermWindow *here, int64_t window) except -2
