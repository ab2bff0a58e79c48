"""The distinct terms of a text with their counts, and the collector that gathers them.

The collector writes the bytes of each word once and makes a Python object for each distinct term only.
"""

from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.list cimport PyList_New, PyList_SET_ITEM
from cpython.ref cimport Py_INCREF
from libc.stdint cimport int32_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memset

from sonicpy._native.varint cimport get_varint, put_varint, varint_bytes

import os

cimport cython

SPECIAL = F_SPECIAL
STOP = F_STOP
PART = F_PART

cdef enum:
    COUNT_MAX = 255  # a term frequency is one byte: rankings do not distinguish larger ones
    REUSED_BYTES = 1 << 14  # a collector of at most this size serves the next text too
    REUSED_ENTRIES = 1 << 10

HASH_SEED = int.from_bytes(os.urandom(4), "little") | 1


@cython.no_gc  # its lists hold bytes and numbers: no cycle begins here
cdef class Terms:
    """The distinct terms of a text, in the order of their first occurrence.

    Attributes:
        words: each term in UTF-8.
        counts: one byte for each term: its frequency, at most 255.
        flags: one byte for each term: SPECIAL, STOP and PART.
        typed: for each term, the number of its bytes in the text, before folding.
        last: the place of the term at the end of the text; -1: the text ends in a blank or a sign, or in a word that is
            left out.
        languages: the language of the text, which the bucket counts: a code, or "eng 12,deu 3" for several texts;
            empty: it is not counted.
        piece: the order of the words of the text, as `orders.pack_given` packs a single piece; None: no order is kept.
    """

    def __cinit__(self):
        self.languages = b""

    def __init__(
        self, list words, bytes counts, bytes flags, list typed=None, Py_ssize_t last=-1, bytes languages=b""
    ):
        if not len(words) == len(counts) == len(flags):
            raise ValueError(f"{len(words)} words need as many counts and flags, not {len(counts)} and {len(flags)}")
        self.words = words
        self.counts = counts
        self.flags = flags
        self.typed = [len(word) for word in words] if typed is None else typed
        self.last = last
        self.languages = languages

    def __len__(self) -> int:
        return len(self.words)

    @property
    def order(self) -> list | None:
        """The number of the term of each word of the text, one behind the other; None: no order is kept."""
        cdef const uint8_t *at
        cdef const uint8_t *end
        cdef uint64_t number = 0
        cdef list found = []
        if self.piece is None:
            return None
        at = <const uint8_t *> <const char *> self.piece
        end = at + len(self.piece)
        if at < end:
            get_varint(&at, end, &number)
        while at < end and get_varint(&at, end, &number) >= 0:
            found.append(number - 1)
        return found

    def __eq__(self, other) -> bool:
        return (
            isinstance(other, Terms)
            and self.words == other.words
            and self.counts == other.counts
            and self.flags == other.flags
            and self.languages == other.languages
        )

    def __repr__(self) -> str:
        return f"Terms({self.words!r}, {self.counts!r}, {self.flags!r})"


