"""What other modules need to know of the bytes of the store."""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from sonicpy._native.varint cimport put_varint, zigzag

cdef enum:
    BLOCK_POSTINGS = 128
    TERM_KEY_BYTES = 500  # LMDB keys hold 511 bytes; 4 are the bucket's
    TERM_ID_BYTES = 5  # of a key
    COMMON_BLOCK = 2  # a word that has begun it is common
    SHOWN_BYTES = 40  # longer words are not completed, corrected, listed or counted

cdef struct Posting:
    uint64_t iid
    uint32_t tf

cdef struct Word:
    uint64_t term_id
    uint64_t holders
    uint64_t hidden_holders
    uint64_t df
    uint64_t last_block
    uint64_t first_block
    uint64_t dead
    uint64_t first_count

cdef struct Held:
    uint64_t term_id
    uint64_t block
    uint32_t tf
    bint hidden


cdef class ObjectRecord:
    cdef readonly bytes oid
    cdef Held *_held
    cdef Py_ssize_t _count

    cdef int reserve(self, Py_ssize_t count) except -1
    cdef Held *find(self, uint64_t term_id) noexcept nogil
    cdef uint64_t total_tf(self) noexcept nogil
    cpdef bytes pack(self)


cdef class PostingList:
    cdef uint32_t *_iids
    cdef uint8_t *_tfs
    cdef Py_ssize_t _count
    cdef Py_ssize_t _first_count  # of them in the first block
    cdef bint _is_sorted
    cdef uint8_t _tf_max

    cdef int read(self, const uint8_t *block, Py_ssize_t size) noexcept nogil
    cdef void copy(self, Posting *out) noexcept nogil


cdef class TermInfo:
    cdef Word _word
    cdef Py_ssize_t _size, _tail_at
    cdef bytes _row


cpdef bytes word_key(uint32_t bucket, bytes term)
cpdef bytes term_key(uint32_t bucket, uint64_t term_id)
cpdef bytes block_key(uint32_t bucket, uint64_t term_id, uint32_t block)
cdef int read_block(const uint8_t *block, Py_ssize_t size, Posting *out) noexcept nogil
cdef int decode(bytes block, Posting *out) except -1
cdef bytes write_block(const Posting *postings, int count)
cdef Py_ssize_t read_word(bytes row, Word *word) except -1
cdef bytes write_word(const Word *word, const uint8_t *tail, Py_ssize_t tail_size)
cdef ObjectRecord empty_record(bytes oid)
cdef bytes pack_record(bytes oid, const Held *held, Py_ssize_t count)


cdef inline void put_big_endian(uint8_t *out, uint64_t value, int size) noexcept nogil:
    cdef int step
    for step in range(size):
        out[size - 1 - step] = <uint8_t> (value >> (8 * step))


cdef inline uint8_t *put_posting(uint8_t *out, uint64_t before, uint64_t iid, uint32_t tf) noexcept nogil:
    out = put_varint(out, zigzag(<int64_t> (iid - before)) << 1 | (tf > 1))
    return put_varint(out, tf) if tf > 1 else out


cdef inline bint is_common(const Word *word) noexcept nogil:
    """Whether the row of a word stands in `common`: once it is, it always is."""
    return word.last_block >= COMMON_BLOCK


cdef inline bint is_live(const Word *word, Py_ssize_t size) noexcept nogil:
    return word.df > 0 and word.holders > word.hidden_holders and size <= SHOWN_BYTES
