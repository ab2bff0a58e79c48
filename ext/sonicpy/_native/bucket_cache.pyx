"""A cache of rows of a bucket in one commit: rows of words, their postings, lengths, OIDs, completions.

    BucketCache       the cache, which threads share. Its atomic steps create no list, tuple or dict: a new one may start
                      the garbage collector, whose finalizers let other threads run
    CachingReader     answers from the cache, and reads missing rows through its source

The cache of the next commit takes over all rows that the commit did not touch. Postings and lengths that only grew are
updated on demand, in place; if a reader of the older commit still uses them, they are read again instead.
"""

from cpython.bytearray cimport PyByteArray_AS_STRING, PyByteArray_GET_SIZE, PyByteArray_Resize
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.dict cimport PyDict_Clear, PyDict_GetItemWithError, PyDict_SetItem, PyDict_Size
from cpython.object cimport PyObject
from libc.stdint cimport UINT64_MAX, uint64_t
from libc.string cimport memcmp, memcpy, memset

from sonicpy._native.bm25 cimport PackedLengths, lengths_of
from sonicpy._native.column_window cimport ColumnWindow
from sonicpy._native.length_masks cimport LengthMasks
from sonicpy._native.objects cimport PLACES, name_at, names_of_row, row_number
from sonicpy._native.stored_postings cimport StoredPostings, unite
from sonicpy._native.term_rows cimport TermInfo, is_common
from sonicpy._native.windows cimport WINDOW_BITS
from sonicpy._native.word_range cimport WordRange

from sonicpy._native.keys import word_keys
from sonicpy._native.lengths import OBJECTS_PER_ROW
from sonicpy._native.term_rows import infos_found
from sonicpy._native.varint import DamagedBytes

cdef extern from "Python.h":
    Py_ssize_t Py_REFCNT(PyObject *it)

cdef object HOLE = object()
cdef Py_ssize_t LENGTHS_PER_ROW = OBJECTS_PER_ROW

cdef uint64_t made = 0  # caches that this process has made

cdef enum:
    UNITED_MAX = 256  # lists of several words
    ROW_BYTES = 120  # of a row of a word, about
    VALUE_BYTES = 200  # of a cached value that is neither postings nor a window of a column, about
    COMPARED = 64  # lengths at once
    PREFIX_MAX = 63  # bytes of the prefix of a cached range: each size is a bit


