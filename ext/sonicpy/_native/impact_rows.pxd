from libc.stdint cimport uint8_t

from sonicpy._native.impacts cimport Block

cdef Py_ssize_t count_entries(const uint8_t *row, Py_ssize_t size) except -1
cdef Py_ssize_t read_entries(const uint8_t *row, Py_ssize_t size, Block *blocks) except -1
