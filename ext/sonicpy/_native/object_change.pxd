"""The changed words of an object, for the native code of both kinds of changes."""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from sonicpy._native.joints cimport JOINT
from sonicpy._native.object_record cimport Held
from sonicpy._native.cached_rows cimport Entry
from sonicpy._native.term_rows cimport Word, shown_size

cdef enum Step:
    NOTHING  # the object holds the term: nothing to change
    ADD  # a new posting
    RAISE  # held already, with a smaller tf

cdef struct Edit:
    Word *word
    Word read  # the target of `word` if there is no cache
    Entry *entry
    Held held
    Py_ssize_t size  # bytes of the term
    Py_ssize_t shown  # its size by `shown_size`
    Py_ssize_t block  # place among the blocks asked for
    Step step
    uint32_t tf
    bint hidden
    bint is_joint  # it names the joints of a word: parts.pyx; its posting has a tf of 1, the record of the object one of 0
    bint is_new  # the term was not in the bucket
    bint was_noted  # see term_rows.pxd
    bint has_row  # the row is to be written (AddTerms), or the object holds the term (RemoveTerms)


cdef inline void name(Edit *edit, const uint8_t *word, Py_ssize_t size, bint letters) noexcept nogil:
    """Set the fields of an edit that depend on the letters of its word."""
    cdef Py_ssize_t at
    edit.size = size
    edit.shown = shown_size(word, size, letters)
    edit.is_joint = size > 0 and word[0] == JOINT
    if edit.is_joint:
        for at in range(size):
            edit.shown -= word[at] == JOINT


cdef class ObjectChange:
    cdef Edit *_edits
    cdef Py_ssize_t _count
    cdef uint32_t _bucket
    cdef uint64_t _iid
    cdef list _words  # None: the word of a cached row
    cdef list _block_keys
    cdef bint _by_association
    cdef readonly list word_keys
    cdef readonly list blocks
    cdef readonly int64_t length_change
    cdef readonly int64_t live_change
    cdef readonly Py_ssize_t turned

    cdef int begin(self, uint32_t bucket, uint64_t iid, list words, bint by_association, bint letters) except -1
    cdef void count_turned(self) noexcept
    cdef int check_cache(self) except -1
    cdef bint is_in_tail(self, const Edit *edit) noexcept
    cdef int need_block(self, Edit *edit) except -1
    cpdef list term_ids(self)
    cpdef list changed_words(self)
