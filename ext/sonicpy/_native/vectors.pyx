"""Vectors of objects as bits, one for the sign of each number, and their likeness to the vector of a query.

    bits     one bit a number, 1 where it is above 0; the first number is the highest bit of the first byte
    row      a bit for each object of the row, 1 if it has a vector, the first object at the lowest bit of the first
             byte; then the bits of the objects that have one, by place

The vector of a query is whole numbers from -127 to 127. Its likeness to bits is the sum of its numbers, where those
with a bit of 0 are negated: a whole number, equal on every machine.
"""

from cpython.buffer cimport PyBUF_FORMAT, PyBUF_ND, PyBuffer_Release, PyObject_CheckBuffer, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from libc.math cimport fabs, isfinite, rint
from libc.stdint cimport int8_t, int32_t, uint8_t, uint64_t
from libc.string cimport memcpy, memset

from sonicpy._native.varint import DamagedBytes

cdef enum:
    BITS = 1024
    ROW_BYTES = 4080  # with its head it fills one page of LMDB
    LARGEST = 127
    NIBBLES = 16
    ROW_NUMBER_BYTES = 5  # at the end of a key

BITS_MAX = BITS


# -- numbers to bits --------------------------------------------------------------------------------------------------

cdef Py_ssize_t numbers_of(object given, double *out) except -1:
    """Write the numbers of a vector to `out`, which has room for BITS; return how many the vector has, perhaps more
    than BITS. Raises ValueError if it has another shape or format.
    """
    cdef Py_ssize_t count = 0, at
    cdef Py_buffer view
    cdef bytes form
    if PyObject_CheckBuffer(given):
        PyObject_GetBuffer(given, &view, PyBUF_ND | PyBUF_FORMAT)
        try:
            if view.ndim != 1:
                raise ValueError(f"it has {view.ndim} dimensions; allowed is 1")
            form = b"B" if view.format is NULL else <bytes> view.format
            count = view.shape[0]
            for at in range(min(count, BITS)):
                if form == b"f":
                    out[at] = (<float *> view.buf)[at]
                elif form == b"d":
                    out[at] = (<double *> view.buf)[at]
                elif form == b"b":
                    out[at] = (<int8_t *> view.buf)[at]
                else:
                    raise ValueError(f"its numbers are of the format {form.decode()!r}; allowed are floats and int8")
        finally:
            PyBuffer_Release(&view)
        return count
    for number in given:
        if count < BITS:
            out[count] = number
        count += 1
    return count


cdef int check_numbers(const double *numbers, Py_ssize_t count) except -1:
    cdef Py_ssize_t at
    if not 0 < count <= BITS or count % 8:
        raise ValueError(f"it has {count} numbers; allowed are multiples of 8 from 8 to {BITS}")
    for at in range(count):
        if not isfinite(numbers[at]):
            raise ValueError(f"its number {at} is {numbers[at]}; allowed are finite numbers")
    return 0


