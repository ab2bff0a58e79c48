"""Finds words and quoted texts in a protocol line.

A Cursor is a place between the bytes of a line. Every function passes over the bytes it consumes once, and makes no
objects except the strings it returns.
"""

from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.string cimport memcpy

cdef extern from "Python.h":
    unsigned char* PyUnicode_1BYTE_DATA(object)
    object PyUnicode_New(Py_ssize_t, Py_UCS4)

ctypedef const unsigned char* Cursor

cdef struct Quoted:
    Cursor begin    # first byte of the first part
    Cursor end      # behind the last byte of the last part
    Cursor after    # first byte of the next word, or the end of the line
    bint spaced     # the parts are separated by single U+0020
    bint simple     # no quotes, escapes or letters above ASCII are between begin and end


cdef str text_of(Quoted found)


cdef inline bint is_ascii(Cursor start, Py_ssize_t size) noexcept nogil:
    cdef unsigned char seen = 0
    cdef Py_ssize_t at
    for at in range(size):  # no early exit, so that it becomes vector code
        seen |= start[at]
    return seen < 0x80


cdef inline str decode(Cursor at, Cursor end):
    return PyUnicode_DecodeUTF8(<const char*>at, end - at, NULL)


cdef inline str ascii_text(Cursor at, Cursor end):
    text = PyUnicode_New(end - at, 127)
    memcpy(PyUnicode_1BYTE_DATA(text), at, end - at)
    return <str>text


cdef inline Py_ssize_t blank_size(Cursor at, Cursor end) noexcept nogil:
    # Returns how many bytes the White_Space character at `at` has, 0 for any other character. Needs at < end.
    cdef unsigned char lead = at[0]
    if lead < 0x80:
        return lead == 0x20 or 0x09 <= lead <= 0x0D
    if lead == 0xC2:                                        # U+0085 U+00A0
        return 2 if end - at > 1 and (at[1] == 0x85 or at[1] == 0xA0) else 0
    if lead < 0xE1 or lead > 0xE3 or end - at < 3:
        return 0
    if lead == 0xE1:                                        # U+1680
        return 3 if at[1] == 0x9A and at[2] == 0x80 else 0
    if lead == 0xE3:                                        # U+3000
        return 3 if at[1] == 0x80 and at[2] == 0x80 else 0
    if at[1] == 0x81:                                       # U+205F
        return 3 if at[2] == 0x9F else 0
    if at[1] != 0x80:                                       # U+2000-200A U+2028 U+2029 U+202F
        return 0
    return 3 if 0x80 <= at[2] <= 0x8A or at[2] == 0xA8 or at[2] == 0xA9 or at[2] == 0xAF else 0


cdef inline Cursor skip_blanks(Cursor at, Cursor end) noexcept nogil:
    cdef Py_ssize_t size
    while at < end:
        size = blank_size(at, end)
        if size == 0:
            break
        at += size
    return at


cdef inline Cursor skip_word(Cursor at, Cursor end) noexcept nogil:
    while at < end and blank_size(at, end) == 0:
        at += 1
    return at


cdef inline Py_ssize_t backslashes_before(Cursor quote, Cursor word) noexcept nogil:
    cdef Cursor at = quote
    while at > word and (at - 1)[0] == c'\\':
        at -= 1
    return quote - at


cdef inline Quoted find_quoted(Cursor at, Cursor end) noexcept nogil:
    # The text ends with the first part that ends in a quote. A quote ends nothing if an odd number of backslashes
    # comes before it in that part, or if it is the opening one. If no part ends the text, it takes the whole line.
    cdef Quoted found
    cdef Cursor word, gap
    found.begin = found.end = found.after = at
    found.spaced = True
    found.simple = False
    while at < end:
        word = at
        at = skip_word(word, end)
        found.end = at
        gap = at
        at = skip_blanks(gap, end)
        found.after = at
        if (gap - 1)[0] == c'"' and gap - found.begin > 1 and not backslashes_before(gap - 1, word) & 1:
            break
        if at - gap != 1 or gap[0] != c' ':
            found.spaced = False
    return found
