"""Text in, terms out: word borders, special patterns, case folding, stop words, distinct terms with counts.

One pass over the UTF-8 of the text. Words are cut at the borders of UAX #29 (rules WB1 to WB999, the numbers in
the comments), patterns such as mail addresses are found first. A Python object is made for each distinct term
only. Pieces that need more than one-to-one case folding go through the `normalize` callable, which is rare.
Everything is linear in the length of the text, whatever the text is.
"""

from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.list cimport PyList_New, PyList_SET_ITEM
from cpython.ref cimport Py_INCREF
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport int32_t, uint8_t, uint16_t, uint32_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcmp, memcpy, memset

import secrets

cimport cython

cdef extern from "Python.h":
    const char *PyUnicode_AsUTF8AndSize(object text, Py_ssize_t *size) except NULL

cdef extern from "unicode_tables.h":
    const uint16_t PROPERTY_INDEX[]
    const uint16_t PROPERTY_BLOCKS[]
    const uint16_t FOLD_INDEX[]
    const int32_t FOLD_BLOCKS[]

# Flags of a term, as callers see them.
SPECIAL = F_SPECIAL  # came out of a pattern: exact and required
STOP = F_STOP  # a stop word of the text's language
PART = F_PART  # two neighbouring characters of a run that is written without blanks

cdef enum:
    RUN_BYTES = 40  # a longer run without blanks is no word: only its parts are terms

    # Word_Break classes: the order of CLASSES in ext/tables/unicode.py
    OTHER = 0
    CR = 1
    LF = 2
    NEWLINE = 3
    EXTEND = 4
    ZWJ = 5
    REGIONAL = 6
    FORMAT = 7
    KATAKANA = 8
    HEBREW = 9
    LETTER = 10
    SINGLE_QUOTE = 11
    DOUBLE_QUOTE = 12
    MID_NUM_LET = 13
    MID_LETTER = 14
    MID_NUM = 15
    NUMERIC = 16
    EXTEND_NUM_LET = 17
    SPACE_RUN = 18
    NO_CLASS = 31

    CLASS_MASK = 31
    ALPHANUMERIC = 1 << 5
    WORD = 1 << 6
    DIGIT = 1 << 7
    SPACE = 1 << 8
    PICTOGRAPH = 1 << 9
    FOLDS_LONG = 1 << 10
    NORMALISES = 1 << 11
    MARK = 1 << 12
    UNSPACED = 1 << 13

    COUNT_MAX = 255  # term frequencies are kept in a byte: far beyond what any ranking tells apart
    SPARE_BYTES = 1 << 14  # the room of a collector that is kept for the next text
    SPARE_ENTRIES = 1 << 10

    # Kinds of bytes, for what is in ASCII
    IN_LETTERS = 1
    IN_DIGITS = 2
    IN_LOW_LINE = 4
    IN_WORD = IN_LETTERS | IN_DIGITS | IN_LOW_LINE
    CAPITAL = 32  # what a capital letter lacks to be a small one
    BETWEEN_LETTERS = 8
    BETWEEN_DIGITS = 16
    NO_ASCII = 64
    IN_PATTERN = 128  # without such a byte, or a digit of another script, no pattern matches

cdef uint32_t HASH_SEED = secrets.randbits(32) | 1  # unknown to clients, so that no text can be made to collide
cdef uint8_t BYTE_KINDS[256]


# -- characters ---------------------------------------------------------------------------------------------------

cdef inline uint16_t properties(uint32_t point) noexcept nogil:
    return PROPERTY_BLOCKS[(<uint32_t> PROPERTY_INDEX[point >> 7] << 7) + (point & 127)]


cdef inline int32_t fold_distance(uint32_t point) noexcept nogil:
    return FOLD_BLOCKS[(<uint32_t> FOLD_INDEX[point >> 7] << 7) + (point & 127)]


cdef inline uint32_t read(const uint8_t *text, Py_ssize_t at, int *width) noexcept nogil:
    """Decode the character at `at`; the text is known to be valid UTF-8."""
    cdef uint32_t lead = text[at]
    if lead < 0x80:
        width[0] = 1
        return lead
    if lead < 0xE0:
        width[0] = 2
        return ((lead & 0x1F) << 6) | (text[at + 1] & 0x3F)
    if lead < 0xF0:
        width[0] = 3
        return ((lead & 0x0F) << 12) | ((<uint32_t> text[at + 1] & 0x3F) << 6) | (text[at + 2] & 0x3F)
    width[0] = 4
    return (
        ((lead & 0x07) << 18)
        | ((<uint32_t> text[at + 1] & 0x3F) << 12)
        | ((<uint32_t> text[at + 2] & 0x3F) << 6)
        | (text[at + 3] & 0x3F)
    )


cdef inline int write(uint8_t *out, uint32_t point) noexcept nogil:
    if point < 0x80:
        out[0] = <uint8_t> point
        return 1
    if point < 0x800:
        out[0] = <uint8_t> (0xC0 | (point >> 6))
        out[1] = <uint8_t> (0x80 | (point & 0x3F))
        return 2
    if point < 0x10000:
        out[0] = <uint8_t> (0xE0 | (point >> 12))
        out[1] = <uint8_t> (0x80 | ((point >> 6) & 0x3F))
        out[2] = <uint8_t> (0x80 | (point & 0x3F))
        return 3
    out[0] = <uint8_t> (0xF0 | (point >> 18))
    out[1] = <uint8_t> (0x80 | ((point >> 12) & 0x3F))
    out[2] = <uint8_t> (0x80 | ((point >> 6) & 0x3F))
    out[3] = <uint8_t> (0x80 | (point & 0x3F))
    return 4


cdef inline uint16_t properties_at(const uint8_t *text, Py_ssize_t size, Py_ssize_t at) noexcept nogil:
    """The properties of the character at `at`; 0 at the end of the text."""
    cdef int width
    return properties(read(text, at, &width)) if at < size else 0


