"""Masks of values, for native code."""

from libc.stdint cimport int64_t, uint32_t

from sonicpy._native.column_window cimport ColumnWindow
from sonicpy._native.windows cimport WINDOW_BITS, WINDOW_OBJECTS


cdef class LazyWindows:
    cdef object reader, column
    cdef list known

    cdef ColumnWindow get(self, Py_ssize_t window)


cdef inline bint is_in_range(ColumnWindow column, uint32_t iid, int64_t low, int64_t high) except -1:
    """Return whether an object has a value in a range, both bounds included.

    Args:
        column: the values of its window; None: the window has none.
    """
    cdef int place = iid & (WINDOW_OBJECTS - 1)
    if column is None or low > high or high < column.lowest or low > column.highest:
        return False
    column.decode()
    return column.has(place) and low <= column.at(place) <= high


cdef ColumnWindow window_of(object windows, Py_ssize_t window)