@cython.final
cdef class Collector:
    """Gathers the folded words of one text; equal words share an entry of an open-addressing table."""

    def __cinit__(self):
        self._capacity = 256
        self._entry_capacity = 32
        self._mask = 63
        self._newest = -1
        self._bytes = <uint8_t *> malloc(self._capacity)
        self._entries = <Entry *> malloc(self._entry_capacity * sizeof(Entry))
        self._slots = <int32_t *> malloc((self._mask + 1) * sizeof(int32_t))
        self._place_capacity = 64
        self._places = <uint32_t *> malloc(self._place_capacity * sizeof(uint32_t))
        if self._bytes == NULL or self._entries == NULL or self._slots == NULL or self._places == NULL:
            raise MemoryError
        memset(self._slots, 0xFF, (self._mask + 1) * sizeof(int32_t))

    def __dealloc__(self):
        free(self._bytes)
        free(self._entries)
        free(self._slots)
        free(self._places)

    cdef int widen(self, Py_ssize_t size) except -1:
        """Make room for `size` more bytes."""
        cdef uint8_t *grown
        cdef Py_ssize_t capacity = self._capacity
        while self._used + size > capacity:
            capacity *= 2
        grown = <uint8_t *> realloc(self._bytes, capacity)
        if grown == NULL:
            raise MemoryError
        self._bytes = grown
        self._capacity = capacity
        return 0

    cdef int grow(self) except -1:
        """Double the number of slots of the table."""
        cdef Py_ssize_t capacity = 2 * self._entry_capacity, number
        cdef uint32_t slots = 2 * (self._mask + 1), slot
        cdef Entry *entries = <Entry *> realloc(self._entries, capacity * sizeof(Entry))
        if entries == NULL:
            raise MemoryError
        self._entries = entries
        self._entry_capacity = capacity
        cdef int32_t *table = <int32_t *> realloc(self._slots, slots * sizeof(int32_t))
        if table == NULL:
            raise MemoryError
        self._slots = table
        self._mask = slots - 1
        memset(table, 0xFF, slots * sizeof(int32_t))
        for number in range(self._count):
            slot = entries[number].hashed & self._mask
            while table[slot] >= 0:
                slot = (slot + 1) & self._mask
            table[slot] = <int32_t> number
            entries[number].slot = slot
        return 0

    cdef bint is_small(self) noexcept:
        return (
            self._capacity <= REUSED_BYTES
            and self._entry_capacity <= REUSED_ENTRIES
            and self._place_capacity <= REUSED_ENTRIES
        )

    cdef void clear(self) noexcept:
        """Drop all words; the memory is kept for the next text."""
        cdef Py_ssize_t number
        for number in range(self._count):
            self._slots[self._entries[number].slot] = -1
        self._count = 0
        self._used = 0
        self._place_count = 0
        self._newest = -1
        self._word_end = NULL

    cdef int note_place(self, uint8_t flags) except -1:
        """Note the place of the newest word, unless it is a part of another one."""
        cdef uint32_t *grown
        if flags & F_PART or self._shares_place:
            return 0
        if self._place_count == self._place_capacity:
            grown = <uint32_t *> realloc(self._places, 2 * self._place_capacity * sizeof(uint32_t))
            if grown == NULL:
                raise MemoryError
            self._places = grown
            self._place_capacity *= 2
        self._places[self._place_count] = <uint32_t> self._newest
        self._place_count += 1
        return 0

    cdef bytes packed_places(self):
        """Return the order of the words for `Terms.piece`."""
        cdef Py_ssize_t size, number
        cdef bytes packed
        cdef uint8_t *out
        if not self._keeps_order:
            return None
        if not self._place_count:
            return b""
        size = varint_bytes(self._place_count)
        for number in range(self._place_count):
            size += varint_bytes(self._places[number] + 1)
        packed = PyBytes_FromStringAndSize(NULL, size)
        out = put_varint(<uint8_t *> <char *> packed, self._place_count)
        for number in range(self._place_count):
            out = put_varint(out, self._places[number] + 1)
        return packed

    cdef Terms finish(self, const uint8_t *end):
        """Return the terms that were added; `end` is the end of the text."""
        cdef Py_ssize_t number
        cdef Entry *entry
        cdef list words = PyList_New(self._count), typed = PyList_New(self._count)
        cdef bytes counts = PyBytes_FromStringAndSize(NULL, self._count)
        cdef bytes flags = PyBytes_FromStringAndSize(NULL, self._count)
        cdef uint8_t *count_bytes = <uint8_t *> <char *> counts
        cdef uint8_t *flag_bytes = <uint8_t *> <char *> flags
        cdef Terms terms = Terms.__new__(Terms)
        cdef object value
        for number in range(self._count):
            entry = &self._entries[number]
            value = PyBytes_FromStringAndSize(<char *> self._bytes + entry.start, entry.size)
            Py_INCREF(value)
            PyList_SET_ITEM(words, number, value)
            value = entry.typed
            Py_INCREF(value)
            PyList_SET_ITEM(typed, number, value)
            count_bytes[number] = <uint8_t> min(entry.count, <uint32_t> COUNT_MAX)
            flag_bytes[number] = entry.flags
        terms.words = words
        terms.counts = counts
        terms.flags = flags
        terms.typed = typed
        terms.last = self._newest if self._word_end == end else -1
        terms.piece = self.packed_places()
        return terms
