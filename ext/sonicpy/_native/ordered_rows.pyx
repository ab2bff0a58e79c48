"""Rows of `orders`, which hold the orders of the words of objects (orders.pyx).

    row      of 64 objects: 32 bytes with 4 bits for the size of each order, 0 where there is none, 15 for 15 and more;
             the orders by rising place, those of 15 bytes and more behind v(size - 15)
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from sonicpy._native.keys cimport term_key
from sonicpy._native.orders cimport damaged
from sonicpy._native.varint cimport get_varint, put_varint, varint_bytes

ORDERS_PER_ROW = PER_ROW

cdef enum:
    HEAD_BYTES = PER_ROW // 2
    LONG = 15  # a size in a head that means this one or any larger one


cdef inline int size_in_head(const uint8_t *head, int place) noexcept nogil:
    return head[place >> 1] >> (4 * (place & 1)) & 15


cdef inline bint is_behind(const uint8_t *head, int place) noexcept nogil:
    """Return whether a row has no order at `place` or behind it."""
    for place in range(place, PER_ROW):
        if size_in_head(head, place):
            return False
    return True


cdef inline Py_ssize_t bytes_in_row(uint64_t size) noexcept nogil:
    """Return the number of bytes that an order takes in a row, behind the head."""
    return size + (varint_bytes(size - LONG) if size >= LONG else 0)


cdef uint8_t *put_order(uint8_t *head, uint8_t *out, int place, const uint8_t *order, uint64_t size) noexcept nogil:
    """Write an order, and its size into the head, which lacks it; return the place behind the order."""
    head[place >> 1] |= <uint8_t> (min(size, <uint64_t> LONG) << (4 * (place & 1)))
    if size >= LONG:
        out = put_varint(out, size - LONG)
    memcpy(out, order, size)
    return out + size


cdef int read_row(bytes row, Found *found) except -1:
    """Find the orders of a row by place; `at` is NULL for a place without an order. Raises DamagedBytes."""
    cdef const uint8_t *at = <const uint8_t *> PyBytes_AS_STRING(row)
    cdef const uint8_t *head = at
    cdef const uint8_t *end = at + PyBytes_GET_SIZE(row)
    cdef uint64_t more = 0
    cdef int place
    memset(found, 0, PER_ROW * sizeof(Found))
    if not row:
        return 0
    if end - at < HEAD_BYTES:
        raise damaged()
    at += HEAD_BYTES
    for place in range(PER_ROW):
        found[place].size = size_in_head(head, place)
        if not found[place].size:
            continue
        if found[place].size == LONG:
            if get_varint(&at, end, &more) < 0 or more > <uint64_t> (end - at):
                raise damaged()
            found[place].size += more
        if found[place].size > <uint64_t> (end - at):
            raise damaged()
        found[place].at = at
        at += found[place].size
    if at != end:
        raise damaged()
    return 0


def order_keys(uint32_t bucket, list iids not None) -> list:
    """Return the keys of the rows with the orders of objects, given by rising IID; each key once."""
    cdef list keys = []
    cdef uint64_t iid
    cdef int64_t number, before = -1
    for iid in iids:
        number = <int64_t> (iid // PER_ROW)
        if number != before:
            keys.append(term_key(bucket, number))
            before = number
    return keys


def order_at(bytes row, int place) -> bytes:
    """Return the order at `place` of a row, or None. Raises DamagedBytes."""
    cdef Found found[PER_ROW]
    if not row:
        return None
    read_row(row, found)
    return None if found[place].at == NULL else PyBytes_FromStringAndSize(<char *> found[place].at, found[place].size)


def held_places(bytes row not None) -> list:
    """Return the places of a row that have an order. Raises DamagedBytes."""
    cdef Found found[PER_ROW]
    cdef int place
    read_row(row, found)
    return [place for place in range(PER_ROW) if found[place].at != NULL]


def with_order(bytes row, int place, bytes order) -> bytes:
    """Return a row in which the order at `place` is replaced.

    Args:
        row: the row; None: there is no row yet.
        order: the new order; None: remove it. A row without orders is empty.

    Raises:
        DamagedBytes: the row cannot be read.
    """
    cdef Found found[PER_ROW]
    cdef Py_ssize_t size = HEAD_BYTES, before = PyBytes_GET_SIZE(row) if row else 0, own
    cdef int each
    cdef bytes changed
    cdef uint8_t *head
    cdef uint8_t *out
    if order is not None and (before < HEAD_BYTES or is_behind(<const uint8_t *> PyBytes_AS_STRING(row), place)):
        own = PyBytes_GET_SIZE(order)  # behind all others, as new objects are
        changed = PyBytes_FromStringAndSize(NULL, max(before, HEAD_BYTES) + bytes_in_row(own))
        head = <uint8_t *> PyBytes_AS_STRING(changed)
        if before >= HEAD_BYTES:
            memcpy(head, PyBytes_AS_STRING(row), before)
        else:
            memset(head, 0, HEAD_BYTES)
        put_order(head, head + max(before, HEAD_BYTES), place, <const uint8_t *> PyBytes_AS_STRING(order), own)
        return changed
    read_row(row or b"", found)
    found[place] = Found(NULL, 0)
    if order is not None:
        found[place] = Found(<const uint8_t *> PyBytes_AS_STRING(order), PyBytes_GET_SIZE(order))
    for each in range(PER_ROW):
        if found[each].at != NULL:
            size += bytes_in_row(found[each].size)
    if size == HEAD_BYTES:
        return b""
    changed = PyBytes_FromStringAndSize(NULL, size)
    head = <uint8_t *> PyBytes_AS_STRING(changed)
    memset(head, 0, HEAD_BYTES)
    out = head + HEAD_BYTES
    for each in range(PER_ROW):
        if found[each].at != NULL:
            out = put_order(head, out, each, found[each].at, found[each].size)
    return changed
