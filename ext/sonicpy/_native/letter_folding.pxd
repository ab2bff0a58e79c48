"""Letters without their marks, for native code."""

from libc.stdint cimport uint8_t, uint16_t, uint32_t

cdef enum:
    FOLDED_MAX = 3
    PAGES = 0x1100


cdef struct Folded:
    uint8_t count
    uint32_t points[FOLDED_MAX]


cdef class Folding:
    cdef uint8_t pages[PAGES]  # the number of the page of 256 characters, 0: none of them changes
    cdef uint16_t *numbers  # by page and character, of its folded form; 0: it stays
    cdef Folded *folded
    cdef bint leads[256]  # a character that begins with this byte changes,
    cdef bint seconds[256 * 64]  # and one that goes on with this one
    cdef dict _letters


cdef inline const Folded *folded_of(const uint8_t *pages, const uint16_t *numbers, const Folded *folded, uint32_t point) noexcept nogil:
    """Return the folded form of a character; NULL: the character stays."""
    cdef uint32_t page = pages[point >> 8]
    cdef uint32_t number
    if page == 0:
        return NULL
    number = numbers[page << 8 | point & 0xFF]
    return &folded[number] if number else NULL
