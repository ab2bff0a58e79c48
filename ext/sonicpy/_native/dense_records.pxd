"""Dense rows of records, for native code that reads rows."""

from libc.stdint cimport uint8_t

cdef bytes plain_row(bytes row)
cdef bytes dense_record(bytes row, int place)
cdef bytes dense_names(bytes row)


cdef inline bint is_dense_row(bytes row) noexcept:
    """Return whether a row is dense; other rows begin with a place, below 16, or are empty."""
    return len(row) > 0 and (<const uint8_t *> <const char *> row)[0] >= 0xFE