cdef void fill_byte_kinds() noexcept:
    cdef int byte, kind
    for byte in range(256):
        BYTE_KINDS[byte] = NO_ASCII
    for byte in range(128):
        kind = properties(byte) & CLASS_MASK
        BYTE_KINDS[byte] = 0
        if kind == LETTER:
            BYTE_KINDS[byte] = IN_LETTERS | (CAPITAL if byte < c'a' else 0)
        elif kind == NUMERIC:
            BYTE_KINDS[byte] = IN_DIGITS | IN_PATTERN
        elif kind == EXTEND_NUM_LET:
            BYTE_KINDS[byte] = IN_LOW_LINE | IN_PATTERN
        if kind == MID_LETTER or kind == MID_NUM_LET or kind == SINGLE_QUOTE:
            BYTE_KINDS[byte] |= BETWEEN_LETTERS
        if kind == MID_NUM or kind == MID_NUM_LET or kind == SINGLE_QUOTE:
            BYTE_KINDS[byte] |= BETWEEN_DIGITS
    for byte in (c'@', c'.', c':'):
        BYTE_KINDS[byte] |= IN_PATTERN


fill_byte_kinds()


cdef inline bint is_ascii_blank(uint8_t byte) noexcept nogil:
    return byte == c' ' or 9 <= byte <= 13


# -- word borders (UAX #29) ---------------------------------------------------------------------------------------

cdef inline bint is_letter(int kind) noexcept nogil:
    return kind == LETTER or kind == HEBREW


cdef inline bint is_ignored(int kind) noexcept nogil:
    return kind == EXTEND or kind == FORMAT or kind == ZWJ


cdef int class_after(const uint8_t *text, Py_ssize_t size, Py_ssize_t at) noexcept nogil:
    """The class of the next character that rule WB4 does not skip, or NO_CLASS at the end."""
    cdef int width, kind
    while at < size:
        kind = properties(read(text, at, &width)) & CLASS_MASK
        if not is_ignored(kind):
            return kind
        at += width
    return NO_CLASS


cdef Py_ssize_t word_end(const uint8_t *text, Py_ssize_t size, Py_ssize_t at, bint *has_word) noexcept nogil:
    """Return where the piece ends that begins at the border `at`; `has_word`: it holds a letter or number.

    Every rule looks back at most two significant characters, and never over a border, so each piece can start
    afresh: `before` and `last` are those two, `raw` is the character just before whatever its class.
    """
    cdef int width
    cdef uint16_t found = properties(read(text, at, &width))
    cdef int last = found & CLASS_MASK, raw = last, before = NO_CLASS, kind
    cdef int regional = 1 if last == REGIONAL else 0
    has_word[0] = (found & ALPHANUMERIC) != 0
    at += width
    while at < size:
        found = properties(read(text, at, &width))
        kind = found & CLASS_MASK
        if raw == LF or raw == NEWLINE or (raw == CR and kind != LF):  # WB3a
            break
        if raw != CR:
            if kind == CR or kind == LF or kind == NEWLINE:  # WB3b
                break
            if is_ignored(kind):  # WB4
                raw = kind
                at += width
                continue
            if not (
                (raw == ZWJ and found & PICTOGRAPH)  # WB3c
                or (raw == SPACE_RUN and kind == SPACE_RUN)  # WB3d
                or joins(text, size, at + width, before, last, kind)
                or (kind == REGIONAL and last == REGIONAL and regional & 1)  # WB15, WB16
            ):
                break
        if found & ALPHANUMERIC:
            has_word[0] = True
        if kind == REGIONAL:
            regional += 1
        before = last
        last = raw = kind
        at += width
    return at


cdef inline Py_ssize_t letter_end(const uint8_t *text, Py_ssize_t size, Py_ssize_t at) noexcept nogil:
    """Return where the letter at `at` ends, with the marks upon it."""
    cdef int width
    read(text, at, &width)
    at += width
    while at < size and is_ignored(properties(read(text, at, &width)) & CLASS_MASK):
        at += width
    return at


cdef inline bint joins(
    const uint8_t *text, Py_ssize_t size, Py_ssize_t after, int before, int last, int kind
) noexcept nogil:
    """Rules WB5 to WB13b: no border between `last` and `kind`; `after` is where the text behind `kind` begins."""
    if is_letter(last):
        if is_letter(kind) or kind == NUMERIC or kind == EXTEND_NUM_LET:  # WB5, WB9, WB13a
            return True
        if kind == MID_LETTER or kind == MID_NUM_LET or kind == SINGLE_QUOTE:  # WB6, WB7a
            return (last == HEBREW and kind == SINGLE_QUOTE) or is_letter(class_after(text, size, after))
        return last == HEBREW and kind == DOUBLE_QUOTE and class_after(text, size, after) == HEBREW  # WB7b
    if last == NUMERIC:
        if kind == NUMERIC or is_letter(kind) or kind == EXTEND_NUM_LET:  # WB8, WB10, WB13a
            return True
        return (
            (kind == MID_NUM or kind == MID_NUM_LET or kind == SINGLE_QUOTE)
            and class_after(text, size, after) == NUMERIC
        )  # WB12
    if last == MID_LETTER or last == MID_NUM_LET or last == SINGLE_QUOTE or last == MID_NUM:
        if is_letter(before):
            return last != MID_NUM and is_letter(kind)  # WB7
        return last != MID_LETTER and before == NUMERIC and kind == NUMERIC  # WB11
    if last == DOUBLE_QUOTE:
        return before == HEBREW and kind == HEBREW  # WB7c
    if last == KATAKANA:
        return kind == KATAKANA or kind == EXTEND_NUM_LET  # WB13, WB13a
    if last == EXTEND_NUM_LET:
        return is_letter(kind) or kind == NUMERIC or kind == KATAKANA or kind == EXTEND_NUM_LET  # WB13a, WB13b
    return False


