"""Orders the objects of a mask by a value, and counts them by ranges of values, window by window.

The windows come in the order of their best possible value; once a window cannot hold any of the best objects, the
remaining ones are not read.
"""

cimport cython
from libc.stdint cimport INT64_MAX, INT64_MIN, int64_t, uint32_t, uint64_t
from libc.stdlib cimport free, qsort

from sonicpy._native.bits cimport highest_bit, lowest_bit
from sonicpy._native.column_mask cimport window_of
from sonicpy._native.column_window cimport ColumnWindow
from sonicpy._native.mask cimport Mask
from sonicpy._native.memory cimport resized, zeroed
from sonicpy._native.sphere cimport Place, chord, place_of
from sonicpy._native.windows cimport WINDOW_BITS, WINDOW_WORDS


cdef enum:
    COMPARED = 128  # objects of a window that are compared one by one before all others are at once


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


cdef void sink(Ranked *heap, Py_ssize_t size, Py_ssize_t at=0) noexcept nogil:
    """Move the element at `at` of a heap, whose first element should be its worst, down to its place."""
    cdef Py_ssize_t child
    cdef Ranked moved = heap[at]
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


cdef int offer_all(
    Best best, Py_ssize_t window, const uint64_t *bits, ColumnWindow column, bint descending, const Place *centre
) except -1:
    """Offer the objects of a decoded window that have a set bit and a value.

    Args:
        centre: the nearest points are the best; NULL: the values are compared.
    """
    cdef uint64_t sieve[WINDOW_WORDS]
    cdef bint is_up, may_sieve = centre == NULL and column.narrow != NULL, is_sieved = False
    cdef Py_ssize_t step, word, compared = 0
    cdef uint64_t left
    cdef int64_t key
    cdef int bit, at
    cdef Place place
    # Values often rise or fall with IIDs: from the better end on, few objects displace others.
    is_up = centre == NULL and is_better_at_start(column, descending)
    for step in range(WINDOW_WORDS):
        word = step if is_up else WINDOW_WORDS - 1 - step
        left = bits[word] & column.bits[word]
        if may_sieve and compared > COMPARED and best.size == best.wanted:
            may_sieve, is_sieved = False, True
            if best.is_full_before(column.highest if descending else -1 - column.lowest):
                return 0
            if descending:
                column.mark(best.heap[0].key, INT64_MAX, sieve)
            else:
                column.mark(INT64_MIN, -1 - best.heap[0].key, sieve)
        if is_sieved:
            left &= sieve[word]
        while left:
            bit = lowest_bit(left) if is_up else highest_bit(left)
            left &= ~(<uint64_t> 1 << bit)
            at = <int> (word << 6 | bit)
            compared += 1
            key = column.at(at)
            if centre != NULL:
                place_of(key, &place)
                key = -1 - chord(&place, centre)
            elif not descending:
                key = -1 - key
            if not best.is_full_before(key):
                best.offer(key, window << WINDOW_BITS | at)
    return 0


cdef bint is_better_at_start(ColumnWindow column, bint descending) noexcept:
    """Return whether the value of the first object of a window comes before that of its last one; the window is
    decoded."""
    cdef Py_ssize_t first = 0, last = WINDOW_WORDS - 1
    cdef int64_t start, end
    while first < last and not column.bits[first]:
        first += 1
    while last > first and not column.bits[last]:
        last -= 1
    start = column.at(<int> (first << 6 | lowest_bit(column.bits[first])))
    end = column.at(<int> (last << 6 | highest_bit(column.bits[last])))
    return start > end if descending else start < end


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
    cdef Place centre
    cdef Place *near = NULL
    cdef Best best
    cdef ColumnWindow column
    cdef Ranked *order
    cdef Py_ssize_t windows = 0, window
    cdef const uint64_t *bits
    cdef list found = []
    best = Best(wanted, INT64_MAX if after is None else after[0], INT64_MAX if after is None else after[1])
    if wanted <= 0:
        return found
    if point is not None:
        near = &centre
        place_of(point, near)
    order = <Ranked *> zeroed(len(columns), sizeof(Ranked))
    try:
        for window in range(min(<Py_ssize_t> len(columns), mask.count)):
            column = window_of(columns, window)
            if column is not None:  # as a heap of which the best window is the first element
                order[windows] = Ranked(
                    0 if near != NULL else -1 - column.highest if descending else column.lowest, -1 - window
                )
                windows += 1
        for window in range(windows // 2 - 1, -1, -1):
            sink(order, windows, window)
        while windows and not best.is_full_before(-1 - order[0].key):
            window = -1 - order[0].number
            windows -= 1
            order[0] = order[windows]
            sink(order, windows)
            bits = mask.some(window)
            if bits != NULL:
                column = window_of(columns, window)
                column.decode()
                offer_all(best, window, bits, column, descending, near)
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
