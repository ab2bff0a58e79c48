"""The signs that belong to a word in the newer rules: C++, A+, C# and .NET."""

from libc.stdint cimport uint8_t, uint16_t

from sonicpy._native.characters cimport (
    ALPHANUMERIC, BYTE_KINDS, CLASS_MASK, EXTEND, FORMAT, IN_WORD, MARK, UNSPACED, ZWJ, is_ascii_blank, properties_at,
)

cdef enum:
    SHARP_LETTERS = 2  # the most before a #: C#, not issue#


cdef inline bint is_in_word(const uint8_t *text, Py_ssize_t size, Py_ssize_t at, uint16_t but) noexcept nogil:
    """Return whether the character at `at`, beyond ASCII, may belong to a word beside it: a letter, digit or mark.

    Args:
        but: the property of letters that do not belong to it: UNSPACED, or none.
    """
    cdef uint16_t found = properties_at(text, size, at)
    cdef int kind = found & CLASS_MASK
    if kind == EXTEND or kind == FORMAT or kind == ZWJ or found & MARK:
        return True
    return found & ALPHANUMERIC and not found & but


cdef inline bint has_no_mark(const uint8_t *text, Py_ssize_t size, Py_ssize_t at) noexcept nogil:
    """Return whether the text ends at `at`, or an ASCII character or one that belongs to no word comes, so no mark."""
    return at >= size or text[at] < 0x80 or not is_in_word(text, size, at, UNSPACED)


cdef inline bint opens(const uint8_t *text, Py_ssize_t at) noexcept nogil:
    """Return whether a word that begins with a dot may begin at `at`, as in ` .NET`, `(.gitignore` and `“.NET`; before
    `at` is a character."""
    cdef uint8_t byte = text[at - 1]
    cdef Py_ssize_t first = at - 1
    if byte >= 0x80:
        while first > 0 and text[first] & 0xC0 == 0x80:
            first -= 1
        return not is_in_word(text, at, first, 0)
    return is_ascii_blank(byte) or byte == c"(" or byte == c"[" or byte == c"'" or byte == c'"' or byte == c"`"


cdef inline Py_ssize_t signed_end(const uint8_t *text, Py_ssize_t size, Py_ssize_t began, Py_ssize_t at) noexcept nogil:
    """Return the end of the signs that belong to the word before them, as in C++, A+ and C#; `at` if no signs do.

    Args:
        began, at: the beginning and the end of the word; at `at` is a plus or a number sign.
    """
    cdef Py_ssize_t end
    if text[at] == c"#":
        end = at + 1 if at - began <= SHARP_LETTERS else at
    else:
        end = at + 2 if at + 1 < size and text[at + 1] == c"+" else at + 1
    for place in range(began, at):
        if c"0" <= text[place] <= c"9":
            return at
    if end < size and (
        text[end] == c"+" or text[end] == c"#" or BYTE_KINDS[text[end]] & IN_WORD
        or text[end] >= 0x80 and is_in_word(text, size, end, UNSPACED)
    ):  # fmt: skip
        return at
    return end
