"""The changes of one command, for those that carry them out in compiled code."""

from libc.stdint cimport int64_t, uint32_t, uint64_t

from sonicpy._native.postings cimport Held, ObjectRecord, Word
from sonicpy._native.term_cache cimport Entry, TermCache
from sonicpy._native.terms cimport Terms

cdef enum Step:
    NOTHING  # linked already, nothing to change
    APPEND  # a new posting at the head of the list
    RAISE  # linked already, with a smaller tf

cdef struct Edit:
    Word *word
    Word read  # what `word` points to where there is no cache
    Entry *entry
    Held held
    Py_ssize_t size  # bytes of the term
    Step step
    uint32_t tf
    bint hidden
    bint is_new  # the term was not in the bucket
    bint was_live
    bint has_row  # the row is to be written (AddTerms), or the object holds the term (RemoveTerms)


cdef class ObjectChange:
    cdef Edit *_edits
    cdef Py_ssize_t _count
    cdef uint32_t _bucket
    cdef uint64_t _iid
    cdef list _words
    cdef list _block_keys
    cdef readonly list word_keys
    cdef readonly list blocks
    cdef readonly int64_t length_change
    cdef readonly int64_t live_change
    cdef readonly Py_ssize_t turned

    cdef int begin(self, uint32_t bucket, uint64_t iid, list words) except -1
    cdef void count_turned(self) noexcept
    cdef int check_cache(self) except -1
    cdef Word *word_of(self, Py_ssize_t number) except NULL
    cpdef list changed_words(self)


cdef class AddTerms(ObjectChange):
    cdef ObjectRecord _record
    cdef TermCache _cache
    cdef uint64_t _generation
    cdef bytes _counts, _flags
    cdef uint64_t _next_term
    cdef readonly bint changed

    cdef int set_up(
        self, uint32_t bucket, uint64_t iid, Terms terms, ObjectRecord record, uint64_t next_term, TermCache cache
    ) except -1
    cdef list look_up(self)
    cdef int load(self, Edit *edit, bytes key, bytes row) except -1
    cdef int create(self, Edit *edit, bytes key) except -1
    cdef int link(self, Edit *edit) except -1
    cdef int link_again(self, Edit *edit, Held *held) except -1
    cdef int append(self, Edit *edit) except -1
    cdef int raise_tf(self, Edit *edit, dict held) except -1
    cpdef list take_rows(self, list found)
    cpdef take_blocks(self, list found)
    cpdef list trim(self, uint64_t window)
    cpdef finish(self)
    cpdef list new_terms(self)
    cpdef bytes record(self)


cdef AddTerms begin_add_terms(
    uint32_t bucket, uint64_t iid, Terms terms, ObjectRecord record, uint64_t next_term, TermCache cache
)
