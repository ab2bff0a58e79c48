"""Makes commands from plain lines: lines in the form in which clients write nearly all of them.

PlainReader makes the command in one call; all other lines are read by sonicpy.channel.syntax.
"""

from cpython.bytes cimport PyBytes_AS_STRING
from cpython.object cimport PyObject, PyTypeObject
from cpython.ref cimport Py_DECREF, Py_INCREF
from cpython.tuple cimport PyTuple_SET_ITEM
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.string cimport memchr, memcmp

from sonicpy._native.ids cimport NAME_MAX_BYTES
from sonicpy._native.quoting cimport (
    Cursor, Quoted, ascii_text, blank_size, decode, find_quoted, is_ascii, skip_blanks, skip_word, text_of,
)

cdef extern from "Python.h":
    bint PyUnicode_IS_COMPACT_ASCII(object)
    unsigned char* PyUnicode_1BYTE_DATA(object)
    Py_ssize_t PyUnicode_GET_LENGTH(object)
    object PyType_GenericAlloc(PyTypeObject*, Py_ssize_t)
    PyObject* PyTuple_GET_ITEM(object, Py_ssize_t)      # borrowed
    void PyObject_GC_UnTrack(void*)

cdef enum:
    MOST_WORDS = 4
    FIELDS_MAX = 32
    NAME_SLOTS = 64     # a power of two

cdef struct Meta:
    unsigned int limit      # 0: there is none
    unsigned int offset
    bint has_offset
    Piece lang              # its `begin` is NULL: there is none


cdef class PlainLine:
    """The shape of one kind of plain line.

    Args:
        name: the first word.
        result: the type of the command, a named tuple; or, if nothing may follow the name, the result itself.
        words: the number of words that follow the name; they are the first fields.
        has_text: whether a quoted text follows, which is the next field.
        rest: the values of the other fields for a line without META arguments. LIMIT, OFFSET and LANG set the fields of
            these names.
        limit_maximum: the largest LIMIT; 0: the line takes no LIMIT.
        has_offset: whether the line takes OFFSET.
        lang_codes: the values of LANG; empty: the line takes no LANG.

    Raises:
        ValueError: the type has other fields.
    """

    def __init__(
        self,
        bytes name not None,
        result not None,
        Py_ssize_t words=0,
        bint has_text=False,
        tuple rest=(),
        *,
        unsigned int limit_maximum=0,
        bint has_offset=False,
        frozenset lang_codes=frozenset(),
    ):
        self.name = name
        self.result = result
        self.limit_at = self.offset_at = self.lang_at = -1
        self.limit_maximum = limit_maximum
        self.lang_codes = lang_codes
        self.words = words
        self.has_text = has_text
        self.rest = rest
        if not isinstance(result, type):
            return
        self.kind = result
        names = result._fields
        self.fields = len(names)
        if not issubclass(result, tuple) or not 0 <= words <= MOST_WORDS:
            raise ValueError(f"{result.__name__} is not a tuple with 0 to {MOST_WORDS} words, but {words} words are asked for")
        if words + has_text + len(rest) != self.fields:
            raise ValueError(f"{result.__name__} has {self.fields} fields, not {words + has_text + len(rest)}")
        if not 0 < self.fields <= FIELDS_MAX:
            raise ValueError(f"{result.__name__} has {self.fields} fields; allowed are 1 to {FIELDS_MAX}")
        if limit_maximum:
            self.limit_at = names.index("limit", words + has_text)
        if has_offset:
            self.offset_at = names.index("offset", words + has_text)
        if lang_codes:
            self.lang_at = names.index("lang", words + has_text)


