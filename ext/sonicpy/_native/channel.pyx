"""One protocol line, as bytes, cut into words and quoted text.

Offsets given back always stand on the first byte of a word or at the end of the line, so `offset == len(line)`
tells that nothing follows. Every function makes one pass over the bytes it consumes; the only objects made are the
strings handed out. Lines are UTF-8; bytes that are not are refused by `split_head` and by whatever decodes them.
"""

from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.string cimport memchr

ctypedef const unsigned char* Cursor

cdef struct Quoted:
    Cursor begin    # first byte of the first part
    Cursor end      # behind the last byte of the last part
    Cursor after    # first byte of what follows, or the end of the line
    bint spaced     # the parts are separated by single U+0020


def split_head(bytes line not None):
    """Return the first word of `line` and the offset of the second; ("", len(line)) for a blank line.
    Raise UnicodeDecodeError unless the whole line is UTF-8.
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
    """Return up to `count` words (all of them if negative) from `offset` on, and the offset of the word after them.
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
    """Return the quoted text that begins at `offset`, without its quotes and escapes, and the offset of the word after
    it; (None, offset) if no such text stands there, or an empty one.
    """
    cdef Cursor start = <Cursor><char*>line
    cdef Cursor end = start + len(line)
    cdef Cursor at = skip_blanks(start + checked(offset, len(line)), end)
    cdef Quoted found = find_quoted(at, end)
    cdef Cursor first, last
    if found.end - found.begin < 2 or found.begin[0] != c'"' or (found.end - 1)[0] != c'"':
        return None, offset
    first = skip_blanks(found.begin + 1, found.end - 1)
    last = found.end - 1
    if found.spaced and memchr(first, c'\\', last - first) == NULL:
        if last > first and (last - 1)[0] == c' ':
            last -= 1
        text = decode(first, last)
    else:
        text = decode_unescaped(first, last)
    return (text, found.after - start) if text else (None, offset)


cdef inline Py_ssize_t checked(Py_ssize_t offset, Py_ssize_t size) except -1:
    if offset < 0 or offset > size:
        raise ValueError(f"offset {offset} is outside a line of {size} bytes")
    return offset


cdef inline bint is_ascii(Cursor start, Py_ssize_t size) noexcept nogil:
    cdef unsigned char seen = 0
    cdef Py_ssize_t at
    for at in range(size):  # no early exit, so that it becomes vector code
        seen |= start[at]
    return seen < 0x80


cdef inline str decode(Cursor at, Cursor end):
    return PyUnicode_DecodeUTF8(<const char*>at, end - at, NULL)


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


cdef Quoted find_quoted(Cursor at, Cursor end) noexcept nogil:
    # The text ends with the first part that ends in a quote; an odd number of backslashes in that part takes the
    # quote's meaning, and so does being the opening quote itself. If no part does, the text takes everything.
    cdef Quoted found
    cdef Cursor word, gap
    found.begin = found.end = found.after = at
    found.spaced = True
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


cdef inline Py_ssize_t backslashes_before(Cursor quote, Cursor word) noexcept nogil:
    cdef Cursor at = quote
    while at > word and (at - 1)[0] == c'\\':
        at -= 1
    return quote - at


cdef Py_ssize_t unescape(Cursor at, Cursor end, unsigned char* out) noexcept nogil:
    # Writes at most end - at bytes and gives back how many. Runs of blanks become one U+0020, none at the end.
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


cdef inline Py_ssize_t blank_size(Cursor at, Cursor end) noexcept nogil:
    # How many bytes the White_Space character at `at` has; 0 if there is another character. Needs at < end.
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
