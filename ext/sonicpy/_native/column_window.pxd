"""The values of a column, for native code."""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

cdef enum:
    COLUMN_BITS = 7
    COLUMN_PLACES = 1 << COLUMN_BITS  # objects that share a row of `columns`
    ROWS_PER_WINDOW = 32


cdef struct ColumnHead:  # of a row
    int count  # of values
    int width  # bits of a packed difference
    uint64_t step
    int64_t lowest
    uint64_t most  # the largest packed difference
    uint64_t places[2]  # objects with a value, as bits
    const uint8_t *packed  # the differences
    Py_ssize_t size  # bytes of them


cdef class ColumnWindow:
    cdef readonly int64_t lowest
    cdef readonly int64_t highest
    cdef readonly int count
    cdef uint64_t bits[64]
    cdef uint32_t *narrow
    cdef int64_t *wide
    cdef list _rows  # None: decoded
    cdef Py_ssize_t _size_bytes

    cdef int decode_all(self) except -1

    cdef inline int decode(self) except -1:
        """Decode the values into `bits`, and `narrow` or `wide`, unless that was done before."""
        return 0 if self._rows is None else self.decode_all()

    cdef inline bint has(self, int place) noexcept nogil:
        return self.bits[place >> 6] >> (place & 63) & 1

    cdef inline int64_t at(self, int place) noexcept nogil:
        """Return the value of an object that has one; `decode` must have been called."""
        if self.narrow != NULL:
            return <int64_t> (<uint64_t> self.lowest + self.narrow[place])
        return self.wide[place]


cdef int read_head(const uint8_t *row, Py_ssize_t size, ColumnHead *head) except -1
