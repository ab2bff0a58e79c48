"""Notes about the words of a bucket that an open transaction changes."""

from sonicpy._native.counters cimport Counters
from sonicpy._native.table_access cimport MixedRows

cdef enum:
    # The reasons why a word is pending, which `sonicpy.store.disk.why` documents.
    APPEARED = 0
    POPPED = 1
    ORPHANED = 2


cdef class WordNotes:
    cdef readonly list terms, words
    cdef MixedRows _transaction
    cdef bytes _number
    cdef dict _pending
    cdef set _recorded
    cdef int _table
    cdef bint _begins_small

    cdef int note(self, Counters counters, list keys, int why) except -1
    cdef bint has_rows(self, Counters counters) except -1