cdef inline Py_ssize_t ascii_word_end(
    const uint8_t *text, Py_ssize_t size, Py_ssize_t at, uint8_t *out, uint32_t *hashed, bint *has_word
) noexcept nogil:
    """What `word_end`, folding and `hash_bytes` make of a piece that begins with an ASCII letter, digit or low line.

    -1: more than ASCII decides where it ends. `out` has room for the rest of the text.
    """
    cdef Py_ssize_t start = at
    cdef uint8_t kind, before, after, seen = 0, folded
    cdef uint32_t value = HASH_SEED
    while True:
        kind = BYTE_KINDS[text[at]]
        while kind & IN_WORD:
            seen |= kind
            folded = text[at] | (kind & CAPITAL)
            out[at - start] = folded
            value = hash_step(value, folded)
            at += 1
            if at == size:
                break
            kind = BYTE_KINDS[text[at]]
        if at == size:
            break
        if kind & NO_ASCII:
            return -1
        if not kind & (BETWEEN_LETTERS | BETWEEN_DIGITS) or at + 1 == size:
            break
        before = BYTE_KINDS[text[at - 1]]
        after = BYTE_KINDS[text[at + 1]]
        if after & NO_ASCII:
            return -1
        if not (
            (kind & BETWEEN_LETTERS and before & after & IN_LETTERS)  # WB6, WB7
            or (kind & BETWEEN_DIGITS and before & after & IN_DIGITS)  # WB11, WB12
        ):
            break
        out[at - start] = text[at]
        value = hash_step(value, text[at])
        at += 1
    hashed[0] = hash_end(value)
    has_word[0] = seen & (IN_LETTERS | IN_DIGITS)
    return at


def word_borders(str text) -> list:
    """Return every word border of `text` as an offset in characters, the first and last included (UAX #29)."""
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


# -- special patterns ---------------------------------------------------------------------------------------------

cdef enum Pattern:
    NO_PATTERN
    MAIL
    USERNAME
    URL
    IPV4
    PHONE
    DOMAIN
    IDENTIFIER

cdef struct Run:
    Py_ssize_t end  # the run covers every start before this offset
    Py_ssize_t last_start  # starts up to here match
    Py_ssize_t match_end


cdef struct Scan:
    # What was found out about the runs of characters around the current position, so that a long run that
    # matches nothing is read once a pattern and not once a character.
    Run mail
    Run username
    Run url
    Run domain
    Run identifier


cdef inline bint is_ascii_letter(uint8_t byte) noexcept nogil:
    return c'a' <= (byte | 32) <= c'z'


cdef inline bint is_host_byte(uint8_t byte) noexcept nogil:
    return is_ascii_letter(byte) or c'0' <= byte <= c'9' or byte == c'.' or byte == c'-'


cdef inline bint is_word(uint16_t found, bint spaced) noexcept nogil:
    """Whether a character belongs to words; `spaced`: only where blanks part words, else a digit inside a sentence
    without blanks would make an identifier of all of it."""
    return found & WORD and not (spaced and found & UNSPACED)


cdef Py_ssize_t skip_word(
    const uint8_t *text, Py_ssize_t size, Py_ssize_t at, uint8_t extra, uint8_t other, uint8_t third, bint spaced
) noexcept nogil:
    """Return where the run of word characters and the three extra bytes ends (0: no extra byte)."""
    cdef int width
    cdef uint32_t point
    while at < size:
        point = read(text, at, &width)
        if not (
            is_word(properties(point), spaced) or (point and (point == extra or point == other or point == third))
        ):
            break
        at += width
    return at


cdef Py_ssize_t skip_solid(
    const uint8_t *text, Py_ssize_t size, Py_ssize_t at, Py_ssize_t *after_word, Py_ssize_t *after_solid
) noexcept nogil:
    """Return where white space begins; also the ends of the last word character and of the last one not a dot."""
    cdef int width
    cdef uint32_t point
    cdef uint16_t found
    after_word[0] = after_solid[0] = -1
    while at < size:
        point = read(text, at, &width)
        found = properties(point)
        if found & SPACE:
            break
        at += width
        if found & WORD:
            after_word[0] = at
        if point != c'.':
            after_solid[0] = at
    return at


cdef void find_mail(
    const uint8_t *text, Py_ssize_t size, Py_ssize_t at, bint spaced, Run *run
) noexcept nogil:
    """One or more of word . + -, then @, one or more of word -, a dot, one or more of word . -"""
    cdef Py_ssize_t local = skip_word(text, size, at, c'.', c'+', c'-', spaced), host, tail
    run.end = local if local > at else at + 1
    run.last_start = -1
    if local > at and local < size and text[local] == c'@':
        host = skip_word(text, size, local + 1, c'-', 0, 0, spaced)
        if host > local + 1 and host < size and text[host] == c'.':
            tail = skip_word(text, size, host + 1, c'.', c'-', 0, spaced)
            if tail > host + 1:
                run.last_start = local - 1
                run.match_end = tail


cdef void find_username(const uint8_t *text, Py_ssize_t size, Py_ssize_t at, Run *run) noexcept nogil:
    """@, then characters other than white space up to the last word character among them."""
    cdef Py_ssize_t after_word, after_solid
    run.end = skip_solid(text, size, at, &after_word, &after_solid)
    if run.end <= at:
        run.end = at + 1
    run.last_start = after_word - 2 if after_word > 0 else -1
    run.match_end = after_word


cdef void find_url(
    const uint8_t *text, Py_ssize_t size, Py_ssize_t at, bint spaced, Run *run
) noexcept nogil:
    """Two or more word characters, ://, then characters other than white space, the last one not a dot."""
    cdef Py_ssize_t scheme = skip_word(text, size, at, 0, 0, 0, spaced), after_word, after_solid
    cdef Py_ssize_t last = scheme
    run.end = scheme if scheme > at else at + 1
    run.last_start = -1
    if scheme + 3 < size and memcmp(text + scheme, b"://", 3) == 0 and scheme > at:
        skip_solid(text, size, scheme + 3, &after_word, &after_solid)
        if after_solid > 0:
            last -= 1
            while text[last] & 0xC0 == 0x80:
                last -= 1
            run.last_start = last - 1  # at least one more character stands before the last one
            run.match_end = after_solid


