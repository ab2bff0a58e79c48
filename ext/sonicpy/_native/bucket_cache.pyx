"""A cache of what was read of a bucket in one commit: rows of words, their postings, OIDs.

    BucketCache       what was read; threads share it, since no step of a call lets another thread in
    CachingReader     answers from it, and asks its source for what the cache lacks
"""

from cpython.dict cimport PyDict_Clear, PyDict_GetItem, PyDict_SetItem, PyDict_Size
from cpython.object cimport PyObject

from sonicpy._native.length_masks cimport LengthMasks
from sonicpy._native.term_rows cimport TermInfo

cdef object HOLE = object()


cdef class BucketCache:
    """What was read of a bucket.

    Rows of words are cached in two generations: when the newer one holds `words_max`, it becomes the older one, and the
    older one before it is dropped. A row found in the older generation moves to the newer one, so what is asked for
    again and again stays. Postings age in the same way, when the owner calls `age_postings`.

    Args:
        words_max: rows of a generation.
        names_max: OIDs; when there are more, all are dropped.
        names: OIDs by IID that were read of older commits: an IID means one object for ever.
    """
    cdef Py_ssize_t _words_max, _names_max
    cdef dict _words, _older_words  # rows by term, None for one that no object holds
    cdef dict _postings, _older_postings  # by term id
    cdef dict _names  # by IID
    cdef object _lengths
    cdef LengthMasks _length_masks

    def __init__(self, Py_ssize_t words_max, Py_ssize_t names_max, dict names not None):
        self._words_max, self._names_max = words_max, names_max
        self._words, self._older_words = {}, {}
        self._postings, self._older_postings = {}, {}
        self._names = names

    @property
    def sizes(self) -> tuple:
        """How many words, postings and OIDs are cached."""
        return (
            len(self._words.keys() | self._older_words.keys()),
            len(self._postings.keys() | self._older_postings.keys()),
            len(self._names),
        )

    def age_postings(self) -> None:
        """Make the newer postings the older ones, and drop those that were."""
        self._postings, self._older_postings = {}, self._postings


cdef class CachingReader:
    """Reads a bucket of one commit, through a cache.

    Args:
        cache: what was read of the bucket before.
        source: reads what the cache lacks; see `CacheSource` in the stub.
    """
    cdef BucketCache _cache
    cdef object _source

    def __init__(self, BucketCache cache not None, source not None):
        self._cache = cache
        self._source = source

    def words(self, list terms not None) -> list:
        """Return the row of each term, None for a term that no object holds."""
        cdef BucketCache cache = self._cache
        cdef list missing = []
        cdef list found = looked_up(cache._words, cache._older_words, cache._words_max, terms, missing)
        cdef list read
        if missing:
            read = self._source.words(missing)
            if PyDict_Size(cache._words) + len(missing) > cache._words_max:
                cache._words, cache._older_words = {}, cache._words
            fill(cache._words, found, missing, read)
        return found

    def postings(self, TermInfo word not None):
        """Return a word's postings by rising IID, to be read as far as they are needed."""
        return self.postings_held(word)

    cdef object postings_held(self, TermInfo word):
        cdef object term_id = word._word.term_id
        cdef PyObject *held = PyDict_GetItem(self._cache._postings, term_id)
        if held != NULL:
            return <object> held
        held = PyDict_GetItem(self._cache._older_postings, term_id)
        if held != NULL:
            postings = <object> held
            self._source.note_read(postings.size_bytes)
        else:
            postings = self._source.read_postings(word)
        PyDict_SetItem(self._cache._postings, term_id, postings)
        return postings

    def postings_of(self, list words not None) -> list:
        """Return the postings of some words."""
        cdef TermInfo word
        return [self.postings_held(word) for word in words]

    def oids(self, list iids not None) -> list:
        """Return the OIDs of objects, in the order of `iids`."""
        cdef BucketCache cache = self._cache
        cdef list missing = []
        cdef list found = looked_up(cache._names, None, cache._names_max, iids, missing)
        cdef list read
        if missing:
            read = self._source.oids(missing)
            if PyDict_Size(cache._names) + len(missing) > cache._names_max:
                PyDict_Clear(cache._names)
            fill(cache._names, found, missing, read)
        return found

    def lengths(self):
        """Return the packed lengths of all objects, by IID, as bytes or a bytearray; not to be changed."""
        if self._cache._lengths is None:
            self._cache._lengths = self._source.lengths()
        return self._cache._lengths

    def length_masks(self):
        """Return the masks of these lengths."""
        if self._cache._length_masks is None:
            self._cache._length_masks = LengthMasks(self.lengths())
        return self._cache._length_masks


cdef list looked_up(dict held, dict older, Py_ssize_t most, list keys, list missing):
    """Return the cached values of some keys; a key that has none goes to `missing` and leaves a HOLE. A value that only
    `older` has moves to `held`, while that has fewer than `most`."""
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


cdef int fill(dict held, list found, list missing, list read) except -1:
    """Put what was read into the holes, and into the cache."""
    cdef Py_ssize_t number, at = 0
    if len(read) != len(missing):
        raise ValueError(f"{len(missing)} keys need as many values, not {len(read)}")
    for number in range(len(found)):
        if found[number] is HOLE:
            found[number] = read[at]
            PyDict_SetItem(held, missing[at], read[at])
            at += 1
    return 0
