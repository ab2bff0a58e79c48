"""A quick check for names of collections, buckets and objects that are valid in every mode and for every command."""

cdef extern from "Python.h":
    bint PyUnicode_IS_COMPACT_ASCII(object)
    unsigned char* PyUnicode_1BYTE_DATA(object)
    Py_ssize_t PyUnicode_GET_LENGTH(object)


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
