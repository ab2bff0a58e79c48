"""The distinct terms of a text, their collector, and the hash of a word."""

from libc.stdint cimport int32_t, uint8_t, uint32_t
from libc.string cimport memcmp

cimport cython

cdef enum:  # flags of a term
    F_SPECIAL = 1  # a pattern gave it: exact and required
    F_STOP = 2  # a stop word of the language, or a single letter of a run without blanks
    F_PART = 4  # two neighbouring letters of a run without blanks


cdef class Terms:
    cdef readonly list words
    cdef readonly bytes counts
    cdef readonly bytes flags
    cdef readonly list typed
    cdef readonly Py_ssize_t last
    cdef public bytes languages
    cdef readonly bytes piece


# -- the hash of a word, byte by byte -----------------------------------------------------------------------------

cdef uint32_t HASH_SEED  # unknown to clients, so that they cannot make the words of a text collide


cdef inline uint32_t hash_step(uint32_t value, uint8_t byte) noexcept nogil:
    return (value ^ byte) * <uint32_t> 0x01000193


cdef inline uint32_t hash_end(uint32_t value) noexcept nogil:
    value ^= value >> 15
    value *= <uint32_t> 0x2C1B3C6D
    return value ^ (value >> 12)


cdef inline uint32_t hash_bytes(const uint8_t *word, Py_ssize_t size) noexcept nogil:
    cdef uint32_t value = HASH_SEED
    cdef Py_ssize_t step
    for step in range(size):
        value = hash_step(value, word[step])
    return hash_end(value)


# -- gathering ----------------------------------------------------------------------------------------------------

cdef struct Entry:
    Py_ssize_t start
    Py_ssize_t size
    uint32_t hashed
    uint32_t slot
    uint32_t count
    uint32_t typed
    uint8_t flags


@cython.final
cdef class Collector:
    cdef uint8_t *_bytes
    cdef Py_ssize_t _used, _capacity
    cdef Entry *_entries
    cdef Py_ssize_t _count, _entry_capacity
    cdef int32_t *_slots  # number of an entry, or -1
    cdef uint32_t _mask
    cdef int32_t _newest  # the entry of the last word that was added; -1: none, or it was left out
    cdef const uint8_t *_text  # its beginning
    cdef const uint8_t *_word_end  # where the newest word ends in it
    cdef uint32_t *_places  # the entries of the words that have a place of their own
    cdef Py_ssize_t _place_count, _place_capacity
    cdef bint _keeps_order  # whether `_places` is filled
    cdef bint _shares_place  # words are at the place of others

    cdef int widen(self, Py_ssize_t size) except -1
    cdef int grow(self) except -1
    cdef bint is_small(self) noexcept
    cdef void clear(self) noexcept
    cdef Terms finish(self, const uint8_t *end)
    cdef int note_place(self, uint8_t flags) except -1
    cdef bytes packed_places(self)

    cdef inline uint8_t *room(self, Py_ssize_t size) except NULL:
        """Return room for `size` bytes, which become a word only when `add` takes them."""
        if self._used + size > self._capacity:
            self.widen(size)
        return self._bytes + self._used

    cdef inline int add(self, Py_ssize_t size, uint8_t flags, uint32_t hashed, uint32_t typed) except -1:
        """Take the last `size` bytes written as one occurrence of a term."""
        cdef const uint8_t *word = self._bytes + self._used
        cdef uint32_t slot = hashed & self._mask
        cdef Entry *entry
        while self._slots[slot] >= 0:
            entry = &self._entries[self._slots[slot]]
            if entry.hashed == hashed and entry.size == size and memcmp(self._bytes + entry.start, word, size) == 0:
                entry.count += 1
                entry.flags &= flags | F_SPECIAL  # an ordinary word gives the same term
                self._newest = self._slots[slot]
                return self.note_place(flags) if self._keeps_order else 0
            slot = (slot + 1) & self._mask
        if self._count == self._entry_capacity:
            self.grow()
            slot = hashed & self._mask
            while self._slots[slot] >= 0:
                slot = (slot + 1) & self._mask
        self._slots[slot] = <int32_t> self._count
        entry = &self._entries[self._count]
        entry.start = self._used
        entry.size = size
        entry.hashed = hashed
        entry.slot = slot
        entry.count = 1
        entry.typed = typed
        entry.flags = flags
        self._newest = <int32_t> self._count
        self._count += 1
        self._used += size
        return self.note_place(flags) if self._keeps_order else 0
