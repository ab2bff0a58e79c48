from libc.stdint cimport uint64_t

from sonicpy._native.plan cimport Clause


cdef int put_expanded(statistics, Clause clause, uint64_t found, search) except -1
