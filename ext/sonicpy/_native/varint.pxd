"""Variable-length integers: seven bits a byte, low bits first, the high bit set on all but the last byte."""

from libc.stdint cimport int64_t, uint8_t, uint64_t


cdef inline int get_varint(const uint8_t **at, const uint8_t *end, uint64_t *value) noexcept nogil:
    """Read one number and move `at` behind it; return -1 if the bytes end inside it, or it is longer than 64 bits."""
    cdef uint64_t found = 0
    cdef int shift = 0
    cdef uint8_t byte
    while at[0] < end and shift < 64:
        byte = at[0][0]
        at[0] += 1
        if shift == 63 and byte > 1:
            return -1
        found |= <uint64_t> (byte & 0x7F) << shift
        if byte < 0x80:
            value[0] = found
            return 0
        shift += 7
    return -1


cdef inline uint8_t *put_varint(uint8_t *out, uint64_t value) noexcept nogil:
    """Write one number (at most 10 bytes) and return the place behind it."""
    while value >= 0x80:
        out[0] = <uint8_t> (value | 0x80)
        value >>= 7
        out += 1
    out[0] = <uint8_t> value
    return out + 1


cdef inline Py_ssize_t varint_bytes(uint64_t value) noexcept nogil:
    """Return the number of bytes that `put_varint` writes."""
    cdef Py_ssize_t size = 1
    while value >= 0x80:
        value >>= 7
        size += 1
    return size


cdef inline uint64_t zigzag(int64_t value) noexcept nogil:
    return (<uint64_t> value << 1) ^ <uint64_t> (value >> 63)


cdef inline int64_t unzigzag(uint64_t value) noexcept nogil:
    return <int64_t> (value >> 1) ^ -<int64_t> (value & 1)
