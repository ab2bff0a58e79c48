"""The rows of a small bucket, which share one row of `small`.

    row     per table with rows, by rising number: v(number of the table) v(number of rows), and the rows in key order
    entry   a head; the bytes of the key behind those that it shares with the key before; v(size of the value), the value
    head    u8 (shared << 4 | further), the numbers of shared and of further bytes of the key; or 0xFF v(shared)
            v(further)

v() is a varint (varint.pxd). Keys are without the number of the bucket, with which all of them begin. The first key of
a table shares nothing.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.dict cimport PyDict_GetItem
from libc.stdint cimport uint8_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcmp, memcpy, memset

from sonicpy._native.memory cimport grown
from sonicpy._native.varint cimport get_varint, put_varint

from bisect import bisect_left

from sonicpy._native.varint import DamagedBytes

cdef enum:
    BUCKET_BYTES = 4
    TABLES = 16  # the numbers of tables with rows of small buckets are smaller
    SHORT_MAX = 14  # of shared or further bytes in a head of one byte
    LONG_HEAD = 0xFF
    ENTRY_BYTES_MAX = 32  # of all numbers of an entry, and of those of a table
    ENTRY_BYTES = 2  # of a short entry
    KEY_BYTES_MAX = 511  # of LMDB


cdef struct Section:
    # The rows of a table in the row: where the section and its first entry begin, and where it ends.
    Py_ssize_t begin, first, end
    uint64_t count
    bint changed  # whether the dict of the table differs from it


cdef class SmallRows:
    """The rows of a small bucket, by table.

    Args:
        prefix: the number of the bucket, with which all keys begin: 4 bytes.
        row: the row of `small`; b"": the bucket has no rows. None: the bucket is new.

    Attributes:
        size: about the number of bytes of `pack()`.
        changed: whether `pack` would return another row than the row in the table.

    Raises:
        DamagedBytes: the row cannot be read.
    """

    cdef list _tables  # per table, a dict of key -> value; None: it is not decoded, or has no rows
    cdef list _sorted  # per table, its keys in order, or None
    cdef bytes _prefix, _row
    cdef Section _sections[TABLES]  # of the row
    cdef readonly Py_ssize_t size
    cdef readonly bint changed

    def __init__(self, bytes prefix not None, bytes row):
        self._prefix, self._row = prefix, b"" if row is None else row
        self._tables = [None] * TABLES
        self._sorted = [None] * TABLES
        self.changed = row is None
        self.size = PyBytes_GET_SIZE(self._row)
        self._find_sections()

    cdef int _find_sections(self) except -1:
        """Find the tables in the row, and check all of it."""
        cdef const uint8_t *begin = <const uint8_t *> PyBytes_AS_STRING(self._row)
        cdef const uint8_t *at = begin
        cdef const uint8_t *end = at + PyBytes_GET_SIZE(self._row)
        cdef const uint8_t *start
        cdef uint64_t table, count, step, shared, further, value_bytes, size
        cdef uint8_t before[KEY_BYTES_MAX]
        memset(self._sections, 0, sizeof(self._sections))
        while at < end:
            start = at
            if get_varint(&at, end, &table) < 0 or table >= TABLES or get_varint(&at, end, &count) < 0 or not count:
                raise DamagedBytes("the row of a small bucket is cut off in a table")
            if self._sections[table].count:
                raise DamagedBytes("the row of a small bucket has a table twice")
            self._sections[table].begin, self._sections[table].first = start - begin, at - begin
            self._sections[table].count = count
            size = 0
            for step in range(count):
                if read_head(&at, end, &shared, &further) < 0 or further > <uint64_t> (end - at):
                    raise DamagedBytes("the row of a small bucket is cut off in a key")
                if shared > size or shared + further > KEY_BYTES_MAX:
                    raise DamagedBytes("a key of a small bucket shares more bytes than the key before has, or is too long")
                if step and (not further or shared < size and before[shared] >= at[0]):
                    raise DamagedBytes("the keys of a small bucket are out of order")
                memcpy(before + shared, at, further)
                size = shared + further
                at += further
                if get_varint(&at, end, &value_bytes) < 0 or value_bytes > <uint64_t> (end - at):
                    raise DamagedBytes("the row of a small bucket is cut off in a value")
                at += value_bytes
            self._sections[table].end = at - begin
        return 0

    cdef dict _decoded(self, int table):
        """Return the rows of a table as a dict."""
        cdef object known = self._tables[table]
        if known is not None:
            return <dict> known
        cdef dict rows = {}
        cdef list keys = []
        cdef const uint8_t *at = <const uint8_t *> PyBytes_AS_STRING(self._row) + self._sections[table].first
        cdef const uint8_t *end = <const uint8_t *> PyBytes_AS_STRING(self._row) + PyBytes_GET_SIZE(self._row)
        cdef uint64_t count, shared = 0, further = 0, value_bytes = 0
        cdef bytes key, before = self._prefix
        cdef char *letters
        for count in range(self._sections[table].count):
            read_head(&at, end, &shared, &further)
            shared += BUCKET_BYTES
            key = PyBytes_FromStringAndSize(NULL, shared + further)
            letters = PyBytes_AS_STRING(key)
            memcpy(letters, PyBytes_AS_STRING(before), shared)
            memcpy(letters + shared, at, further)
            at += further
            get_varint(&at, end, &value_bytes)
            rows[key] = PyBytes_FromStringAndSize(<const char *> at, value_bytes)
            at += value_bytes
            keys.append(key)
            before = key
        self._tables[table], self._sorted[table] = rows, keys
        return rows

    cdef object _scanned(self, int table, bytes key):
        """Return the value under a key of a table that is not decoded, or None."""
        cdef const uint8_t *at = <const uint8_t *> PyBytes_AS_STRING(self._row) + self._sections[table].first
        cdef const uint8_t *end = <const uint8_t *> PyBytes_AS_STRING(self._row) + PyBytes_GET_SIZE(self._row)
        cdef const uint8_t *wanted = <const uint8_t *> PyBytes_AS_STRING(key) + BUCKET_BYTES
        cdef uint64_t size = PyBytes_GET_SIZE(key) - BUCKET_BYTES, equal = 0, here
        cdef uint64_t count, shared = 0, further = 0, value_bytes = 0
        for count in range(self._sections[table].count):
            read_head(&at, end, &shared, &further)
            if shared < equal:
                return None  # this key, and all behind it, are larger
            if shared == equal:
                here = 0
                while here < further and equal < size and at[here] == wanted[equal]:
                    here += 1
                    equal += 1
                if here == further and equal == size:
                    at += further
                    get_varint(&at, end, &value_bytes)
                    return PyBytes_FromStringAndSize(<const char *> at, value_bytes)
                if here < further and (equal == size or at[here] > wanted[equal]):
                    return None
            at += further
            get_varint(&at, end, &value_bytes)
            at += value_bytes
        return None

    def get(self, int table, bytes key not None) -> bytes | None:
        """Return the value under a key of a table, or None."""
        cdef object rows = self._tables[table]
        return self._scanned(table, key) if rows is None else (<dict> rows).get(key)

    def get_many(self, int table, list keys not None) -> list:
        """Return the (key, value) of each key that exists, in the order of `keys`."""
        cdef object rows = self._tables[table]
        cdef list found = []
        cdef bytes key
        for key in keys:
            value = self._scanned(table, key) if rows is None else (<dict> rows).get(key)
            if value is not None:
                found.append((key, value))
        return found

    def floor(self, int table, bytes key not None) -> tuple | None:
        """Return the last row of a table at or before a key, or None."""
        cdef list keys = self.keys(table)
        cdef Py_ssize_t at = bisect_left(keys, key)
        if at == len(keys) or keys[at] != key:
            at -= 1
        return None if at < 0 else (keys[at], self._decoded(table)[keys[at]])

    def rows(self, int table, bytes start not None=b"", bytes prefix not None=b"") -> list:
        """Return the rows of a table from the key `start` on, up to the first one without `prefix`."""
        return self.some_rows(table, start, -1, prefix)

    def some_rows(self, int table, bytes start not None, Py_ssize_t limit, bytes prefix not None=b"") -> list:
        """Return the first `limit` rows that `rows` would return; -1: all."""
        cdef list found = [], keys = self.keys(table)
        cdef Py_ssize_t at = bisect_left(keys, start), end = len(keys), size = PyBytes_GET_SIZE(prefix)
        cdef dict rows = self._decoded(table)
        cdef bytes key
        if 0 <= limit < end - at:
            end = at + limit
        while at < end:
            key = keys[at]
            if PyBytes_GET_SIZE(key) < size or memcmp(PyBytes_AS_STRING(key), PyBytes_AS_STRING(prefix), size) != 0:
                break
            found.append((key, rows[key]))
            at += 1
        return found

    def put(self, int table, bytes key not None, bytes value not None) -> None:
        """Write one row."""
        cdef dict rows = self._decoded(table)
        cdef void *before = <void *> PyDict_GetItem(rows, key)
        self.size += PyBytes_GET_SIZE(value)
        if before is NULL:
            self.size += PyBytes_GET_SIZE(key) - BUCKET_BYTES + ENTRY_BYTES
            self._sorted[table] = None
        else:
            self.size -= PyBytes_GET_SIZE(<bytes> before)
        rows[key] = value
        self._sections[table].changed = self.changed = True

    def delete(self, int table, bytes key not None) -> bool:
        """Delete one row; return whether it was there."""
        cdef object value = self._decoded(table).pop(key, None)
        if value is None:
            return False
        self.size -= PyBytes_GET_SIZE(<bytes> value) + PyBytes_GET_SIZE(key) - BUCKET_BYTES + ENTRY_BYTES
        self._sorted[table] = None
        self._sections[table].changed = self.changed = True
        return True

    def keys(self, int table) -> list:
        """Return the keys of a table in order; the caller must not change the list."""
        cdef dict rows = self._decoded(table)
        if self._sorted[table] is None:
            self._sorted[table] = sorted(rows)
        return self._sorted[table]

    def count(self, int table) -> int:
        """Return the number of rows of a table."""
        cdef object rows = self._tables[table]
        return self._sections[table].count if rows is None else len(<dict> rows)

    def stored(self, tuple tables not None) -> list:
        """Return the numbers of rows of some tables in the row of `small`, as it was read or packed last."""
        return [self._sections[table].count for table in tables]

    def tables(self) -> list:
        """Return the numbers of the tables with rows."""
        return [table for table in range(TABLES) if self.count(table)]

    def pack(self) -> bytes:
        """Return the row of `small`, which the caller writes."""
        cdef list parts = []
        cdef int table
        for table in self.tables():
            if self._sections[table].changed:
                parts.append(self._packed(table))
            else:
                parts.append(self._row[self._sections[table].begin : self._sections[table].end])
        self._row = b"".join(parts)
        self.size, self.changed = PyBytes_GET_SIZE(self._row), False
        self._find_sections()
        return self._row

    cdef bytes _packed(self, int table):
        cdef uint8_t *room = NULL
        cdef Py_ssize_t size = 0, used, shared, further, most
        cdef dict rows = self._tables[table]
        cdef bytes key, before = self._prefix, value
        cdef uint8_t *out
        try:
            room = <uint8_t *> grown(room, &size, ENTRY_BYTES_MAX, 1)
            used = put_varint(put_varint(room, table), len(rows)) - room
            for key in self.keys(table):
                value = rows[key]
                shared, most = BUCKET_BYTES, min(PyBytes_GET_SIZE(key), PyBytes_GET_SIZE(before))
                while shared < most and PyBytes_AS_STRING(key)[shared] == PyBytes_AS_STRING(before)[shared]:
                    shared += 1
                further = PyBytes_GET_SIZE(key) - shared
                room = <uint8_t *> grown(room, &size, used + ENTRY_BYTES_MAX + further + PyBytes_GET_SIZE(value), 1)
                out = put_head(room + used, shared - BUCKET_BYTES, further)
                memcpy(out, PyBytes_AS_STRING(key) + shared, further)
                out = put_varint(out + further, PyBytes_GET_SIZE(value))
                memcpy(out, PyBytes_AS_STRING(value), PyBytes_GET_SIZE(value))
                used = out - room + PyBytes_GET_SIZE(value)
                before = key
            return PyBytes_FromStringAndSize(<char *> room, used)
        finally:
            free(room)


def are_of_one_bucket(list keys not None) -> bool:
    """Return whether all keys of a list, which is not empty, belong to one bucket."""
    cdef const char *first = PyBytes_AS_STRING(<bytes?> keys[0])
    cdef bytes key
    for key in keys:
        if memcmp(PyBytes_AS_STRING(key), first, BUCKET_BYTES) != 0:
            return False
    return True


cdef inline int read_head(const uint8_t **at, const uint8_t *end, uint64_t *shared, uint64_t *further) noexcept nogil:
    """Read the head of an entry; return -1 if the bytes end inside it."""
    if at[0] == end:
        return -1
    cdef uint8_t head = at[0][0]
    at[0] += 1
    if head == LONG_HEAD:
        return -1 if get_varint(at, end, shared) < 0 or get_varint(at, end, further) < 0 else 0
    shared[0], further[0] = head >> 4, head & 0xF
    return 0


cdef inline uint8_t *put_head(uint8_t *out, Py_ssize_t shared, Py_ssize_t further) noexcept nogil:
    if shared <= SHORT_MAX and further <= SHORT_MAX:
        out[0] = <uint8_t> (shared << 4 | further)
        return out + 1
    out[0] = LONG_HEAD
    return put_varint(put_varint(out + 1, shared), further)


def put_in_small(find, int table, rows, Py_ssize_t most) -> tuple:
    """Write those of (key, value) pairs that belong to small buckets.

    Args:
        find: a function that returns the SmallRows of the bucket to which a key of a table belongs; or a list, which
            gets (table, key, value) of each row; None: the bucket is not small.
        most: the size of SmallRows that are large.

    Returns:
        The other pairs, in order; a key of each bucket that became large.
    """
    cdef list others = [], large = []
    cdef bytes key, first = None
    cdef object small = None
    for row in rows:
        key = (<tuple?> row)[0]
        if first is None or memcmp(PyBytes_AS_STRING(key), PyBytes_AS_STRING(first), BUCKET_BYTES) != 0:
            if type(small) is SmallRows and (<SmallRows> small).size > most:
                large.append(first)
            first, small = key, find(table, key)
        if small is None:
            others.append(row)
        elif type(small) is list:
            (<list> small).append((table, key, (<tuple> row)[1]))
        else:
            (<SmallRows?> small).put(table, key, (<tuple> row)[1])
    if type(small) is SmallRows and (<SmallRows> small).size > most:
        large.append(first)
    return others, large
