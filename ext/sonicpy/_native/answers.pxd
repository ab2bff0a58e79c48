"""How many objects answer a query, and what their scores are made of, for native code."""

from libc.stdint cimport uint64_t

from sonicpy._native.query_terms cimport QueryTerms

cdef list keys_of_all(QueryTerms query)
cdef uint64_t count_of(QueryTerms query) except? 0
cdef list parts_of_all(QueryTerms query, list iids, Py_ssize_t listed_max)
