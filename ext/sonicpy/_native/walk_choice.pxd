"""The choice of the objects that a walk examines, for other native code."""

from libc.stdint cimport uint8_t, uint32_t

from sonicpy._native.query_state cimport QueryState


cdef int find_able(QueryState query, uint32_t newest) except -1
cdef int tf_held(QueryState query, Py_ssize_t number, uint32_t iid) except -2
cdef bint may_be_best(QueryState query, uint32_t iid, uint8_t packed, int tf) except -1
cdef int choose(QueryState query) except -2
