"""Searches words one by one; the words are in no order.

    words_holding    finds words that contain given letters, in one text with line feeds between words
    NearWords        finds words near a typed word, by the letters that they contain

An error adds at most one letter to the letters of a word, and removes at most one. So only words of about the same
length, with about the same letters, are compared: with two errors or more, a walk over sorted words would examine more
of them. (G. Navarro, "A guided tour to approximate string matching", 2001, on filters that count letters.)
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memchr, memcpy

from sonicpy._native.letter_steps cimport (
    DISTANCE_MAX,
    NOT_FOUND,
    Pattern,
    State,
    accepted,
    begin_state,
    leads_on,
    read_pattern,
    step_over,
)
from sonicpy._native.memory cimport grown
from sonicpy._native.utf8 cimport decode, is_utf8

cdef extern from *:
    """
    #include <string.h>
    void *memmem(const void *, size_t, const void *, size_t);
    #if defined(__SSE2__)
    #include <emmintrin.h>
    #endif
    /* As memmem, in a fraction of its time for a few letters: the first and the last one are compared at 16 places at
       once. */
    static const char *sonicpy_first(const char *text, size_t size, const char *letters, size_t count) {
        size_t at = 0;
    #if defined(__SSE2__)
        if (count > 1) {
            const __m128i first = _mm_set1_epi8(letters[0]), last = _mm_set1_epi8(letters[count - 1]);
            for (; at + count + 15 <= size; at += 16) {
                const __m128i *begins = (const __m128i *) (text + at), *ends = (const __m128i *) (text + at + count - 1);
                unsigned places = (unsigned) _mm_movemask_epi8(_mm_and_si128(
                    _mm_cmpeq_epi8(_mm_loadu_si128(begins), first), _mm_cmpeq_epi8(_mm_loadu_si128(ends), last)));
                for (; places; places &= places - 1) {
                    const char *found = text + at + __builtin_ctz(places);
                    if (!memcmp(found + 1, letters + 1, count - 1))
                        return found;
                }
            }
        }
    #endif
        return memmem(text + at, size - at, letters, count);
    }
    """
    const char *first_in "sonicpy_first"(
        const char *text, size_t size, const char *letters, size_t count
    ) noexcept nogil

cdef enum:
    SIZE_MAX = 384  # bytes of a word, as of SortedWords
    LETTERS_COUNTED = 255


cdef struct Word:
    uint64_t letters  # which it holds: bit n: one with the number n modulo 32; bit 32 + n: two or more of them
    uint32_t start  # of its bytes
    uint16_t size
    uint8_t count  # of its letters, at most LETTERS_COUNTED


cdef struct Words:
    Word *words
    Py_ssize_t count, room


def words_holding(const unsigned char[::1] text not None, bytes letters not None, Py_ssize_t most) -> list:
    """Return the words that contain the given letters one after the other, in the order of the text, at most `most`.

    Args:
        text: words, each with a line feed behind it.
        letters: the letters in UTF-8, without a line feed; empty: no word is returned.
    """
    cdef const char *first
    cdef const char *end
    cdef const char *at
    cdef const char *start
    cdef const char *behind
    cdef Py_ssize_t count = PyBytes_GET_SIZE(letters)
    cdef const char *wanted = PyBytes_AS_STRING(letters)
    cdef list found = []
    if not count or not text.shape[0]:
        return found
    first = at = <const char *> &text[0]
    end = first + text.shape[0]
    while len(found) < most:
        at = first_in(at, end - at, wanted, count)
        if at == NULL:
            break
        start = at
        while start > first and (start - 1)[0] != 10:
            start -= 1
        behind = <const char *> memchr(at, 10, end - at)
        if behind == NULL:
            break
        found.append(PyBytes_FromStringAndSize(start, behind - start))
        at = behind + 1
    return found


cdef class NearWords:
    """A list of words, to which words can be added; the same word may be added again."""
    cdef uint8_t *_text
    cdef Words[LETTERS_COUNTED + 1] _of_count  # the words by their number of letters
    cdef Py_ssize_t _used, _text_room

    def __dealloc__(self):
        cdef int count
        free(self._text)
        for count in range(LETTERS_COUNTED + 1):
            free(self._of_count[count].words)

    def __len__(self) -> int:
        cdef int count
        cdef Py_ssize_t words = 0
        for count in range(LETTERS_COUNTED + 1):
            words += self._of_count[count].count
        return words

    def add(self, list words not None) -> None:
        """Add words in UTF-8; those of more than 384 bytes are left out."""
        cdef bytes word
        cdef Py_ssize_t size
        cdef Word one
        cdef Words *alike
        for word in words:
            size = PyBytes_GET_SIZE(word)
            if size > SIZE_MAX:
                continue
            if self._used + size > <Py_ssize_t> 0xFFFFFFFF:
                raise MemoryError
            self._text = <uint8_t *> grown(self._text, &self._text_room, self._used + size, 1)
            memcpy(self._text + self._used, PyBytes_AS_STRING(word), size)
            one = read_word(self._text, self._used, size)
            alike = &self._of_count[one.count]
            alike.words = <Word *> grown(alike.words, &alike.room, alike.count + 1, sizeof(Word))
            alike.words[alike.count] = one
            alike.count += 1
            self._used += size

    def find(self, bytes word not None, int distance, *, bint swaps=True) -> dict:
        """Return the words within a distance of a typed word, each with its distance.

        Args:
            word: the typed word in UTF-8; with more than 60 characters it finds nothing.
            distance: the most errors, 0 to 3.
            swaps: whether a swap of two neighbours is one error, not two.

        Raises:
            ValueError: the distance is out of range, or the word is not UTF-8.
        """
        cdef Pattern pattern
        cdef Word typed
        cdef Words *alike
        cdef Word *one
        cdef dict found = {}
        cdef Py_ssize_t number
        cdef int its, count
        if not 0 <= distance <= DISTANCE_MAX:
            raise ValueError(f"a distance is 0 to {DISTANCE_MAX}, not {distance}")
        if not is_utf8(<const uint8_t *> PyBytes_AS_STRING(word), PyBytes_GET_SIZE(word)):
            raise ValueError(f"a word is UTF-8, not {word!r}")
        if not read_pattern(&pattern, <const uint8_t *> PyBytes_AS_STRING(word), PyBytes_GET_SIZE(word)):
            return {}
        typed = read_word(<const uint8_t *> PyBytes_AS_STRING(word), 0, PyBytes_GET_SIZE(word))
        for count in range(max(<int> typed.count - distance, 0), min(<int> typed.count + distance, LETTERS_COUNTED) + 1):
            alike = &self._of_count[count]
            for number in range(alike.count):
                one = &alike.words[number]
                if may_be(one, &typed, distance):
                    its = distance_of(self._text, one, &pattern, distance, swaps)
                    if its != NOT_FOUND:
                        found[PyBytes_FromStringAndSize(<const char *> self._text + one.start, one.size)] = its
        return found


cdef Word read_word(const uint8_t *text, Py_ssize_t start, Py_ssize_t size) noexcept nogil:
    """Return a word in valid UTF-8 with its letters as bits and their number."""
    cdef Word self = Word(0, <uint32_t> start, <uint16_t> size, 0)
    cdef Py_ssize_t at = start
    cdef uint64_t letter
    cdef int width
    while at < start + size:
        letter = <uint64_t> 1 << (decode(text, at, &width) & 31)
        self.letters |= letter << 32 if self.letters & letter else letter
        self.count += self.count < LETTERS_COUNTED
        at += width
    return self


cdef inline bint may_be(const Word *self, const Word *typed, int distance) noexcept nogil:
    """Return whether two words may be within a distance, as far as their letters show."""
    cdef uint64_t more = self.letters & ~typed.letters, less = typed.letters & ~self.letters
    cdef int errors
    for errors in range(distance):
        more &= more - 1
        less &= less - 1
    return not (more | less)


cdef int distance_of(
    const uint8_t *text, const Word *self, const Pattern *pattern, int distance, bint swaps
) noexcept nogil:
    """Return the distance of a word from the typed one; NOT_FOUND: it is larger than `distance`."""
    cdef State states[2]
    cdef Py_ssize_t at = self.start
    cdef int width, step = 0
    begin_state(&states[0], distance)
    while at < <Py_ssize_t> self.start + self.size:
        step_over(pattern, distance, swaps, &states[step & 1], decode(text, at, &width), &states[step + 1 & 1])
        step += 1
        at += width
        if not leads_on(&states[step & 1], distance):
            return NOT_FOUND
    return accepted(pattern, distance, &states[step & 1])