cdef class PlainReader:
    """Reads lines of known shapes: a name, spelled as in its shape, and exactly the arguments of the shape.

    The reader refuses no line: it leaves all other lines, including wrong ones, to another reader.
    """

    def __init__(self, lines):
        self.lines = [<PlainLine?>line for line in lines]
        self.names = [""] * NAME_SLOTS

    def read(self, bytes line not None):
        """Return the command or the fixed result of `line`, or None if it is not plain."""
        cdef Cursor start = <Cursor><char*>line
        return self.read_line(start, start + len(line))

    cdef object read_line(self, Cursor at, Cursor end):
        # Reads the byte at `end` too. Makes no object that the garbage collector tracks before it has read everything.
        cdef PlainLine shape
        cdef Py_ssize_t size
        if end > at and (end - 1)[0] == c'\r':
            end -= 1
        for found in self.lines:
            shape = <PlainLine>found
            size = len(shape.name)
            if end - at < size or memcmp(at, PyBytes_AS_STRING(shape.name), size):
                continue
            if end - at == size:
                return shape.result if shape.kind is None else None
            if blank_size(at + size, end):
                return None if shape.kind is None else self.fill(shape, at, skip_blanks(at + size, end), end)
        return None

    cdef object fill(self, PlainLine shape, Cursor line, Cursor at, Cursor end):
        cdef Piece words[MOST_WORDS]
        cdef PyObject* first[MOST_WORDS + 1]
        cdef Py_ssize_t number
        cdef Py_ssize_t count = 0
        cdef Quoted quoted
        cdef Meta meta
        cdef str lang = None
        for number in range(shape.words):
            if at == end:
                return None
            words[number].begin = at
            at = skip_word(at, end)
            words[number].end = at
            at = skip_blanks(at, end)
        if shape.has_text:
            quoted = find_simple(at, end)
            if quoted.begin == NULL:
                quoted = find_quoted(at, end)
            at = quoted.after
        meta.limit = meta.offset = 0
        meta.has_offset = False
        meta.lang.begin = meta.lang.end = NULL
        while at < end:
            at = read_meta(shape, at, end, &meta)
            if at == NULL:
                return None
        try:
            for number in range(shape.words):
                count = put(first, count, self.name_of(words[number]) if number < 2 else piece_of(words[number]))
            if shape.has_text:
                text = text_of_line(quoted, line, end)
                if not text:
                    return release(first, count)
                count = put(first, count, text)
            if meta.lang.begin != NULL:
                lang = piece_of(meta.lang)
                if lang not in shape.lang_codes:
                    return release(first, count)
        except UnicodeDecodeError:
            return release(first, count)
        except BaseException:
            release(first, count)
            raise
        command = tuple_of(shape, first, count)
        if meta.limit:
            replace(command, shape.limit_at, meta.limit)
        if meta.has_offset:
            replace(command, shape.offset_at, meta.offset)
        if lang is not None:
            replace(command, shape.lang_at, lang)
        return command

    cdef str name_of(self, Piece piece):
        cdef Py_ssize_t size = piece.end - piece.begin
        cdef unsigned int hash = 0
        cdef Py_ssize_t at
        cdef str name
        if size > NAME_MAX_BYTES:
            return piece_of(piece)
        for at in range(size):
            hash = hash * 31 + piece.begin[at]
        hash &= NAME_SLOTS - 1
        name = <str>self.names[hash]
        # Only of ASCII strings, which alone are cached, the bytes are the characters.
        if PyUnicode_GET_LENGTH(name) == size and not memcmp(PyUnicode_1BYTE_DATA(name), piece.begin, size):
            return name
        name = piece_of(piece)
        if PyUnicode_IS_COMPACT_ASCII(name):
            self.names[hash] = name
        return name


cdef inline Py_ssize_t put(PyObject** fields, Py_ssize_t count, object value) except -1:
    Py_INCREF(value)
    fields[count] = <PyObject*>value
    return count + 1


cdef object release(PyObject** fields, Py_ssize_t count):
    cdef Py_ssize_t at
    for at in range(count):
        Py_DECREF(<object>fields[at])
    return None


cdef object tuple_of(PlainLine shape, PyObject** first, Py_ssize_t count):
    # The same as shape.kind(*first, *shape.rest), without the tuple of arguments and the call; takes over `first`.
    cdef Py_ssize_t at
    cdef PyObject* value
    try:
        command = PyType_GenericAlloc(<PyTypeObject*>shape.kind, shape.fields)
    except BaseException:
        release(first, count)
        raise
    for at in range(count):
        PyTuple_SET_ITEM(command, at, <object>first[at])
    for at in range(count, shape.fields):
        value = PyTuple_GET_ITEM(shape.rest, at - count)
        Py_INCREF(<object>value)
        PyTuple_SET_ITEM(command, at, <object>value)
    # Texts and numbers make no cycles. Caches keep commands, and the garbage collector would look at each again and again.
    PyObject_GC_UnTrack(<PyObject*>command)
    return command


