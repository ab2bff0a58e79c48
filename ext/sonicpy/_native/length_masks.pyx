"""Masks of short objects: a bit for each object of a window that is shorter than a limit, made on demand.

Most objects that hold a word hold it once, so their score depends on their length, and objects that are not shorter
than a limit cannot be among the best. The masks of large buckets are computed each time, because cached masks, a
multiple of the lengths, would take as long to fetch from memory.
"""

from libc.stdint cimport uint8_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

from sonicpy._native.bm25 cimport lengths_of
from sonicpy._native.memory cimport resized
from sonicpy._native.windows cimport LARGE_WINDOWS, ROW_BYTES, WINDOW_BITS, WINDOW_OBJECTS, at_most


cdef class LengthMasks:
    """The masks of short objects in a bucket.

    Args:
        lengths: the lengths of all objects by IID, packed, as bytes or a bytearray that must not change meanwhile.
    """

    def __cinit__(self, lengths not None):
        self.renew(lengths)
        memset(self._everybody, 0xFF, ROW_BYTES)

    def __dealloc__(self):
        self.forget(0, self._room)
        free(self._rows)

    cdef int renew(self, lengths) except -1:
        """Take the lengths of more objects; the caller also has to call `forget` for changed windows."""
        self.lengths = lengths
        self.packed = lengths_of(lengths)
        self._window_count = (self.packed.count >> WINDOW_BITS) + 1
        if self._window_count >= LARGE_WINDOWS:
            self.forget(0, self._room)
        return 0

    cdef void forget(self, Py_ssize_t first, Py_ssize_t end) noexcept:
        """Drop the masks of windows whose lengths changed.

        Args:
            first, end: the first window, and the one behind the last; `end` may be beyond all masks.
        """
        cdef Py_ssize_t number
        for number in range(MASKS * first, MASKS * min(end, self._room)):
            if self._rows[number] != NULL:
                free(self._rows[number])
                self._rows[number] = NULL
                self.size_bytes -= ROW_BYTES

    cdef int make_room(self) except -1:
        cdef Py_ssize_t room = max(self._window_count, 2 * self._room)
        self._rows = <uint64_t **> resized(self._rows, MASKS * room * sizeof(uint64_t *))
        memset(self._rows + MASKS * self._room, 0, MASKS * (room - self._room) * sizeof(uint64_t *))
        self._room = room
        return 0

    cdef const uint64_t *shorter(self, int limit, Py_ssize_t window, uint64_t *room) except NULL:
        """Return the bits of the objects of a window that are shorter than a packed length.

        Args:
            limit: the packed length; above MASKS - 1, all objects count as shorter.
            room: the place for the bits of a window that are not cached, WINDOW_WORDS words.
        """
        cdef uint64_t **row
        if limit <= 0:
            return self._nobody
        if limit >= MASKS or window >= self._window_count:
            return self._everybody
        if self._window_count >= LARGE_WINDOWS:
            self.mark(limit, window, room)
            return room
        if window >= self._room:
            self.make_room()
        row = &self._rows[MASKS * window + limit]
        if row[0] == NULL:
            row[0] = <uint64_t *> malloc(ROW_BYTES)
            if row[0] == NULL:
                raise MemoryError
            self.mark(limit, window, row[0])
            self.size_bytes += ROW_BYTES
        return row[0]

    cdef void mark(self, int limit, Py_ssize_t window, uint64_t *bits) noexcept nogil:
        """Write the bits of the objects of a window that are shorter than a packed length above 0."""
        cdef uint8_t some[WINDOW_OBJECTS]
        cdef uint64_t first = <uint64_t> window << WINDOW_BITS
        cdef const uint8_t *packed = self.packed.packed + first
        if first + WINDOW_OBJECTS > self.packed.count:  # objects beyond the last one hold nothing
            memset(some, 0, WINDOW_OBJECTS)
            memcpy(some, packed, self.packed.count - first)
            packed = some
        at_most(packed, <uint8_t> (limit - 1), bits)