cdef class BucketCache:
    """The cached rows of a bucket.

    Rows of words are cached in two generations: when the newer one holds `words_max`, it becomes the older one, and the
    former older one is dropped. A row found in the older generation moves to the newer one, so rows in frequent use
    stay. Rows of words also age when the owner calls `age_words`, which drops ranges of words. Postings have two
    generations as well: the owner lets the newer one join the older one (`age_postings`), and drops postings that no
    query has used since then (`drop_unused`).

    Args:
        words_max: the most rows in a generation, and the most ranges.
        name_rows_max: the most rows of OIDs; if there are more, all are dropped.
        names: cached OIDs of older commits, packed, by the number of their row of `objects`; they never become invalid.
    """
    cdef Py_ssize_t _words_max, _name_rows_max
    cdef dict _words, _older_words  # rows by term, None for one that no object holds
    cdef dict _ranges  # of words, by the letters that these begin with
    cdef uint64_t _range_sizes  # bit n: there is a range of words with the same first n bytes
    cdef dict _postings, _older_postings  # by term id
    cdef dict _united  # postings of several rare words together, by their rows
    cdef dict _names  # of up to sixteen objects together, by the number of their row; see objects.pyx
    cdef object _lengths
    cdef LengthMasks _length_masks
    cdef set _old_rows  # numbers of the rows of lengths that changed; None: `_lengths` is up to date
    cdef uint64_t _number  # one more than that of the cache that it took over
    cdef uint64_t _rewrites  # how many of the commits before have rewritten lists
    cdef readonly uint64_t serial  # no other cache has it
    cdef Py_ssize_t _objects  # of another bucket, whose objects hold the words; -1: of this one

    def __init__(self, Py_ssize_t words_max, Py_ssize_t name_rows_max, dict names not None):
        self._words_max, self._name_rows_max = words_max, name_rows_max
        self._words, self._older_words = {}, {}
        self._ranges = {}
        self._postings, self._older_postings = {}, {}
        self._united = {}
        self._names = names
        self._number = 1
        self._objects = -1
        global made
        made += 1
        self.serial = made

    def take_over(self, BucketCache before not None, rewritten, set length_rows not None, list words=None) -> None:
        """Take over valid rows from the cache of an older commit, and leave that cache empty.

        Args:
            rewritten: the ids of the words whose lists changed in other ways than by new postings at their end; None:
                any word.
            length_rows: the numbers of the changed rows of lengths.
            words: the words whose rows changed; None: any word.
        """
        self._number, self._rewrites, self._objects = before._number, before._rewrites, before._objects
        self._postings, self._older_postings = before._postings, before._older_postings
        before._postings, before._older_postings, before._united = {}, {}, {}
        if words is not None:
            self._words, self._older_words = before._words, before._older_words
            before._words, before._older_words = {}, {}
        self._lengths, self._length_masks, self._old_rows = before._lengths, before._length_masks, before._old_rows
        before._lengths = before._length_masks = before._old_rows = None
        self.renew(rewritten, length_rows, words)

    def renew(self, rewritten, set length_rows not None, list words=None) -> None:
        """Drop the rows that changes have made invalid, in a cache that has no other reader; the arguments are those of
        `take_over`."""
        cdef object term_id
        global made
        made += 1
        self.serial = made
        self._number += 1
        if rewritten is None:
            self._postings, self._older_postings = {}, {}
        elif rewritten:
            drop(self._postings, rewritten)
            drop(self._older_postings, rewritten)
            self._rewrites += 1
        if words is None:
            self._words, self._older_words = {}, {}
        else:
            drop(self._words, words)
            drop(self._older_words, words)
        if self._united:
            self._united = {}
        if self._range_sizes:
            self.drop_ranges()
        if self._lengths is not None:
            self._old_rows = length_rows if self._old_rows is None else self._old_rows | length_rows

    cdef StoredPostings take_postings(self, term_id):
        """Remove and return the cached postings of a word; None: none are cached."""
        cdef StoredPostings found = self._postings.pop(term_id, None)
        return self._older_postings.pop(term_id, None) if found is None else found

    cdef int renew_lengths(self, dict rows, bytearray now, list numbers) except -1:
        """Update the lengths with changed rows.

        While a reader of the older commit uses them, they are copied. No other thread runs meanwhile, because this
        creates no object that the garbage collector counts.

        Args:
            rows: the changed rows by number, without deleted ones; None: they are in `now`.
            now: the lengths of all objects.
            numbers: the numbers of all changed rows, rising.
        """
        cdef LengthMasks masks = self._length_masks
        cdef object lengths = self._lengths
        cdef Py_ssize_t number, start
        cdef bytes row
        self._length_masks = None
        # This cache, this variable and the masks refer to the lengths, and a variable to the masks.
        if references(lengths) > 2 + (masks is not None) or (masks is not None and references(masks) > 1):
            self._lengths, masks = bytearray(lengths), None
        lengths = None
        for number in numbers:
            start = number * LENGTHS_PER_ROW
            if rows is None:
                self.renew_row(
                    masks, start, PyByteArray_AS_STRING(now) + start, min(PyByteArray_GET_SIZE(now) - start, LENGTHS_PER_ROW)
                )
            else:
                row = rows.get(number, b"")
                self.renew_row(masks, start, PyBytes_AS_STRING(row), PyBytes_GET_SIZE(row))
        if masks is not None:
            masks.renew(self._lengths)
        self._length_masks = masks
        self._old_rows = None
        return 0

    cdef int renew_row(self, LengthMasks masks, Py_ssize_t start, const char *now, Py_ssize_t end) except -1:
        """Replace the lengths of a row by the `end` lengths from `now` on; drop the masks of windows with changes."""
        cdef Py_ssize_t size = PyByteArray_GET_SIZE(self._lengths), first = 0
        cdef char *held
        cdef bytes row
        if end <= 0:  # its objects are gone
            row = bytes(max(min(size - start, LENGTHS_PER_ROW), 0))
            now, end = PyBytes_AS_STRING(row), PyBytes_GET_SIZE(row)
        if start + end > size:
            PyByteArray_Resize(self._lengths, start + end)
            memset(PyByteArray_AS_STRING(self._lengths) + size, 0, start + end - size)
        held = PyByteArray_AS_STRING(self._lengths) + start
        while end - first >= COMPARED and not memcmp(held + first, now + first, COMPARED):
            first += COMPARED
        while first < end and held[first] == now[first]:
            first += 1
        while end - first >= COMPARED and not memcmp(held + end - COMPARED, now + end - COMPARED, COMPARED):
            end -= COMPARED
        while end > first and held[end - 1] == now[end - 1]:
            end -= 1
        memcpy(held + first, now + first, end - first)
        if masks is not None and first < end:
            masks.forget((start + first) >> WINDOW_BITS, ((start + end - 1) >> WINDOW_BITS) + 1)
        return 0

    cdef list completions(self, bytes prefix, Py_ssize_t limit, Py_ssize_t examined):
        """Return the likely words that begin with `prefix`, as `WordRange.likely` does; None: no cached range is
        enough."""
        cdef Py_ssize_t size = min(len(prefix), <Py_ssize_t> PREFIX_MAX)
        cdef PyObject *held
        cdef WordRange words
        cdef list found
        while size >= 0 and self._range_sizes & ((<uint64_t> 2 << size) - 1):
            if self._range_sizes >> size & 1:
                held = PyDict_GetItemWithError(self._ranges, prefix if size == len(prefix) else prefix[:size])
                if held != NULL:
                    words = <WordRange> held
                    found = words.find_likely(prefix, limit, examined)
                    if found is not None:
                        return found
            size -= 1
        return None

    cdef int keep_range(self, bytes prefix, WordRange words) except -1:
        if len(prefix) > PREFIX_MAX:
            return 0
        if PyDict_Size(self._ranges) >= self._words_max:
            self.drop_ranges()
        PyDict_SetItem(self._ranges, prefix, words)
        self._range_sizes |= <uint64_t> 1 << len(prefix)
        return 0

    cdef int drop_ranges(self) except -1:
        self._ranges, self._range_sizes = {}, 0
        return 0

    @property
    def sizes(self) -> tuple:
        """The numbers of cached words, postings and rows of OIDs."""
        return (
            len(self._words.keys() | self._older_words.keys()),
            len(self._postings.keys() | self._older_postings.keys()),
            len(self._names),
        )

    def note_objects(self, Py_ssize_t count) -> None:
        """Note the number of objects, for the cache of tags, whose objects are those of another bucket: postings that
        were cached for fewer objects need more windows."""
        if count != self._objects:
            self._objects = count
            self._number += 1
            self._united = {}

    def kept(self, number):
        """Return the object that `keep` has cached under a number; None: nothing is cached."""
        cdef PyObject *held = PyDict_GetItemWithError(self._postings, number)
        if held != NULL:
            return <object> held
        found = self._older_postings.pop(number, None)
        if found is not None:
            PyDict_SetItem(self._postings, number, found)
        return found

    def keep(self, number, value not None) -> None:
        """Cache an object under a number, for values; a commit that notes the number among its rewritten lists drops
        it."""
        PyDict_SetItem(self._postings, number, value)

    def posting_bytes(self) -> tuple:
        """Return the approximate bytes of the cached postings, and those of the older generation among them."""
        cdef Py_ssize_t older = bytes_of_all(self._older_postings)
        return older + bytes_of_all(self._postings) + bytes_of_all(self._united), older

    def age_postings(self) -> None:
        """Move all cached postings into the older generation, behind those that are in it."""
        cdef dict newer = {}
        newer, self._postings = self._postings, newer
        self._older_postings.update(newer)

    def drop_unused(self, Py_ssize_t size_bytes) -> int:
        """Drop postings of the older generation, in the order in which they entered it, until they were of `size_bytes`
        or none is left; drop the postings of several words. Return the bytes of the dropped postings of single
        words."""
        cdef dict older = self._older_postings
        cdef Py_ssize_t dropped = 0
        self._united = {}
        for number in list(older):
            if dropped >= size_bytes:
                break
            value = older.pop(number, None)  # another thread may have moved it
            if value is not None:
                dropped += bytes_of(value)
        return dropped

    def age_words(self) -> None:
        """Drop the older generation of rows of words, whose place the newer one takes; drop the ranges."""
        self._words, self._older_words = {}, self._words
        self.drop_ranges()