cdef void find_domain(const uint8_t *text, Py_ssize_t size, Py_ssize_t at, Run *run) noexcept nogil:
    """ASCII letters, digits, dots and hyphens, then a dot and at least two ASCII letters."""
    cdef Py_ssize_t end = at, dot, tail
    while end < size and is_host_byte(text[end]):
        end += 1
    run.end = end if end > at else at + 1
    run.last_start = -1
    dot = end - 3
    while dot > at:
        if text[dot] == c'.' and is_ascii_letter(text[dot + 1]) and is_ascii_letter(text[dot + 2]):
            tail = dot + 3
            while tail < end and is_ascii_letter(text[tail]):
                tail += 1
            run.last_start = dot - 1
            run.match_end = tail
            return
        dot -= 1


cdef void find_identifier(
    const uint8_t *text, Py_ssize_t size, Py_ssize_t at, bint spaced, Run *run
) noexcept nogil:
    """Word characters, colons and hyphens, at least one digit or underscore among them."""
    cdef Py_ssize_t from_here = at
    cdef int width
    cdef uint32_t point
    run.last_start = -1
    while at < size:
        point = read(text, at, &width)
        if not (is_word(properties(point), spaced) or point == c':' or point == c'-'):
            break
        if point == c'_' or properties(point) & DIGIT:
            run.last_start = at
        at += width
    run.match_end = at
    run.end = at if at > from_here else from_here + 1


cdef Py_ssize_t match_ipv4(
    const uint8_t *text, Py_ssize_t size, Py_ssize_t at, bint at_borders, bint spaced, Py_ssize_t *address_end
) noexcept nogil:
    """Four groups of one to three digits with dots between, and what follows is neither a dot nor a digit.

    Without `at_borders` that following character belongs to the match, as in Sonic; `address_end` leaves it out.
    """
    cdef int group, digits, width
    cdef uint16_t found
    for group in range(4):
        digits = 0
        while digits < 4 and at < size and properties_at(text, size, at) & DIGIT:
            read(text, at, &width)
            at += width
            digits += 1
        if digits == 0 or digits == 4:
            return -1
        if group < 3:
            if at >= size or text[at] != c'.':
                return -1
            at += 1
    address_end[0] = at
    if at >= size:
        return at
    found = properties(read(text, at, &width))
    if at_borders:
        if is_word(found, spaced) or (text[at] == c'.' and properties_at(text, size, at + 1) & DIGIT):
            return -1
        return at
    return -1 if text[at] == c'.' or found & DIGIT else at + width


cdef Py_ssize_t match_phone(
    const uint8_t *text, Py_ssize_t size, Py_ssize_t at, bint at_borders, bint spaced
) noexcept nogil:
    """An optional plus, then at least five digits with at most one blank, dot or hyphen between two of them."""
    cdef int digits = 0, width
    cdef Py_ssize_t end = -1, separated
    if text[at] == c'+':
        at += 1
    while at < size:
        separated = at + 1 if digits and text[at] in b" .-" else at
        if not properties_at(text, size, separated) & DIGIT:
            break
        read(text, separated, &width)
        at = separated + width
        digits += 1
        if digits >= 5 and not (at_borders and is_word(properties_at(text, size, at), spaced)):
            end = at
    return end


cdef bint is_clean_domain(
    const uint8_t *text, Py_ssize_t size, Py_ssize_t at, Py_ssize_t end, bint spaced
) noexcept nogil:
    """No empty label, nothing glued on, and not `end.Next`, where only the blank after a full stop is missing."""
    cdef Py_ssize_t step = at - 1, dot = at
    if text[at] == c'.' or text[at] == c'-' or is_word(properties_at(text, size, end), spaced):
        return False
    while step > 0 and text[step] & 0xC0 == 0x80:
        step -= 1
    if at > 0 and is_word(properties_at(text, size, step), spaced):
        return False
    for step in range(at, end):
        if text[step] == c'.':
            if step == dot + 1 and step > at + 1:
                return False
            dot = step
    return not (
        c'a' <= text[dot - 1] <= c'z' and c'A' <= text[dot + 1] <= c'Z' and c'a' <= text[dot + 2] <= c'z'
    )


cdef Py_ssize_t find_sign_of_pattern(const uint8_t *text, Py_ssize_t size, Py_ssize_t at) noexcept nogil:
    """Return where the next byte stands without which no pattern matches, or the end of the text.

    A pattern begins in the same run without ASCII blanks as the first such byte in it.
    """
    cdef uint8_t byte, kind
    cdef int width
    while at < size:
        byte = text[at]
        kind = BYTE_KINDS[byte]
        while not kind & (IN_PATTERN | NO_ASCII):
            at += 1
            if at == size:
                return size
            byte = text[at]
            kind = BYTE_KINDS[byte]
        if kind & NO_ASCII:
            if properties(read(text, at, &width)) & DIGIT:
                return at
            at += width
        elif byte == c'.':
            if (
                0 < at < size - 2 and is_ascii_letter(text[at + 1]) and is_ascii_letter(text[at + 2])
                and is_host_byte(text[at - 1])
            ):
                return at
            at += 1
        elif byte == c':':
            if at + 2 < size and text[at + 1] == c'/' and text[at + 2] == c'/':
                return at
            at += 1
        else:
            return at
    return size


# -- stop words ---------------------------------------------------------------------------------------------------

cdef inline uint32_t hash_step(uint32_t value, uint8_t byte) noexcept nogil:
    return (value ^ byte) * <uint32_t> 0x01000193


cdef inline uint32_t hash_end(uint32_t value) noexcept nogil:
    value ^= value >> 15
    value *= <uint32_t> 0x2C1B3C6D
    return value ^ (value >> 12)


cdef inline uint32_t hash_bytes(const uint8_t *word, Py_ssize_t size) noexcept nogil:
    cdef uint32_t value = HASH_SEED
    cdef Py_ssize_t step
    for step in range(size):
        value = hash_step(value, word[step])
    return hash_end(value)


