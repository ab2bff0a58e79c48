from cpython.bytearray cimport PyByteArray_AS_STRING, PyByteArray_GET_SIZE
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport uint8_t, uint32_t, uint64_t

cdef extern from *:
    """
    #define SONICPY_K1 1.2
    #define SONICPY_B 0.75
    """
    const double K1 "SONICPY_K1"  # how soon further occurrences of a word count little
    const double B "SONICPY_B"  # how much the length of an object counts


cdef struct PackedLengths:  # packed, by IID
    const uint8_t *packed
    uint64_t count


cdef inline PackedLengths lengths_of(object lengths) except *:
    """Return a pointer into `lengths`, valid as long as the caller neither changes nor releases it. Raises TypeError
    unless they are bytes or a bytearray.
    """
    if type(lengths) is bytearray:
        return PackedLengths(<const uint8_t *> PyByteArray_AS_STRING(lengths), <uint64_t> PyByteArray_GET_SIZE(lengths))
    if type(lengths) is bytes:
        return PackedLengths(<const uint8_t *> PyBytes_AS_STRING(lengths), <uint64_t> PyBytes_GET_SIZE(lengths))
    raise TypeError(f"lengths are bytes or a bytearray, not {type(lengths).__name__}")


cdef inline uint8_t packed_length(const PackedLengths *lengths, uint64_t iid) noexcept nogil:
    return lengths.packed[iid] if iid < lengths.count else 0


cdef const double *norms_of(double average, double k1, double b) noexcept
cpdef double idf(uint64_t objects, uint64_t df) noexcept


cdef inline double part_of_score(double weight, uint32_t tf, double norm, double k1) noexcept nogil:
    """Return the part that a posting has in the score of its object."""
    return weight * tf * (k1 + 1.0) / (tf + norm)
