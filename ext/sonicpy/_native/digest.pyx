"""The digest of a text that an UPSERT gave an object, and the form of the text from which it is computed."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport uint8_t, uint64_t
from libc.string cimport memcpy

from sonicpy._native.blake2b cimport blake2b
from sonicpy._native.varint cimport put_varint, varint_bytes

cdef extern from "Python.h":
    bint Py_UNICODE_ISSPACE(Py_UCS4 character) noexcept
    const char *PyUnicode_AsUTF8AndSize(object text, Py_ssize_t *size) except NULL

cdef enum:
    BYTES = 8

DIGEST_BYTES = BYTES


def normal_text(str text not None) -> str:
    """Return a text with one blank in place of each run of white space, and none at its ends.

    A text may have other white space in a line of the channel than in the library; in this form it is the same text.
    """
    cdef Py_ssize_t at, size = len(text)
    cdef Py_UCS4 character
    cdef bint was_blank = True
    for at in range(size):
        character = text[at]
        if character > 0x20 and character < 0x80:
            was_blank = False
        elif Py_UNICODE_ISSPACE(character):
            if was_blank or character != 0x20:
                return " ".join(text.split())
            was_blank = True
        else:
            was_blank = False
    return " ".join(text.split()) if was_blank and size else text


def digest_of(str object not None, str text not None, str lang, uint64_t rules, bytes rest not None=b"") -> bytes:
    """Return the digest of a text of an object: eight bytes, not all of them zero.

    The digest is BLAKE2b with 8 bytes over v(rules), then language (None: empty), name and text, each as v(size) and
    UTF-8, then `rest`.

    Args:
        object: the name of the object.
        lang: the language, as the lexer takes it.
        rules: the version of the rules by which the text is cut.
        rest: further texts of the object, packed so that different contents are different bytes.

    Raises:
        UnicodeEncodeError: the text is not Unicode.
    """
    cdef const char *parts[3]
    cdef Py_ssize_t sizes[3]
    cdef Py_ssize_t total
    cdef int number
    cdef uint64_t digest
    cdef uint8_t *out
    cdef bytes message
    parts[0] = PyUnicode_AsUTF8AndSize("" if lang is None else lang, &sizes[0])
    parts[1] = PyUnicode_AsUTF8AndSize(object, &sizes[1])
    parts[2] = PyUnicode_AsUTF8AndSize(text, &sizes[2])
    total = varint_bytes(rules) + PyBytes_GET_SIZE(rest)
    for number in range(3):
        total += varint_bytes(sizes[number]) + sizes[number]
    message = PyBytes_FromStringAndSize(NULL, total)
    out = put_varint(<uint8_t *> PyBytes_AS_STRING(message), rules)
    for number in range(3):
        out = put_varint(out, sizes[number])
        memcpy(out, parts[number], sizes[number])
        out += sizes[number]
    memcpy(out, PyBytes_AS_STRING(rest), PyBytes_GET_SIZE(rest))
    digest = blake2b(<const uint8_t *> PyBytes_AS_STRING(message), total, BYTES) or 1
    return PyBytes_FromStringAndSize(<const char *> &digest, BYTES)
