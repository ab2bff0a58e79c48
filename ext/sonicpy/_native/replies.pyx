"""Writes replies that list items in one piece."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.string cimport memcpy

cdef extern from "Python.h":
    bint PyUnicode_IS_COMPACT_ASCII(object)
    unsigned char* PyUnicode_1BYTE_DATA(object)
    Py_ssize_t PyUnicode_GET_LENGTH(object)

cdef const unsigned char* MARKER_LETTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

cdef enum:
    MARKER_LENGTH = 8


def event(str kind not None, items, unsigned long long bits):
    """Return PENDING and its EVENT as one piece. Without items, the blank before them is written too.

    Args:
        kind: the name of the event, in ASCII.
        items: an iterable of strings.
        bits: random bits for the marker, 8 characters of [A-Za-z0-9], one for each byte.

    Raises:
        ValueError: the kind is not ASCII.
        TypeError: an item is not a string.
        UnicodeEncodeError: an item holds a lone surrogate.
    """
    cdef list parts = <list>items if type(items) is list else list(items)
    cdef Py_ssize_t size = 0
    cdef Py_ssize_t length
    cdef unsigned char* out = NULL
    for item in parts:
        if type(item) is not str or not PyUnicode_IS_COMPACT_ASCII(item):
            break
        size += PyUnicode_GET_LENGTH(item) + 1
    else:
        reply = event_with_room(kind, size - 1 if parts else 0, bits, &out)
        for item in parts:
            length = PyUnicode_GET_LENGTH(item)
            memcpy(out, PyUnicode_1BYTE_DATA(item), length)
            out[length] = c' '
            out += length + 1
        if parts:
            out -= 1
        memcpy(out, b"\r\n", 2)
        return reply
    joined = " ".join(parts).encode()
    size = len(joined)
    reply = event_with_room(kind, size, bits, &out)
    memcpy(out, PyBytes_AS_STRING(joined), size)
    memcpy(out + size, b"\r\n", 2)
    return reply


cdef bytes event_with_room(str kind, Py_ssize_t size, unsigned long long bits, unsigned char** out):
    # Writes everything before the items; `out` becomes the place of `size` bytes for them and of two for the line end.
    cdef Py_ssize_t length = PyUnicode_GET_LENGTH(kind)
    cdef unsigned char* at
    if not PyUnicode_IS_COMPACT_ASCII(kind):
        raise ValueError(f"{kind!r} is not ASCII")
    reply = PyBytes_FromStringAndSize(NULL, 8 + MARKER_LENGTH + 8 + length + 1 + MARKER_LENGTH + 1 + size + 2)
    at = <unsigned char*>PyBytes_AS_STRING(reply)
    memcpy(at, b"PENDING ", 8)
    put_marker(at + 8, bits)
    memcpy(at + 16, b"\r\nEVENT ", 8)
    memcpy(at + 24, PyUnicode_1BYTE_DATA(kind), length)
    at[24 + length] = c' '
    memcpy(at + 25 + length, at + 8, MARKER_LENGTH)
    at[33 + length] = c' '
    out[0] = at + 34 + length
    return <bytes>reply


cdef void put_marker(unsigned char* out, unsigned long long bits) noexcept:
    cdef Py_ssize_t at
    for at in range(MARKER_LENGTH):
        out[at] = MARKER_LETTERS[(bits & 0xFF) % 62]
        bits >>= 8
