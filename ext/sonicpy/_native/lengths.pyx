"""The lengths of a bucket's objects: a byte for each."""

cimport cython
from cpython.bytearray cimport PyByteArray_AS_STRING, PyByteArray_GET_SIZE, PyByteArray_Resize
from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.math cimport exp2, log2
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memset

from sonicpy._native.keys cimport term_key

from sonicpy._native.varint import DamagedBytes

cdef enum:
    EXACT_LENGTHS = 64
    LENGTHS_PER_ROW = 4000  # with the header of its page, one row fills one page of LMDB

OBJECTS_PER_ROW = LENGTHS_PER_ROW

cdef double STEPS_PER_DOUBLING = 16.0
cdef float LENGTHS[256]
cdef int _number
for _number in range(256):
    LENGTHS[_number] = (
        _number if _number < EXACT_LENGTHS else EXACT_LENGTHS * exp2((_number - EXACT_LENGTHS) / STEPS_PER_DOUBLING)
    )


cpdef uint8_t pack_length(uint64_t length) noexcept:
    """Return an object's length as one byte: exact below 64, then 16 steps a doubling (up to 250,000)."""
    cdef double step
    if length < EXACT_LENGTHS:
        return <uint8_t> length
    step = EXACT_LENGTHS + log2(<double> length / EXACT_LENGTHS) * STEPS_PER_DOUBLING + 0.5
    return <uint8_t> step if step < 255 else 255


cpdef double unpack_length(uint8_t packed) noexcept:
    """Return the length that `pack_length` packed into `packed`."""
    return LENGTHS[packed]


@cython.no_gc  # its sets hold numbers: no cycle begins here
cdef class Lengths:
    """The packed lengths of a bucket's objects, by IID; 0: no such object.

    Args:
        packed: the packed lengths of the first objects.
    """

    def __cinit__(self, bytearray packed not None):
        self.packed = packed
        self._last_row = -1

    def __setitem__(self, Py_ssize_t iid, uint8_t length) -> None:
        """Set the packed length of an object; missing ones before it become 0."""
        self.set(iid, length)

    cdef int set(self, Py_ssize_t iid, uint8_t length) except -1:
        cdef Py_ssize_t size = PyByteArray_GET_SIZE(self.packed)
        if iid < 0:
            raise IndexError(f"no object has the number {iid}")
        if iid >= size:
            try:
                PyByteArray_Resize(self.packed, iid + 1)
            except MemoryError as error:
                raise DamagedBytes(f"object {iid} comes after {size} others: too far for a memory of lengths") from error
            memset(PyByteArray_AS_STRING(self.packed) + size, 0, iid - size)
        PyByteArray_AS_STRING(self.packed)[iid] = <char> length
        if iid // LENGTHS_PER_ROW != self._last_row:
            self._last_row = iid // LENGTHS_PER_ROW
            if self._changed is None:
                self._changed = set()
            if self._unseen is None:
                self._unseen = set()
            self._changed.add(self._last_row)
            self._unseen.add(self._last_row)
        return 0

    def take_unseen(self) -> set:
        """Return the numbers of the rows that changed since the last call."""
        cdef set unseen = self._unseen or set()
        self._unseen = None
        self._last_row = -1
        return unseen

    def take_changed(self, uint32_t bucket, set numbers not None, list rows not None, list emptied not None) -> None:
        """Hand over the rows that changed since the last call.

        Args:
            bucket: the number of the bucket, for the keys.
            numbers: gets the numbers of these rows.
            rows: gets the (key, row) of each row with an object.
            emptied: gets the keys of the others.
        """
        cdef const char *packed = PyByteArray_AS_STRING(self.packed)
        cdef Py_ssize_t size = PyByteArray_GET_SIZE(self.packed), at, end, row, first
        if self._changed is None:
            return
        for row in sorted(self._changed) if len(self._changed) > 1 else self._changed:
            numbers.add(row)
            at, end = row * LENGTHS_PER_ROW, min((row + 1) * LENGTHS_PER_ROW, size)
            key = term_key(bucket, row)
            first = at
            while first < end and not packed[first]:
                first += 1
            if first < end:
                rows.append((key, PyBytes_FromStringAndSize(packed + at, end - at)))
            else:
                emptied.append(key)
        self._changed = None
        self._last_row = -1
