"""A quick check for names of collections, buckets and objects that are valid in every mode and for every command."""

from libc.stdint cimport uint8_t, uint32_t

cdef enum:
    SAMPLED = 16

cdef extern from "Python.h":
    const char *PyUnicode_AsUTF8AndSize(object text, Py_ssize_t *size) except NULL
    bint PyUnicode_IS_COMPACT_ASCII(object)
    unsigned char* PyUnicode_1BYTE_DATA(object)
    Py_ssize_t PyUnicode_GET_LENGTH(object)


NAMES, SAMPLED_NAMES = 1, 2
"""The results of `push_names`."""


def push_names(collection, bucket, object) -> int:
    """Return SAMPLED_NAMES if all are names and the object `is_sampled`, NAMES if all are names, else 0; also 0 if the
    collection or bucket is of a subclass of str."""
    if type(collection) is not str or type(bucket) is not str or not (is_name(collection) and is_name(bucket) and is_name(object)):
        return 0
    return 2 if sampled(<const char *> PyUnicode_1BYTE_DATA(object), PyUnicode_GET_LENGTH(object)) else 1


def is_sampled(str name not None) -> bool:
    """Return whether the language of an object's texts is guessed for the counts of languages: for one object in
    SAMPLED, chosen by a hash of `name`, the object's name."""
    cdef Py_ssize_t size
    cdef const char *letters = PyUnicode_AsUTF8AndSize(name, &size)
    return sampled(letters, size)


cdef inline bint sampled(const char *letters, Py_ssize_t size) noexcept:
    cdef Py_ssize_t at
    cdef uint32_t value = 0x811C9DC5
    for at in range(size):  # FNV-1a
        value = (value ^ <uint8_t> letters[at]) * <uint32_t> 0x01000193
    value ^= value >> 15
    value *= <uint32_t> 0x2C1B3C6D
    return (value >> 16) % SAMPLED == 0


def are_names(collection, bucket, object=None):
    """Return whether all given names are strings of 1 to 128 ASCII characters without blanks and control characters.

    Other names may be valid, too: see `sonicpy.ids`.
    """
    return is_name(collection) and is_name(bucket) and (object is None or is_name(object))


cdef inline bint is_name(object name):
    cdef Py_ssize_t size, at
    cdef const unsigned char* letters
    cdef unsigned char unfit = 0
    if type(name) is not str or not PyUnicode_IS_COMPACT_ASCII(name):
        return False
    size = PyUnicode_GET_LENGTH(name)
    letters = PyUnicode_1BYTE_DATA(name)
    if not 0 < size <= NAME_MAX_BYTES:
        return False
    for at in range(size):
        unfit |= (letters[at] <= 0x20) | (letters[at] == 0x7F)
    return unfit == 0
