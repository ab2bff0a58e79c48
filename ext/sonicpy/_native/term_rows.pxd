"""Rows of words, for native code that reads and changes them."""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

cdef enum:
    SHOWN_BYTES = 40  # longer words are not completed, corrected, listed or counted

cdef struct Word:
    uint64_t term_id
    uint64_t df
    uint64_t hidden_df
    uint64_t position


cdef struct Likely:  # a word that a prefix may stand for
    uint64_t df
    Py_ssize_t size
    Py_ssize_t place  # of its row


cdef class TermInfo:
    cdef Word _word
    cdef Py_ssize_t _size, _tail_at
    cdef bytes _row


cdef Py_ssize_t read_word(bytes row, Word *word) except -1
cdef int64_t referred_term(bytes row) noexcept
cdef uint32_t bucket_in(bytes key) noexcept
cdef bytes row_of_common(list common, Py_ssize_t at, bytes key)
cdef int compare_likely(const void *left, const void *right) noexcept nogil
cdef bytes write_word(const Word *word, const uint8_t *tail, Py_ssize_t tail_size)


cdef inline bint is_common(const Word *word) noexcept nogil:
    """Whether the row of a word is in `common`: from its first full block on, for ever."""
    return word.position > 0


cdef inline bint is_live(const Word *word, Py_ssize_t size) noexcept nogil:
    return word.df > word.hidden_df and size <= SHOWN_BYTES