def signs(given) -> bytes:
    """Return the bits of a vector.

    Args:
        given: numbers, or a flat buffer of floats or int8.

    Raises:
        ValueError, TypeError: `given` has something other than numbers, or a number of them that is not allowed.
    """
    cdef double numbers[BITS]
    cdef Py_ssize_t at, count = numbers_of(given, numbers)
    cdef bytes packed
    cdef uint8_t *out
    check_numbers(numbers, count)
    packed = PyBytes_FromStringAndSize(NULL, count // 8)
    out = <uint8_t *> PyBytes_AS_STRING(packed)
    memset(out, 0, count // 8)
    for at in range(count):
        out[at >> 3] |= (numbers[at] > 0) << (7 - (at & 7))
    return packed


def whole_numbers(given) -> bytes:
    """Return the numbers of a vector as int8, scaled so that the largest is 127. Arguments and errors as in `signs`."""
    cdef double numbers[BITS]
    cdef double largest = 0
    cdef Py_ssize_t at, count = numbers_of(given, numbers)
    cdef bytes packed
    cdef int8_t *out
    check_numbers(numbers, count)
    for at in range(count):
        largest = max(largest, fabs(numbers[at]))
    packed = PyBytes_FromStringAndSize(NULL, count)
    out = <int8_t *> PyBytes_AS_STRING(packed)
    for at in range(count):
        out[at] = <int8_t> rint(numbers[at] / largest * LARGEST) if largest > 0 else 0
    return packed


def of_bits(bytes bits not None) -> bytes:
    """Return the vector of a query that is given as bits: 127 for each 1, -127 for each 0."""
    cdef Py_ssize_t at, count = 8 * PyBytes_GET_SIZE(bits)
    cdef bytes packed = PyBytes_FromStringAndSize(NULL, count)
    cdef int8_t *out = <int8_t *> PyBytes_AS_STRING(packed)
    cdef const uint8_t *given = <const uint8_t *> PyBytes_AS_STRING(bits)
    for at in range(count):
        out[at] = LARGEST if given[at >> 3] >> (7 - (at & 7)) & 1 else -LARGEST
    return packed


# -- rows -------------------------------------------------------------------------------------------------------------

def places_in_row(Py_ssize_t size) -> int:
    """Return the number of objects that share a row, for vectors of `size` bytes."""
    return 8 * ROW_BYTES // (8 * size + 1)


def places_of(bytes prefix not None, Py_ssize_t size, iids not None) -> list:
    """Return the key of the row and the place in the row for the vector of each of some objects.

    Args:
        prefix: the prefix of the keys of the column.
        size: the number of bytes of a vector.
    """
    cdef Py_ssize_t head = PyBytes_GET_SIZE(prefix), count = 8 * ROW_BYTES // (8 * size + 1), byte
    cdef uint64_t iid, row
    cdef uint8_t *at
    cdef bytes key
    cdef list found = []
    for iid in iids:
        row = iid // <uint64_t> count
        key = PyBytes_FromStringAndSize(NULL, head + ROW_NUMBER_BYTES)
        at = <uint8_t *> PyBytes_AS_STRING(key)
        memcpy(at, PyBytes_AS_STRING(prefix), head)
        for byte in range(ROW_NUMBER_BYTES):
            at[head + byte] = (row >> 8 * (ROW_NUMBER_BYTES - 1 - byte)) & 0xFF
        found.append((key, <Py_ssize_t> (iid - row * <uint64_t> count)))
    return found


cdef extern from *:
    int bits_set "__builtin_popcountll"(uint64_t bits) noexcept nogil


cdef Py_ssize_t before_place(const uint8_t *head, Py_ssize_t place) noexcept:
    """Return the number of objects before `place` that have a vector."""
    cdef Py_ssize_t byte, found = 0
    cdef uint64_t some = 0
    for byte in range(place >> 3):
        some = some << 8 | head[byte]
        if byte & 7 == 7:
            found += bits_set(some)
            some = 0
    found += bits_set(some)
    return found + (bits_set(head[place >> 3] & ((1 << (place & 7)) - 1)) if place & 7 else 0)


cdef Py_ssize_t check_row(bytes row, Py_ssize_t size) except -1:
    """Return the size of the head of a row in bytes. Raises DamagedBytes if the row does not have the length that its
    head gives."""
    cdef Py_ssize_t places = 8 * ROW_BYTES // (8 * size + 1), head = (places + 7) >> 3
    cdef const uint8_t *at = <const uint8_t *> PyBytes_AS_STRING(row)
    if PyBytes_GET_SIZE(row) < head or PyBytes_GET_SIZE(row) != head + before_place(at, 8 * head) * size:
        raise DamagedBytes(f"a row of vectors has {PyBytes_GET_SIZE(row)} bytes, which its head does not say")
    return head


def vector_at(bytes row not None, Py_ssize_t place, Py_ssize_t size):
    """Return the bits of the object at `place` of a row; None: the object has no vector. Raises DamagedBytes."""
    cdef Py_ssize_t head = check_row(row, size)
    cdef const uint8_t *at = <const uint8_t *> PyBytes_AS_STRING(row)
    if not at[place >> 3] >> (place & 7) & 1:
        return None
    return PyBytes_FromStringAndSize(<const char *> at + head + before_place(at, place) * size, size)


def with_vector(bytes row, Py_ssize_t place, bytes bits not None) -> bytes:
    """Return a row in which the object at `place` has the given bits; `row` None: a new row. Raises DamagedBytes."""
    cdef Py_ssize_t size = PyBytes_GET_SIZE(bits), head, before, has
    cdef const uint8_t *old
    cdef uint8_t *new
    cdef bytes packed
    if row is None:
        row = bytes((8 * ROW_BYTES // (8 * size + 1) + 7) >> 3)
    head = check_row(row, size)
    old = <const uint8_t *> PyBytes_AS_STRING(row)
    before = head + before_place(old, place) * size
    has = old[place >> 3] >> (place & 7) & 1
    packed = PyBytes_FromStringAndSize(NULL, PyBytes_GET_SIZE(row) + (0 if has else size))
    new = <uint8_t *> PyBytes_AS_STRING(packed)
    memcpy(new, old, before)
    memcpy(new + before, PyBytes_AS_STRING(bits), size)
    memcpy(new + before + size, old + before + has * size, PyBytes_GET_SIZE(row) - before - has * size)
    new[place >> 3] |= 1 << (place & 7)
    return packed


def without_vector(bytes row not None, Py_ssize_t place, Py_ssize_t size) -> bytes:
    """Return a row in which the object at `place` has no vector; b"": no object of the row has a vector. Raises
    DamagedBytes."""
    cdef Py_ssize_t head = check_row(row, size), before
    cdef const uint8_t *old = <const uint8_t *> PyBytes_AS_STRING(row)
    cdef uint8_t *new
    cdef bytes packed
    if not old[place >> 3] >> (place & 7) & 1:
        return row
    if PyBytes_GET_SIZE(row) == head + size:
        return b""
    before = head + before_place(old, place) * size
    packed = PyBytes_FromStringAndSize(NULL, PyBytes_GET_SIZE(row) - size)
    new = <uint8_t *> PyBytes_AS_STRING(packed)
    memcpy(new, old, before)
    memcpy(new + before, old + before + size, PyBytes_GET_SIZE(row) - before - size)
    new[place >> 3] &= ~(1 << (place & 7))
    return packed


def held_places(bytes row not None, Py_ssize_t size) -> list:
    """Return the places of the objects of a row that have a vector. Raises DamagedBytes."""
    cdef Py_ssize_t head = check_row(row, size), place
    cdef const uint8_t *at = <const uint8_t *> PyBytes_AS_STRING(row)
    return [place for place in range(8 * head) if at[place >> 3] >> (place & 7) & 1]


# -- likeness ---------------------------------------------------------------------------------------------------------

cdef void fill_sums(int32_t *sums, const int8_t *numbers, Py_ssize_t count) noexcept:
    """Write, for every four numbers, their sums for all sixteen ways to negate some of them."""
    cdef Py_ssize_t group
    cdef int bits, bit
    for group in range(count // 4):
        sums[0] = -(numbers[0] + numbers[1] + numbers[2] + numbers[3])
        for bit in range(4):  # the last number has the lowest bit
            for bits in range(1 << bit):
                sums[(1 << bit) + bits] = sums[bits] + 2 * numbers[3 - bit]
        sums += NIBBLES
        numbers += 4


def likenesses(bytes query not None, list places not None) -> list:
    """Return the likeness of each object to a query, in the order of the objects; None for an object without a vector.

    Args:
        query: the numbers of the query as int8.
        places: the (row, place) of each object; the row is None if it does not exist.

    Raises:
        DamagedBytes: a row cannot be read.
        ValueError: the query has a number of numbers that no vector has.
    """
    cdef Py_ssize_t count = PyBytes_GET_SIZE(query), size = count // 8, place, byte, head
    cdef const uint8_t *at
    cdef int32_t total
    cdef int32_t *sums
    cdef list found = []
    if not 0 < count <= BITS or count % 8:
        raise ValueError(f"a query has {count} numbers; allowed are multiples of 8 from 8 to {BITS}")
    sums = <int32_t *> PyMem_Malloc(count * 4 * sizeof(int32_t))
    if sums is NULL:
        raise MemoryError
    try:
        fill_sums(sums, <const int8_t *> PyBytes_AS_STRING(query), count)
        for row, place in places:
            if row is None:
                found.append(None)
                continue
            head = check_row(row, size)
            at = <const uint8_t *> PyBytes_AS_STRING(<bytes> row)
            if not at[place >> 3] >> (place & 7) & 1:
                found.append(None)
                continue
            at += head + before_place(at, place) * size
            total = 0
            for byte in range(size):
                total += sums[2 * byte * NIBBLES + (at[byte] >> 4)] + sums[(2 * byte + 1) * NIBBLES + (at[byte] & 15)]
            found.append(total)
        return found
    finally:
        PyMem_Free(sums)


def square_sum(bytes query not None) -> int:
    """Return the sum of the squares of the numbers of a query."""
    cdef const int8_t *numbers = <const int8_t *> PyBytes_AS_STRING(query)
    cdef Py_ssize_t at
    cdef uint64_t total = 0
    for at in range(PyBytes_GET_SIZE(query)):
        total += numbers[at] * numbers[at]
    return total
