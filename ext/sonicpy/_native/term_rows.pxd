"""Rows of words, for native code that reads and changes them."""

from libc.stdint cimport uint8_t, uint64_t

cdef enum:
    COMMON_BLOCK = 2  # a word that has begun it is common
    SHOWN_BYTES = 40  # longer words are not completed, corrected, listed or counted

cdef struct Word:
    uint64_t term_id
    uint64_t holders
    uint64_t hidden_holders
    uint64_t df
    uint64_t last_block
    uint64_t first_block
    uint64_t dead
    uint64_t first_count


cdef class TermInfo:
    cdef Word _word
    cdef Py_ssize_t _size, _tail_at
    cdef bytes _row


cdef Py_ssize_t read_word(bytes row, Word *word) except -1
cdef bytes write_word(const Word *word, const uint8_t *tail, Py_ssize_t tail_size)


cdef inline bint is_common(const Word *word) noexcept nogil:
    """Whether `common` has the row of a word: from its second block on, for good."""
    return word.last_block >= COMMON_BLOCK


cdef inline bint is_live(const Word *word, Py_ssize_t size) noexcept nogil:
    return word.df > 0 and word.holders > word.hidden_holders and size <= SHOWN_BYTES
