"""Keys of the tables, for native code that reads and writes rows."""

from libc.stdint cimport uint8_t, uint32_t, uint64_t

cdef enum:
    TERM_KEY_BYTES = 500  # LMDB keys hold 511 bytes; 4 are the bucket's
    TERM_ID_BYTES = 5  # of a key


cpdef bytes word_key(uint32_t bucket, bytes term)
cpdef bytes term_key(uint32_t bucket, uint64_t term_id)
cpdef bytes block_key(uint32_t bucket, uint64_t term_id, uint32_t block)


cdef inline void put_big_endian(uint8_t *out, uint64_t value, int size) noexcept nogil:
    cdef int step
    for step in range(size):
        out[size - 1 - step] = <uint8_t> (value >> (8 * step))
