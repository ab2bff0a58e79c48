"""The score of one object, for other native code."""

from libc.stdint cimport uint8_t, uint32_t

from sonicpy._native.query_state cimport QueryState, Slot


cdef int look_at(QueryState query, uint32_t iid, uint8_t packed) except -2
cdef int part_in_slot(QueryState query, const Slot *slot, uint32_t iid, double norm, double *part) except -2
