"""What was read of a bucket in one commit, remembered: rows of words, their postings, names of objects.

    BucketCache          what was read; threads share it, since no step of a call lets another thread in
    CachingReader     answers from it; who inherits from it reads what is not there
"""

from cpython.dict cimport PyDict_Clear, PyDict_GetItem, PyDict_SetItem, PyDict_Size
from cpython.object cimport PyObject

from sonicpy._native.postings cimport TermInfo

cdef object HOLE = object()


cdef class BucketCache:
    """What was read of a bucket.

    Args:
        words: rows of so many; then they are the older ones, which are asked when the newer ones do not know, and
            those that were are forgotten. So what is asked for again and again stays.
        names: of so many objects at the most; then all are forgotten.
        held: names by IID that were read of older commits: a number means one object for ever.
    """
    cdef Py_ssize_t _most_words, _most_names
    cdef dict _words, _older_words  # rows by term, None for one that no object holds
    cdef dict _postings, _older_postings  # by term id
    cdef dict _names  # by IID
    cdef object _lengths

    def __init__(self, Py_ssize_t words, Py_ssize_t names, dict held not None):
        self._most_words = words
        self._most_names = names
        self._words, self._older_words = {}, {}
        self._postings, self._older_postings = {}, {}
        self._names = held

    @property
    def sizes(self) -> tuple:
        """How many words, postings and names are remembered."""
        return (
            len(self._words.keys() | self._older_words.keys()),
            len(self._postings.keys() | self._older_postings.keys()),
            len(self._names),
        )

    def age_postings(self) -> None:
        """Let the newer postings be the older ones, and forget those that were."""
        self._postings, self._older_postings = {}, self._postings


cdef class CachingReader:
    """Reads a bucket of one commit. What is not remembered these methods are called for, which who inherits from it
    has to have:

        _read_words(terms)      the row of each term, None for those that no object holds
        _read_postings(row)     the postings of a word as ranking takes them, and whether to remember them
        _has_room(size)         whether postings of so many bytes are to be remembered
        _read_oids(iids)        the names of objects, in the order of their numbers
        _read_lengths()         the packed lengths of all objects, by IID

    Args:
        memory: what was read of the bucket before.
    """
    cdef BucketCache _memory

    def __init__(self, BucketCache memory not None):
        self._memory = memory

    def words(self, list terms not None) -> list:
        """Return the row of each term, None for those that no object holds."""
        cdef BucketCache memory = self._memory
        cdef list missing = []
        cdef list found = looked_up(memory._words, memory._older_words, memory._most_words, terms, missing)
        cdef list read
        if missing:
            read = self._read_words(missing)
            if PyDict_Size(memory._words) + len(missing) > memory._most_words:
                memory._words, memory._older_words = {}, memory._words
            remember(memory._words, found, missing, read)
        return found

    def postings(self, TermInfo word not None):
        """Return a word's postings as ranking takes them."""
        cdef object term_id = word._word.term_id
        cdef PyObject *held = PyDict_GetItem(self._memory._postings, term_id)
        if held != NULL:
            return <object> held
        held = PyDict_GetItem(self._memory._older_postings, term_id)
        if held != NULL:
            postings = <object> held
            is_kept = self._has_room(postings.size_bytes)
        else:
            postings, is_kept = self._read_postings(word)
        if is_kept:
            PyDict_SetItem(self._memory._postings, term_id, postings)
        return postings

    def oids(self, list iids not None) -> list:
        """Return the names of objects, in the order of their numbers."""
        cdef BucketCache memory = self._memory
        cdef list missing = []
        cdef list found = looked_up(memory._names, None, memory._most_names, iids, missing)
        cdef list read
        if missing:
            read = self._read_oids(missing)
            if PyDict_Size(memory._names) + len(missing) > memory._most_names:
                PyDict_Clear(memory._names)
            remember(memory._names, found, missing, read)
        return found

    def lengths(self):
        """Return the packed lengths of all objects, by IID, as bytes or a bytearray; not to be changed."""
        if self._memory._lengths is None:
            self._memory._lengths = self._read_lengths()
        return self._memory._lengths


cdef list looked_up(dict held, dict older, Py_ssize_t most, list keys, list missing):
    """Return what is held under some keys; those that are not there go to `missing` and leave a HOLE. What only the
    older ones know goes to the newer ones, while these are not too many."""
    cdef list found = []
    cdef PyObject *value
    for key in keys:
        value = PyDict_GetItem(held, key)
        if value == NULL and older is not None:
            value = PyDict_GetItem(older, key)
            if value != NULL and PyDict_Size(held) < most:
                PyDict_SetItem(held, key, <object> value)
        if value == NULL:
            missing.append(key)
            found.append(HOLE)
        else:
            found.append(<object> value)
    return found


cdef int remember(dict held, list found, list missing, list read) except -1:
    """Put what was read into the holes, and among what is held."""
    cdef Py_ssize_t number, at = 0
    if len(read) != len(missing):
        raise ValueError(f"{len(missing)} keys need as many values, not {len(read)}")
    for number in range(len(found)):
        if found[number] is HOLE:
            found[number] = read[at]
            PyDict_SetItem(held, missing[at], read[at])
            at += 1
    return 0
