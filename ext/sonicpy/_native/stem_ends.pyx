"""Tests quickly, by its last letters, whether a word may have a stem.

Stemming a word costs far more than comparing two of its letters.
"""

from cpython.unicode cimport PyUnicode_GET_LENGTH
from libc.stdint cimport uint8_t
from libc.string cimport memcmp, memset

cimport cython


cdef extern from "Python.h":
    bint PyUnicode_IS_ASCII(object text)
    unsigned char* PyUnicode_1BYTE_DATA(object)


@cython.final
cdef class StemEnds:
    """The endings that an algorithm removes from words of the letters a to z, and the last letters that it replaces.

    Args:
        taken: the beginnings of removed endings: one or two letters, or "" for words that are their own stems.
        changed: the last letter of a stem -> the letters that some words with the stem have in its place.
    """

    def __init__(self, taken not None, dict changed not None) -> None:
        cdef bytes letters
        memset(self._taken, 0, sizeof(self._taken))
        memset(self._changed, 0, sizeof(self._changed))
        for beginning in taken:
            letters = (<str?> beginning).encode("ascii").ljust(2, b"\0")
            self._taken[pair_of(letters[0], letters[1])] = True
        for last, others in changed.items():
            for other in others:
                letters = (last + other).encode("ascii")
                self._changed[pair_of(letters[0], letters[1])] = True

    def may_have(self, list words not None, str stem not None) -> list:
        """Return the words that may have a stem.

        Args:
            words: words of the letters a to z.
            stem: a stem of at least one of the letters a to z.

        Raises:
            ValueError: a word or the stem is not ASCII, or the stem is empty.
        """
        cdef Py_ssize_t before = len(stem) - 1, length
        cdef const unsigned char *letters
        cdef const unsigned char *stems = ascii_of(stem)
        cdef uint8_t last, first, second
        cdef str word
        cdef list found = []
        if before < 0:
            raise ValueError("an empty stem")
        last = stems[before]
        for each in words:
            word = <str?> each
            letters = ascii_of(word)
            length = PyUnicode_GET_LENGTH(word)
            if length <= before or memcmp(letters, stems, before) != 0:
                continue
            if letters[before] == last:
                first = letters[before + 1] if length > before + 1 else 0
                second = letters[before + 2] if length > before + 2 else 0
                if not self._taken[pair_of(first, second)]:
                    continue
            elif not self._changed[pair_of(last, letters[before])]:
                continue
            found.append(word)
        return found


cdef inline const unsigned char *ascii_of(str text) except NULL:
    if not PyUnicode_IS_ASCII(text):
        raise ValueError(f"{text!r} is not ASCII")
    return <const unsigned char *> PyUnicode_1BYTE_DATA(text)
