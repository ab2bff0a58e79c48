"""The blocks that a query needs next, for native code."""

from libc.stdint cimport int64_t

from sonicpy._native.merged_list cimport Merged
from sonicpy._native.query_state cimport QueryState, TermWindow


cdef enum:
    PATIENCE = 16  # windows whose limits are looked for although none is ruled out; from then on only some are


cdef void end_asking(QueryState query) noexcept nogil
cdef list keys_asked(QueryState query)
cdef bint ask_for_all(QueryState query) except -1
cdef int ask_for_missing(QueryState query) except -1
cdef int ask(QueryState query, Py_ssize_t source, Py_ssize_t block) except -1
cdef int ask_for_objects(QueryState query, list iids) except -1
cdef int give_blocks(QueryState query, list rows) except -1
cdef int limit_in(QueryState query, int64_t window) noexcept nogil
cdef Py_ssize_t count_blocks(QueryState query, Py_ssize_t number) noexcept nogil
cdef Py_ssize_t ask_window(QueryState query, const TermWindow *here, int64_t window) except -1
cdef int ask_others_ahead(QueryState query, const TermWindow *here) except -1
cdef int ask_ahead(QueryState query) except -1
cdef int ask_for_others(QueryState query) except -1
cdef int ask_for_next(QueryState query, const Merged *held) except -1
