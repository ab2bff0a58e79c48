"""Words of a bucket with a common beginning, with their frequencies, from one read of rows.

When a user types one more letter, the words with the longer beginning are among the words read before.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport UINT64_MAX, int64_t, uint8_t, uint32_t
from libc.stdlib cimport free, qsort
from libc.string cimport memcmp, memcpy

cimport cython

from sonicpy._native.keys cimport term_key
from sonicpy._native.memory cimport grown, zeroed
from sonicpy._native.term_rows cimport (
    Likely, Word, bucket_in, compare_likely, is_live, read_word, referred_term, row_of_common, shown_size,
)

cdef enum:
    BUCKET_BYTES = 4
    BEST_MAX = 32  # this number of words is found by inserting, more by sorting


@cython.no_gc  # its lists hold bytes and numbers: no cycle begins here
cdef class WordRange:
    """A range of words with a common beginning, including words that are not in the lexicon.

    Args:
        rows: (key, row) pairs of `words` in key order, an iterator or a list. No row is taken behind the first one
            whose key does not begin with `prefix`, because each may cost a read.
        prefix: the beginning of the keys: the number of the bucket, and the beginning of the words.
        most: the most rows to take.
        letters: True: words of up to 50 letters are in the lexicon; False: words of up to 40 bytes.

    Attributes:
        common: the keys in table `common` to which rows refer; None: no row does. If there are keys, `take_common` has
            to be called before other methods.

    Raises:
        DamagedBytes: a row cannot be read.
    """

    def __cinit__(self, rows, bytes prefix not None, Py_ssize_t most, bint letters=False):
        cdef Py_ssize_t size = PyBytes_GET_SIZE(prefix)
        cdef bytes key
        self._by_letters = letters
        if most <= 0:
            return
        for pair in rows:
            key = (<tuple?> pair)[0]
            if PyBytes_GET_SIZE(key) < size or memcmp(PyBytes_AS_STRING(key), PyBytes_AS_STRING(prefix), size) != 0:
                break
            self.add(key, (<tuple> pair)[1])
            if self._count == most:
                return
        self._whole = True

    def __dealloc__(self):
        free(self._words)
        free(self._letters)

    cdef int add(self, bytes key, bytes row) except -1:
        cdef Py_ssize_t size = PyBytes_GET_SIZE(key) - BUCKET_BYTES
        cdef int64_t term_id = referred_term(row)
        cdef RangedWord *one
        self._words = <RangedWord *> grown(self._words, &self._capacity, self._count + 1, sizeof(RangedWord))
        self._letters = <uint8_t *> grown(self._letters, &self._letters_capacity, self._used + size, 1)
        one = &self._words[self._count]
        one.start, one.size = <uint32_t> self._used, <uint32_t> size
        memcpy(self._letters + self._used, PyBytes_AS_STRING(key) + BUCKET_BYTES, size)
        if term_id < 0:
            self.set_row(one, row)
        else:
            if self.common is None:
                self.common, self._places = [], []
            self.common.append(term_key(bucket_in(key), term_id))
            self._places.append(self._count)
        self._used += size
        self._count += 1
        return 0

    cdef int set_row(self, RangedWord *one, bytes row) except -1:
        cdef Word word
        read_word(row, &word)
        one.df = word.df if is_live(&word, shown_size(self._letters + one.start, one.size, self._by_letters)) else 0
        return 0

    def take_common(self, list rows not None) -> None:
        """Take the rows of common words.

        Args:
            rows: the (key, row) pairs found for the keys of `common`, in their order.

        Raises:
            DamagedBytes: a row is missing, or belongs to another word.
        """
        cdef Py_ssize_t number
        for number in range(len(self.common)):
            row = row_of_common(rows, number, self.common[number])
            self.set_row(&self._words[<Py_ssize_t> self._places[number]], row)
        self.common = self._places = None

    def __len__(self) -> int:
        return self._count

    def likely(self, bytes prefix not None, Py_ssize_t limit, Py_ssize_t examined):
        """Return live words: the prefix itself, then the others by object frequency. None: the range does not have
        enough words.

        Words of equal frequency are ordered by length in bytes, then by bytes.

        Args:
            prefix: the common beginning of the words, or more letters.
            limit: the most words to return.
            examined: the most words to compare, the first ones in byte order.
        """
        return self.find_likely(prefix, limit, examined)

    cdef list find_likely(self, bytes prefix, Py_ssize_t limit, Py_ssize_t examined):
        cdef const uint8_t *letters = <const uint8_t *> PyBytes_AS_STRING(prefix)
        cdef Py_ssize_t size = PyBytes_GET_SIZE(prefix)
        cdef Py_ssize_t start = self.first_behind(letters, size, 0, False)
        cdef Py_ssize_t end = self.first_behind(letters, size, start, True)
        if end - start >= examined:
            end = start + examined
        elif end == self._count and not self._whole:
            return None  # more words may begin with the prefix
        if limit <= BEST_MAX:
            return self.best_of(start, end, size, limit)
        return self.sorted_of(start, end, size, limit)

    cdef Py_ssize_t first_behind(self, const uint8_t *prefix, Py_ssize_t size, Py_ssize_t first, bint beyond) noexcept:
        """Return the first place from `first` on whose word is not before `prefix`, and, with `beyond`, does not begin
        with it."""
        cdef Py_ssize_t last = self._count, middle
        cdef const RangedWord *word
        cdef int order
        while first < last:
            middle = (first + last) >> 1
            word = &self._words[middle]
            order = memcmp(self._letters + word.start, prefix, min(<Py_ssize_t> word.size, size))
            if order < 0 or (order == 0 and (beyond or word.size < size)):
                first = middle + 1
            else:
                last = middle
        return first

    cdef list best_of(self, Py_ssize_t start, Py_ssize_t end, Py_ssize_t prefix_bytes, Py_ssize_t limit):
        cdef Likely best[BEST_MAX + 1]
        cdef Likely one
        cdef Py_ssize_t number, place, count = 0
        if limit <= 0:
            return []
        for number in range(start, end):
            one = self.likely_at(number, prefix_bytes)
            if one.df == 0 or (count == limit and one.df < best[count - 1].df):
                continue
            place = count
            while place > 0 and compare_likely(&one, &best[place - 1]) < 0:
                best[place] = best[place - 1]
                place -= 1
            best[place] = one
            count += count < limit
        return [self.word_at(best[number].place) for number in range(count)]

    cdef list sorted_of(self, Py_ssize_t start, Py_ssize_t end, Py_ssize_t prefix_bytes, Py_ssize_t limit):
        cdef Likely one
        cdef Py_ssize_t number, count = 0
        cdef Likely *found = <Likely *> zeroed(end - start, sizeof(Likely))
        try:
            for number in range(start, end):
                one = self.likely_at(number, prefix_bytes)
                if one.df:
                    found[count] = one
                    count += 1
            qsort(found, count, sizeof(Likely), compare_likely)
            return [self.word_at(found[number].place) for number in range(min(count, limit))]
        finally:
            free(found)

    cdef Likely likely_at(self, Py_ssize_t place, Py_ssize_t prefix_bytes) noexcept:
        cdef const RangedWord *word = &self._words[place]
        cdef bint is_prefix = word.size == prefix_bytes and word.df > 0
        return Likely(UINT64_MAX if is_prefix else word.df, word.size, place)

    cdef bytes word_at(self, Py_ssize_t place):
        cdef const RangedWord *word = &self._words[place]
        return PyBytes_FromStringAndSize(<const char *> self._letters + word.start, word.size)
