"""Orders the objects of a mask by a value, and counts them by ranges of values, window by window.

The windows come in the order of their best possible value; once a window cannot hold any of the best objects, the
remaining ones are not read.
"""

cimport cython
from libc.stdint cimport INT64_MAX, INT64_MIN, int64_t, uint32_t, uint64_t
from libc.stdlib cimport free, qsort

from sonicpy._native.bits cimport lowest_bit
from sonicpy._native.column_mask cimport window_of
from sonicpy._native.column_window cimport ColumnWindow
from sonicpy._native.mask cimport Mask
from sonicpy._native.memory cimport resized, zeroed
from sonicpy._native.sphere cimport Place, chord, place_of
from sonicpy._native.windows cimport WINDOW_BITS, WINDOW_WORDS


cdef struct Ranked:
    int64_t key  # the higher the better
    int64_t number  # of an object or a window; the higher the better, where keys are equal


cdef int by_key(const void *one, const void *other) noexcept nogil:
    cdef const Ranked *left = <const Ranked *> one
    cdef const Ranked *right = <const Ranked *> other
    if left.key != right.key:
        return -1 if left.key > right.key else 1
    return (left.number < right.number) - (left.number > right.number)


cdef inline bint is_before(const Ranked *one, const Ranked *other) noexcept nogil:
    return one.key > other.key or (one.key == other.key and one.number > other.number)


cdef void sink(Ranked *heap, Py_ssize_t size) noexcept nogil:
    """Move the first element of a heap, whose first element should be its worst, to its place."""
    cdef Py_ssize_t at = 0, child
    cdef Ranked moved = heap[0]
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        if child + 1 < size and is_before(&heap[child], &heap[child + 1]):
            child += 1
        if not is_before(&moved, &heap[child]):
            break
        heap[at] = heap[child]
        at = child
    heap[at] = moved