@cython.final
cdef class StopSet:
    """A fixed set of words, looked up without making an object.

    Args:
        words: the words, as they are indexed (folded), in UTF-8.
    """
    cdef uint8_t *_bytes
    cdef uint32_t *_starts  # word n is _bytes[_starts[n]:_starts[n + 1]]
    cdef int32_t *_slots  # word number, or -1
    cdef uint32_t _mask

    def __cinit__(self, words):
        cdef list held = list({bytes(word) for word in words})
        cdef Py_ssize_t total = 0, number, size
        cdef uint32_t capacity = 8, slot
        cdef bytes word
        for word in held:
            total += len(word)
        while capacity < 2 * len(held):
            capacity *= 2
        self._mask = capacity - 1
        self._bytes = <uint8_t *> malloc(total + 1)
        self._starts = <uint32_t *> malloc((len(held) + 1) * sizeof(uint32_t))
        self._slots = <int32_t *> malloc(capacity * sizeof(int32_t))
        if self._bytes == NULL or self._starts == NULL or self._slots == NULL:
            raise MemoryError
        memset(self._slots, 0xFF, capacity * sizeof(int32_t))
        self._starts[0] = 0
        for number in range(len(held)):
            word = held[number]
            size = len(word)
            memcpy(self._bytes + self._starts[number], <const uint8_t *> word, size)
            self._starts[number + 1] = self._starts[number] + <uint32_t> size
            slot = hash_bytes(<const uint8_t *> word, size) & self._mask
            while self._slots[slot] >= 0:
                slot = (slot + 1) & self._mask
            self._slots[slot] = <int32_t> number

    def __dealloc__(self):
        free(self._bytes)
        free(self._starts)
        free(self._slots)

    def __contains__(self, bytes word) -> bool:
        return self.holds(<const uint8_t *> word, len(word), hash_bytes(<const uint8_t *> word, len(word)))

    cdef inline bint holds(self, const uint8_t *word, Py_ssize_t size, uint32_t hashed) noexcept nogil:
        cdef uint32_t slot = hashed & self._mask
        cdef int32_t number
        while True:
            number = self._slots[slot]
            if number < 0:
                return False
            if (
                self._starts[number + 1] - self._starts[number] == size
                and memcmp(self._bytes + self._starts[number], word, size) == 0
            ):
                return True
            slot = (slot + 1) & self._mask


# -- distinct terms -----------------------------------------------------------------------------------------------

cdef struct Entry:
    Py_ssize_t start
    Py_ssize_t size
    uint32_t hashed
    uint32_t slot
    uint32_t count
    uint32_t typed
    uint8_t flags


@cython.no_gc  # its lists hold bytes and numbers: no cycle begins here
cdef class Terms:
    """The distinct terms of a text, in the order of their first occurrence.

    `words[n]` is a term in UTF-8, `counts[n]` how often it occurs (at most 255), `flags[n]` SPECIAL, STOP and PART;
    `typed[n]` how many bytes it had as it was typed, before folding.
    """

    def __init__(self, list words, bytes counts, bytes flags, list typed=None):
        if not len(words) == len(counts) == len(flags):
            raise ValueError(f"{len(words)} words need as many counts and flags, not {len(counts)} and {len(flags)}")
        self.words = words
        self.counts = counts
        self.flags = flags
        self.typed = [len(word) for word in words] if typed is None else typed

    def __len__(self) -> int:
        return len(self.words)

    def __eq__(self, other) -> bool:
        return (
            isinstance(other, Terms)
            and self.words == other.words
            and self.counts == other.counts
            and self.flags == other.flags
        )

    def __repr__(self) -> str:
        return f"Terms({self.words!r}, {self.counts!r}, {self.flags!r})"


@cython.final
cdef class Collector:
    """Gathers the folded words of one text; equal words share an entry."""
    cdef uint8_t *_bytes
    cdef Py_ssize_t _used, _capacity
    cdef Entry *_entries
    cdef Py_ssize_t _count, _entry_capacity
    cdef int32_t *_slots
    cdef uint32_t _mask

    def __cinit__(self):
        self._capacity = 256
        self._entry_capacity = 32
        self._mask = 63
        self._bytes = <uint8_t *> malloc(self._capacity)
        self._entries = <Entry *> malloc(self._entry_capacity * sizeof(Entry))
        self._slots = <int32_t *> malloc((self._mask + 1) * sizeof(int32_t))
        if self._bytes == NULL or self._entries == NULL or self._slots == NULL:
            raise MemoryError
        memset(self._slots, 0xFF, (self._mask + 1) * sizeof(int32_t))

    def __dealloc__(self):
        free(self._bytes)
        free(self._entries)
        free(self._slots)

    cdef inline uint8_t *room(self, Py_ssize_t size) except NULL:
        """Return where `size` bytes can be written; they count only once `add` takes them."""
        if self._used + size > self._capacity:
            self.widen(size)
        return self._bytes + self._used

    cdef int widen(self, Py_ssize_t size) except -1:
        cdef uint8_t *grown
        cdef Py_ssize_t capacity = self._capacity
        while self._used + size > capacity:
            capacity *= 2
        grown = <uint8_t *> realloc(self._bytes, capacity)
        if grown == NULL:
            raise MemoryError
        self._bytes = grown
        self._capacity = capacity
        return 0

    cdef bint is_small(self) noexcept:
        return self._capacity <= SPARE_BYTES and self._entry_capacity <= SPARE_ENTRIES

    cdef void clear(self) noexcept:
        """Forget all words; the room stays."""
        cdef Py_ssize_t number
        for number in range(self._count):
            self._slots[self._entries[number].slot] = -1
        self._count = 0
        self._used = 0

    cdef inline int add(self, Py_ssize_t size, uint8_t flags, uint32_t hashed, uint32_t typed) except -1:
        """Take the `size` bytes last written as one occurrence of a term."""
        cdef const uint8_t *word = self._bytes + self._used
        cdef uint32_t slot = hashed & self._mask
        cdef Entry *entry
        while self._slots[slot] >= 0:
            entry = &self._entries[self._slots[slot]]
            if entry.hashed == hashed and entry.size == size and memcmp(self._bytes + entry.start, word, size) == 0:
                entry.count += 1
                entry.flags &= flags | F_SPECIAL  # an ordinary word gives the same term
                return 0
            slot = (slot + 1) & self._mask
        if self._count == self._entry_capacity:
            self.grow()
            slot = hashed & self._mask
            while self._slots[slot] >= 0:
                slot = (slot + 1) & self._mask
        self._slots[slot] = <int32_t> self._count
        entry = &self._entries[self._count]
        entry.start = self._used
        entry.size = size
        entry.hashed = hashed
        entry.slot = slot
        entry.count = 1
        entry.typed = typed
        entry.flags = flags
        self._count += 1
        self._used += size
        return 0

    cdef int grow(self) except -1:
        cdef Py_ssize_t capacity = 2 * self._entry_capacity, number
        cdef uint32_t slots = 2 * (self._mask + 1), slot
        cdef Entry *entries = <Entry *> realloc(self._entries, capacity * sizeof(Entry))
        if entries == NULL:
            raise MemoryError
        self._entries = entries
        self._entry_capacity = capacity
        cdef int32_t *table = <int32_t *> realloc(self._slots, slots * sizeof(int32_t))
        if table == NULL:
            raise MemoryError
        self._slots = table
        self._mask = slots - 1
        memset(table, 0xFF, slots * sizeof(int32_t))
        for number in range(self._count):
            slot = entries[number].hashed & self._mask
            while table[slot] >= 0:
                slot = (slot + 1) & self._mask
            table[slot] = <int32_t> number
            entries[number].slot = slot
        return 0

    cdef Terms finish(self):
        cdef Py_ssize_t number
        cdef Entry *entry
        cdef list words = PyList_New(self._count), typed = PyList_New(self._count)
        cdef bytes counts = PyBytes_FromStringAndSize(NULL, self._count)
        cdef bytes flags = PyBytes_FromStringAndSize(NULL, self._count)
        cdef uint8_t *count_bytes = <uint8_t *> <char *> counts
        cdef uint8_t *flag_bytes = <uint8_t *> <char *> flags
        cdef Terms terms = Terms.__new__(Terms)
        cdef object held
        for number in range(self._count):
            entry = &self._entries[number]
            held = PyBytes_FromStringAndSize(<char *> self._bytes + entry.start, entry.size)
            Py_INCREF(held)
            PyList_SET_ITEM(words, number, held)
            held = entry.typed
            Py_INCREF(held)
            PyList_SET_ITEM(typed, number, held)
            count_bytes[number] = <uint8_t> min(entry.count, <uint32_t> COUNT_MAX)
            flag_bytes[number] = entry.flags
        terms.words = words
        terms.counts = counts
        terms.flags = flags
        terms.typed = typed
        return terms


