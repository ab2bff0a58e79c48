"""Sources of words for walks: the words of an automaton belong to its graph, sorted words are kept here.

A source may hold a word behind a key that leads to it: `part NUL word` is found by the beginning of `part`.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcmp, memcpy, memmove

from sonicpy._native.joints cimport JOINT
from sonicpy._native.memory cimport grown

cdef enum:
    BEGINNINGS_BYTES = 63  # of a word whose beginnings are bits
    SIZE_MAX = 384  # bytes of a word: walks keep as many


cdef class WordSource:
    """The words of an automaton, or no words, for walks (word_walks.pyx)."""

    def __bool__(self) -> bool:
        return not is_empty(&self.words, root_of(&self.words))


cdef class SortedWords(WordSource):
    """Words in byte order, each once. Words can be added, but not removed.

    Args:
        words: words in UTF-8; those of more than 384 bytes are left out.
    """
    cdef Py_ssize_t _used, _letters_room, _starts_room, _sizes_room

    def __init__(self, list words not None):
        self.add(words)

    def __dealloc__(self):
        free(self.words.letters)
        free(self.words.starts)
        free(self.words.sizes)

    def __len__(self) -> int:
        return self.words.count

    def __contains__(self, bytes word not None) -> bool:
        return self.is_at(self.place_of(word), word)

    def all(self) -> list:
        """Return the words in byte order."""
        cdef uint32_t number
        return [
            PyBytes_FromStringAndSize(<char *> self.words.letters + self.words.starts[number], self.words.sizes[number])
            for number in range(self.words.count)
        ]

    def add(self, list words not None) -> None:
        """Add the words that are not there already."""
        cdef Py_ssize_t left, end
        cdef uint32_t place
        cdef bytes word, before = None
        cdef list fresh = [], places = []
        if len(words) > 1:
            words = sorted(words)
        for word in words:
            if before is not None and word == before:
                continue
            before = word
            place = self.place_of(word)
            if PyBytes_GET_SIZE(word) <= SIZE_MAX and not self.is_at(place, word):
                fresh.append(word)
                places.append(place)
        if not fresh:
            return
        left = len(fresh)
        end = self.words.count
        self.make_room(end + left, fresh)
        while left:  # from behind: a word behind new ones moves up by the number of these
            left -= 1
            place = places[left]
            memmove(self.words.starts + place + left + 1, self.words.starts + place, (end - place) * sizeof(uint32_t))
            memmove(self.words.sizes + place + left + 1, self.words.sizes + place, (end - place) * sizeof(uint16_t))
            self.put(place + left, fresh[left])
            end = place
        self.words.count += <uint32_t> len(fresh)

    cdef int make_room(self, Py_ssize_t count, list words) except -1:
        cdef Py_ssize_t size = self._used
        for word in words:
            size += PyBytes_GET_SIZE(word)
        if size > <Py_ssize_t> 0xFFFFFFFF:
            raise MemoryError
        self.words.letters = <uint8_t *> grown(self.words.letters, &self._letters_room, size, 1)
        self.words.starts = <uint32_t *> grown(self.words.starts, &self._starts_room, count, sizeof(uint32_t))
        self.words.sizes = <uint16_t *> grown(self.words.sizes, &self._sizes_room, count, sizeof(uint16_t))
        return 0

    cdef int put(self, Py_ssize_t place, bytes word) except -1:
        self.words.starts[place] = <uint32_t> self._used
        self.words.sizes[place] = <uint16_t> PyBytes_GET_SIZE(word)
        memcpy(self.words.letters + self._used, PyBytes_AS_STRING(word), PyBytes_GET_SIZE(word))
        self._used += PyBytes_GET_SIZE(word)
        return 0

    cdef uint32_t place_of(self, bytes word) noexcept:
        """Return the place of the first word that is not before another one."""
        return place_in(&self.words, <const uint8_t *> PyBytes_AS_STRING(word), PyBytes_GET_SIZE(word))

    cdef bint is_at(self, uint32_t place, bytes word) noexcept:
        return is_word(&self.words, place, <const uint8_t *> PyBytes_AS_STRING(word), PyBytes_GET_SIZE(word))


cdef uint32_t place_in(const Words *words, const uint8_t *word, Py_ssize_t size) noexcept nogil:
    """Return the place of the first of sorted words that is not before another one."""
    cdef uint32_t first = 0, last = words.count, middle
    cdef int order
    while first < last:
        middle = first + (last - first >> 1)
        order = memcmp(words.letters + words.starts[middle], word, min(<Py_ssize_t> words.sizes[middle], size))
        if order < 0 or (order == 0 and words.sizes[middle] < size):
            first = middle + 1
        else:
            last = middle
    return first


cdef inline bint is_word(const Words *words, uint32_t place, const uint8_t *word, Py_ssize_t size) noexcept nogil:
    """Return whether there is a word at a place of sorted words, and it equals another one."""
    return place < words.count and words.sizes[place] == size and (
        memcmp(words.letters + words.starts[place], word, size) == 0
    )


def whole_words(list words not None) -> list:
    """Return the words that are no hidden terms, which begin with JOINT."""
    cdef bytes word
    for word in words:
        if PyBytes_AS_STRING(word)[0] == JOINT:  # an empty word has a NUL there
            return [each for each in words if PyBytes_AS_STRING(each)[0] != JOINT]
    return words


def words_in(list sources not None, words not None) -> list:
    """Return the given words that a source holds in the same spelling.

    Args:
        sources: the sources of the words, each a WordSource.
        words: an iterable of bytes.
    """
    cdef bytes word
    return [word for word in words if is_in_some(sources, <const uint8_t *> word, len(word))]


cdef bint is_in_some(list sources, const uint8_t *word, Py_ssize_t size) except -1:
    """Return whether a source holds a word, in this spelling."""
    cdef WordSource source
    for source in sources:
        if is_in(&source.words, word, size):
            return True
    return False


cdef bint are_two(list sources, const uint8_t *word, Py_ssize_t size, Py_ssize_t least) except -1:
    """Return whether a word of at most BEGINNINGS_BYTES bytes consists of two words of the sources, each of at least
    `least` bytes."""
    cdef WordSource source
    cdef uint64_t begin = 0
    cdef Py_ssize_t at
    if size < 2 * least or size > BEGINNINGS_BYTES:
        return False
    for source in sources:
        begin |= beginnings_in(&source.words, word, size - least)
    begin &= ~<uint64_t> 0 << least
    for at in range(least, size - least + 1):
        if begin >> at & 1 and is_in_some(sources, word + at, size - at):
            return True
    return False


cdef uint64_t beginnings_in(const Words *words, const uint8_t *word, Py_ssize_t size) noexcept nogil:
    """Return the sizes of the words of a source with which a word begins, as bits, up to `size`."""
    cdef Children children
    cdef Child child
    cdef Spot spot = root_of(words)
    cdef Py_ssize_t at
    cdef uint64_t found = 0
    if size == 0 or is_empty(words, spot):
        return 0
    for at in range(size):
        open_spot(&children, words, spot, <int> at)
        if not find_child(&children, word[at], &child):
            break
        if child.ends_word:
            found |= <uint64_t> 1 << (at + 1)
        if not child.goes_on:
            break
        spot = child.spot
    return found


cdef bint is_in(const Words *words, const uint8_t *word, Py_ssize_t size) noexcept nogil:
    """Return whether the words of a source contain a word."""
    cdef Children children
    cdef Child child
    cdef Spot spot = root_of(words)
    cdef Py_ssize_t at
    if size == 0 or is_empty(words, spot):
        return False
    if words.nodes == NULL:
        return is_word(words, place_in(words, word, size), word, size)
    for at in range(size):
        open_spot(&children, words, spot, <int> at)
        if not find_child(&children, word[at], &child):
            return False
        if at + 1 < size and not child.goes_on:
            return False
        spot = child.spot
    return child.ends_word
