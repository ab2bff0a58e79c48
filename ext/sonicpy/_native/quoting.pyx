"""Cuts a protocol line, as bytes, into words and quoted text.

The offsets that these functions return are those of the first byte of a word or of the end of the line, so
`offset == len(line)` means that nothing follows. Lines are UTF-8: all functions that decode bytes refuse others.
"""

from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.string cimport memchr


def split_head(bytes line not None):
    """Return the first word of `line` and the offset of the second; ("", len(line)) for a blank line.

    Raises:
        UnicodeDecodeError: the line is not UTF-8.
    """
    cdef Cursor start = <Cursor><char*>line
    cdef Cursor end = start + len(line)
    cdef Cursor word, at
    if not is_ascii(start, len(line)):
        PyUnicode_DecodeUTF8(<char*>start, end - start, NULL)
    word = skip_blanks(start, end)
    at = skip_word(word, end)
    return decode(word, at), skip_blanks(at, end) - start


def take_words(bytes line not None, Py_ssize_t offset, Py_ssize_t count=-1):
    """Return at most `count` words from `offset` on (negative: all), and the offset of the word after them.

    Raises:
        ValueError: the offset is outside the line.
        UnicodeDecodeError: a word is not UTF-8.
    """
    cdef Cursor start = <Cursor><char*>line
    cdef Cursor end = start + len(line)
    cdef Cursor at = skip_blanks(start + checked(offset, len(line)), end)
    cdef Cursor word
    cdef list words = []
    while at < end and count != 0:
        word = at
        at = skip_word(word, end)
        words.append(decode(word, at))
        at = skip_blanks(at, end)
        count -= 1
    return words, at - start


def take_text(bytes line not None, Py_ssize_t offset):
    """Return the quoted text at `offset`, without its quotes and escapes, and the offset of the word after it.

    Returns (None, offset) if there is no quoted text, or only an empty one.

    Raises:
        ValueError: the offset is outside the line.
        UnicodeDecodeError: the text is not UTF-8.
    """
    cdef Cursor start = <Cursor><char*>line
    cdef Cursor end = start + len(line)
    cdef Cursor at = skip_blanks(start + checked(offset, len(line)), end)
    cdef Quoted found = find_quoted(at, end)
    text = text_of(found)
    return (text, found.after - start) if text else (None, offset)


cdef inline Py_ssize_t checked(Py_ssize_t offset, Py_ssize_t size) except -1:
    if offset < 0 or offset > size:
        raise ValueError(f"offset {offset} is outside a line of {size} bytes")
    return offset


cdef str text_of(Quoted found):
    """Return a text without its quotes and escapes, or None if the text is not enclosed in quotes."""
    cdef Cursor first, last
    if found.end - found.begin < 2 or found.begin[0] != c'"' or (found.end - 1)[0] != c'"':
        return None
    first = skip_blanks(found.begin + 1, found.end - 1)
    last = found.end - 1
    if found.spaced and memchr(first, c'\\', last - first) == NULL:
        if last > first and (last - 1)[0] == c' ':
            last -= 1
        return decode(first, last)
    return decode_unescaped(first, last)


cdef str decode_unescaped(Cursor at, Cursor end):
    cdef unsigned char* buffer
    if at == end:
        return ""
    buffer = <unsigned char*>PyMem_Malloc(end - at)
    if buffer == NULL:
        raise MemoryError
    try:
        return decode(buffer, buffer + unescape(at, end, buffer))
    finally:
        PyMem_Free(buffer)


cdef Py_ssize_t unescape(Cursor at, Cursor end, unsigned char* out) noexcept nogil:
    # Writes at most end - at bytes and returns how many. A run of blanks becomes one U+0020, none at the end.
    cdef unsigned char* begin = out
    cdef unsigned char letter
    while at < end:
        if blank_size(at, end):
            at = skip_blanks(at, end)
            if at < end:
                out[0] = c' '
                out += 1
            continue
        letter = at[1] if at[0] == c'\\' and end - at > 1 else 0
        if letter == c'r':
            at += 2
            continue
        if letter == c'n' or letter == c'"':
            out[0] = c'\n' if letter == c'n' else c'"'
            at += 2
        else:
            out[0] = at[0]
            at += 1
            if letter == c'\\':  # the second of a pair stays and escapes nothing
                out += 1
                out[0] = c'\\'
                at += 1
        out += 1
    return out - begin
