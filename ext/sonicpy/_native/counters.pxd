"""The counters of a bucket as a whole."""

from libc.stdint cimport uint64_t


cdef class Counters:
    cdef public uint64_t bucket
    cdef public uint64_t next_iid
    cdef public uint64_t next_term
    cdef public uint64_t objects
    cdef public uint64_t total_length
    cdef public uint64_t live_words
    cdef public uint64_t pending_seq
    cdef public uint64_t lexicon_version
    cdef public uint64_t graph_words
    cdef public uint64_t graph_seq
    cdef public uint64_t named
    cdef public uint64_t slices
