"""Rows of `columns`: the values of 128 neighbouring objects under one name; and windows of them, for queries.

    row     number of values - 1 u8, bits of a difference u8 (0 to 64), v(step - 1), v(zigzag of the lowest value),
            v(the largest difference); unless all 128 have one, bits(7) the place of each if they are at most 18, else 128
            bits, one for each place; then in bits, by rising place, (value - lowest) // step of each

v() is a varint (varint.pxd). The step is a common divisor of all differences from the lowest value, such as 100 for
round prices in cents. The lowest and the highest value are at the beginning, so that a query for values outside of them
skips the rest.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport INT64_MAX, INT64_MIN, UINT32_MAX, UINT64_MAX, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset

from sonicpy._native.bit_stream cimport (
    SPARE_BYTES,
    BitReader,
    BitWriter,
    begin_bits,
    end_bits,
    is_at_end,
    put_bits,
    take_bits,
)
from sonicpy._native.bits cimport count_bits, highest_bit, lowest_bit
from sonicpy._native.varint cimport get_varint, put_varint, unzigzag, zigzag
from sonicpy._native.windows cimport WINDOW_OBJECTS, WINDOW_WORDS

from sonicpy._native.varint import DamagedBytes

cdef enum:
    LISTED_MAX = 18  # values whose places are listed
    HALF = 32
    HEAD_BYTES_MAX = 2 + 3 * 10 + 16
    OBJECT_BYTES = 700  # of a window without its values

OBJECTS_PER_COLUMN_ROW = COLUMN_PLACES


cdef class ColumnRow:
    """The values of 128 neighbouring objects under one name.

    Args:
        row: the row in the table; b"": none of the objects has a value.

    Raises:
        DamagedBytes: the row cannot be read.
    """
    cdef uint64_t _places[2]
    cdef int64_t _values[COLUMN_PLACES]

    def __init__(self, bytes row not None=b""):
        cdef ColumnHead head
        memset(self._places, 0, sizeof(self._places))
        if row:
            read_head(<const uint8_t *> PyBytes_AS_STRING(row), PyBytes_GET_SIZE(row), &head)
            self._places[0], self._places[1] = head.places[0], head.places[1]
            read_values(&head, self._values)

    cdef inline bint has(self, int place) noexcept:
        return self._places[place >> 6] >> (place & 63) & 1

    def of(self, int place) -> int | None:
        """Return the value of an object; None: the object has none.

        Args:
            place: IID % 128.
        """
        return self._values[place & 127] if self.has(place & 127) else None

    def values(self) -> list:
        """Return the (place, value) of each object that has a value."""
        return [(place, self._values[place]) for place in range(COLUMN_PLACES) if self.has(place)]

    def put(self, int place, value) -> None:
        """Set the value of an object, 64 bits with a sign; None: remove it."""
        place &= 127
        if value is None:
            self._places[place >> 6] &= ~(<uint64_t> 1 << (place & 63))
            return
        self._values[place] = value
        self._places[place >> 6] |= <uint64_t> 1 << (place & 63)

    def pack(self) -> bytes:
        """Return the row; b"": no object has a value."""
        cdef int count = count_bits(self._places[0]) + count_bits(self._places[1])
        cdef int64_t lowest = INT64_MAX
        cdef uint64_t step = 0, most = 0, left
        cdef int place, width
        cdef uint8_t room[HEAD_BYTES_MAX + 8 * COLUMN_PLACES + SPARE_BYTES]
        cdef uint8_t *out = room
        cdef BitWriter bits
        if not count:
            return b""
        for place in range(COLUMN_PLACES):
            if self.has(place):
                lowest = min(lowest, self._values[place])
        for place in range(COLUMN_PLACES):
            if self.has(place):
                left = <uint64_t> self._values[place] - <uint64_t> lowest
                most = max(most, left)
                step = step if step == 1 else common_step(step, left)
        step = step if step else 1
        most //= step
        width = highest_bit(most) + 1 if most else 0
        out[0], out[1] = <uint8_t> (count - 1), <uint8_t> width
        out = put_varint(put_varint(put_varint(out + 2, step - 1), zigzag(lowest)), most)
        begin_bits(&bits, out)
        self.put_places(&bits, count)
        for place in range(COLUMN_PLACES):
            if self.has(place):
                put_wide(&bits, (<uint64_t> self._values[place] - <uint64_t> lowest) // step, width)
        return PyBytes_FromStringAndSize(<char *> room, end_bits(&bits) - room)

    cdef void put_places(self, BitWriter *bits, int count) noexcept:
        cdef int place
        if count == COLUMN_PLACES:
            return
        if count > LISTED_MAX:
            put_wide(bits, self._places[0], 64)
            put_wide(bits, self._places[1], 64)
            return
        for place in range(COLUMN_PLACES):
            if self.has(place):
                put_bits(bits, place, COLUMN_BITS)


def column_bounds(bytes row not None) -> tuple:
    """Return the lowest and the highest value in a row, and the number of values. Raises DamagedBytes."""
    cdef ColumnHead head
    read_head(<const uint8_t *> PyBytes_AS_STRING(row), PyBytes_GET_SIZE(row), &head)
    return head.lowest, highest_of(&head), head.count


cdef class ColumnWindow:
    """The values of a window of 4,096 objects, which are decoded when they are first needed.

    Args:
        rows: (number of the row in the window, 0 to 31; row) by rising number. [] makes a window without values.

    Raises:
        DamagedBytes: a row cannot be read.

    Attributes:
        lowest, highest: the lowest and the highest of all values.
        count: the number of values.
    """

    def __cinit__(self, list rows not None):
        cdef ColumnHead head
        cdef int number
        cdef bytes row
        self.lowest, self.highest = INT64_MAX, INT64_MIN
        self._size_bytes = OBJECT_BYTES
        for number, row in rows:
            if not 0 <= number < ROWS_PER_WINDOW:
                raise ValueError(f"a window has the rows 0 to {ROWS_PER_WINDOW - 1}, not {number}")
            read_head(<const uint8_t *> PyBytes_AS_STRING(row), PyBytes_GET_SIZE(row), &head)
            self.lowest, self.highest = min(self.lowest, head.lowest), max(self.highest, highest_of(&head))
            self.count += head.count
            self._size_bytes += PyBytes_GET_SIZE(row) + 100
        self._rows = rows

    def __dealloc__(self):
        free(self.narrow)
        free(self.wide)

    @property
    def size_bytes(self) -> int:
        """The approximate size of the window in memory, in bytes."""
        return self._size_bytes

    cdef int decode_all(self) except -1:
        cdef ColumnHead head
        cdef int64_t values[COLUMN_PLACES]
        cdef int number, place, first
        cdef bytes row
        cdef list rows = self._rows
        cdef uint64_t span = 0 if not self.count else <uint64_t> self.highest - <uint64_t> self.lowest
        cdef uint32_t *narrow = NULL
        cdef int64_t *wide = NULL
        memset(self.bits, 0, sizeof(self.bits))
        if span <= UINT32_MAX:
            narrow = <uint32_t *> calloc(WINDOW_OBJECTS, sizeof(uint32_t))
        else:
            wide = <int64_t *> calloc(WINDOW_OBJECTS, sizeof(int64_t))
        if narrow == NULL and wide == NULL:
            raise MemoryError
        free(self.narrow)  # of an earlier call that met a damaged row
        free(self.wide)
        self.narrow, self.wide = narrow, wide
        for number, row in rows:
            read_head(<const uint8_t *> PyBytes_AS_STRING(row), PyBytes_GET_SIZE(row), &head)
            read_values(&head, values)
            first = number << COLUMN_BITS
            self.bits[2 * number], self.bits[2 * number + 1] = head.places[0], head.places[1]
            for place in range(COLUMN_PLACES):
                if not head.places[place >> 6] >> (place & 63) & 1:
                    continue
                if narrow != NULL:
                    narrow[first + place] = <uint32_t> (<uint64_t> values[place] - <uint64_t> self.lowest)
                else:
                    wide[first + place] = values[place]
        self._size_bytes = OBJECT_BYTES + WINDOW_OBJECTS * (4 if narrow != NULL else 8)
        self._rows = None
        return 0

    cdef bint mark(self, int64_t low, int64_t high, uint64_t *bits) noexcept nogil:
        """Write the bits of the objects with a value in a range; return whether there are any.

        `decode` must have been called, and the range must not end below `lowest` or begin above `highest`.
        """
        cdef Py_ssize_t word
        cdef uint64_t some = 0, left
        cdef int place
        low, high = max(low, self.lowest), min(high, self.highest)
        if low == self.lowest and high == self.highest:
            memcpy(bits, self.bits, sizeof(self.bits))
            return True
        if self.narrow != NULL:
            within(
                self.narrow,
                <uint32_t> (<uint64_t> low - <uint64_t> self.lowest),
                <uint32_t> (<uint64_t> high - <uint64_t> low),
                bits,
            )
            for word in range(WINDOW_WORDS):
                bits[word] &= self.bits[word]
                some |= bits[word]
            return some != 0
        for word in range(WINDOW_WORDS):
            bits[word], left = 0, self.bits[word]
            while left:
                place = lowest_bit(left)
                left &= left - 1
                if low <= self.wide[word << 6 | place] <= high:
                    bits[word] |= <uint64_t> 1 << place
            some |= bits[word]
        return some != 0

    def value(self, int place) -> int | None:
        """Return the value of an object; None: the object has none.

        Args:
            place: IID % 4096.
        """
        self.decode()
        place &= WINDOW_OBJECTS - 1
        return self.at(place) if self.has(place) else None

    def values(self) -> list:
        """Return the value of each object, None where it has none."""
        cdef int place
        self.decode()
        return [self.at(place) if self.has(place) else None for place in range(WINDOW_OBJECTS)]


cdef int read_head(const uint8_t *row, Py_ssize_t size, ColumnHead *head) except -1:
    """Read the beginning of a row up to its differences. Raises DamagedBytes."""
    cdef const uint8_t *at = row + 2
    cdef const uint8_t *end = row + size
    cdef uint64_t lowest = 0
    cdef BitReader bits
    cdef int number, place
    if size < 5 or row[0] >= COLUMN_PLACES or row[1] > 64:
        raise damaged()
    head.count, head.width = row[0] + 1, row[1]
    if get_varint(&at, end, &head.step) < 0 or get_varint(&at, end, &lowest) < 0 or get_varint(&at, end, &head.most) < 0:
        raise damaged()
    head.step += 1
    head.lowest = unzigzag(lowest)
    if (
        head.width != (highest_bit(head.most) + 1 if head.most else 0)
        or not head.step
        or head.most > (<uint64_t> INT64_MAX - <uint64_t> head.lowest) // head.step
    ):
        raise damaged()
    bits.start, bits.size, bits.at = at, end - at, 0
    head.places[0] = head.places[1] = 0
    if head.count == COLUMN_PLACES:
        head.places[0] = head.places[1] = UINT64_MAX
    elif head.count > LISTED_MAX:
        head.places[0] = take_wide(&bits, 64)
        head.places[1] = take_wide(&bits, 64)
    else:
        for number in range(head.count):
            place = <int> take_bits(&bits, COLUMN_BITS)
            head.places[place >> 6] |= <uint64_t> 1 << (place & 63)
    if count_bits(head.places[0]) + count_bits(head.places[1]) != head.count:
        raise damaged()
    head.packed, head.size = at, end - at
    if 8 * (end - at) < <Py_ssize_t> (bits.at + head.count * head.width) or (
        8 * (end - at) >= <Py_ssize_t> (bits.at + head.count * head.width) + 8
    ):
        raise damaged()
    return 0


cdef int read_values(const ColumnHead *head, int64_t *values) except -1:
    """Read the values of a row into their places. Raises DamagedBytes."""
    cdef BitReader bits
    cdef uint64_t left, found, most = 0
    cdef int word, place
    bits.start, bits.size = head.packed, head.size
    bits.at = 0 if head.count == COLUMN_PLACES else 128 if head.count > LISTED_MAX else COLUMN_BITS * head.count
    for word in range(2):
        left = head.places[word]
        while left:
            place = word << 6 | lowest_bit(left)
            left &= left - 1
            found = take_bits(&bits, head.width) if head.width <= 56 else take_wide(&bits, head.width)
            if found > most:
                most = found
            values[place] = <int64_t> (<uint64_t> head.lowest + found * head.step)
    if most != head.most or not is_at_end(&bits) and bits.at != 8 * bits.size:
        raise damaged()
    return 0


cdef inline int64_t highest_of(const ColumnHead *head) noexcept nogil:
    return <int64_t> (<uint64_t> head.lowest + head.most * head.step)


cdef inline void put_wide(BitWriter *bits, uint64_t value, int count) noexcept nogil:
    """Write a number of `count` bits, at most 64."""
    if count > HALF:
        put_bits(bits, <uint32_t> value, HALF)
        put_bits(bits, value >> HALF, count - HALF)
    else:
        put_bits(bits, value, count)


cdef inline uint64_t take_wide(BitReader *bits, int count) noexcept nogil:
    """Read a number of `count` bits, at most 64."""
    cdef uint64_t low
    if count <= HALF:
        return take_bits(bits, count)
    low = take_bits(bits, HALF)
    return low | take_bits(bits, count - HALF) << HALF


cdef inline uint64_t common_step(uint64_t step, uint64_t other) noexcept nogil:
    """Return the greatest common divisor of two steps, by Euclid's algorithm."""
    while other:
        step, other = other, step % other
    return step


cdef object damaged():
    return DamagedBytes("a row of columns cannot be read")
