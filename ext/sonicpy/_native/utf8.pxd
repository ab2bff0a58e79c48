"""UTF-8: one character decoded, trusted or checked, and the parts of a lead byte."""

from libc.stdint cimport uint8_t, uint32_t

cdef inline int character_bytes(uint8_t lead) noexcept nogil:
    """Return how many bytes a character has that begins with `lead`."""
    return 1 if lead < 0xC0 else 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4


cdef inline uint32_t lead_bits(uint8_t lead) noexcept nogil:
    """Return the bits of the code point that stand in its lead byte."""
    return lead & (0x7F if lead < 0xC0 else 0x1F if lead < 0xE0 else 0x0F if lead < 0xF0 else 0x07)


cdef inline uint8_t lead_byte(uint32_t point) noexcept nogil:
    """Return the first byte of a character."""
    if point < 0x80:
        return <uint8_t> point
    return 0xC0 | point >> 6 if point < 0x800 else 0xE0 | point >> 12 if point < 0x10000 else 0xF0 | point >> 18


cdef inline uint32_t read(const uint8_t *text, Py_ssize_t at, int *width) noexcept nogil:
    """Decode the character at `at` of text that is valid UTF-8; `width` becomes its number of bytes."""
    cdef uint32_t lead = text[at]
    if lead < 0x80:
        width[0] = 1
        return lead
    if lead < 0xE0:
        width[0] = 2
        return (lead & 0x1F) << 6 | (text[at + 1] & 0x3F)
    if lead < 0xF0:
        width[0] = 3
        return (lead & 0x0F) << 12 | (<uint32_t> text[at + 1] & 0x3F) << 6 | (text[at + 2] & 0x3F)
    width[0] = 4
    return (
        (lead & 0x07) << 18
        | (<uint32_t> text[at + 1] & 0x3F) << 12
        | (<uint32_t> text[at + 2] & 0x3F) << 6
        | (text[at + 3] & 0x3F)
    )


cdef inline int valid_width(const uint8_t *text, Py_ssize_t size) noexcept nogil:
    """Return how many bytes the first character of `size` > 0 bytes has; 0: they do not begin with valid UTF-8."""
    cdef uint8_t lead = text[0]
    cdef int width = character_bytes(lead), step
    cdef uint32_t point
    if lead < 0x80:
        return 1
    if lead < 0xC2 or lead > 0xF4 or size < width:
        return 0
    for step in range(1, width):
        if text[step] & 0xC0 != 0x80:
            return 0
    point = read(text, 0, &width)
    if width == 3 and (point < 0x800 or 0xD800 <= point < 0xE000):  # too long a form, or a surrogate
        return 0
    if width == 4 and not 0x10000 <= point < 0x110000:
        return 0
    return width


cdef inline bint is_utf8(const uint8_t *text, Py_ssize_t size) noexcept nogil:
    cdef Py_ssize_t at = 0
    cdef int width
    while at < size:
        width = valid_width(text + at, size - at)
        if width == 0:
            return False
        at += width
    return True
