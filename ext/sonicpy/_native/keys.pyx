"""The keys of the tables whose rows belong to a bucket; `sonicpy/store/rows/keys.py` describes all keys.

Numbers are big-endian, so that rows sort as their numbers do.
"""

from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

IID_MAX = (1 << 32) - 2  # a block is found by the IIDs it may hold, which are 4 bytes of its key


def scope_key(collection, bucket) -> bytes:
    """Return the key of a scope, whose names are ASCII, 1 to 128 bytes, of str or a subclass. Raises ValueError if the
    name of the collection has more than 255."""
    cdef bytes first = str.encode(collection), second = str.encode(bucket)
    cdef Py_ssize_t size = len(first)
    cdef bytes key = PyBytes_FromStringAndSize(NULL, 1 + size + len(second))
    cdef uint8_t *out = <uint8_t *> <char *> key
    if size > 255:
        raise ValueError("the name of a collection has at most 255 bytes")
    out[0] = <uint8_t> size
    memcpy(out + 1, <const char *> first, size)
    memcpy(out + 1 + size, <const char *> second, len(second))
    return key


def bucket_key(uint32_t bucket) -> bytes:
    """Return the four bytes at the beginning of every key of `bucket`."""
    cdef uint8_t key[4]
    put_big_endian(key, bucket, 4)
    return PyBytes_FromStringAndSize(<char *> key, 4)


cpdef bytes word_key(uint32_t bucket, bytes term):
    """Return the key of `term` in `words`: the bucket, then the term.

    A term of more than 500 bytes is replaced by its first 466 bytes, 0xFF (never a byte of UTF-8) and the BLAKE2b of
    the whole term.
    """
    cdef Py_ssize_t size = len(term)
    cdef bytes key
    if size > TERM_KEY_BYTES:
        import hashlib  # loaded when it is needed: it takes longer than all of this module

        term = term[:TERM_HEAD_BYTES] + b"\xff" + hashlib.blake2b(term, digest_size=TERM_HASH_BYTES).digest()
        size = len(term)
    key = PyBytes_FromStringAndSize(NULL, 4 + size)
    put_big_endian(<uint8_t *> <char *> key, bucket, 4)
    memcpy(<char *> key + 4, <const char *> term, size)
    return key


def word_keys(uint32_t bucket, list terms not None) -> list:
    """Return the keys of terms in `words`, in their order."""
    cdef bytes term
    return [word_key(bucket, term) for term in terms]


def pending_rows(list keys not None, uint64_t first, uint8_t why) -> list:
    """Return the (key, row) pairs of `pending` for words: a row is a number (6 bytes) and the last change of the word
    (1 byte).

    Args:
        first: the number of the first word; each further word has the next number.
        why: the last change, as in `store/disk/why.py`.
    """
    cdef uint8_t row[7]
    cdef bytes key
    cdef list rows = []
    row[6] = why
    for key in keys:
        put_big_endian(row, first, 6)
        rows.append((key, PyBytes_FromStringAndSize(<char *> row, 7)))
        first += 1
    return rows


cpdef bytes term_key(uint32_t bucket, uint64_t term_id):
    """Return the key of a term id in `terms`: bucket (4 bytes), term id (5)."""
    cdef bytes key = PyBytes_FromStringAndSize(NULL, 9)
    put_big_endian(<uint8_t *> <char *> key, bucket, 4)
    put_big_endian(<uint8_t *> <char *> key + 4, term_id, 5)
    return key


cpdef bytes object_key(uint32_t bucket, uint64_t iid):
    """Return the key of an object in `objects`: bucket (4 bytes), IID (5)."""
    return term_key(bucket, iid)


cpdef bytes block_key(uint32_t bucket, uint64_t term_id, uint32_t block):
    """Return the key of a block in `postings`: bucket (4 bytes), term id (5), block number (4)."""
    cdef bytes key = PyBytes_FromStringAndSize(NULL, 13)
    put_big_endian(<uint8_t *> <char *> key, bucket, 4)
    put_big_endian(<uint8_t *> <char *> key + 4, term_id, 5)
    put_big_endian(<uint8_t *> <char *> key + 9, block, 4)
    return key


def floor_rows(cursor, list keys not None, int prefix_bytes) -> list:
    """Return, for each key, the last row at or before it whose key has the same first `prefix_bytes` bytes, or None.

    Args:
        cursor: a cursor of lmdb in the table.
    """
    cdef list found = []
    cdef object set_range = cursor.set_range, key_here = cursor.key, before = cursor.prev, item = cursor.item
    cdef bytes key, other
    cdef tuple row
    for key in keys:
        if set_range(key):
            if <bytes?> key_here() != key and not before():
                found.append(None)
                continue
        elif not cursor.last():
            found.append(None)
            continue
        row = item()
        other = row[0]
        found.append(row if other[:prefix_bytes] == key[:prefix_bytes] else None)
    return found
