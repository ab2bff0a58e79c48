"""Words of a bucket with a common beginning."""

from libc.stdint cimport uint8_t, uint32_t, uint64_t

from sonicpy._native.term_rows cimport Likely


cdef struct RangedWord:
    uint64_t df  # 0: it is not live
    uint32_t start  # of its letters
    uint32_t size


cdef class WordRange:
    cdef RangedWord *_words
    cdef uint8_t *_letters
    cdef Py_ssize_t _count, _capacity, _used, _letters_capacity
    cdef bint _by_letters
    cdef bint _whole  # no other word begins with the prefix
    cdef readonly list common
    cdef list _places  # of the words of `common`

    cdef int add(self, bytes key, bytes row) except -1
    cdef int set_row(self, RangedWord *one, bytes row) except -1

    cdef list find_likely(self, bytes prefix, Py_ssize_t limit, Py_ssize_t examined)
    cdef Py_ssize_t first_behind(self, const uint8_t *prefix, Py_ssize_t size, Py_ssize_t first, bint beyond) noexcept
    cdef list best_of(self, Py_ssize_t start, Py_ssize_t end, Py_ssize_t prefix_bytes, Py_ssize_t limit)
    cdef list sorted_of(self, Py_ssize_t start, Py_ssize_t end, Py_ssize_t prefix_bytes, Py_ssize_t limit)
    cdef Likely likely_at(self, Py_ssize_t place, Py_ssize_t prefix_bytes) noexcept
    cdef bytes word_at(self, Py_ssize_t place)
