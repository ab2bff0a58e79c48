"""Entries of the rows of small buckets: reading one, and writing many. `small_rows.pyx` describes their bytes."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport uint8_t, uint64_t
from libc.string cimport memcmp, memcpy

from sonicpy._native.memory cimport grown
from sonicpy._native.varint cimport get_varint, put_varint


cdef enum:
    BUCKET_BYTES = 4
    SHORT_MAX = 14  # of shared or further bytes in a head of one byte
    LONG_HEAD = 0xFF
    ENTRY_BYTES_MAX = 32  # of all numbers of an entry, and of those of a table
    KEY_BYTES_MAX = 511  # of LMDB


cdef struct Output:
    # Bytes being written, and the last key among them.
    uint8_t *room
    Py_ssize_t capacity, used
    uint8_t key[KEY_BYTES_MAX]
    Py_ssize_t key_size


cdef inline int read_head(const uint8_t **at, const uint8_t *end, uint64_t *shared, uint64_t *further) noexcept nogil:
    """Read the head of an entry; return -1 if the bytes end inside it."""
    if at[0] == end:
        return -1
    cdef uint8_t head = at[0][0]
    at[0] += 1
    if head == LONG_HEAD:
        return -1 if get_varint(at, end, shared) < 0 or get_varint(at, end, further) < 0 else 0
    shared[0], further[0] = head >> 4, head & 0xF
    return 0


cdef inline uint8_t *put_head(uint8_t *out, Py_ssize_t shared, Py_ssize_t further) noexcept nogil:
    if shared <= SHORT_MAX and further <= SHORT_MAX:
        out[0] = <uint8_t> (shared << 4 | further)
        return out + 1
    out[0] = LONG_HEAD
    return put_varint(put_varint(out + 1, shared), further)


cdef inline size_t offsetof_key() noexcept nogil:
    """Return the size of the fields of an Output before `key`, which needs no zeros."""
    cdef Output *none = NULL
    return <size_t> &none.key


cdef inline int reserve_bytes(Output *out, Py_ssize_t size) except -1:
    """Make room for `size` more bytes."""
    out.room = <uint8_t *> grown(out.room, &out.capacity, out.used + size, 1)
    return 0


cdef inline void read_entry(
    const uint8_t **at, const uint8_t *end, uint8_t *key, Py_ssize_t *key_size, uint64_t *value_bytes
) noexcept nogil:
    """Read an entry up to its value; `key` is the key of the entry before, afterwards its own."""
    cdef uint64_t shared = 0, further = 0
    read_head(at, end, &shared, &further)
    memcpy(key + shared, at[0], further)
    key_size[0] = shared + further
    at[0] += further
    get_varint(at, end, value_bytes)


cdef inline uint64_t next_entry(
    const uint8_t **at, const uint8_t **entry, const uint8_t *end, uint8_t *key, Py_ssize_t *key_size,
    uint64_t *value_bytes, uint64_t left,
) noexcept nogil:
    """Go from the value of an entry to that of the next one, if there is one; return how many are left."""
    at[0] += value_bytes[0]
    entry[0] = at[0]
    if left > 1:
        read_entry(at, end, key, key_size, value_bytes)
    return left - 1


cdef inline int compared(const uint8_t *key, Py_ssize_t size, bytes other) noexcept:
    """Compare a key without the number of the bucket with a whole one: negative if it is before, positive if behind."""
    cdef Py_ssize_t other_size = PyBytes_GET_SIZE(other) - BUCKET_BYTES
    cdef int order = memcmp(key, PyBytes_AS_STRING(other) + BUCKET_BYTES, min(size, other_size))
    return order if order else (size > other_size) - (size < other_size)


cdef inline int put_raw(
    Output *out, const uint8_t *entries, Py_ssize_t size, const uint8_t *key, Py_ssize_t key_size
) except -1:
    """Write entries as they are, of which the last has a key; they follow the entry that they followed before."""
    reserve_bytes(out, size)
    memcpy(out.room + out.used, entries, size)
    out.used += size
    memcpy(out.key, key, key_size)
    out.key_size = key_size
    return 0


cdef inline int put_entry(
    Output *out, const uint8_t *key, Py_ssize_t key_size, const uint8_t *value, Py_ssize_t value_bytes
) except -1:
    """Write an entry behind others of its table."""
    cdef Py_ssize_t shared = 0, most = min(key_size, out.key_size), further
    cdef uint8_t *to
    while shared < most and key[shared] == out.key[shared]:
        shared += 1
    further = key_size - shared
    reserve_bytes(out, ENTRY_BYTES_MAX + further + value_bytes)
    to = put_head(out.room + out.used, shared, further)
    memcpy(to, key + shared, further)
    to = put_varint(to + further, value_bytes)
    memcpy(to, value, value_bytes)
    out.used = to + value_bytes - out.room
    memcpy(out.key, key, key_size)
    out.key_size = key_size
    return 0
