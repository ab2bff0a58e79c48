"""A fixed set of words that the analyzer looks up without making an object."""

from libc.stdint cimport int32_t, uint8_t, uint32_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

cimport cython

from sonicpy._native.terms cimport hash_bytes


@cython.final
cdef class StopSet:
    """A fixed set of words, in an open-addressing table at most half full.

    Args:
        words: the folded words, in UTF-8.
    """

    def __cinit__(self, words):
        cdef list distinct = list({bytes(word) for word in words})
        cdef Py_ssize_t total = 0, number, size
        cdef uint32_t capacity = 8, slot
        cdef bytes word
        for word in distinct:
            total += len(word)
        while capacity < 2 * len(distinct):
            capacity *= 2
        self._mask = capacity - 1
        self._bytes = <uint8_t *> malloc(total + 1)
        self._starts = <uint32_t *> malloc((len(distinct) + 1) * sizeof(uint32_t))
        self._slots = <int32_t *> malloc(capacity * sizeof(int32_t))
        if self._bytes == NULL or self._starts == NULL or self._slots == NULL:
            raise MemoryError
        memset(self._slots, 0xFF, capacity * sizeof(int32_t))
        self._starts[0] = 0
        for number in range(len(distinct)):
            word = distinct[number]
            size = len(word)
            memcpy(self._bytes + self._starts[number], <const uint8_t *> word, size)
            self._starts[number + 1] = self._starts[number] + <uint32_t> size
            slot = hash_bytes(<const uint8_t *> word, size) & self._mask
            while self._slots[slot] >= 0:
                slot = (slot + 1) & self._mask
            self._slots[slot] = <int32_t> number

    def __dealloc__(self):
        free(self._bytes)
        free(self._starts)
        free(self._slots)

    def __contains__(self, bytes word not None) -> bool:
        return self.holds(<const uint8_t *> word, len(word), hash_bytes(<const uint8_t *> word, len(word)))

    cdef int32_t place(self, bytes word) noexcept:
        """Return the number of a word in the set; -1: the set does not hold it."""
        return self.number_of(<const uint8_t *> word, len(word), hash_bytes(<const uint8_t *> word, len(word)))