cdef int replace(object command, Py_ssize_t at, object value) except -1:
    # Only for a command that nothing else has seen.
    Py_DECREF(<object>PyTuple_GET_ITEM(command, at))
    Py_INCREF(value)
    PyTuple_SET_ITEM(command, at, value)
    return 0


cdef str text_of_line(Quoted quoted, Cursor line, Cursor end):
    if quoted.simple:
        return ascii_text(quoted.begin, quoted.end)
    if not is_ascii(line, end - line):
        # Dropping an escape may join bytes to a character, so the line is checked before.
        PyUnicode_DecodeUTF8(<const char*>line, end - line, NULL)
    return text_of(quoted)


cdef inline str piece_of(Piece piece):
    if is_ascii(piece.begin, piece.end - piece.begin):
        return ascii_text(piece.begin, piece.end)
    return decode(piece.begin, piece.end)


cdef Quoted find_simple(Cursor at, Cursor end) noexcept nogil:
    # Finds the text without its quotes, if the rest of the line is printable ASCII with single blanks and without
    # backslashes; otherwise, or if there is no text, `begin` is NULL. Reads the byte at `end` too.
    cdef Quoted found
    cdef Cursor quote
    found.begin = NULL
    if at == end or at[0] != c'"' or not is_simple(at, end - at):
        return found
    quote = at
    while True:
        quote = <Cursor>memchr(quote + 1, c'"', end - quote - 1)
        if quote == NULL:
            return found
        if quote + 1 == end or quote[1] == c' ':
            break
    found.after = quote + 1 if quote + 1 == end else quote + 2
    at += 1
    if at < quote and at[0] == c' ':
        at += 1
    if at < quote and (quote - 1)[0] == c' ':
        quote -= 1
    found.begin = at
    found.end = quote
    found.spaced = found.simple = True
    return found


cdef inline bint is_simple(Cursor start, Py_ssize_t size) noexcept nogil:
    cdef unsigned char odd = 0
    cdef unsigned char letter
    cdef Py_ssize_t at
    for at in range(size):  # no early exit, so that it becomes vector code
        letter = start[at]
        odd |= (letter < 0x20) | (letter > 0x7F) | (letter == c'\\') | ((letter == 0x20) & (start[at + 1] == 0x20))
    return odd == 0


cdef Cursor read_meta(PlainLine shape, Cursor at, Cursor end, Meta* meta) noexcept:
    # Reads one META argument and returns where the next begins; NULL if it is not one that clients usually write.
    cdef Cursor value
    cdef Cursor word = at
    cdef Py_ssize_t size
    cdef long long number
    at = skip_word(word, end)
    size = at - word
    if size >= 8 and not memcmp(word, b"LIMIT(", 6) and shape.limit_at >= 0 and meta.limit == 0:
        number = digits(word + 6, at - 1)
        if not 1 <= number <= shape.limit_maximum:
            return NULL
        meta.limit = number
    elif size >= 9 and not memcmp(word, b"OFFSET(", 7) and shape.offset_at >= 0 and not meta.has_offset:
        number = digits(word + 7, at - 1)
        if number < 0:
            return NULL
        meta.offset = number
        meta.has_offset = True
    elif size >= 7 and not memcmp(word, b"LANG(", 5) and shape.lang_at >= 0 and meta.lang.begin == NULL:
        meta.lang.begin = word + 5
        meta.lang.end = at - 1
    else:
        return NULL
    return skip_blanks(at, end) if (at - 1)[0] == c')' else NULL


cdef long long digits(Cursor at, Cursor end) noexcept nogil:
    # Returns the number that one to nine digits give, -1 for anything else.
    cdef long long number = 0
    if at == end or end - at > 9:
        return -1
    while at < end:
        if not c'0' <= at[0] <= c'9':
            return -1
        number = 10 * number + at[0] - c'0'
        at += 1
    return number
