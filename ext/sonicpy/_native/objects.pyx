"""Rows of `objects`: the records of up to sixteen neighbouring IIDs, each OID as the difference from the OID before.

    row     per object, by rising place: place u8, shared u8, own u8, own bytes of the OID, v(size of rest), rest

The place is IID % 16; an OID is the first `shared` bytes of the OID before it, and its own bytes. Callers pass and
receive complete records (object_record.pyx): u8 length and bytes of the OID, then the rest. All functions that read a
row also read a dense row (dense_records.pyx), the form of most rows.
"""

from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcmp, memcpy

from sonicpy._native.dense_records cimport dense_names, dense_record, is_dense_row, plain_row
from sonicpy._native.keys cimport term_key
from sonicpy._native.varint cimport get_varint, put_varint

from sonicpy._native.varint import DamagedBytes

OBJECTS_PER_RECORD_ROW = PLACES

cdef enum:
    FEW = 32  # objects whose rows are compared one by one


cdef int read_item(const uint8_t **at, const uint8_t *end, int before, Item *item) except -1:
    """Read the next item of a row into `item`, which contains the previous OID with the place `before` (-1: none).
    Raises DamagedBytes.
    """
    cdef uint8_t shared, own, before_size = item.oid_size if before >= 0 else 0
    if end - at[0] < 3:
        raise DamagedBytes("a row of objects is cut off")
    item.place, shared, own = at[0][0], at[0][1], at[0][2]
    at[0] += 3
    if (
        item.place >= PLACES
        or <int> item.place <= before
        or shared > before_size
        or not 0 < shared + own <= OID_BYTES_MAX
        or end - at[0] < own
    ):
        raise DamagedBytes(f"a row of objects cannot be read: place {item.place} behind {before}, {shared} and {own}")
    memcpy(item.oid + shared, at[0], own)
    item.oid_size = shared + own
    at[0] += own
    if get_varint(at, end, &item.rest_size) < 0 or item.rest_size > <uint64_t> (end - at[0]):
        raise DamagedBytes("a row of objects is cut off")
    item.rest = at[0]
    at[0] += item.rest_size
    return 0


cdef bint find_item(bytes row, int place, Item *item) except -1:
    """Read a row that is not dense up to a place; return whether the place holds a record."""
    cdef const uint8_t *at = <const uint8_t *> row
    cdef const uint8_t *end = at + len(row)
    cdef int before = -1
    while at < end and before < place:
        read_item(&at, end, before, item)
        before = item.place
    return before == place and place >= 0


