"""Compares words, read letter by letter, with a pattern that allows errors.

This is the bit-parallel NFA of Wu and Manber ("Fast text searching allowing errors", 1992): bit j of row[e] is set if
the letters read are the first j letters of the pattern with e errors. A swap of two neighbours is one error (optimal
string alignment) or two (Levenshtein), as the caller wants.
"""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memset

from sonicpy._native.utf8 cimport decode

cdef enum:
    DISTANCE_MAX = 3
    LETTERS_MAX = 60  # of a pattern: a bit each and one for the end, in 64
    NOT_FOUND = DISTANCE_MAX + 1


cdef struct Pattern:
    uint64_t first[128]  # by ASCII letter: bit j: it is at place j of the pattern
    uint32_t points[LETTERS_MAX]
    int size
    bint is_ascii


cdef struct State:
    # Bit j of swap[e]: the last letter is at place j + 1 of the pattern, and the letters before it are the first j with
    # e - 1 errors; if the letter at place j comes next, the two were swapped.
    uint64_t row[DISTANCE_MAX + 1]
    uint64_t swap[DISTANCE_MAX + 1]


cdef inline bint read_pattern(Pattern *self, const uint8_t *text, Py_ssize_t size) noexcept nogil:
    """Read a pattern in valid UTF-8; return False if it has too many characters."""
    cdef Py_ssize_t at = 0
    cdef int width
    memset(self, 0, sizeof(Pattern))
    self.is_ascii = True
    while at < size:
        if self.size == LETTERS_MAX:
            return False
        self.points[self.size] = decode(text, at, &width)
        if self.points[self.size] < 0x80:
            self.first[self.points[self.size]] |= <uint64_t> 1 << self.size
        else:
            self.is_ascii = False
        self.size += 1
        at += width
    return True


cdef inline uint64_t places_of(const Pattern *self, uint32_t point) noexcept nogil:
    """Return the places of a character in the pattern, as bits."""
    cdef uint64_t found = 0
    cdef int place
    if point < 0x80:
        return self.first[point]
    if not self.is_ascii:
        for place in range(self.size):
            found |= <uint64_t> (self.points[place] == point) << place
    return found


cdef inline void begin_state(State *self, int distance) noexcept nogil:
    """Set the state before the first letter."""
    cdef int errors
    memset(self, 0, sizeof(State))
    self.row[0] = 1
    for errors in range(1, distance + 1):
        self.row[errors] = self.row[errors - 1] | self.row[errors - 1] << 1


cdef inline const State *last_state(State *self, int errors, uint64_t row, uint64_t swap) noexcept nogil:
    """Set a state in which only `errors` errors are possible; return it."""
    memset(self, 0, sizeof(State))
    self.row[errors], self.swap[errors] = row, swap
    return self


cdef inline void step_over(
    const Pattern *pattern, int distance, bint swaps, const State *old, uint32_t point, State *new
) noexcept nogil:
    """Read one more letter; `swaps`: whether a swap of two neighbours is one error."""
    cdef uint64_t mask = places_of(pattern, point), reached
    cdef uint64_t all_places = (<uint64_t> 2 << pattern.size) - 1
    cdef int errors
    new.row[0] = (old.row[0] & mask) << 1
    new.swap[0] = 0
    for errors in range(1, distance + 1):
        reached = ((old.row[errors] & mask) | old.row[errors - 1] | new.row[errors - 1]) << 1
        reached |= (old.swap[errors] & mask) << 2
        new.row[errors] = (reached | old.row[errors - 1]) & all_places
        new.swap[errors] = old.row[errors - 1] & mask >> 1 if swaps else 0


cdef inline int accepted(const Pattern *pattern, int distance, const State *state) noexcept nogil:
    """Return the least number of errors with which the letters read are the whole pattern; NOT_FOUND: they are not."""
    cdef int errors
    for errors in range(distance + 1):
        if state.row[errors] >> pattern.size & 1:
            return errors
    return NOT_FOUND


cdef inline bint leads_on(const State *state, int most) noexcept nogil:
    """Return whether the pattern may still be read with at most `most` errors."""
    cdef uint64_t some = 0
    cdef int errors
    for errors in range(most + 1):
        some |= state.row[errors] | state.swap[errors]
    return some != 0
