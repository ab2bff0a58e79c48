"""Keys of the tables, for native code that reads and writes rows."""

from libc.stdint cimport uint8_t, uint32_t, uint64_t

cdef enum:
    TERM_KEY_BYTES = 500  # LMDB keys hold 511 bytes; 4 are the bucket's
    TERM_HEAD_BYTES = 466  # of a longer term, before 0xFF and its hash
    TERM_HASH_BYTES = 32
    TERM_ID_BYTES = 5  # of a key


cpdef bytes word_key(uint32_t bucket, bytes term)
cpdef bytes term_key(uint32_t bucket, uint64_t term_id)
cpdef bytes block_key(uint32_t bucket, uint64_t term_id, uint32_t block)


cdef inline void put_big_endian(uint8_t *out, uint64_t value, int size) noexcept nogil:
    cdef int step
    for step in range(size):
        out[size - 1 - step] = <uint8_t> (value >> (8 * step))


cdef inline bint is_shortened_term(const uint8_t *term, Py_ssize_t size) noexcept nogil:
    """Return whether a term from a key of `words` is only the beginning of one of more than TERM_KEY_BYTES."""
    return size == TERM_HEAD_BYTES + 1 + TERM_HASH_BYTES and term[TERM_HEAD_BYTES] == 0xFF


cdef inline bint is_shortened(const uint8_t *key, Py_ssize_t size) noexcept nogil:
    """Return whether a key of `words` is that of a term of more than TERM_KEY_BYTES, which it does not hold."""
    return size > 4 and is_shortened_term(key + 4, size - 4)
