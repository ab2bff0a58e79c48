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
    ROW_PARTS = 6  # the least number of parts of a row to push

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
    return digest_bytes(object, text, lang, rules, rest)


def digests_of(list rows not None, type kind not None, rules_of not None) -> list:
    """Return the digest of the text of each row, and put its `normal_text` into the row; None: it is not of `kind`, or
    has named texts; a UnicodeEncodeError: the text is not Unicode.

    Args:
        rows: rows to push, changed in place.
        kind: the type of a row, a tuple: collection, bucket, object, text, language, and more, last the named texts.
        rules_of: a function that returns the version of the rules of a bucket, by the names of collection and bucket.
    """
    cdef list digests = []
    cdef Py_ssize_t place
    cdef tuple row
    cdef str object, text, lang
    cdef uint64_t rules = 0
    collection = bucket = None
    for place in range(len(rows)):
        row = <tuple> rows[place] if type(rows[place]) is kind and isinstance(rows[place], tuple) else ()
        if len(row) < ROW_PARTS or row[len(row) - 1]:
            digests.append(None)
            continue
        if row[0] is not collection or row[1] is not bucket:
            collection, bucket = row[0], row[1]
            rules = rules_of(collection, bucket)
        object, text, lang = row[2], row[3], row[4]
        text = normal_text(text)
        if text is not row[3] and text != row[3]:
            rows[place] = row._replace(text=text)
        try:
            digests.append(digest_bytes(object, text, lang, rules, b""))
        except UnicodeEncodeError as error:
            digests.append(error)
    return digests


cdef bytes digest_bytes(str object, str text, str lang, uint64_t rules, bytes rest):
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
