"""Counts the stop words in a text for many languages at once, by which Sonic guesses a language."""

from libc.stdint cimport int32_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

cimport cython

from sonicpy._native.stop_set cimport StopSet
from sonicpy._native.terms cimport HASH_SEED, hash_end, hash_step
from sonicpy._native.utf8 cimport character_bytes, decode

cdef extern from "Python.h":
    const char *PyUnicode_AsUTF8AndSize(object text, Py_ssize_t *size) except NULL
    bint Py_UNICODE_ISSPACE(uint32_t char)

cdef extern from *:
    int lowest_bit "__builtin_ctzll"(unsigned long long bits) nogil

cdef enum:
    LANGUAGES_MAX = 64


@cython.final
cdef class StopVotes:
    """The stop words of several languages, with the languages of each.

    Args:
        listed: word in UTF-8 -> the languages that list it, as bits; bit n is language n, below 64.
    """

    cdef StopSet _words
    cdef uint64_t *_languages  # by the number of the word

    def __cinit__(self, dict listed not None):
        cdef bytes word
        self._words = StopSet(listed)
        self._languages = <uint64_t *> malloc((len(listed) + 1) * sizeof(uint64_t))
        if self._languages == NULL:
            raise MemoryError
        for word, languages in listed.items():
            self._languages[self._words.place(word)] = languages

    def __dealloc__(self):
        free(self._languages)

    def most(self, str text not None) -> int:
        """Return the language with the most stop words among the pieces between blanks, the first of equals; -1: the
        text has no stop words.

        Raises:
            UnicodeEncodeError: `text` holds a lone surrogate.
        """
        cdef uint32_t counts[LANGUAGES_MAX]
        cdef Py_ssize_t size
        cdef const uint8_t *utf8 = <const uint8_t *> PyUnicode_AsUTF8AndSize(text, &size)
        cdef int best = -1, number
        memset(counts, 0, sizeof(counts))
        self.count(utf8, size, counts)
        for number in range(LANGUAGES_MAX):
            if counts[number] and (best < 0 or counts[number] > counts[best]):
                best = number
        return best

    cdef void count(self, const uint8_t *text, Py_ssize_t size, uint32_t *counts) noexcept:
        """For each piece of the text between blanks, add 1 to the count of each language that lists the piece."""
        cdef Py_ssize_t at = 0, begin = 0, end
        cdef uint32_t hashed = HASH_SEED
        cdef int32_t number
        cdef uint64_t languages
        while at <= size:
            if at < size and not is_blank(text, at):
                end = at + character_bytes(text[at])
                while at < end:
                    hashed = hash_step(hashed, text[at])
                    at += 1
                continue
            if at > begin:
                number = self._words.number_of(text + begin, at - begin, hash_end(hashed))
                languages = self._languages[number] if number >= 0 else 0
                while languages:
                    counts[lowest_bit(languages)] += 1
                    languages &= languages - 1
            at += character_bytes(text[at]) if at < size else 1
            begin = at
            hashed = HASH_SEED


cdef inline bint is_blank(const uint8_t *text, Py_ssize_t at) noexcept:
    """Return whether str.split separates words at the character at `at`."""
    cdef int width
    if text[at] < 0x80:
        return text[at] == c" " or 9 <= text[at] <= 13 or 28 <= text[at] <= 31
    return Py_UNICODE_ISSPACE(decode(text, at, &width))
