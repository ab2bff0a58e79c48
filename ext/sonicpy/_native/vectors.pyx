"""Vectors of objects as bits, one for the sign of each number, and the rows that hold them.

    bits     one bit a number, 1 where it is above 0; the first number is the highest bit of the first byte
    packed   a record of the log holds a vector as: length of the name of its column u8, name, number of bytes u8, bits
    row      a bit for each object of the row, 1 if it has a vector, the first object at the lowest bit of the first
             byte; then the bits of the objects that have one, by place
"""

from cpython.buffer cimport PyBUF_FORMAT, PyBUF_ND, PyBuffer_Release, PyObject_CheckBuffer, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_CheckExact
from cpython.list cimport PyList_GET_SIZE
from cpython.ref cimport PyObject
from libc.math cimport fabs, isfinite, rint
from libc.stdint cimport int8_t, uint8_t, uint64_t
from libc.string cimport memcmp, memcpy

from sonicpy._native.varint import DamagedBytes

cdef enum:
    ROW_BYTES = 4080  # with its head it fills one page of LMDB
    LARGEST = 127
    ROW_NUMBER_BYTES = 5  # at the end of a key

BITS_MAX = BITS

cdef extern from "Python.h":
    PyObject *PyList_GET_ITEM(list values, Py_ssize_t index)


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


ctypedef fused Number:
    float
    double
    int8_t


cdef bint fill_signs(const Number *numbers, Py_ssize_t size, uint8_t *out) noexcept:
    """Write the bits of 8 * `size` numbers; return whether all of them are finite."""
    cdef Py_ssize_t byte, bit
    cdef unsigned int bits, odd = 0
    for byte in range(size):
        bits = 0
        for bit in range(8):
            bits = bits << 1 | (numbers[bit] > 0)
            if Number is not int8_t:
                odd |= numbers[bit] - numbers[bit] != 0  # the difference is no number
        out[byte] = <uint8_t> bits
        numbers += 8
    return not odd


cdef bytes unnamed(Py_ssize_t size):
    """Return a packed vector without the name of a column, its bits still to be written."""
    cdef bytes packed = PyBytes_FromStringAndSize(NULL, 2 + size)
    cdef uint8_t *out = <uint8_t *> PyBytes_AS_STRING(packed)
    out[0] = 0
    out[1] = <uint8_t> size
    return packed


