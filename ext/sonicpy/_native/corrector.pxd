"""The search for words within an edit distance, for the graph that owns the automata."""

from libc.stdint cimport int64_t

from sonicpy._native.automaton cimport Automata

cdef class Corrections:
    cdef readonly list matches
    cdef readonly bint whole


cdef Corrections correct(
    const Automata *automata, bytes word, int distance, bint transpositions, Py_ssize_t limit, int64_t edge_budget
)
