"""The newer rules: characters that are replaced before words are cut, and characters that are words themselves.

ext/tables/prepared.py makes the table. It is only searched for characters with the property RULED.
"""

from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport uint8_t, uint16_t, uint32_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcmp, memcpy

from sonicpy._native.characters cimport RULED, properties
from sonicpy._native.utf8 cimport decode, encode

cdef extern from "prepared_tables.h":
    const uint32_t PREPARED_POINTS[]
    const uint16_t PREPARED_BEGINS[]
    const uint8_t PREPARED_BYTES[]
    enum: PREPARED_COUNT

cdef enum:  # the only byte of a character that does not become others
    EMOJI = 1  # it is a word
    SYMBOL = 2  # it is a hidden word
    JOINER = 3  # the zero width joiner
    GROWTH_MAX = 8  # no character becomes more than this many times its bytes

    MALAYALAM_LEAD = 0xE0  # of the three bytes of a letter of Malayalam, as the next one
    MALAYALAM_NEXT = 0xB4
    CHILLU_BYTES = 6  # a consonant and a virama


cdef inline int prepared_place(uint32_t point) noexcept nogil:
    """Return the place in the table of a character that has the property RULED."""
    cdef int low = 0, high = PREPARED_COUNT - 1, middle
    while low < high:
        middle = (low + high) >> 1
        if PREPARED_POINTS[middle] < point:
            low = middle + 1
        else:
            high = middle
    return low


cdef inline int ruled_kind(uint32_t point) noexcept nogil:
    """Return EMOJI, SYMBOL or JOINER for a character that is one, else 0."""
    cdef int place, begin
    if not properties(point) & RULED:
        return 0
    place = prepared_place(point)
    begin = PREPARED_BEGINS[place]
    return PREPARED_BYTES[begin] if PREPARED_BEGINS[place + 1] - begin == 1 and PREPARED_BYTES[begin] <= JOINER else 0


cdef inline Py_ssize_t first_changing(const uint8_t *text, Py_ssize_t size) noexcept nogil:
    """Return the place of the first character that is replaced, or may be; `size`: there is none."""
    cdef Py_ssize_t at = 0
    cdef uint32_t point
    cdef int width, kind
    while at < size:
        if text[at] < 0x80:
            at += 1
            continue
        point = decode(text, at, &width)
        if properties(point) & RULED:
            kind = ruled_kind(point)
            if kind == 0 or kind == JOINER:
                return at
        at += width
    return size


cdef inline bytes prepared_text(const uint8_t *text, Py_ssize_t size):
    """Return a text in which characters were replaced, as is done before words are cut; None: no character is
    replaced."""
    cdef Py_ssize_t same = first_changing(text, size), written
    cdef uint8_t *room
    if same == size:
        return None
    room = <uint8_t *> malloc(GROWTH_MAX * size)
    if room == NULL:
        raise MemoryError
    try:
        written = prepare(text, size, room)
        return PyBytes_FromStringAndSize(<const char *> room, written)
    finally:
        free(room)


cdef inline Py_ssize_t prepare(const uint8_t *text, Py_ssize_t size, uint8_t *out) noexcept nogil:
    """Write the text in which characters were replaced, and return its number of bytes.

    `out` has room for GROWTH_MAX times the text.
    """
    cdef Py_ssize_t at = 0, written = 0
    cdef uint32_t point
    cdef int width, place, kind, count
    while at < size:
        if text[at] < 0x80:
            out[written] = text[at]
            written += 1
            at += 1
            continue
        point = decode(text, at, &width)
        kind = EMOJI
        if properties(point) & RULED:
            kind = ruled_kind(point)
            if kind == 0:
                place = prepared_place(point)
                count = PREPARED_BEGINS[place + 1] - PREPARED_BEGINS[place]
                memcpy(out + written, PREPARED_BYTES + PREPARED_BEGINS[place], count)
                written += count
        if kind and not (kind == JOINER and join_chillu(out, &written)):
            memcpy(out + written, text + at, width)
            written += width
        at += width
    return written


cdef inline bint join_chillu(uint8_t *out, Py_ssize_t *written) noexcept nogil:
    """Replace a consonant and a virama of Malayalam at the end of a text by a chillu; return whether they were there.

    Since Unicode 5.1 a chillu is a letter of its own: both spellings are the same word.
    """
    cdef uint8_t *last = out + written[0] - CHILLU_BYTES
    cdef uint32_t chillu
    if written[0] < CHILLU_BYTES or last[0] != MALAYALAM_LEAD or memcmp(last + 3, b"\xe0\xb5\x8d", 3):
        return False
    if last[1] != MALAYALAM_NEXT:
        return False
    chillu = chillu_of(last[2])
    if not chillu:
        return False
    written[0] += encode(last, chillu) - CHILLU_BYTES
    return True


cdef inline uint32_t chillu_of(uint8_t consonant) noexcept nogil:
    """Return the chillu of a consonant, given by its last byte in UTF-8; 0: the consonant has none."""
    if consonant == 0xA3:
        return 0x0D7A
    if consonant == 0xA8:
        return 0x0D7B
    if consonant == 0xB0:
        return 0x0D7C
    if consonant == 0xB2:
        return 0x0D7D
    if consonant == 0xB3:
        return 0x0D7E
    return 0x0D7F if consonant == 0x95 else 0
