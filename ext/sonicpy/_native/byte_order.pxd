"""The order of texts by their bytes."""

from libc.stdint cimport uint8_t
from libc.string cimport memcmp


cdef inline int compare_bytes(
    const uint8_t *one, Py_ssize_t size, const uint8_t *other, Py_ssize_t other_size
) noexcept nogil:
    """Return a negative number if `one` comes first, 0 if both are equal, else a positive one; a beginning of a text
    comes before it."""
    cdef int order = memcmp(one, other, min(size, other_size))
    return order if order else (size > other_size) - (size < other_size)