def row_keys(uint32_t bucket, list iids not None) -> list:
    """Return the keys of the rows of objects, each key once, in the order of the objects."""
    cdef uint64_t known[FEW]
    cdef Py_ssize_t count = 0, at
    cdef list keys = []
    cdef uint64_t number
    if len(iids) > FEW:
        return list({term_key(bucket, <uint64_t> iid // PLACES): None for iid in iids})
    for iid in iids:
        number = <uint64_t> iid // PLACES
        at = 0
        while at < count and known[at] != number:
            at += 1
        if at == count:
            known[count] = number
            count += 1
            keys.append(term_key(bucket, number))
    return keys


def oids_in(dict rows not None, uint32_t bucket, list iids not None) -> list:
    """Return the OIDs of objects, in order; None: the object is missing.

    Args:
        rows: key -> row.

    Raises:
        DamagedBytes: a row cannot be read.
    """
    cdef list oids = []
    cdef uint64_t iid
    cdef Item item
    cdef bytes row
    for iid in iids:
        row = rows.get(term_key(bucket, iid // PLACES))
        if row is None:
            oids.append(None)
        elif is_dense_row(row):
            oids.append(name_at(dense_names(row), iid % PLACES))
        elif find_item(row, iid % PLACES, &item):
            oids.append(PyUnicode_DecodeUTF8(<char *> item.oid, item.oid_size, NULL))
        else:
            oids.append(None)
    return oids


cdef uint64_t row_number(bytes key) except? 0:
    """Return the number of a row from its key; see `row_keys`. Raises ValueError if the key has another size."""
    cdef const uint8_t *at = <const uint8_t *> key
    if len(key) != 9:
        raise ValueError(f"the key of a row of objects has 9 bytes, not {len(key)}")
    return <uint64_t> at[4] << 32 | <uint64_t> at[5] << 24 | <uint64_t> at[6] << 16 | <uint64_t> at[7] << 8 | at[8]


cdef bytes names_of_row(bytes row):
    """Return only the OIDs of a row: per object, by rising place: place u8, size u8, OID."""
    cdef const uint8_t *at = <const uint8_t *> row
    cdef const uint8_t *end = at + len(row)
    cdef uint8_t room[PLACES * (2 + OID_BYTES_MAX)]
    cdef uint8_t *out = room
    cdef int before = -1
    cdef Item item
    if is_dense_row(row):
        return dense_names(row)
    while at < end:
        read_item(&at, end, before, &item)
        before = item.place
        out[0], out[1] = item.place, item.oid_size
        memcpy(out + 2, item.oid, item.oid_size)
        out += 2 + item.oid_size
    return PyBytes_FromStringAndSize(<char *> room, out - room)


cdef object name_at(bytes names, int place):
    """Return the OID at `place` of the result of `names_of_row`, or None."""
    cdef const uint8_t *at = <const uint8_t *> names
    cdef const uint8_t *end = at + len(names)
    while at < end:
        if at[0] == place:
            return PyUnicode_DecodeUTF8(<char *> at + 2, at[1], NULL)
        at += 2 + at[1]
    return None


def names_in(
    list rows not None, uint32_t bucket, uint64_t start, bytes prefix not None, Py_ssize_t limit, *, bint ends
) -> tuple:
    """Return the OIDs that begin with `prefix`, by rising IID, and the IID to continue with; None instead of an IID:
    the bucket has no more.

    Args:
        rows: the (key, row) of neighbouring rows of the table; rows of a later bucket may follow those of this one.
        start: the first IID to read.
        limit: the most OIDs.
        ends: whether no further row follows in the table.

    Raises:
        DamagedBytes: a row cannot be read.
    """
    cdef list names = []
    cdef bytes key, row, own = term_key(bucket, 0)[:4]
    cdef uint64_t first, iid, following = start
    cdef Py_ssize_t prefix_size = len(prefix)
    cdef const uint8_t *at
    cdef const uint8_t *end
    for key, row in rows:
        if key[:4] != own:
            return names, None
        first = <uint64_t> int.from_bytes(key[4:], "big") * PLACES
        row = names_of_row(row)
        at = <const uint8_t *> row
        end = at + len(row)
        while at < end:
            iid = first + at[0]
            if iid >= start:
                if at[1] >= prefix_size and not memcmp(at + 2, <const char *> prefix, prefix_size):
                    if len(names) >= limit:
                        return names, iid
                    names.append(PyUnicode_DecodeUTF8(<char *> at + 2, at[1], NULL))
                following = iid + 1
            at += 2 + at[1]
    return names, None if ends else following


def oid_at(bytes row not None, int place) -> bytes | None:
    """Return the OID at `place` of a row; None: there is none. Raises DamagedBytes if the row cannot be read."""
    cdef Item item
    cdef object name
    if is_dense_row(row):
        name = name_at(dense_names(row), place)
        return None if name is None else (<str> name).encode()
    return PyBytes_FromStringAndSize(<char *> item.oid, item.oid_size) if find_item(row, place, &item) else None


def record_at(bytes row not None, int place) -> bytes | None:
    """Return the record at `place` of a row; None: there is none. Raises DamagedBytes if the row cannot be read."""
    return record_in(row, place)


cdef bytes record_in(bytes row, int place):
    """Return the result of `record_at`."""
    cdef Item item
    if is_dense_row(row):
        return dense_record(row, place)
    return whole_record(&item) if find_item(row, place, &item) else None


cdef class RecordRow:
    """A row of records that is read completely, at the latest when its items are needed."""

    def __cinit__(self):
        self._items = NULL

    def __dealloc__(self):
        free(self._items)

    def __init__(self, bytes row not None):
        self.read(row)

    cdef int read(self, bytes row) except -1:
        """Read a row completely, and hold it instead of the one before. Raises DamagedBytes."""
        cdef const uint8_t *at
        cdef const uint8_t *end
        cdef int before = -1
        cdef Item item
        if self._items == NULL:
            self._items = <Item *> malloc((PLACES + 1) * sizeof(Item))
            if self._items == NULL:
                raise MemoryError
        if is_dense_row(row):
            row = plain_row(row)
        at = <const uint8_t *> row
        end = at + len(row)
        self._row = row
        self._count = 0
        while at < end:
            read_item(&at, end, before, &item)
            before = item.place
            copy_item(&self._items[self._count], &item)
            self._count += 1
        return 0

    cdef int opened(self) except -1:
        """Return the number of items, which are read first if the row was only kept."""
        if self._count < 0:
            self.read(self._row)
        return self._count

    def __len__(self) -> int:
        return self.opened()

    cdef int index_of(self, uint8_t place) noexcept nogil:
        """Return the number of the first item that is not before `place`."""
        cdef int number = 0
        while number < self._count and self._items[number].place < place:
            number += 1
        return number

    def records(self) -> list:
        """Return the (place, record) of every object, by place."""
        return [(self._items[number].place, whole_record(&self._items[number])) for number in range(self.opened())]

    def oids(self) -> list:
        """Return the (place, OID) of every object, by place."""
        cdef int number
        return [
            (
                self._items[number].place,
                PyBytes_FromStringAndSize(<char *> self._items[number].oid, self._items[number].oid_size),
            )
            for number in range(self.opened())
        ]

    def put(self, int place, bytes record not None) -> bytes:
        """Return the row with a record put at `place`, instead of an earlier one.

        Raises:
            ValueError: there is no such place.
            DamagedBytes: `record` is not a record.
        """
        return self.put_record(place, record)

    cdef bytes put_record(self, int place, bytes record):
        cdef const uint8_t *packed = <const uint8_t *> record
        cdef int number, step
        cdef Item *item
        if not 0 <= place < PLACES:
            raise ValueError(f"a row of objects has the places 0 to {PLACES - 1}, not {place}")
        if len(record) < 2 or not 0 < packed[0] < len(record):
            raise DamagedBytes("the record of an object is cut off")
        self.opened()
        number = self.index_of(<uint8_t> place)
        if number == self._count or self._items[number].place != place:
            for step in range(self._count, number, -1):
                copy_item(&self._items[step], &self._items[step - 1])
            self._count += 1
        item = &self._items[number]
        item.place = <uint8_t> place
        item.oid_size = packed[0]
        memcpy(item.oid, packed + 1, packed[0])
        item.rest = packed + 1 + packed[0]
        item.rest_size = len(record) - 1 - packed[0]
        return self.packed_from(self._count - 1 if number == self._count - 1 else 0)

    def drop(self, int place) -> bytes:
        """Return the row without the record at `place`; empty if no record is left."""
        cdef int number = self.opened()
        if 0 <= place < PLACES:
            number = self.index_of(<uint8_t> place)
        if number < self._count and self._items[number].place == place:
            self._count -= 1
            for number in range(number, self._count):
                copy_item(&self._items[number], &self._items[number + 1])
        return self.packed_from(0)

    cdef bytes packed_from(self, int first):
        """Return the packed row of the items, which point into it afterwards. Items before `first` are copied from the
        old row."""
        cdef Py_ssize_t size = 0, kept = 0
        cdef const uint8_t *old = <const uint8_t *> self._row
        cdef int number
        cdef Py_ssize_t places[PLACES]
        cdef uint8_t shared, before_size = 0
        cdef uint8_t *room
        cdef uint8_t *out
        cdef Item *item
        cdef bytes row
        if first:
            kept = self._items[first - 1].rest + self._items[first - 1].rest_size - old
            before_size = self._items[first - 1].oid_size
            for number in range(first):
                places[number] = self._items[number].rest - old
        size = kept
        for number in range(first, self._count):
            size += 13 + self._items[number].oid_size + self._items[number].rest_size
        room = out = <uint8_t *> malloc(size + 1)
        if room == NULL:
            raise MemoryError
        try:
            memcpy(room, old, kept)
            out += kept
            for number in range(first, self._count):
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
                places[number] = out - room
                out += item.rest_size
                before_size = item.oid_size
            row = PyBytes_FromStringAndSize(<char *> room, out - room)
        finally:
            free(room)
        for number in range(self._count):
            self._items[number].rest = <const uint8_t *> <char *> row + places[number]
        self._row = row
        return row


cdef inline void copy_item(Item *copy, const Item *item) noexcept nogil:
    """Copy an item; of its OID, only the bytes in use are copied."""
    copy.place = item.place
    copy.oid_size = item.oid_size
    memcpy(copy.oid, item.oid, item.oid_size)
    copy.rest = item.rest
    copy.rest_size = item.rest_size


cdef bytes whole_record(const Item *item):
    cdef bytes record = PyBytes_FromStringAndSize(NULL, 1 + item.oid_size + <Py_ssize_t> item.rest_size)
    cdef uint8_t *out = <uint8_t *> <char *> record
    out[0] = item.oid_size
    memcpy(out + 1, item.oid, item.oid_size)
    memcpy(out + 1 + item.oid_size, item.rest, item.rest_size)
    return record
