"""Changes of dense rows, for native code that changes rows of records."""

from libc.stdint cimport uint32_t


cpdef bytes changed_row(bytes row, int place, bytes record)
cdef bytes row_without(bytes row, uint32_t gone)