# -- the lexer ----------------------------------------------------------------------------------------------------

@cython.final
cdef class Analyzer:
    """Cuts texts into terms in one fixed way.

    Args:
        normalize: str -> str, full case folding and whatever else one piece needs; its result is split at white
            space. Called for the pieces that one-to-one folding cannot do, or for all with `always_normalize`.
        always_normalize: call `normalize` for every piece (diacritics are folded).
        composes: pieces that a Unicode normal form may change go through `normalize`.
        patterns: look for mail addresses, numbers and so on; their words are SPECIAL.
        split_patterns: cut patterns into words; else a pattern is one term.
        fold_special: special words are folded like others; else they keep their letters as typed.
        at_borders: patterns begin and end at word borders (Sonic's do not).
        bigrams: a run of letters of scripts without blanks (Han, kana, Thai, Lao, Khmer, Burmese) is one word, and
            each two neighbours in it are a term flagged PART, each single letter one flagged STOP; else every letter
            is a word.
        words_of_run: str -> list of str, the words of such a run by a dictionary; with words, the run is none itself.
    """
    cdef object _normalize, _words_of_run
    cdef Collector _spare  # of the text before; None while one is cut
    cdef bint _always_normalize, _composes, _patterns, _split_patterns, _fold_special, _at_borders, _bigrams

    def __init__(
        self, normalize, *, bint always_normalize=False, bint composes=True, bint patterns=True,
        bint split_patterns=True, bint fold_special=True, bint at_borders=True, bint bigrams=False, words_of_run=None,
    ):
        self._normalize = normalize
        self._always_normalize = always_normalize
        self._composes = composes
        self._patterns = patterns
        self._split_patterns = split_patterns
        self._fold_special = fold_special
        self._at_borders = at_borders
        self._bigrams = bigrams
        self._words_of_run = words_of_run

    def cut(self, str text, StopSet stops=None, bint drop_stops=False, stem=None, segment=None) -> Terms:
        """Return the distinct terms of `text`.

        Args:
            stops: ordinary words in here are left out (`drop_stops`) or flagged STOP; None: no stop words.
            stem: str -> str for ordinary words, after the stop words were found; None: no stemming.
            segment: str -> list of str that cuts at word borders in the place of UAX #29; pieces without a letter or
                number are passed over.

        Raises:
            UnicodeEncodeError: `text` holds a lone surrogate.
        """
        return self.cut_text(text, stops, drop_stops, stem, segment)

    cdef Terms cut_text(self, str text, StopSet stops, bint drop_stops, object stem, object segment):
        cdef Py_ssize_t size
        cdef const uint8_t *utf8 = <const uint8_t *> PyUnicode_AsUTF8AndSize(text, &size)
        cdef Collector collector = self._spare
        cdef Terms terms
        self._spare = None  # a function that is called here may come back
        if collector is None:
            collector = Collector()
        if self._patterns:
            self.cut_with_patterns(collector, utf8, size, stops, drop_stops, stem, segment)
        else:
            self.cut_words(collector, utf8, size, 0, stops, drop_stops, stem, segment)
        terms = collector.finish()
        if collector.is_small():
            collector.clear()
            self._spare = collector
        return terms

    cdef int cut_words(
        self, Collector terms, const uint8_t *text, Py_ssize_t size, uint8_t flags,
        StopSet stops, bint drop_stops, object stem, object segment,
    ) except -1:
        """Add every piece of the text that holds a letter or number; return how many there were."""
        cdef Py_ssize_t at = 0, end
        cdef bint has_word
        cdef bint folds = not self._always_normalize and (self._fold_special or not flags & F_SPECIAL)
        cdef uint8_t kind
        cdef uint32_t hashed
        cdef int words = 0
        if segment is not None and size:
            for piece in segment(PyUnicode_DecodeUTF8(<const char *> text, size, NULL)):
                words += self.add_segment(terms, piece, flags, stops, drop_stops, stem)
            return words
        while at < size:
            kind = BYTE_KINDS[text[at]]
            if kind & IN_WORD and folds:
                end = ascii_word_end(text, size, at, terms.room(size - at), &hashed, &has_word)
                if end >= 0:
                    if has_word:
                        words += 1
                        self.add_hashed(terms, end - at, hashed, flags, stops, drop_stops, stem, end - at)
                    at = end
                    continue
            elif not kind & (IN_WORD | NO_ASCII) and (at + 1 == size or text[at + 1] < 0x80):
                at += 1  # no word begins here, and no mark follows
                continue
            if self._bigrams and properties_at(text, size, at) & UNSPACED:
                end = self.cut_run(terms, text, size, at, flags, stops, drop_stops)
                words += 1
                at = end
                continue
            end = word_end(text, size, at, &has_word)
            if has_word:
                words += 1
                self.add_piece(terms, text + at, end - at, flags, stops, drop_stops, stem)
            at = end
        return words

    cdef Py_ssize_t cut_run(
        self, Collector terms, const uint8_t *text, Py_ssize_t size, Py_ssize_t at, uint8_t flags,
        StopSet stops, bint drop_stops,
    ) except -1:
        """Add the run of letters without blanks that begins at `at`, its pairs and its letters; return its end.

        A run that needs more than one-to-one folding is normalised as a whole first: a dictionary, and the border
        between two letters, must not depend on how a letter is spelled.
        """
        cdef Py_ssize_t first = at, part_size
        cdef const uint8_t *part_utf8
        while at < size and properties_at(text, size, at) & UNSPACED:
            at = letter_end(text, size, at)
        if not self._always_normalize and fold(text + first, at - first, terms.room(2 * (at - first)), True) >= 0:
            self.cut_letters(terms, text + first, at - first, flags, stops, drop_stops)
            return at
        for part in self._normalize(PyUnicode_DecodeUTF8(<const char *> text + first, at - first, NULL)).split():
            part_utf8 = <const uint8_t *> PyUnicode_AsUTF8AndSize(part, &part_size)
            self.cut_letters(terms, part_utf8, part_size, flags, stops, drop_stops)
        return at

    cdef int cut_letters(
        self, Collector terms, const uint8_t *run, Py_ssize_t size, uint8_t flags, StopSet stops, bint drop_stops
    ) except -1:
        """Add a run, or its words by a dictionary, then its pairs of letters and its letters."""
        cdef Py_ssize_t at = 0, letter, before = 0, letters = 0
        while at < size:
            at = letter_end(run, size, at)
            letters += 1
        pieces = None
        if letters > 1 and self._words_of_run is not None:
            pieces = self._words_of_run(PyUnicode_DecodeUTF8(<const char *> run, size, NULL))
        if pieces:
            for piece in pieces:
                self.add_segment(terms, piece, flags, stops, drop_stops, None)
        elif letters <= 2 or size <= RUN_BYTES:
            self.add_piece(terms, run, size, flags, stops, drop_stops, None)
        if letters == 1:
            return 0
        at = 0
        while at < size:
            letter = at
            at = letter_end(run, size, at)
            self.add_piece(terms, run + letter, at - letter, flags | F_STOP, None, False, None)
            if (letters > 2 or pieces) and letter > 0:
                self.add_piece(terms, run + before, at - before, flags | F_PART, stops, drop_stops, None)
            before = letter
        return 0

    cdef int add_segment(
        self, Collector terms, str piece, uint8_t flags, StopSet stops, bint drop_stops, object stem
    ) except -1:
        """Add a piece that someone else cut, if it holds a letter or number; return whether it does."""
        cdef Py_ssize_t size, at = 0
        cdef int width
        cdef const uint8_t *utf8 = <const uint8_t *> PyUnicode_AsUTF8AndSize(piece, &size)
        while at < size:
            if properties(read(utf8, at, &width)) & ALPHANUMERIC:
                self.add_piece(terms, utf8, size, flags, stops, drop_stops, stem)
                return 1
            at += width
        return 0

    cdef int cut_with_patterns(
        self, Collector terms, const uint8_t *text, Py_ssize_t size, StopSet stops, bint drop_stops, object stem,
        object segment,
    ) except -1:
        cdef Scan scan
        cdef Py_ssize_t at = 0, plain = 0, checked = 0, end, core_end
        cdef int width
        cdef Pattern kind
        memset(&scan, 0, sizeof(scan))
        while at < size:
            if at >= checked:
                checked = find_sign_of_pattern(text, size, at)
                if checked == size:
                    break
                end = checked
                while end > at and not is_ascii_blank(text[end - 1]):
                    end -= 1
                at = end
                while checked < size and not is_ascii_blank(text[checked]):
                    checked += 1
            end = core_end = -1
            kind = self.match(text, size, at, &scan, &end, &core_end)
            if kind == NO_PATTERN:
                read(text, at, &width)
                at += width
                continue
            self.cut_words(terms, text + plain, at - plain, 0, stops, drop_stops, stem, segment)
            self.add_pattern(terms, text + at, end - at, core_end - at, kind, segment)
            at = plain = end
        self.cut_words(terms, text + plain, size - plain, 0, stops, drop_stops, stem, segment)
        return 0

    cdef Pattern match(
        self, const uint8_t *text, Py_ssize_t size, Py_ssize_t at, Scan *scan, Py_ssize_t *end, Py_ssize_t *core_end
    ) noexcept nogil:
        """The first pattern that matches at `at`, with where it ends; `core_end` leaves out what it ate too much."""
        cdef uint16_t found = properties_at(text, size, at)
        if not (is_word(found, self._bigrams) or text[at] in b"@+.-:"):
            return NO_PATTERN
        if at >= scan.mail.end:
            find_mail(text, size, at, self._bigrams, &scan.mail)
        if at <= scan.mail.last_start:
            end[0] = core_end[0] = scan.mail.match_end
            return MAIL
        if text[at] == c'@':
            if at >= scan.username.end:
                find_username(text, size, at, &scan.username)
            if at <= scan.username.last_start:
                end[0] = core_end[0] = scan.username.match_end
                return USERNAME
        if at >= scan.url.end:
            find_url(text, size, at, self._bigrams, &scan.url)
        if at <= scan.url.last_start:
            end[0] = core_end[0] = scan.url.match_end
            return URL
        if found & DIGIT or text[at] == c'+':
            end[0] = match_ipv4(text, size, at, self._at_borders, self._bigrams, core_end)
            if end[0] >= 0:
                return IPV4
            end[0] = core_end[0] = match_phone(text, size, at, self._at_borders, self._bigrams)
            if end[0] >= 0:
                return PHONE
        if at >= scan.domain.end:
            find_domain(text, size, at, &scan.domain)
            if (
                self._at_borders and at <= scan.domain.last_start
                and not is_clean_domain(text, size, at, scan.domain.match_end, self._bigrams)
            ):
                scan.domain.last_start = -1
        if at <= scan.domain.last_start:
            end[0] = core_end[0] = scan.domain.match_end
            return DOMAIN
        if at >= scan.identifier.end:
            find_identifier(text, size, at, self._bigrams, &scan.identifier)
        if at <= scan.identifier.last_start:
            end[0] = core_end[0] = scan.identifier.match_end
            return IDENTIFIER
        return NO_PATTERN

    cdef int add_pattern(
        self, Collector terms, const uint8_t *text, Py_ssize_t size, Py_ssize_t core_size, Pattern kind,
        object segment,
    ) except -1:
        cdef bytes digits
        if self._split_patterns and self.cut_words(terms, text, size, F_SPECIAL, None, False, None, segment):
            return 0
        if not self._split_patterns and kind == PHONE:
            digits = PyBytes_FromStringAndSize(<const char *> text, size).translate(None, b" .-")
            return self.add_piece(terms, <const uint8_t *> digits, len(digits), F_SPECIAL, None, False, None)
        return self.add_piece(terms, text, core_size, F_SPECIAL, None, False, None)

    cdef int add_piece(
        self, Collector terms, const uint8_t *piece, Py_ssize_t size, uint8_t flags,
        StopSet stops, bint drop_stops, object stem,
    ) except -1:
        cdef Py_ssize_t folded
        cdef uint8_t *out
        if flags & F_SPECIAL and not self._fold_special:
            out = terms.room(size)
            memcpy(out, piece, size)
            return self.add_word(terms, size, flags, None, False, None, size)
        folded = -1
        if not self._always_normalize:
            folded = fold(piece, size, terms.room(2 * size), self._composes)
        if folded >= 0:
            return self.add_word(terms, folded, flags, stops, drop_stops, stem, size)
        for part in self._normalize(PyUnicode_DecodeUTF8(<const char *> piece, size, NULL)).split():
            self.write_word(terms, part)
            self.add_word(terms, len((<str> part).encode()), flags, stops, drop_stops, stem, size)
        return 0

    cdef int write_word(self, Collector terms, str word) except -1:
        cdef Py_ssize_t size
        cdef const char *utf8 = PyUnicode_AsUTF8AndSize(word, &size)
        memcpy(terms.room(size), utf8, size)
        return 0

    cdef int add_word(
        self, Collector terms, Py_ssize_t size, uint8_t flags, StopSet stops, bint drop_stops, object stem,
        Py_ssize_t typed,
    ) except -1:
        """Take the `size` bytes just written to the collector's room as a folded word."""
        cdef uint32_t hashed = hash_bytes(terms._bytes + terms._used, size)
        return self.add_hashed(terms, size, hashed, flags, stops, drop_stops, stem, typed)

    cdef inline int add_hashed(
        self, Collector terms, Py_ssize_t size, uint32_t hashed, uint8_t flags, StopSet stops, bint drop_stops,
        object stem, Py_ssize_t typed,
    ) except -1:
        cdef str stemmed
        if stops is not None and stops.holds(terms._bytes + terms._used, size, hashed):
            if drop_stops:
                return 0
            flags |= F_STOP
        if stem is not None:
            stemmed = stem(PyUnicode_DecodeUTF8(<const char *> terms._bytes + terms._used, size, NULL))
            self.write_word(terms, stemmed)
            size = len(stemmed.encode())
            if size == 0:
                return 0
            hashed = hash_bytes(terms._bytes + terms._used, size)
        return terms.add(size, flags, hashed, <uint32_t> typed)


