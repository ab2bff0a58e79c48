"""One protocol line, as bytes, cut into words and quoted text; lines out of what arrives; commands of plain lines.

Offsets given back always stand on the first byte of a word or at the end of the line, so `offset == len(line)`
tells that nothing follows. Every function makes one pass over the bytes it consumes; the only objects made are the
strings handed out. Lines are UTF-8; bytes that are not are refused by `split_head` and by whatever decodes them.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.mem cimport PyMem_Free, PyMem_Malloc, PyMem_Realloc
from cpython.object cimport PyObject, PyTypeObject
from cpython.ref cimport Py_DECREF, Py_INCREF
from cpython.tuple cimport PyTuple_SET_ITEM
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.string cimport memchr, memcmp, memcpy, memmove

cdef extern from "Python.h":
    bint PyUnicode_IS_COMPACT_ASCII(object)
    unsigned char* PyUnicode_1BYTE_DATA(object)
    Py_ssize_t PyUnicode_GET_LENGTH(object)
    object PyUnicode_New(Py_ssize_t, Py_UCS4)
    object PyType_GenericAlloc(PyTypeObject*, Py_ssize_t)

ctypedef const unsigned char* Cursor

cdef struct Quoted:
    Cursor begin    # first byte of the first part
    Cursor end      # behind the last byte of the last part
    Cursor after    # first byte of what follows, or the end of the line
    bint spaced     # the parts are separated by single U+0020
    bint simple     # and no quotes, escapes or letters above ASCII are between begin and end


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
    text = text_of(found)
    return (text, found.after - start) if text else (None, offset)


cdef str text_of(Quoted found):
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


# -- lines out of what arrives -----------------------------------------------------------------------------------------

cdef enum:
    SPARE_BYTES = 512   # a buffer of this size is kept while it is empty


cdef class LineReader:
    """Cuts a stream at its line feeds; see sonicpy.channel.lines."""

    # data[begin:tail] are whole lines that were not taken, data[tail:end] is what came behind the last line feed.
    cdef unsigned char* data
    cdef Py_ssize_t capacity, begin, tail, end, longest
    cdef bint choked    # what stands behind `tail` is too long: nothing behind it will ever be read
    cdef readonly bint overflowed

    def __init__(self, Py_ssize_t longest_bytes):
        self.longest = longest_bytes

    def __dealloc__(self):
        PyMem_Free(self.data)

    def feed(self, bytes data not None):
        """Append what arrived; behind a line that is too long it is dropped."""
        cdef Py_ssize_t size = len(data)
        cdef Py_ssize_t at = size
        cdef Cursor source = <Cursor><char*>data
        if self.choked or size == 0:
            return
        self.make_room(size)
        memcpy(self.data + self.end, source, size)
        while at and source[at - 1] != c'\n':
            at -= 1
        if at:
            self.tail = self.end + at
        self.end += size
        if self.is_too_long(self.data + self.tail, self.data + self.end):
            self.choked = True
            self.end = self.tail

    def take_line(self):
        """Return the next line without its line feed, or None: not yet complete, or `overflowed`."""
        cdef Cursor at, end
        if self.begin == self.tail:
            self.compact()
            self.overflowed = self.choked
            return None
        at = self.data + self.begin
        end = <Cursor>memchr(at, c'\n', self.tail - self.begin)
        if self.is_too_long(at, end):
            self.close()
            self.overflowed = True
            return None
        line = PyBytes_FromStringAndSize(<const char*>at, end - at)
        self.begin = end - <Cursor>self.data + 1
        return line

    def take_command(self, PlainReader reader not None):
        """Return what the next line says if `reader` can tell, else None, and the line stays to be taken."""
        cdef Py_ssize_t begin = self.begin
        cdef Cursor at, end
        if begin == self.tail:
            return None
        at = self.data + begin
        end = <Cursor>memchr(at, c'\n', self.tail - begin)
        if end - at > self.longest:
            return None
        said = reader.say(at, end)
        # The collector may have run, and with it whatever is called at the end of an object: look again.
        if said is not None and self.begin == begin and begin < self.tail:
            self.begin = <Cursor>memchr(self.data + begin, c'\n', self.tail - begin) - <Cursor>self.data + 1
            if self.begin == self.end:
                self.compact()
        return said

    def clear(self):
        """Drop every line that has not been taken."""
        self.begin = self.tail = self.end = 0
        self.compact()

    def close(self):
        """Drop every line that has not been taken, and whatever arrives from now on."""
        self.clear()
        self.choked = True

    cdef bint is_too_long(self, Cursor at, Cursor end) noexcept:
        # The carriage return of a CR LF belongs to the terminator and does not count.
        cdef Py_ssize_t excess = end - at - self.longest
        return excess > 1 or (excess == 1 and (end - 1)[0] != c'\r')

    cdef int make_room(self, Py_ssize_t size) except -1:
        # Each byte is moved a fixed number of times: down over at least as many that were taken, or into twice the room.
        cdef Py_ssize_t held = self.end - self.begin
        cdef Py_ssize_t capacity
        cdef unsigned char* data
        if self.end + size <= self.capacity:
            return 0
        if self.begin < held or held + size > self.capacity:
            capacity = max(SPARE_BYTES, 2 * held, held + size)
            data = <unsigned char*>PyMem_Malloc(capacity)
            if data == NULL:
                raise MemoryError
            memcpy(data, self.data + self.begin, held)
            PyMem_Free(self.data)
            self.data = data
            self.capacity = capacity
        else:
            memmove(self.data, self.data + self.begin, held)
        self.tail -= self.begin
        self.begin = 0
        self.end = held
        return 0

    cdef void compact(self) noexcept:
        # To be called when no whole line is held: an unfinished one moves to the front, unused room is given back.
        cdef Py_ssize_t held = self.end - self.begin
        cdef unsigned char* data
        if self.begin:
            memmove(self.data, self.data + self.begin, held)
            self.begin = self.tail = 0
            self.end = held
        if self.capacity > SPARE_BYTES and held == 0:
            PyMem_Free(self.data)
            self.data = NULL
            self.capacity = 0
        elif self.capacity > SPARE_BYTES and self.capacity // 4 > held:
            data = <unsigned char*>PyMem_Realloc(self.data, max(SPARE_BYTES, 2 * held))
            if data != NULL:
                self.data = data
                self.capacity = max(SPARE_BYTES, 2 * held)


# -- commands of plain lines -------------------------------------------------------------------------------------------

cdef enum:
    MOST_WORDS = 4
    MOST_FIELDS = 8
    NAME_SLOTS = 64     # a power of two
    NAME_BYTES = 128    # as sonicpy.ids.NAME_MAX_BYTES

cdef struct Piece:
    Cursor begin
    Cursor end

cdef struct Meta:
    unsigned int limit      # 0: there is none
    unsigned int offset
    bint has_offset
    Piece lang              # its `begin` is NULL: there is none


cdef class PlainLine:
    """The shape of one kind of plain line.

    Args:
        name: the first word, as it is written.
        said: what such a line says if nothing follows; or a type of named tuples.
        words: how many words follow the name; they are the first fields.
        has_text: a quoted text follows them, and is the next field.
        rest: the other fields of a line without META arguments.
        limit_maximum: the largest LIMIT; 0: such a line has none. LIMIT, OFFSET and LANG are the fields of these names.
        has_offset: such a line may have OFFSET.
        lang_codes: the values of LANG.
    """

    cdef bytes name
    cdef object said
    cdef type kind
    cdef Py_ssize_t words, fields, limit_at, offset_at, lang_at
    cdef bint has_text
    cdef tuple rest
    cdef unsigned int limit_maximum
    cdef object lang_codes

    def __init__(
        self,
        bytes name not None,
        said not None,
        Py_ssize_t words=0,
        bint has_text=False,
        tuple rest=(),
        *,
        unsigned int limit_maximum=0,
        bint has_offset=False,
        frozenset lang_codes=frozenset(),
    ):
        self.name = name
        self.said = said
        self.limit_at = self.offset_at = self.lang_at = -1
        self.limit_maximum = limit_maximum
        self.lang_codes = lang_codes
        self.words = words
        self.has_text = has_text
        self.rest = rest
        if not isinstance(said, type):
            return
        self.kind = said
        names = said._fields
        self.fields = len(names)
        if not issubclass(said, tuple) or not 0 <= words <= MOST_WORDS:
            raise ValueError(f"{said.__name__} is no tuple of at most {MOST_WORDS} words")
        if words + has_text + len(rest) != self.fields or not 0 < self.fields <= MOST_FIELDS:
            raise ValueError(f"{said.__name__} has {self.fields} fields")
        if limit_maximum:
            self.limit_at = names.index("limit", words + has_text)
        if has_offset:
            self.offset_at = names.index("offset", words + has_text)
        if lang_codes:
            self.lang_at = names.index("lang", words + has_text)


cdef class PlainReader:
    """Reads the lines that nearly all are: a known name as it is written, and behind it exactly what it takes.

    It never refuses a line; whatever it cannot tell, also because it breaks a rule, is for somebody else to judge.
    """

    cdef list lines
    cdef list names     # names of collections and buckets, each in the slot of its hash: most lines repeat them

    def __init__(self, lines):
        self.lines = [<PlainLine?>line for line in lines]
        self.names = [""] * NAME_SLOTS

    def read(self, bytes line not None):
        """Return what `line` says, or None: it is not plain."""
        cdef Cursor start = <Cursor><char*>line
        return self.say(start, start + len(line))

    cdef object say(self, Cursor at, Cursor end):
        # Needs a byte at `end`, whichever. Makes no object that the collector tracks before it has read everything.
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
                return shape.said if shape.kind is None else None
            if blank_size(at + size, end):
                return None if shape.kind is None else self.fill(shape, at, skip_blanks(at + size, end), end)
        return None

    cdef object fill(self, PlainLine shape, Cursor line, Cursor at, Cursor end):
        cdef Piece words[MOST_WORDS]
        cdef PyObject* fields[MOST_FIELDS]
        cdef Py_ssize_t number
        cdef Py_ssize_t count = 0
        cdef Quoted quoted
        cdef Meta meta
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
        meta.lang.begin = NULL
        while at < end:
            at = read_meta(shape, at, end, &meta)
            if at == NULL:
                return None
        try:
            for number in range(shape.words):
                count = put(fields, count, self.name_of(words[number]) if number < 2 else piece_of(words[number]))
            if shape.has_text:
                text = text_of_line(quoted, line, end)
                if not text:
                    return dropped(fields, count)
                count = put(fields, count, text)
            for number in range(count, shape.fields):
                if number == shape.limit_at and meta.limit:
                    value = meta.limit
                elif number == shape.offset_at and meta.has_offset:
                    value = meta.offset
                elif number == shape.lang_at and meta.lang.begin != NULL:
                    value = piece_of(meta.lang)
                    if value not in shape.lang_codes:
                        return dropped(fields, count)
                else:
                    value = shape.rest[number - shape.fields + len(shape.rest)]
                count = put(fields, count, value)
        except UnicodeDecodeError:
            return dropped(fields, count)
        except:
            dropped(fields, count)
            raise
        return tuple_of(shape.kind, fields, count)

    cdef str name_of(self, Piece piece):
        cdef Py_ssize_t size = piece.end - piece.begin
        cdef unsigned int hash = 0
        cdef Py_ssize_t at
        cdef str name
        if size > NAME_BYTES:
            return piece_of(piece)
        for at in range(size):
            hash = hash * 31 + piece.begin[at]
        hash &= NAME_SLOTS - 1
        name = <str>self.names[hash]
        # Those kept are ASCII: of them alone the bytes are the characters.
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


cdef object dropped(PyObject** fields, Py_ssize_t count):
    cdef Py_ssize_t at
    for at in range(count):
        Py_DECREF(<object>fields[at])
    return None


cdef object tuple_of(type kind, PyObject** fields, Py_ssize_t count):
    # As kind(*fields), without the tuple of arguments and the call.
    cdef Py_ssize_t at
    try:
        command = PyType_GenericAlloc(<PyTypeObject*>kind, count)
    except:
        dropped(fields, count)
        raise
    for at in range(count):
        PyTuple_SET_ITEM(command, at, <object>fields[at])
    return command


cdef str text_of_line(Quoted quoted, Cursor line, Cursor end):
    if quoted.simple:
        return ascii_text(quoted.begin, quoted.end)
    if not is_ascii(line, end - line):
        # Escapes that are dropped can make a character of bytes that were none.
        PyUnicode_DecodeUTF8(<const char*>line, end - line, NULL)
    return text_of(quoted)


cdef inline str piece_of(Piece piece):
    if is_ascii(piece.begin, piece.end - piece.begin):
        return ascii_text(piece.begin, piece.end)
    return decode(piece.begin, piece.end)


cdef inline str ascii_text(Cursor at, Cursor end):
    text = PyUnicode_New(end - at, 127)
    memcpy(PyUnicode_1BYTE_DATA(text), at, end - at)
    return <str>text


cdef Quoted find_simple(Cursor at, Cursor end) noexcept nogil:
    # As find_quoted, but the text without its quotes, where the rest of the line is letters, digits, signs and single
    # blanks; else, or if there is no such text, `begin` is NULL. Needs a byte at `end`.
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
    # Reads one META argument and gives back where the next begins; NULL if it is none, or not as it is usually written.
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
    # The number they are, of at most nine digits; else -1.
    cdef long long number = 0
    if at == end or end - at > 9:
        return -1
    while at < end:
        if not c'0' <= at[0] <= c'9':
            return -1
        number = 10 * number + at[0] - c'0'
        at += 1
    return number


# -- names and replies -------------------------------------------------------------------------------------------------

MARKER_LETTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

cdef enum:
    MARKER_LENGTH = 8


def are_names(collection, bucket, object=None):
    """Return whether all that are given are strings of 1 to 128 ASCII characters without white space."""
    return is_name(collection) and is_name(bucket) and (object is None or is_name(object))


cdef inline bint is_name(object name):
    cdef Py_ssize_t size, at
    cdef Cursor letters
    cdef unsigned char blank = 0
    if type(name) is not str or not PyUnicode_IS_COMPACT_ASCII(name):
        return False
    size = PyUnicode_GET_LENGTH(name)
    letters = PyUnicode_1BYTE_DATA(name)
    if not 0 < size <= NAME_BYTES:
        return False
    for at in range(size):
        blank |= (letters[at] == 0x20) | ((letters[at] >= 0x09) & (letters[at] <= 0x0D))
    return blank == 0


def marker(unsigned long long bits):
    """Return 8 characters of [A-Za-z0-9], one for each byte of `bits`."""
    cdef unsigned char letters[MARKER_LENGTH]
    put_marker(letters, bits)
    return ascii_text(letters, letters + MARKER_LENGTH)


cdef void put_marker(unsigned char* out, unsigned long long bits) noexcept:
    cdef const unsigned char* letters = <const unsigned char*>PyBytes_AS_STRING(<bytes>MARKER_LETTERS)
    cdef Py_ssize_t at
    for at in range(MARKER_LENGTH):
        out[at] = letters[(bits & 0xFF) % 62]
        bits >>= 8


def event(str kind not None, items, unsigned long long bits):
    """Return PENDING and its EVENT, with the marker of `bits`. Without items the blank before them stays.

    Args:
        kind: in ASCII.
        items: an iterable of strings.
    """
    cdef list parts = <list>items if type(items) is list else list(items)
    cdef Py_ssize_t size = 0
    cdef Py_ssize_t length
    cdef unsigned char* out = NULL
    for item in parts:
        if type(item) is not str or not PyUnicode_IS_COMPACT_ASCII(item):
            break
        size += PyUnicode_GET_LENGTH(item) + 1
    else:
        reply = event_with_room(kind, size - 1 if parts else 0, bits, &out)
        for item in parts:
            length = PyUnicode_GET_LENGTH(item)
            memcpy(out, PyUnicode_1BYTE_DATA(item), length)
            out[length] = c' '
            out += length + 1
        if parts:
            out -= 1
        memcpy(out, b"\r\n", 2)
        return reply
    joined = " ".join(parts).encode()
    size = len(joined)
    reply = event_with_room(kind, size, bits, &out)
    memcpy(out, PyBytes_AS_STRING(joined), size)
    memcpy(out + size, b"\r\n", 2)
    return reply


cdef bytes event_with_room(str kind, Py_ssize_t size, unsigned long long bits, unsigned char** out):
    # Everything before the items; `out` becomes the place of `size` bytes for them and two for the end of the line.
    cdef Py_ssize_t length = PyUnicode_GET_LENGTH(kind)
    cdef unsigned char* at
    if not PyUnicode_IS_COMPACT_ASCII(kind):
        raise ValueError(f"{kind!r} is not ASCII")
    reply = PyBytes_FromStringAndSize(NULL, 8 + MARKER_LENGTH + 8 + length + 1 + MARKER_LENGTH + 1 + size + 2)
    at = <unsigned char*>PyBytes_AS_STRING(reply)
    memcpy(at, b"PENDING ", 8)
    put_marker(at + 8, bits)
    memcpy(at + 16, b"\r\nEVENT ", 8)
    memcpy(at + 24, PyUnicode_1BYTE_DATA(kind), length)
    at[24 + length] = c' '
    memcpy(at + 25 + length, at + 8, MARKER_LENGTH)
    at[33 + length] = c' '
    out[0] = at + 34 + length
    return <bytes>reply
