from sonicpy._native.plan cimport Clause
from sonicpy._native.terms cimport Terms


cdef list add_same(statistics, list clauses, Terms terms, matching)
cdef int add_parted(statistics, list joined, matching) except -1
