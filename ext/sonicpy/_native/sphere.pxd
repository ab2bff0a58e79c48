"""Places on a sphere in whole numbers, so that every machine finds the same distances."""

from libc.stdint cimport int64_t, uint32_t


cdef struct Place:  # of a point, in units of 2**-29 of the radius
    int64_t x, y, z


cdef void place_of(int64_t point, Place *place) noexcept nogil
cdef int64_t chord(const Place *one, const Place *other) noexcept nogil


cdef inline int64_t latitude_of(int64_t point) noexcept nogil:
    """Return the latitude of a packed point, in units of 1e-7 degree."""
    return point >> 32


cdef inline int64_t longitude_of(int64_t point) noexcept nogil:
    """Return the longitude of a packed point, in units of 1e-7 degree."""
    return <int64_t> (<uint32_t> point) - (<int64_t> 1 << 31)
