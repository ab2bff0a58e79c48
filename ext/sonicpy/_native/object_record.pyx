"""The record of an object: its OID and the terms it holds.

    record   u8 length and bytes of the OID, v(terms), then per term, by rising term id:
             v((term id - term id before) << 2 | hidden << 1 | (tf > 1)), v(tf) only if tf > 1,
             v(block) only where lists are in the order of association

v() is a varint (varint.pxd). The block is the number of the block of postings that holds the posting of the object; where
lists are in the order of objects, the IID leads to it.
`objects.pyx` joins several records into one row.
"""

from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from sonicpy._native.varint cimport get_varint, put_varint

from sonicpy._native.varint import DamagedBytes


cdef class ObjectRecord:
    """An object's OID and the terms it holds, by rising term id."""

    def __cinit__(self):
        self._held = NULL

    def __dealloc__(self):
        free(self._held)

    @staticmethod
    def unpack(bytes record, bint has_blocks=False) -> ObjectRecord:
        """Return the record that `pack` made.

        Args:
            has_blocks: it names the block of each posting.

        Raises:
            DamagedBytes: the bytes are not a record.
        """
        cdef const uint8_t *at = <const uint8_t *> record
        cdef const uint8_t *end = at + len(record)
        cdef ObjectRecord self = ObjectRecord.__new__(ObjectRecord)
        cdef uint64_t count = 0, step, found = 0, term_id = 0
        if end == at or end - at <= at[0]:
            raise DamagedBytes("the record of an object is cut off")
        self.oid = PyBytes_FromStringAndSize(<const char *> at + 1, at[0])
        at += 1 + at[0]
        if get_varint(&at, end, &count) < 0 or count > <uint64_t> (end - at):
            raise DamagedBytes("the record of an object is cut off")
        self.reserve(count)
        for step in range(count):
            if get_varint(&at, end, &found) < 0:
                raise DamagedBytes("the record of an object is cut off")
            term_id += found >> 2
            self._held[step].term_id = term_id
            self._held[step].hidden = (found >> 1) & 1
            self._held[step].tf = 1
            if found & 1:
                if get_varint(&at, end, &found) < 0:
                    raise DamagedBytes("the record of an object is cut off")
                self._held[step].tf = <uint32_t> found
            self._held[step].block = 0
            if has_blocks and get_varint(&at, end, &self._held[step].block) < 0:
                raise DamagedBytes("the record of an object is cut off")
        if at != end:
            raise DamagedBytes("the record of an object has bytes behind its end")
        self._count = count
        self._has_blocks = has_blocks
        return self

    @staticmethod
    def empty(bytes oid, bint has_blocks=False) -> ObjectRecord:
        """Return the record of an object that holds no term yet; `oid` has 1 to 255 bytes."""
        return empty_record(oid, has_blocks)

    cdef int reserve(self, Py_ssize_t count) except -1:
        self._held = <Held *> malloc((count if count else 1) * sizeof(Held))
        if self._held == NULL:
            raise MemoryError
        return 0

    cdef Held *find(self, uint64_t term_id) noexcept nogil:
        cdef Py_ssize_t low = 0, high = self._count, middle
        while low < high:
            middle = (low + high) >> 1
            if self._held[middle].term_id < term_id:
                low = middle + 1
            else:
                high = middle
        return &self._held[low] if low < self._count and self._held[low].term_id == term_id else NULL

    def __len__(self) -> int:
        return self._count

    @property
    def shown(self) -> int:
        """How many of the terms are held as words of their own."""
        cdef Py_ssize_t step, count = 0
        for step in range(self._count):
            count += not self._held[step].hidden
        return count

    @property
    def length(self) -> int:
        """The sum of the term frequencies."""
        return self.total_tf()

    cdef uint64_t total_tf(self) noexcept nogil:
        cdef Py_ssize_t step
        cdef uint64_t total = 0
        for step in range(self._count):
            total += self._held[step].tf
        return total

    def terms(self) -> list:
        """Return (term id, tf, hidden, block) of every term, by rising term id."""
        cdef Py_ssize_t step
        return [
            (self._held[step].term_id, self._held[step].tf, bool(self._held[step].hidden), self._held[step].block)
            for step in range(self._count)
        ]

    cpdef bytes pack(self):
        """Return the bytes of the record."""
        return pack_object(self.oid, self._held, self._count, self._has_blocks)


cdef ObjectRecord empty_record(bytes oid, bint has_blocks):
    cdef ObjectRecord self = ObjectRecord.__new__(ObjectRecord)
    if not 0 < len(oid) < 256:
        raise ValueError(f"an OID has 1 to 255 bytes, not {len(oid)}")
    self.oid = oid
    self._has_blocks = has_blocks
    return self


cdef bytes pack_object(bytes oid, const Held *held, Py_ssize_t count, bint has_blocks):
    cdef Py_ssize_t oid_size = len(oid), step
    cdef uint64_t before = 0
    cdef uint8_t *room = <uint8_t *> malloc(1 + oid_size + 10 + count * 30)
    cdef uint8_t *out = room
    if room == NULL:
        raise MemoryError
    out[0] = <uint8_t> oid_size
    memcpy(out + 1, <const char *> oid, oid_size)
    out = put_varint(out + 1 + oid_size, count)
    for step in range(count):
        out = put_varint(
            out, (held[step].term_id - before) << 2 | <uint64_t> held[step].hidden << 1 | (held[step].tf > 1)
        )
        if held[step].tf > 1:
            out = put_varint(out, held[step].tf)
        if has_blocks:
            out = put_varint(out, held[step].block)
        before = held[step].term_id
    try:
        return PyBytes_FromStringAndSize(<char *> room, out - room)
    finally:
        free(room)