@cython.final
cdef class BoundAnalyzer:
    """Cuts every text as `cutter.cut` does with the other arguments."""
    cdef Analyzer _cutter
    cdef StopSet _stops
    cdef bint _drop_stops
    cdef object _stem, _segment

    def __cinit__(
        self, Analyzer cutter not None, StopSet stops=None, bint drop_stops=False, stem=None, segment=None
    ):
        self._cutter = cutter
        self._stops = stops
        self._drop_stops = drop_stops
        self._stem = stem
        self._segment = segment

    def cut(self, str text not None) -> Terms:
        """Return the distinct terms of `text`. Raise UnicodeEncodeError if it holds a lone surrogate."""
        return self._cutter.cut_text(text, self._stops, self._drop_stops, self._stem, self._segment)


cdef Py_ssize_t fold(const uint8_t *piece, Py_ssize_t size, uint8_t *out, bint composes) noexcept nogil:
    """Write the piece case-folded, character by character; -1: it needs more than that.

    One-to-one folding at most doubles the bytes (U+0250 and its kind: two bytes to three).
    """
    cdef Py_ssize_t at = 0, written = 0
    cdef uint32_t point
    cdef uint16_t found, before = 0
    cdef int width
    while at < size:
        if piece[at] < 0x80:
            if 0x1C <= piece[at] <= 0x1F:  # Python parts words there
                return -1
            out[written] = piece[at] | 32 if c'A' <= piece[at] <= c'Z' else piece[at]
            before = 0
            written += 1
            at += 1
            continue
        point = read(piece, at, &width)
        found = properties(point)
        if found & FOLDS_LONG or (composes and (found & NORMALISES or (found & before & MARK))):
            return -1
        before = found
        written += write(out + written, point + fold_distance(point))
        at += width
    return written
