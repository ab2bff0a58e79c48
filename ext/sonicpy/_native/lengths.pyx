"""The lengths of a bucket's objects: a byte for each."""

from cpython.bytearray cimport PyByteArray_AS_STRING, PyByteArray_GET_SIZE, PyByteArray_Resize
from libc.math cimport exp2, log2
from libc.stdint cimport uint8_t, uint64_t
from libc.string cimport memset

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


cdef class Lengths:
    """The packed lengths of a bucket's objects, by IID; 0: no such object.

    Args:
        packed: the packed lengths of the first objects.
    """

    def __cinit__(self, bytearray packed not None):
        self.packed = packed
        self._changed = set()
        self._unseen = set()
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
            self._changed.add(self._last_row)
            self._unseen.add(self._last_row)
        return 0

    def take_unseen(self) -> set:
        """Return the numbers of the rows that changed since the last call."""
        cdef set unseen = self._unseen
        self._unseen = set()
        self._last_row = -1
        return unseen

    def take_changed(self) -> list:
        """Return the rows that changed since the last call, with their numbers."""
        cdef list changed = sorted(self._changed)
        cdef Py_ssize_t row
        self._changed.clear()
        self._last_row = -1
        return [(row, bytes(self.packed[row * LENGTHS_PER_ROW : (row + 1) * LENGTHS_PER_ROW])) for row in changed]