cdef void lift(Ranked *heap, Py_ssize_t at) noexcept nogil:
    cdef Ranked moved = heap[at]
    while at and is_before(&heap[(at - 1) // 2], &moved):
        heap[at] = heap[(at - 1) // 2]
        at = (at - 1) // 2
    heap[at] = moved


@cython.final
cdef class Best:
    """A heap of the best objects so far."""

    cdef Ranked *heap
    cdef Py_ssize_t size, wanted, room
    cdef Ranked behind  # only objects behind this one are wanted

    def __cinit__(self, Py_ssize_t wanted, int64_t key, int64_t number):
        self.wanted = wanted
        self.behind = Ranked(key, number)

    def __dealloc__(self):
        free(self.heap)

    cdef inline bint is_full_before(self, int64_t key) noexcept nogil:
        """Return whether no object with this key or a lower one can be among the best."""
        return self.size == self.wanted and self.heap[0].key > key

    cdef int offer(self, int64_t key, int64_t number) except -1:
        cdef Ranked one = Ranked(key, number)
        if not is_before(&self.behind, &one):
            return 0
        if self.size == self.wanted:
            if is_before(&one, &self.heap[0]):
                self.heap[0] = one
                sink(self.heap, self.size)
            return 0
        if self.size == self.room:
            self.room = 2 * self.room + 64
            self.heap = <Ranked *> resized(self.heap, self.room * sizeof(Ranked))
        self.heap[self.size] = one
        self.size += 1
        lift(self.heap, self.size - 1)
        return 0


def best_by_value(
    Mask mask not None, list columns not None, Py_ssize_t wanted, *, bint descending=False, point=None, after=None
) -> list:
    """Return the (IID, key) of the best objects of a mask that have a value: the highest keys first, then the newest.

    Args:
        columns: the ColumnWindow of each window, None for a window without values.
        wanted: the most objects to return.
        descending: True: the highest value comes first, and the key is the value. False: the key is -1 - value.
        point: a packed point; the values are points, the nearest come first, and the key is -1 - the square of the
            chord.
        after: a (key, IID); only objects behind this one are returned.
    """
    cdef Place centre, place
    cdef bint is_distance = point is not None
    cdef Best best
    cdef ColumnWindow column
    cdef Ranked *order
    cdef Py_ssize_t windows = 0, at, window, word
    cdef const uint64_t *bits
    cdef uint64_t left
    cdef int64_t value
    cdef int place_in
    cdef list found = []
    best = Best(wanted, INT64_MAX if after is None else after[0], INT64_MAX if after is None else after[1])
    if wanted <= 0:
        return found
    if is_distance:
        place_of(point, &centre)
    order = <Ranked *> zeroed(len(columns), sizeof(Ranked))
    try:
        for window in range(min(<Py_ssize_t> len(columns), mask.count)):
            column = window_of(columns, window)
            if column is not None:
                value = column.highest if descending else -1 - column.lowest
                order[windows] = Ranked(-1 if is_distance else value, window)
                windows += 1
        qsort(order, windows, sizeof(Ranked), by_key)
        for at in range(windows):
            if best.is_full_before(order[at].key):
                break
            window = order[at].number
            bits = mask.some(window)
            if bits == NULL:
                continue
            column = window_of(columns, window)
            column.decode()
            for word in range(WINDOW_WORDS):
                left = bits[word] & column.bits[word]
                while left:
                    place_in = <int> (word << 6 | lowest_bit(left))
                    left &= left - 1
                    value = column.at(place_in)
                    if is_distance:
                        place_of(value, &place)
                        value = -1 - chord(&place, &centre)
                    elif not descending:
                        value = -1 - value
                    best.offer(value, window << WINDOW_BITS | place_in)
        qsort(best.heap, best.size, sizeof(Ranked), by_key)
        for at in range(best.size):
            found.append((best.heap[at].number, best.heap[at].key))
    finally:
        free(order)
    return found


def count_ranges(Mask mask not None, list columns not None, list bounds not None) -> list:
    """Return the counts of objects of a mask with a value below the first bound, from each bound up to the next one,
    and from the last one on.

    Args:
        columns: see `best_by_value`.
        bounds: the bounds in rising order.
    """
    cdef Py_ssize_t number = len(bounds), at, low, high, middle, window, word
    cdef int64_t *limits = <int64_t *> zeroed(number, sizeof(int64_t))
    cdef uint64_t *counts = NULL
    cdef ColumnWindow column
    cdef const uint64_t *bits
    cdef uint64_t left
    cdef int64_t value
    try:
        counts = <uint64_t *> zeroed(number + 1, sizeof(uint64_t))
        for at in range(number):
            limits[at] = bounds[at]
        for window in range(min(<Py_ssize_t> len(columns), mask.count)):
            column = window_of(columns, window)
            bits = mask.some(window) if column is not None else NULL
            if bits == NULL:
                continue
            column.decode()
            for word in range(WINDOW_WORDS):
                left = bits[word] & column.bits[word]
                while left:
                    value = column.at(<int> (word << 6 | lowest_bit(left)))
                    left &= left - 1
                    low, high = 0, number
                    while low < high:
                        middle = (low + high) // 2
                        if limits[middle] <= value:
                            low = middle + 1
                        else:
                            high = middle
                    counts[low] += 1
        return [counts[at] for at in range(number + 1)]
    finally:
        free(limits)
        free(counts)


cdef enum:
    LAST_VALUES = 1024  # that are remembered: a value that comes often is looked up there, not in the set


def distinct_values(Mask mask not None, list columns not None) -> tuple:
    """Return the set of the different values of the objects of a mask, and the number of these objects that have a
    value.

    Args:
        columns: see `best_by_value`.
    """
    cdef Py_ssize_t window, word, at
    cdef ColumnWindow column
    cdef const uint64_t *bits
    cdef uint64_t left, held = 0
    cdef int64_t value
    cdef int64_t last[LAST_VALUES]
    cdef bint is_known[LAST_VALUES]
    cdef set found = set()
    for at in range(LAST_VALUES):
        is_known[at] = False
    for window in range(min(<Py_ssize_t> len(columns), mask.count)):
        column = window_of(columns, window)
        bits = mask.some(window) if column is not None else NULL
        if bits == NULL:
            continue
        column.decode()
        for word in range(WINDOW_WORDS):
            left = bits[word] & column.bits[word]
            while left:
                value = column.at(<int> (word << 6 | lowest_bit(left)))
                left &= left - 1
                held += 1
                at = <Py_ssize_t> ((<uint64_t> value * 0x9E3779B97F4A7C15ULL) >> 54)
                if not is_known[at] or last[at] != value:
                    is_known[at], last[at] = True, value
                    found.add(value)
    return found, held
