"""Masks of values: ranges, sets, and points near another point. The lowest and the highest value decide most
windows."""

cimport cython
from libc.math cimport cos
from libc.stdint cimport INT64_MAX, INT64_MIN, int64_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memset

from sonicpy._native.bits cimport lowest_bit
from sonicpy._native.column_window cimport ColumnWindow, within
from sonicpy._native.mask cimport Mask
from sonicpy._native.memory cimport zeroed
from sonicpy._native.sphere cimport Place, chord, latitude_of, longitude_of, place_of
from sonicpy._native.windows cimport ROW_BYTES, WINDOW_BITS, WINDOW_OBJECTS, WINDOW_WORDS

from sonicpy._native.sphere import chord_of_meters

cdef enum:
    COMPARED = 256  # values of a window that are compared one by one in the time of all at once
    FEW_VALUES = 8  # of a list, each of which is compared with all values of a window at once

cdef int64_t UNITS = 10_000_000  # of a degree
cdef double METERS_OF_DEGREE = 111_195.0


cdef ColumnWindow window_of(object windows, Py_ssize_t window):
    """Return the values of a window; None: the window has none."""
    if isinstance(windows, LazyWindows):
        return (<LazyWindows> windows).get(window)
    return <ColumnWindow> (<list> windows)[window] if window < len(<list> windows) else None


@cython.final
cdef class LazyWindows:
    """The windows of a column, each read when it is first needed.

    Args:
        reader: a ColumnReader.
        column: the number of the column.
        known: the list of windows, with False in place of each window not read yet. Threads may share the list.
    """

    def __init__(self, reader, column, list known not None):
        self.reader, self.column, self.known = reader, column, known

    def at(self, Py_ssize_t window) -> "ColumnWindow | None":
        """Return a window; None: it has no values."""
        return self.get(window)

    cdef ColumnWindow get(self, Py_ssize_t window):
        if window >= len(self.known):
            return None
        if self.known[window] is False:
            self.known[window] = self.reader.window(self.column, window)
        return <ColumnWindow> self.known[window]


cdef class OfColumn(Mask):
    """The base of masks that select objects by their values in a column.

    Args:
        columns: LazyWindows, or a list with the ColumnWindow of each window, None for a window without values.
    """

    cdef object columns
    cdef ColumnWindow here  # of the window that was looked at last
    cdef int64_t here_number

    def __cinit__(self, Py_ssize_t windows, columns not None, *arguments):
        self.columns = columns
        self.here_number = -1

    cdef inline ColumnWindow of(self, int64_t window):
        """Return the values of a window; None: the window has none."""
        if window != self.here_number:
            self.here = window_of(self.columns, window)
            self.here_number = window
        return self.here


@cython.final
cdef class InRange(OfColumn):
    """The objects with a value in a range.

    Args:
        low, high: the bounds of the range, both included.
    """

    cdef int64_t low, high

    def __init__(self, Py_ssize_t windows, columns not None, int64_t low, int64_t high):
        self.low, self.high = low, high
        self.few = COMPARED

    cdef bint may(self, int64_t window) except -1:
        cdef ColumnWindow column = self.of(window)
        if column is None or self.low > self.high:
            return False
        return column.lowest <= self.high and self.low <= column.highest

    cdef int mark(self, Py_ssize_t window, uint64_t *bits) except -1:
        cdef ColumnWindow column = self.of(window)
        if column is None or self.low > self.high or self.high < column.lowest or self.low > column.highest:
            return 0
        column.decode()
        return column.mark(self.low, self.high, bits)

    cdef bint holds(self, uint32_t iid) except -1:
        return is_in_range(self.of(iid >> WINDOW_BITS), iid, self.low, self.high)


