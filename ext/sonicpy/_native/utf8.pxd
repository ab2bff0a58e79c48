"""UTF-8: the only decoder and encoder of the native modules.

`decode` trusts its input: it is for the text of Python strings, or text checked by `is_utf8`. `decode_checked` is for
all other bytes.
"""

from libc.stdint cimport uint8_t, uint32_t


cdef inline int character_bytes(uint8_t lead) noexcept nogil:
    """Return the number of bytes of a character that begins with `lead`."""
    return 1 if lead < 0xC0 else 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4


cdef inline uint32_t lead_bits(uint8_t lead) noexcept nogil:
    """Return the bits of the code point in the first byte of a character."""
    return lead & (0x7F if lead < 0xC0 else 0x1F if lead < 0xE0 else 0x0F if lead < 0xF0 else 0x07)


cdef inline uint8_t lead_byte(uint32_t point) noexcept nogil:
    """Return the first byte of a character."""
    if point < 0x80:
        return <uint8_t> point
    return 0xC0 | point >> 6 if point < 0x800 else 0xE0 | point >> 12 if point < 0x10000 else 0xF0 | point >> 18


cdef inline uint32_t decode(const uint8_t *text, Py_ssize_t at, int *width) noexcept nogil:
    """Return the character at `at` of valid UTF-8, and its number of bytes in `width`."""
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


cdef inline int decode_checked(const uint8_t *text, Py_ssize_t size, uint32_t *point) noexcept nogil:
    """Decode the first character of `size` > 0 bytes; return its number of bytes; 0: the bytes are not valid UTF-8."""
    cdef uint8_t lead = text[0]
    cdef int width = character_bytes(lead), step
    if lead < 0x80:
        point[0] = lead
        return 1
    if lead < 0xC2 or lead > 0xF4 or size < width:
        return 0
    for step in range(1, width):
        if text[step] & 0xC0 != 0x80:
            return 0
    point[0] = decode(text, 0, &width)
    if width == 3 and (point[0] < 0x800 or 0xD800 <= point[0] < 0xE000):
        return 0
    if width == 4 and not 0x10000 <= point[0] < 0x110000:
        return 0
    return width


cdef inline bint is_utf8(const uint8_t *text, Py_ssize_t size) noexcept nogil:
    cdef uint32_t point
    cdef int width
    while size > 0:
        width = decode_checked(text, size, &point)
        if width == 0:
            return False
        text += width
        size -= width
    return True


cdef inline int encode(uint8_t *out, uint32_t point) noexcept nogil:
    """Write a character and return its number of bytes; `out` has room for four."""
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


cdef inline Py_ssize_t letters_in(const uint8_t *text, Py_ssize_t size) noexcept nogil:
    """Return the number of characters of a text in valid UTF-8."""
    cdef Py_ssize_t at, letters = 0
    for at in range(size):
        letters += text[at] & 0xC0 != 0x80
    return letters
