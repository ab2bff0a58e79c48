"""Word borders for Python; the rules are in word_break.pxd."""

from libc.stdint cimport uint8_t

from sonicpy._native.characters cimport UNSPACED, properties_at

cdef extern from "Python.h":
    const char *PyUnicode_AsUTF8AndSize(object text, Py_ssize_t *size) except NULL


def word_borders(str text not None) -> list:
    """Return all word borders of `text` (UAX #29) as offsets in characters, including its beginning and its end.

    Raises:
        UnicodeEncodeError: `text` holds a lone surrogate.
    """
    cdef Py_ssize_t size, at = 0, end, step
    cdef const uint8_t *utf8 = <const uint8_t *> PyUnicode_AsUTF8AndSize(text, &size)
    cdef bint has_word
    cdef Py_ssize_t characters = 0
    borders = [0] if size else []
    while at < size:
        end = word_end(utf8, size, at, &has_word)
        for step in range(at, end):
            characters += (utf8[step] & 0xC0) != 0x80
        borders.append(characters)
        at = end
    return borders


def is_unspaced_letter(bytes term not None) -> bool:
    """Return whether a term is one letter, with its marks, of a script without blanks."""
    cdef const uint8_t *text = <const uint8_t *> <const char *> term
    cdef Py_ssize_t size = len(term)
    return properties_at(text, size, 0) & UNSPACED != 0 and letter_end(text, size, 0) == size


def is_unspaced(bytes term not None) -> bool:
    """Return whether a term begins with a letter of a script without blanks, and has at least two letters."""
    cdef const uint8_t *text = <const uint8_t *> <const char *> term
    cdef Py_ssize_t size = len(term)
    return properties_at(text, size, 0) & UNSPACED != 0 and letter_end(text, size, 0) < size
