"""Masks of values, for native code."""

from libc.stdint cimport int64_t, uint64_t

from sonicpy._native.column_window cimport ColumnWindow


cdef ColumnWindow window_of(object windows, Py_ssize_t window)
