"""Rows of words, for native code that reads and changes them."""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

cdef enum:
    # Longer words are not completed, corrected, listed or counted:
    SHOWN = 40  # bytes by the rules of 1.0
    SHOWN_LETTERS = 50  # by the newer ones,
    SHOWN_BYTES = 160  # and this many bytes, the longest words of graphs

cdef struct Word:
    uint64_t term_id
    uint64_t df
    uint64_t hidden_df
    uint64_t position


cdef struct Likely:  # a word that a prefix may mean
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
    """Return whether the row of a word is in `common`, where it stays for ever from the word's first full block on."""
    return word.position > 0


cdef inline bint is_live(const Word *word, Py_ssize_t shown) noexcept nogil:
    """Return whether a word is live; `shown` is its size by `shown_size`."""
    return word.df > word.hidden_df and shown <= SHOWN


cdef inline bint is_noted(const Word *word, Py_ssize_t shown, bint names_joints) noexcept nogil:
    """Return whether a word graph needs a term: as a word, or as a hidden term that marks the joints of a word."""
    return shown <= SHOWN and word.df > (0 if names_joints else word.hidden_df)


cdef inline Py_ssize_t shown_size(const uint8_t *word, Py_ssize_t size, bint letters) noexcept nogil:
    """Return a size of a word that is at most SHOWN if the word may be in the lexicon: its bytes; with `letters`, words
    of up to SHOWN_LETTERS letters may be, too."""
    cdef Py_ssize_t at, count = 0
    if size <= SHOWN or not letters or size > SHOWN_BYTES:
        return size
    for at in range(size):
        count += (word[at] & 0xC0) != 0x80
    return SHOWN if count <= SHOWN_LETTERS else SHOWN + 1
