"""Properties of characters, from the tables that ext/tables/unicode.py writes at build time."""

from libc.stdint cimport int32_t, uint8_t, uint16_t, uint32_t

from sonicpy._native.utf8 cimport decode

cdef extern from "unicode_tables.h":
    const uint16_t PROPERTY_INDEX[]
    const uint16_t PROPERTY_BLOCKS[]
    const int32_t FOLD_BLOCKS[]
    const uint16_t FOLD_INDEX[]
    const uint8_t BYTE_KINDS[]  # by byte: the bits IN_LETTERS to IN_PATTERN

cdef enum:  # the numbers below are those of ext/tables/unicode.py
    # Word_Break classes, the lower five bits of the properties
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

    # The other properties
    ALPHANUMERIC = 1 << 5
    WORD = 1 << 6
    DIGIT = 1 << 7
    SPACE = 1 << 8
    PICTOGRAPH = 1 << 9
    FOLDS_LONG = 1 << 10
    NORMALISES = 1 << 11
    MARK = 1 << 12
    UNSPACED = 1 << 13
    ALPHABETIC = 1 << 14
    RULED = 1 << 15

    # Kinds of bytes
    IN_LETTERS = 1
    IN_DIGITS = 2
    IN_LOW_LINE = 4
    IN_WORD = IN_LETTERS | IN_DIGITS | IN_LOW_LINE
    BETWEEN_LETTERS = 8
    BETWEEN_DIGITS = 16
    CAPITAL = 32  # a capital letter: this bit makes it a small one
    NO_ASCII = 64
    IN_PATTERN = 128  # every match of a pattern holds such a byte, or a digit above ASCII


cdef inline uint16_t properties(uint32_t point) noexcept nogil:
    return PROPERTY_BLOCKS[(<uint32_t> PROPERTY_INDEX[point >> 7] << 7) + (point & 127)]


cdef inline uint16_t properties_at(const uint8_t *text, Py_ssize_t size, Py_ssize_t at) noexcept nogil:
    """Return the properties of the character at `at`; 0 at the end of the text."""
    cdef int width
    return properties(decode(text, at, &width)) if at < size else 0


cdef inline bint is_far_blank(const uint8_t *text, Py_ssize_t size, Py_ssize_t at) noexcept nogil:
    """Return whether the character at `at` is white space beyond ASCII, such as a no-break space."""
    return at < size and text[at] >= 0x80 and properties_at(text, size, at) & SPACE != 0


cdef inline int32_t fold_distance(uint32_t point) noexcept nogil:
    """Return the difference between a character and its case-folded form, if the latter is one character."""
    return FOLD_BLOCKS[(<uint32_t> FOLD_INDEX[point >> 7] << 7) + (point & 127)]


cdef inline bint is_ascii_letter(uint8_t byte) noexcept nogil:
    return c'a' <= (byte | 32) <= c'z'


cdef inline bint is_ascii_blank(uint8_t byte) noexcept nogil:
    return byte == c' ' or 9 <= byte <= 13