cdef bytes packed_list(list given):
    """Return a list of floats as `packed_vector` does."""
    cdef double numbers[BITS]
    cdef Py_ssize_t at, count = PyList_GET_SIZE(given)
    cdef PyObject *number
    cdef bytes packed
    if not 0 < count <= BITS or count % 8:
        return None
    for at in range(count):
        number = PyList_GET_ITEM(given, at)  # borrowed
        if not PyFloat_CheckExact(<object> number):
            return None
        numbers[at] = PyFloat_AS_DOUBLE(<object> number)
    packed = unnamed(count // 8)
    return packed if fill_signs(numbers, count // 8, <uint8_t *> PyBytes_AS_STRING(packed) + 2) else None


cdef bytes packed_buffer(object given):
    """Return a buffer as `packed_vector` does."""
    cdef Py_buffer view
    cdef bytes packed
    cdef uint8_t *out
    cdef char form
    cdef bint is_allowed = True
    try:
        PyObject_GetBuffer(given, &view, PyBUF_ND | PyBUF_FORMAT)
    except (BufferError, ValueError):  # its numbers do not lie side by side, or NumPy gives no buffer of their type
        return None
    try:
        form = view.format[0] if view.format is not NULL and not view.format[1] else 0
        if view.ndim != 1 or not 0 < view.shape[0] <= BITS or view.shape[0] % 8 or form not in (b"f", b"d", b"b"):
            return None
        packed = unnamed(view.shape[0] // 8)
        out = <uint8_t *> PyBytes_AS_STRING(packed) + 2
        if form == b"f":
            is_allowed = fill_signs(<const float *> view.buf, view.shape[0] // 8, out)
        elif form == b"d":
            is_allowed = fill_signs(<const double *> view.buf, view.shape[0] // 8, out)
        else:
            fill_signs(<const int8_t *> view.buf, view.shape[0] // 8, out)
        return packed if is_allowed else None
    finally:
        PyBuffer_Release(&view)


def packed_vector(given) -> bytes | None:
    """Return the packed form of bits as bytes, or of numbers as a list of floats or a buffer, without the name of a
    column; None: `given` is of another kind or is not allowed, and `sonicpy.vectors` reads it or names its fault.
    """
    cdef Py_ssize_t size
    cdef bytes packed
    if type(given) is bytes:
        size = PyBytes_GET_SIZE(given)
        if not 0 < size <= BITS // 8:
            return None
        packed = unnamed(size)
        memcpy(PyBytes_AS_STRING(packed) + 2, PyBytes_AS_STRING(given), size)
        return packed
    if type(given) is list:
        return packed_list(given)
    if not PyObject_CheckBuffer(given) or hasattr(given, "as_py") or hasattr(given, "to_pylist"):
        return None
    return packed_buffer(given)


def signs(given) -> bytes:
    """Return the bits of a vector.

    Args:
        given: numbers, or a flat buffer of floats or int8.

    Raises:
        ValueError, TypeError: `given` has something other than numbers, or a number of them that is not allowed.
    """
    cdef double numbers[BITS]
    cdef Py_ssize_t count = numbers_of(given, numbers)
    cdef bytes packed
    check_numbers(numbers, count)
    packed = PyBytes_FromStringAndSize(NULL, count // 8)
    fill_signs(numbers, count // 8, <uint8_t *> PyBytes_AS_STRING(packed))
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


cdef inline Py_ssize_t row_places(Py_ssize_t size) noexcept:
    return 8 * ROW_BYTES // (8 * size + 1)


def places_in_row(Py_ssize_t size) -> int:
    """Return the number of objects that share a row, for vectors of `size` bytes."""
    return row_places(size)


def places_of(bytes prefix not None, Py_ssize_t size, iids not None) -> list:
    """Return the key of the row and the place in the row for the vector of each of some objects.

    Args:
        prefix: the prefix of the keys of the column.
        size: the number of bytes of a vector.
    """
    cdef Py_ssize_t count = row_places(size)
    cdef uint64_t iid, row
    cdef list found = []
    for iid in iids:
        row = iid // <uint64_t> count
        found.append((row_key(prefix, row), <Py_ssize_t> (iid - row * <uint64_t> count)))
    return found


cdef bytes row_key(bytes prefix, uint64_t row):
    """Return the key of a row of the column whose keys begin with `prefix`."""
    cdef Py_ssize_t head = PyBytes_GET_SIZE(prefix), byte
    cdef bytes key = PyBytes_FromStringAndSize(NULL, head + ROW_NUMBER_BYTES)
    cdef uint8_t *at = <uint8_t *> PyBytes_AS_STRING(key)
    memcpy(at, PyBytes_AS_STRING(prefix), head)
    for byte in range(ROW_NUMBER_BYTES):
        at[head + byte] = (row >> 8 * (ROW_NUMBER_BYTES - 1 - byte)) & 0xFF
    return key


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
    cdef Py_ssize_t head = (row_places(size) + 7) >> 3
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
    return changed_row(row, place, PyBytes_AS_STRING(bits), PyBytes_GET_SIZE(bits))


cdef bytes changed_row(bytes row, Py_ssize_t place, const char *bits, Py_ssize_t size):
    """Return the row of `with_vector`; its arguments, with the `size` bytes at `bits`."""
    cdef Py_ssize_t head, before, has
    cdef const uint8_t *old
    cdef uint8_t *new
    cdef bytes packed
    if row is None:
        row = bytes((row_places(size) + 7) >> 3)
    head = check_row(row, size)
    old = <const uint8_t *> PyBytes_AS_STRING(row)
    before = head + before_place(old, place) * size
    has = old[place >> 3] >> (place & 7) & 1
    packed = PyBytes_FromStringAndSize(NULL, PyBytes_GET_SIZE(row) + (0 if has else size))
    new = <uint8_t *> PyBytes_AS_STRING(packed)
    memcpy(new, old, before)
    memcpy(new + before, bits, size)
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


cdef class VectorSlot:
    """A column of vectors in the open transaction, and the key of its row that changed last.

    Args:
        head: the packed form of vectors of the column, without their bits.
        prefix: the prefix of the keys of the column.
        waiting: the changed rows, by key; b"": the row will be deleted.
        read: a function that returns the row under a key that is not among them, or None.
    """
    cdef bytes _head, _prefix, _key
    cdef dict _waiting
    cdef object _read
    cdef Py_ssize_t _size
    cdef uint64_t _count, _row

    def __cinit__(self, bytes head not None, bytes prefix not None, dict waiting not None, read not None):
        self._size = head[len(head) - 1] if head else 0
        if not 0 < self._size <= BITS // 8:
            raise ValueError(f"a vector has {self._size} bytes; allowed are 1 to {BITS // 8}")
        self._head, self._prefix, self._waiting, self._read = head, prefix, waiting, read
        self._count = row_places(self._size)

    def put(self, uint64_t iid, bytes packed not None) -> None:
        """Set the vector of an object; `packed` is one that `VectorSlots.of` has found this slot for. Raises
        DamagedBytes."""
        cdef uint64_t row = iid // self._count
        cdef Py_ssize_t head = PyBytes_GET_SIZE(packed) - self._size
        if head < 0:
            raise ValueError("a packed vector is shorter than its bits")
        if self._key is None or row != self._row:
            self._key = row_key(self._prefix, row)
            self._row = row
        before = self._waiting.get(self._key)
        if before is None:
            before = self._read(self._key)
        self._waiting[self._key] = changed_row(
            before or None, <Py_ssize_t> (iid - row * self._count), PyBytes_AS_STRING(packed) + head, self._size
        )


cdef class VectorSlots:
    """The slots of a bucket in the open transaction.

    Args:
        read: a function that returns the VectorSlot of vectors with a head, or None.
    """
    cdef list _slots
    cdef object _read

    def __cinit__(self, read not None):
        self._slots = []
        self._read = read

    def of(self, bytes packed not None) -> VectorSlot | None:
        """Return the slot of a packed vector; None: `packed` has several vectors, or the bucket lacks the column."""
        cdef const char *at = PyBytes_AS_STRING(packed)
        cdef Py_ssize_t size = PyBytes_GET_SIZE(packed), head = <Py_ssize_t> (<uint8_t> at[0]) + 2
        cdef VectorSlot slot
        if head >= size or size != head + <Py_ssize_t> (<uint8_t> at[head - 1]):
            return None
        for slot in self._slots:
            if PyBytes_GET_SIZE(slot._head) == head and not memcmp(PyBytes_AS_STRING(slot._head), at, head):
                return slot
        slot = self._read(packed[:head])
        if slot is not None:
            self._slots.append(slot)
        return slot

    def clear(self) -> None:
        """Forget all slots, because the columns have changed."""
        self._slots.clear()
