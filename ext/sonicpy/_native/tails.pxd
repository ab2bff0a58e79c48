"""Changes of the tail of a word, for native code that changes lists of postings."""

from libc.stdint cimport uint32_t, uint64_t

from sonicpy._native.cached_rows cimport Entry


cdef int put_in_tail(Entry *entry, uint64_t iid, uint32_t tf, bint is_held) except -1
cdef int cut_from_tail(Entry *entry, uint64_t iid) except -1
