"""Rows of `objects`: the records of up to sixteen neighbouring IIDs in one row, each OID told by what it has in common
with the one before.

    row     per object, by rising place: place u8, shared u8, own u8, own bytes of the OID, v(size of rest), rest

The place is IID % 16; an OID is the first `shared` bytes of the OID before it, and its own bytes. A record (postings.pyx)
is taken and given whole: u8 length and bytes of the OID, then the rest.
"""

from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport uint8_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from sonicpy._native.varint cimport get_varint, put_varint

from sonicpy._native.postings import DamagedBytes

cdef enum:
    PLACES = 16
    OID_BYTES_MAX = 255

OBJECTS_PER_RECORD_ROW = PLACES


cdef struct Item:
    uint8_t place
    uint8_t oid_size
    uint8_t oid[OID_BYTES_MAX]
    const uint8_t *rest
    uint64_t rest_size


cdef class RecordRow:
    """A row, read."""
    cdef Item _items[PLACES + 1]
    cdef int _count
    cdef bytes _row, _record  # what the items point into

    def __init__(self, bytes row not None):
        cdef const uint8_t *at = <const uint8_t *> row
        cdef const uint8_t *end = at + len(row)
        cdef Item *item
        cdef uint8_t shared, own, oid_size = 0
        self._row = row
        self._count = 0
        while at < end:
            if self._count == PLACES or end - at < 3:
                raise DamagedBytes(f"a row of objects of {len(row)} bytes cannot be read")
            item = &self._items[self._count]
            item.place, shared, own = at[0], at[1], at[2]
            at += 3
            if (
                item.place >= PLACES
                or (self._count and item.place <= self._items[self._count - 1].place)
                or shared > oid_size
                or not 0 < shared + own <= OID_BYTES_MAX
                or end - at < own
            ):
                raise DamagedBytes(f"a row of objects of {len(row)} bytes cannot be read")
            if shared:
                memcpy(item.oid, self._items[self._count - 1].oid, shared)
            memcpy(item.oid + shared, at, own)
            item.oid_size = oid_size = shared + own
            at += own
            if get_varint(&at, end, &item.rest_size) < 0 or item.rest_size > <uint64_t> (end - at):
                raise DamagedBytes("a row of objects is cut off")
            item.rest = at
            at += item.rest_size
            self._count += 1

    def __len__(self) -> int:
        return self._count

    cdef int index_of(self, uint8_t place) noexcept nogil:
        """Return the number of the first item that is not before a place."""
        cdef int number = 0
        while number < self._count and self._items[number].place < place:
            number += 1
        return number

    cdef Item *find(self, int place) noexcept nogil:
        cdef int number
        if not 0 <= place < PLACES:
            return NULL
        number = self.index_of(<uint8_t> place)
        if number < self._count and self._items[number].place == place:
            return &self._items[number]
        return NULL

    def oid(self, int place) -> bytes | None:
        """Return the OID at a place, or None."""
        cdef Item *item = self.find(place)
        return None if item == NULL else PyBytes_FromStringAndSize(<char *> item.oid, item.oid_size)

    def record(self, int place) -> bytes | None:
        """Return the record at a place, or None."""
        cdef Item *item = self.find(place)
        return None if item == NULL else whole_record(item)

    def records(self) -> list:
        """Return (place, record) of every object, by place."""
        return [(self._items[number].place, whole_record(&self._items[number])) for number in range(self._count)]

    def oids(self) -> list:
        """Return (place, OID) of every object, by place."""
        cdef int number
        return [
            (
                self._items[number].place,
                PyBytes_FromStringAndSize(<char *> self._items[number].oid, self._items[number].oid_size),
            )
            for number in range(self._count)
        ]

    def put(self, int place, bytes record not None) -> bytes:
        """Return the row with a record at a place, in the place of the one that was there.

        Raises:
            ValueError: there is no such place.
            DamagedBytes: it is not a record.
        """
        cdef const uint8_t *packed = <const uint8_t *> record
        cdef int number, step
        cdef Item *item
        if not 0 <= place < PLACES:
            raise ValueError(f"a row of objects has the places 0 to {PLACES - 1}, not {place}")
        if len(record) < 2 or not 0 < packed[0] < len(record):
            raise DamagedBytes("the record of an object is cut off")
        number = self.index_of(<uint8_t> place)
        if number == self._count or self._items[number].place != place:
            for step in range(self._count, number, -1):
                self._items[step] = self._items[step - 1]
            self._count += 1
        item = &self._items[number]
        item.place = <uint8_t> place
        item.oid_size = packed[0]
        memcpy(item.oid, packed + 1, packed[0])
        item.rest = packed + 1 + packed[0]
        item.rest_size = len(record) - 1 - packed[0]
        return self.packed(record)

    def drop(self, int place) -> bytes:
        """Return the row without what is at a place; empty: nothing is left."""
        cdef int number
        if self.find(place) != NULL:
            self._count -= 1
            for number in range(self.index_of(<uint8_t> place), self._count):
                self._items[number] = self._items[number + 1]
        return self.packed(b"")

    cdef bytes packed(self, bytes record):
        """Return the row of the items, and read that from now on; `record` is what one of them points into."""
        cdef Py_ssize_t size = 0
        cdef int number
        cdef uint8_t shared, before_size = 0
        cdef uint8_t *room
        cdef uint8_t *out
        cdef Item *item
        cdef bytes row
        for number in range(self._count):
            size += 13 + self._items[number].oid_size + self._items[number].rest_size
        room = out = <uint8_t *> malloc(size + 1)
        if room == NULL:
            raise MemoryError
        try:
            for number in range(self._count):
                item = &self._items[number]
                shared = 0
                while (
                    shared < before_size
                    and shared < item.oid_size
                    and item.oid[shared] == self._items[number - 1].oid[shared]
                ):
                    shared += 1
                out[0], out[1], out[2] = item.place, shared, item.oid_size - shared
                memcpy(out + 3, item.oid + shared, item.oid_size - shared)
                out = put_varint(out + 3 + item.oid_size - shared, item.rest_size)
                memcpy(out, item.rest, item.rest_size)
                out += item.rest_size
                before_size = item.oid_size
            row = PyBytes_FromStringAndSize(<char *> room, out - room)
        finally:
            free(room)
        self.__init__(row)
        return row


cdef bytes whole_record(const Item *item):
    cdef bytes record = PyBytes_FromStringAndSize(NULL, 1 + item.oid_size + <Py_ssize_t> item.rest_size)
    cdef uint8_t *out = <uint8_t *> <char *> record
    out[0] = item.oid_size
    memcpy(out + 1, item.oid, item.oid_size)
    memcpy(out + 1 + item.oid_size, item.rest, item.rest_size)
    return record
