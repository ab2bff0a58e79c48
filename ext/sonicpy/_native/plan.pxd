cimport cython

from sonicpy._native.term_rows cimport TermInfo
from sonicpy._native.top_k cimport Kind


@cython.final
cdef class PlannedList:
    cdef readonly Py_ssize_t term
    cdef readonly bytes word
    cdef readonly TermInfo row
    cdef readonly double weight, family_weight, exact_weight
    cdef readonly int edits
    cdef readonly bint required, inserts, is_expandable, is_form
    cdef Kind _kind


@cython.final
cdef class Plan:
    cdef readonly list lists
    cdef readonly object left_out, enough
