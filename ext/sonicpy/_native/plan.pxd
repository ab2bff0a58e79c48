cimport cython

from sonicpy._native.object_table cimport Kind
from sonicpy._native.postings cimport TermInfo


@cython.final
cdef class PlannedList:
    cdef readonly Py_ssize_t term
    cdef readonly bytes word
    cdef readonly TermInfo row
    cdef readonly double weight
    cdef readonly int edits
    cdef readonly bint required, inserts, is_expandable
    cdef Kind _kind


@cython.final
cdef class Plan:
    cdef readonly list lists
    cdef readonly object left_out, enough
