"""The parts of scores, for native code."""

from sonicpy._native.query_state cimport QueryState


cdef list parts_of_all(QueryState query, list iids, Py_ssize_t listed_max)
