cimport cython
from libc.stdint cimport uint64_t

from sonicpy._native.terms cimport Terms
from sonicpy._native.top_k cimport Kind

cdef enum Role:  # of a clause, as bits
    R_ADDS = 0
    R_BRINGS = 1
    R_REQUIRED = 2
    R_FORBIDDEN = 4


@cython.final
cdef class Slot:
    cdef readonly tuple words
    cdef readonly double weight, exact_weight
    cdef readonly int edits
    cdef readonly tuple together
    cdef readonly Py_ssize_t term
    cdef bint is_form, is_synonym
    cdef Kind kind


@cython.final
cdef class Clause:
    cdef readonly Py_ssize_t term
    cdef public int role
    cdef readonly double weight
    cdef readonly list slots
    cdef readonly bint is_expandable
    cdef public uint64_t holders


@cython.final
cdef class Plan:
    cdef readonly list clauses
    cdef readonly double average, exponent
    cdef readonly bint full_first
    cdef readonly object left_out, enough
    cdef public tuple phrases


cdef double PART_SHARE  # of a term's weight that the words have that have it as a part

cdef list words_of(Plan plan)
cdef Slot new_slot(tuple words, double weight, double exact_weight, Kind kind, int edits)
cdef Slot like(Slot slot, tuple words, double share)
cdef list clauses_of(
    Terms terms, list rows, uint64_t objects, wanted, Py_ssize_t expandable_max, dict families
)
cdef double size_of(list clauses, bytes flags) except -1.0
cdef int put_expansions(Clause clause, list found, uint64_t objects) except -1
cdef int put_joined(Clause clause, list words, dict held, uint64_t objects, double share, Kind kind) except -1
