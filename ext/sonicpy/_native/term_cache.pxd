"""Cached rows of words, for native code that changes them."""

from libc.stdint cimport uint8_t, uint32_t, uint64_t

from sonicpy._native.cached_rows cimport Entry


cdef class TermCache:
    cdef Entry **_slots
    cdef Entry **_numbered  # by bucket and term id
    cdef uint32_t _mask
    cdef Py_ssize_t _count
    cdef Entry **_dirty
    cdef uint64_t *_heads  # how the keys of these begin
    cdef Py_ssize_t _dirty_count, _dirty_room
    cdef Entry **_noted
    cdef Py_ssize_t _noted_count
    cdef readonly uint64_t lost_notes
    cdef readonly uint64_t created
    cdef uint64_t _generation
    cdef Py_ssize_t _uses  # of rows, since unused ones were dropped
    cdef bint _has_vanished  # an entry may have lost its last object since `rows`

    cdef void free_entries(self) noexcept nogil
    cdef Entry *find(self, const uint8_t *key, Py_ssize_t size, uint32_t hash) noexcept nogil
    cdef Entry *insert(self, bytes key) except NULL
    cdef void number(self, Entry *entry) noexcept nogil
    cdef Entry *numbered(self, uint32_t bucket, uint64_t term_id) noexcept nogil
    cdef int move_entries(self, uint32_t mask, bint unused_go) except -1
    cdef int mark(self, Entry *entry) except -1
    cdef int grow_dirty(self) except -1
    cdef void note(self, Entry *entry) noexcept nogil
    cdef void lose_notes(self) noexcept nogil


cdef uint32_t hash_of(const uint8_t *key, Py_ssize_t size) noexcept nogil
cdef int take_tail(Entry *entry, const uint8_t *tail, Py_ssize_t size) except -1
cdef int make_room(Entry *entry, Py_ssize_t size) except -1
