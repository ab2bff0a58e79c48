"""The change that takes words from an object, for other native code."""

from libc.stdint cimport uint32_t, uint64_t

from sonicpy._native.add_terms cimport AddTerms
from sonicpy._native.object_record cimport ObjectRecord
from sonicpy._native.postings cimport Posting
from sonicpy._native.cached_rows cimport Entry
from sonicpy._native.term_cache cimport TermCache


cdef class CutTerms(AddTerms):
    cdef readonly list deleted_blocks
    cdef readonly Py_ssize_t removed
    cdef readonly Py_ssize_t removed_shown
    cdef bint _skips
    cdef bint _counts_letters
    cdef Entry _no_entry  # of words that have no row
    cdef list _unknown  # the numbers of the edits whose words the cache lacks

    cdef int take_term_ids(self, list term_ids) except -1
    cdef list unknown_terms(self)
    cdef int take_words(self, dict words) except -1
    cdef int without_object(self, Posting *postings, int count) except -1
    cdef ObjectRecord what_is_left(self)


cdef CutTerms begin_cut_terms(
    uint32_t bucket, uint64_t iid, list term_ids, ObjectRecord record, TermCache cache, bint letters
)