@cython.final
cdef class OneOf(OfColumn):
    """The objects with one of several values.

    Args:
        values: the values, rising.
    """

    cdef int64_t *values
    cdef Py_ssize_t number

    def __init__(self, Py_ssize_t windows, columns not None, values not None):
        cdef Py_ssize_t at
        self.number = len(values)
        self.few = COMPARED if self.number <= FEW_VALUES else WINDOW_OBJECTS
        self.values = <int64_t *> zeroed(self.number, sizeof(int64_t))
        for at in range(self.number):
            self.values[at] = values[at]

    def __dealloc__(self):
        free(self.values)

    cdef bint may(self, int64_t window) except -1:
        cdef ColumnWindow column = self.of(window)
        if column is None or not self.number:
            return False
        return self.values[0] <= column.highest and column.lowest <= self.values[self.number - 1]

    cdef inline bint lists(self, int64_t value) noexcept nogil:
        cdef Py_ssize_t low = 0, high = self.number, middle
        while low < high:
            middle = (low + high) // 2
            if self.values[middle] < value:
                low = middle + 1
            else:
                high = middle
        return low < self.number and self.values[low] == value

    cdef int mark(self, Py_ssize_t window, uint64_t *bits) except -1:
        cdef ColumnWindow column = self.of(window)
        cdef Py_ssize_t word
        cdef uint64_t some = 0, left
        cdef int place
        if column is None or not self.number:
            return 0
        if self.values[self.number - 1] < column.lowest or self.values[0] > column.highest:
            return 0
        column.decode()
        if column.narrow != NULL and self.number <= FEW_VALUES:
            return self.mark_each(column, bits)
        for word in range(WINDOW_WORDS):
            bits[word], left = 0, column.bits[word]
            while left:
                place = lowest_bit(left)
                left &= left - 1
                if self.lists(column.at(<int> (word << 6 | place))):
                    bits[word] |= <uint64_t> 1 << place
            some |= bits[word]
        return some != 0

    cdef int mark_each(self, ColumnWindow column, uint64_t *bits) noexcept nogil:
        """Write the bits of a window, whose values must be decoded to `narrow`; return whether any bit is set.

        Each value in turn is compared with all objects at once.
        """
        cdef uint64_t found[WINDOW_WORDS]
        cdef uint64_t some = 0
        cdef Py_ssize_t number, word
        memset(bits, 0, ROW_BYTES)
        for number in range(self.number):
            if column.lowest <= self.values[number] <= column.highest:
                within(column.narrow, <uint32_t> (<uint64_t> self.values[number] - <uint64_t> column.lowest), 0, found)
                for word in range(WINDOW_WORDS):
                    bits[word] |= found[word] & column.bits[word]
                    some |= bits[word]
        return some != 0

    cdef bint holds(self, uint32_t iid) except -1:
        cdef ColumnWindow column = self.of(iid >> WINDOW_BITS)
        cdef int place = iid & (WINDOW_OBJECTS - 1)
        if column is None:
            return False
        column.decode()
        return column.has(place) and self.lists(column.at(place))


@cython.final
cdef class Near(OfColumn):
    """The objects whose point is near a centre.

    Args:
        point: the centre, as a packed point.
        meters: the greatest distance in metres.
    """

    cdef Place centre
    cdef int64_t most  # the square of the longest chord
    cdef int64_t south, north  # no point beyond is near
    cdef int64_t longitude, aside  # nor one that is further to the east or west

    def __init__(self, Py_ssize_t windows, columns not None, int64_t point, double meters):
        cdef double degrees = meters / METERS_OF_DEGREE * 1.001 + 0.001, slope
        self.few = WINDOW_OBJECTS
        place_of(point, &self.centre)
        self.most = chord_of_meters(meters)
        self.south = latitude_of(point) - <int64_t> (degrees * UNITS)
        self.north = latitude_of(point) + <int64_t> (degrees * UNITS)
        self.longitude = longitude_of(point)
        self.aside = 360 * UNITS
        if self.south > -89 * UNITS and self.north < 89 * UNITS:
            slope = cos(max(abs(self.south), abs(self.north)) / <double> UNITS * 0.017453292519943295)
            self.aside = <int64_t> min(degrees / slope * UNITS, 360.0 * UNITS)

    cdef bint may(self, int64_t window) except -1:
        cdef ColumnWindow column = self.of(window)
        if column is None:
            return False
        return latitude_of(column.lowest) <= self.north and self.south <= latitude_of(column.highest)

    cdef inline bint is_near(self, int64_t point) noexcept nogil:
        cdef Place place
        cdef int64_t aside, other
        if latitude_of(point) < self.south or latitude_of(point) > self.north:
            return False
        aside = longitude_of(point) - self.longitude
        aside = -aside if aside < 0 else aside
        other = 360 * UNITS - aside
        if aside > self.aside and other > self.aside:
            return False
        place_of(point, &place)
        return chord(&place, &self.centre) <= self.most

    cdef int mark(self, Py_ssize_t window, uint64_t *bits) except -1:
        cdef ColumnWindow column = self.of(window)
        cdef Py_ssize_t word
        cdef uint64_t some = 0, left
        cdef int place
        if column is None or latitude_of(column.highest) < self.south or latitude_of(column.lowest) > self.north:
            return 0
        column.decode()
        for word in range(WINDOW_WORDS):
            bits[word], left = 0, column.bits[word]
            while left:
                place = lowest_bit(left)
                left &= left - 1
                if self.is_near(column.at(<int> (word << 6 | place))):
                    bits[word] |= <uint64_t> 1 << place
            some |= bits[word]
        return some != 0

    cdef bint holds(self, uint32_t iid) except -1:
        cdef ColumnWindow column = self.of(iid >> WINDOW_BITS)
        cdef int place = iid & (WINDOW_OBJECTS - 1)
        if column is None:
            return False
        column.decode()
        return column.has(place) and self.is_near(column.at(place))
