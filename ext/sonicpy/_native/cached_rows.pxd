"""Cached rows of words, for `term_cache.pyx`, which owns them, and for native code that changes them."""

from cpython.bytes cimport PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy

from sonicpy._native.keys cimport TERM_ID_BYTES, put_big_endian
from sonicpy._native.term_rows cimport Word, write_word
from sonicpy._native.varint cimport put_varint

cdef enum:
    KEY_BYTES = 8  # of the key of an entry, in its struct; further ones follow behind it
    SHORT_KEY_BYTES = 4 + 466  # a longer key may end with a hash


cdef struct Entry:
    Word word
    uint64_t last_iid  # of the newest posting in the tail
    uint8_t *tail  # a block; its size is 0 if it holds no posting
    uint32_t tail_size, tail_room
    uint32_t key_size  # 0: dropped
    uint32_t hash
    bint is_dirty
    bint is_apart  # its row is in `common`, and `words` refers to it
    bint is_noted  # it changed since `take_noted`
    bint is_used  # since unused ones were dropped
    uint8_t key[KEY_BYTES]


cdef inline bint holds_word(const Entry *entry) noexcept nogil:
    """Return whether the key of an entry holds the whole word, from its fifth byte on, not only the beginning."""
    return entry.key_size <= SHORT_KEY_BYTES


cdef inline bytes key_of(const Entry *entry):
    return PyBytes_FromStringAndSize(<char *> entry.key, entry.key_size)


cdef inline uint32_t bucket_of(const Entry *entry) noexcept nogil:
    return <uint32_t> entry.key[0] << 24 | <uint32_t> entry.key[1] << 16 | <uint32_t> entry.key[2] << 8 | entry.key[3]


cdef inline bytes row_of(const Entry *entry):
    return write_word(&entry.word, entry.tail, entry.tail_size)


cdef inline int compare(const Entry *entry, const uint8_t *key, Py_ssize_t size) noexcept nogil:
    """Compare the key of an entry with another key: negative if it is before, positive if behind."""
    cdef int order = memcmp(entry.key, key, min(<Py_ssize_t> entry.key_size, size))
    return order if order else (entry.key_size > size) - (entry.key_size < size)


cdef inline const uint8_t *as_bytes(bytes key):
    return <const uint8_t *> <const char *> key


cdef inline uint64_t head_of(const uint8_t *key, Py_ssize_t size) noexcept nogil:
    """Return the first eight bytes of a key as a number; the numbers of keys have the order of the keys."""
    cdef uint64_t head = 0
    cdef Py_ssize_t at
    for at in range(8):
        head = head << 8 | (key[at] if at < size else 0)
    return head


cdef inline uint64_t head_behind(bytes last):
    """Return the largest number that `head_of` returns for a key up to `last`; `last` None: for any key."""
    return <uint64_t> -1 if last is None else head_of(as_bytes(last), len(last))


cdef inline bint is_between(const Entry *entry, bytes first, bytes last):
    """Return whether the key of an entry is between `first` and `last`, both included; `last` None: no upper bound."""
    if compare(entry, as_bytes(first), PyBytes_GET_SIZE(first)) < 0:
        return False
    return last is None or compare(entry, as_bytes(last), PyBytes_GET_SIZE(last)) <= 0


cdef inline bytes common_key_of(const Entry *entry):
    cdef uint8_t key[4 + TERM_ID_BYTES]
    memcpy(key, entry.key, 4)
    put_big_endian(key + 4, entry.word.term_id, TERM_ID_BYTES)
    return PyBytes_FromStringAndSize(<char *> key, sizeof(key))


cdef inline bytes reference_to(const Entry *entry):
    cdef uint8_t row[10]
    return PyBytes_FromStringAndSize(<char *> row, put_varint(row, entry.word.term_id) - row)
