"""The words that a replaced text leaves, for native code that takes them from their object."""

from libc.stdint cimport uint32_t, uint64_t

from sonicpy._native.add_terms cimport AddTerms
from sonicpy._native.object_record cimport ObjectRecord
from sonicpy._native.postings cimport Posting
from sonicpy._native.term_cache cimport TermCache


cdef class CutTerms(AddTerms):
    cdef list deleted_blocks

    cdef int without_object(self, Posting *postings, int count) except -1


cdef CutTerms begin_cut_terms(
    uint32_t bucket, uint64_t iid, list words, ObjectRecord record, TermCache cache, bint letters
)
