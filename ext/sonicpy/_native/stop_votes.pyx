"""Count for many languages at once how many pieces of a text are words of theirs: Sonic's way to guess a language."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.dict cimport PyDict_GetItem
from cpython.object cimport PyObject
from libc.stdint cimport uint8_t, uint32_t
from libc.string cimport memset


def most_votes(dict votes not None, str text not None) -> int:
    """Return the number of the language that lists most pieces between blanks, the first of equals; -1: none lists any.

    Args:
        votes: for each word, the numbers of the languages that list it, one byte each.
    """
    cdef uint32_t counts[256]
    cdef const uint8_t *listed
    cdef PyObject *found
    cdef Py_ssize_t place
    cdef int best = -1, number
    memset(counts, 0, sizeof(counts))
    for piece in text.split():
        found = PyDict_GetItem(votes, piece)
        if found == NULL:
            continue
        listed = <const uint8_t *> PyBytes_AS_STRING(<bytes> found)
        for place in range(PyBytes_GET_SIZE(<bytes> found)):
            counts[listed[place]] += 1
    for number in range(256):
        if counts[number] and (best < 0 or counts[number] > counts[best]):
            best = number
    return best
