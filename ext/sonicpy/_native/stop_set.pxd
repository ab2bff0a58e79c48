"""A fixed set of words that native code looks up by their bytes."""

from libc.stdint cimport int32_t, uint8_t, uint32_t
from libc.string cimport memcmp

cimport cython


@cython.final
cdef class StopSet:
    cdef uint8_t *_bytes
    cdef uint32_t *_starts  # word n is _bytes[_starts[n]:_starts[n + 1]]
    cdef int32_t *_slots  # number of a word, or -1
    cdef uint32_t _mask

    cdef inline bint holds(self, const uint8_t *word, Py_ssize_t size, uint32_t hashed) noexcept nogil:
        """Return whether the set holds a word; `hashed` is its `hash_bytes`."""
        return self.number_of(word, size, hashed) >= 0

    cdef inline int32_t number_of(self, const uint8_t *word, Py_ssize_t size, uint32_t hashed) noexcept nogil:
        """Return the number of a word in the set; -1: the set does not hold it."""
        cdef uint32_t slot = hashed & self._mask
        cdef int32_t number
        while True:
            number = self._slots[slot]
            if number < 0 or (
                self._starts[number + 1] - self._starts[number] == size
                and memcmp(self._bytes + self._starts[number], word, size) == 0
            ):
                return number
            slot = (slot + 1) & self._mask

    cdef int32_t place(self, bytes word) noexcept