cdef class CachingReader:
    """Reads a bucket of one commit, through a cache.

    Args:
        cache: the cache of the bucket.
        source: reads rows that the cache lacks; see `CacheSource` in the stub.
        in_order: whether lists are by IID. Then the postings of rare words, which are in the rows of the words, are not
            asked of the source.
    """
    cdef BucketCache _cache
    cdef object _source
    cdef bint _in_order

    def __init__(self, BucketCache cache not None, source not None, *, bint in_order=False):
        self._cache = cache
        self._source = source
        self._in_order = in_order

    @property
    def serial(self) -> int:
        """A number that changes whenever rows of the bucket's words change."""
        return self._cache.serial

    def words(self, list terms not None) -> list:
        """Return the row of each term; None: no object holds the term."""
        cdef BucketCache cache = self._cache
        cdef list missing = []
        cdef list found = looked_up(cache._words, cache._older_words, cache._words_max, terms, missing)
        cdef list read
        if missing:
            read = self._source.words(missing)
            if PyDict_Size(cache._words) + len(missing) > cache._words_max:
                cache.age_words()
            fill(cache._words, found, missing, read)
        return found

    def likely_words(self, bytes prefix not None, Py_ssize_t limit, Py_ssize_t examined) -> list:
        """Return at most `limit` live words: the prefix itself, then the others by object frequency, then by length.

        Args:
            examined: the most words to compare, the first ones in byte order.
        """
        cdef list found = self._cache.completions(prefix, limit, examined)
        cdef WordRange words
        if found is None:
            words = self._source.word_range(prefix, examined)
            self._cache.keep_range(prefix, words)
            found = words.find_likely(prefix, limit, examined)
        return found

    def postings(self, TermInfo word not None):
        """Return a word's postings by rising IID, read on demand."""
        return self.postings_held(word)

    cdef object postings_held(self, TermInfo word):
        cdef BucketCache cache = self._cache
        cdef object term_id = word._word.term_id
        cdef StoredPostings postings
        cdef PyObject *held = PyDict_GetItemWithError(cache._postings, term_id)
        cdef Py_ssize_t counted
        if held != NULL and (<StoredPostings> held).checked == cache._number:
            return <object> held
        postings = cache.take_postings(term_id)
        counted = 0 if postings is None else postings.size_bytes
        if postings is None or (
            postings.checked != cache._number and (references(postings) > 1 or not self.bring_up_to_date(postings, word))
        ):
            return self.read_postings(word, term_id)
        PyDict_SetItem(self._cache._postings, term_id, postings)
        if postings.size_bytes != counted:
            self._source.note_read(postings.size_bytes - counted)
        return postings

    cdef object read_postings(self, TermInfo word, term_id):
        cdef StoredPostings postings
        if self._in_order and not is_common(&word._word):
            postings = StoredPostings(self.state.bucket, term_id, word._word.df, [], word.tail, 0, self.lengths())
            self._source.note_read(postings.size_bytes)
        else:
            postings = self._source.read_postings(word, self.lengths())
        postings.checked, postings.rewrites = self._cache._number, self._cache._rewrites
        PyDict_SetItem(self._cache._postings, term_id, postings)
        return postings

    cdef bint bring_up_to_date(self, StoredPostings postings, TermInfo word) except -1:
        """Add new postings to the end of an older commit's postings, which have no other user.

        Returns:
            False: the postings have to be read again.
        """
        cdef BucketCache cache = self._cache
        cdef object lengths
        cdef PackedLengths packed
        cdef list impacts = []
        if word._word.df < postings.df or word._word.position < postings.tail_lower:
            return False
        lengths = self.lengths()
        packed = lengths_of(lengths)
        if word._word.df != postings.df:
            if word._word.position != postings.tail_lower:
                impacts = self._source.new_impacts(postings, word)
            postings.extend(word._word.df, impacts, word.tail, word._word.position, lengths)
            packed = lengths_of(lengths)
        postings.renew_windows(&packed, postings.rewrites != cache._rewrites)
        postings.checked, postings.rewrites = cache._number, cache._rewrites
        return True

    def postings_of(self, list words not None) -> list:
        """Return the postings of each word; see `postings`."""
        cdef TermInfo word
        return [self.postings_held(word) for word in words]

    def united(self, list words not None):
        """Return the postings of several rare words, all of which are in the rows of the words, as if they were one
        word."""
        cdef dict known = self._cache._united
        cdef tuple rows = tuple(words)
        cdef PyObject *held = PyDict_GetItemWithError(known, rows)
        cdef StoredPostings made
        if held != NULL:
            return <object> held
        made = unite(self.state.bucket, words, self.lengths())
        if PyDict_Size(known) >= UNITED_MAX:
            PyDict_Clear(known)
        PyDict_SetItem(known, rows, made)
        self._source.note_read(made.size_bytes + ROW_BYTES * len(rows))
        return made

    def oids(self, list iids not None) -> list:
        """Return the OIDs of objects, in the order of `iids`."""
        cdef dict names = self._cache._names
        cdef list found = [], missing = []
        cdef PyObject *row
        cdef uint64_t iid
        cdef object name
        for iid in iids:
            row = PyDict_GetItemWithError(names, iid // PLACES)
            name = None if row == NULL else name_at(<bytes> row, <int> (iid % PLACES))
            if name is None:
                missing.append(iid)
            found.append(name)
        if missing:
            self.read_names(iids, found, missing)
        return found

    cdef int read_names(self, list iids, list found, list missing) except -1:
        """Read missing OIDs, and put them into their places. Raises DamagedBytes if an object has no row."""
        cdef dict names = self._cache._names
        cdef Py_ssize_t at, place = 0
        cdef uint64_t iid, number = UINT64_MAX
        cdef tuple pair
        cdef PyObject *row
        cdef bytes read = None
        cdef list rows = self._source.record_rows(missing)
        if PyDict_Size(names) + len(rows) > self._cache._name_rows_max:
            PyDict_Clear(names)
        for at in range(len(iids)):
            if found[at] is None:
                iid = iids[at]
                while number != iid // PLACES and place < len(rows):  # mostly, the next row is that of the object
                    pair = rows[place]
                    place += 1
                    number, read = row_number(<bytes> pair[0]), names_of_row(<bytes> pair[1])
                    PyDict_SetItem(names, number, read)
                if number == iid // PLACES:
                    found[at] = name_at(read, <int> (iid % PLACES))
                else:
                    row = PyDict_GetItemWithError(names, iid // PLACES)
                    found[at] = None if row == NULL else name_at(<bytes> row, <int> (iid % PLACES))
                if found[at] is None:
                    self._source.oids(missing)  # raises an error that names the damage
                    raise DamagedBytes(f"object {iid} has no row")
        return 0

    def lengths(self):
        """Return the packed lengths of all objects, by IID, as bytes or a bytearray that must not be changed."""
        cdef BucketCache cache = self._cache
        cdef set old_rows = cache._old_rows
        cdef dict rows
        cdef list numbers
        if cache._lengths is None:
            lengths = self._source.read_lengths()
            cache._lengths, cache._length_masks, cache._old_rows = lengths, None, None
            return lengths
        if old_rows is not None:
            numbers = sorted(old_rows)
            now = self._source.lengths_now()
            rows = dict(self._source.length_rows(numbers)) if now is None else None
            if cache._old_rows is old_rows:  # else another thread was faster
                cache.renew_lengths(rows, now, numbers)
            return self.lengths()
        return cache._lengths

    def length_masks(self):
        """Return the masks of the packed lengths of all objects."""
        lengths = self.lengths()
        if self._cache._length_masks is None:
            self._cache._length_masks = LengthMasks(lengths)
        return self._cache._length_masks


cdef inline Py_ssize_t references(object variable) noexcept:
    """Return the number of references to the object in a variable of the caller, including this variable."""
    return Py_REFCNT(<PyObject *> variable)


def words_of_all(list readers not None, list terms not None, *, bint letters=False) -> list:
    """Return, for each of several buckets of one view, the rows of terms as `CachingReader.words` does. Rows that no
    cache has are read together.

    Args:
        readers: the readers of the buckets. A reader that is no CachingReader, or reads uncommitted changes, is called
            on its own.
        letters: see `shown_bytes`.
    """
    cdef list columns = [], asked = [], keys = [], own, missing, found, read
    cdef CachingReader caching
    cdef BucketCache cache
    cdef object source = None
    cdef dict rows
    for reader in readers:
        if not isinstance(reader, CachingReader) or not (<CachingReader> reader)._source.is_committed:
            columns.append(reader.words(terms))
            continue
        caching, missing = <CachingReader> reader, []
        cache = caching._cache
        found = looked_up(cache._words, cache._older_words, cache._words_max, terms, missing)
        columns.append(found)
        if missing:
            source = caching._source
            own = word_keys(source.state.bucket, missing)
            keys.extend(own)
            asked.append((cache, found, missing, own))
    if not asked:
        return columns
    keys.sort()
    rows = dict(source.read_words(keys))
    for cache, found, missing, own in asked:
        read = infos_found(missing, own, rows, letters=letters)
        if PyDict_Size(cache._words) + len(missing) > cache._words_max:
            cache.age_words()
        fill(cache._words, found, missing, read)
    return columns


cdef Py_ssize_t bytes_of(value) except -1:
    """Return the approximate bytes of a cached value."""
    if isinstance(value, StoredPostings):
        return (<StoredPostings> value).size_bytes
    return value.size_bytes if isinstance(value, ColumnWindow) else VALUE_BYTES


cdef Py_ssize_t bytes_of_all(dict held) except -1:
    cdef Py_ssize_t size_bytes = 0
    for value in held.values():
        size_bytes += bytes_of(value)
    return size_bytes


cdef int drop(dict held, keys) except -1:
    """Remove some keys from a cache, as far as it holds them."""
    if held:
        for key in keys:
            held.pop(key, None)
    return 0


cdef list looked_up(dict held, dict older, Py_ssize_t most, list keys, list missing):
    """Return the cached values of keys; a key without one is added to `missing`, and its value is HOLE. A value found
    only in `older` moves to `held`, as long as `held` has fewer than `most`."""
    cdef list found = [HOLE] * len(keys)
    cdef PyObject *value
    cdef Py_ssize_t number
    for number, key in enumerate(keys):
        value = PyDict_GetItemWithError(held, key)
        if value == NULL and older is not None:
            value = PyDict_GetItemWithError(older, key)
            if value != NULL and PyDict_Size(held) < most:
                PyDict_SetItem(held, key, <object> value)
        if value == NULL:
            missing.append(key)
        else:
            found[number] = <object> value
    return found


cdef int fill(dict held, list found, list missing, list read) except -1:
    """Put the values that were read into the holes, and into the cache. Raises ValueError if their numbers differ."""
    cdef Py_ssize_t number, at = 0
    if len(read) != len(missing):
        raise ValueError(f"{len(missing)} keys need as many values, not {len(read)}")
    for number in range(len(found)):
        if found[number] is HOLE:
            found[number] = read[at]
            PyDict_SetItem(held, missing[at], read[at])
            at += 1
    return 0
