"""The change of a PUSH, for native code that carries it out."""

from libc.stdint cimport uint32_t, uint64_t

from sonicpy._native.growing_record cimport GrowingRecord
from sonicpy._native.object_change cimport Edit, ObjectChange
from sonicpy._native.object_record cimport Held, ObjectRecord
from sonicpy._native.postings cimport Posting
from sonicpy._native.cached_rows cimport Entry
from sonicpy._native.term_cache cimport TermCache
from sonicpy._native.terms cimport Terms


cdef class AddTerms(ObjectChange):
    cdef ObjectRecord _record
    cdef GrowingRecord _growing  # instead of `_record`, if the object is large; else None
    cdef TermCache _cache
    cdef uint64_t _generation
    cdef bytes _counts, _flags
    cdef uint64_t _next_term
    cdef bint _lowers
    cdef readonly bint changed

    cdef int set_up(
        self,
        uint32_t bucket,
        uint64_t iid,
        Terms terms,
        object record,
        uint64_t next_term,
        TermCache cache,
        bint by_association,
        bint letters,
    ) except -1
    cdef list look_up(self)
    cdef int load(self, Edit *edit, bytes key, bytes row) except -1
    cdef int create(self, Edit *edit, bytes key) except -1
    cdef int link(self, Edit *edit) except -1
    cdef int link_again(self, Edit *edit, Held *held) except -1
    cdef list gone(self)
    cdef list changed_terms(self)
    cdef list kept_in_blocks(self)
    cdef int change_tail(self, Edit *edit) except -1
    cdef int split_tail(self, Edit *edit) except -1
    cdef int change_block(self, Edit *edit, found) except -1
    cdef bytes single(self, Edit *edit)
    cdef bytes stored(self, const Posting *postings, int count)
    cdef bytes stored_tail(self, const Entry *entry)
    cdef int put(self, Edit *edit, Posting *postings, int count) except -1
    cdef bytes tail_key(self, const Edit *edit)
    cdef int append(self, Edit *edit) except -1
    cpdef list take_rows(self, list found)
    cpdef take_blocks(self, list found)
    cpdef finish(self)
    cpdef list new_terms(self)
    cpdef bytes record(self)
    cdef int grow(self) except -1
    cdef Held *changed_held(self) except NULL


cdef AddTerms begin_add_terms(
    uint32_t bucket,
    uint64_t iid,
    Terms terms,
    object record,
    uint64_t next_term,
    TermCache cache,
    bint by_association,
    bint letters,
)
