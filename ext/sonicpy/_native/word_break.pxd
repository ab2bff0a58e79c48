"""Word borders: rules WB1 to WB999 of UAX #29; the numbers are in the comments.

Each rule depends on at most two significant characters before a place, never on those before a border, so that each
piece can begin afresh; and on at most one significant character behind the place.
"""

from libc.stdint cimport uint8_t, uint16_t

from sonicpy._native.characters cimport (
    ALPHANUMERIC, CLASS_MASK, CR, DOUBLE_QUOTE, EXTEND, EXTEND_NUM_LET, FORMAT, HEBREW, KATAKANA, LETTER, LF,
    MID_LETTER, MID_NUM, MID_NUM_LET, NEWLINE, NO_CLASS, NUMERIC, PICTOGRAPH, REGIONAL, SINGLE_QUOTE, SPACE_RUN, ZWJ,
    properties,
)
from sonicpy._native.utf8 cimport decode


cdef inline bint is_letter(int kind) noexcept nogil:
    return kind == LETTER or kind == HEBREW


cdef inline bint is_ignored(int kind) noexcept nogil:
    return kind == EXTEND or kind == FORMAT or kind == ZWJ


cdef inline int class_after(const uint8_t *text, Py_ssize_t size, Py_ssize_t at) noexcept nogil:
    """Return the class of the next character that rule WB4 does not skip, or NO_CLASS at the end."""
    cdef int width, kind
    while at < size:
        kind = properties(decode(text, at, &width)) & CLASS_MASK
        if not is_ignored(kind):
            return kind
        at += width
    return NO_CLASS


cdef inline Py_ssize_t letter_end(const uint8_t *text, Py_ssize_t size, Py_ssize_t at) noexcept nogil:
    """Return the end of the letter at `at`, including its marks."""
    cdef int width
    decode(text, at, &width)
    at += width
    while at < size and is_ignored(properties(decode(text, at, &width)) & CLASS_MASK):
        at += width
    return at


cdef inline bint joins(
    const uint8_t *text, Py_ssize_t size, Py_ssize_t after, int before, int last, int kind
) noexcept nogil:
    """Return whether rules WB5 to WB13b forbid a border between characters of the classes `last` and `kind`; `after` is
    the end of the second one, `before` the class of the character before the first one."""
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


cdef inline Py_ssize_t word_end(const uint8_t *text, Py_ssize_t size, Py_ssize_t at, bint *has_word) noexcept nogil:
    """Return the end of the piece that begins at the border `at`; `has_word` is set to whether it has a letter or
    number.

    `before` and `last` are the two significant characters before the current one, `raw` is the character just before
    it, of any class.
    """
    cdef int width
    cdef uint16_t found = properties(decode(text, at, &width))
    cdef int last = found & CLASS_MASK, raw = last, before = NO_CLASS, kind
    cdef int regional = 1 if last == REGIONAL else 0
    has_word[0] = (found & ALPHANUMERIC) != 0
    at += width
    while at < size:
        found = properties(decode(text, at, &width))
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
