"""The rows of a small bucket, which share one row of `small`.

    row     per table with rows, by rising number: v(number of the table) v(number of rows), and the rows in key order
    entry   a head; the bytes of the key behind those that it shares with the key before; v(size of the value), the value
    head    u8 (shared << 4 | further), the numbers of shared and of further bytes of the key; or 0xFF v(shared)
            v(further)

v() is a varint (varint.pxd). Keys are without the number of the bucket, with which all of them begin. The first key of
a table shares nothing.
"""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.dict cimport PyDict_GetItemWithError
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcmp, memcpy, memmove, memset

from sonicpy._native.small_entries cimport (
    BUCKET_BYTES, ENTRY_BYTES_MAX, KEY_BYTES_MAX, Output, compared, next_entry, offsetof_key, put_entry, put_raw,
    read_entry, read_head, reserve_bytes,
)
from sonicpy._native.varint cimport get_varint, put_varint

from bisect import bisect_left

from sonicpy._native.varint import DamagedBytes

cdef enum:
    TABLES = 16  # the numbers of tables with rows of small buckets are smaller
    ENTRY_BYTES = 2  # of a short entry


cdef struct Section:
    # The rows of a table in the row: where the section and its first entry begin, and where it ends.
    Py_ssize_t begin, first, end
    uint64_t count


@cython.no_gc  # its lists hold bytes, and dicts of bytes: no cycle begins here
cdef class SmallRows:
    """The rows of a small bucket, by table. Changes wait beside the row until `pack` merges them into it.

    Args:
        prefix: the number of the bucket, with which all keys begin: 4 bytes.
        row: the row of `small`; b"": the bucket has no rows. None: the bucket is new.

    Attributes:
        prefix: as given.
        size: about the number of bytes of `pack()`, or more: of a row that changes, the old value counts, too.
        changed: whether `pack` would return another row than the row in the table.

    Raises:
        DamagedBytes: the row cannot be read.
    """

    cdef list _changes  # per table, key -> value of changed rows, None: the row is deleted; None: there are none
    cdef list _tables  # per table, key -> value of all rows, None: not read as a whole; None: no table is
    cdef list _sorted  # per table, the keys of all rows in order, or None; None while `_tables` is
    cdef readonly bytes prefix
    cdef bytes _row
    cdef Section _sections[TABLES]  # of the row
    cdef readonly Py_ssize_t size
    cdef readonly bint changed

    def __cinit__(self, bytes prefix not None, bytes row):
        self.prefix, self._row = prefix, b"" if row is None else row
        self._changes = [None] * TABLES
        self.changed = row is None
        self.size = PyBytes_GET_SIZE(self._row)
        self._find_sections()

    cdef int _find_sections(self) except -1:
        """Find the tables in the row, and check all of it. Raises DamagedBytes."""
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

    cdef object _known(self, int table):
        """Return all rows of a table, if they have been read as a whole, else None."""
        return None if self._tables is None else self._tables[table]

    cdef dict _decoded(self, int table):
        """Return all rows of a table as a dict."""
        cdef object known = self._known(table), changes = self._changes[table]
        if known is not None:
            return <dict> known
        if self._tables is None:
            self._tables, self._sorted = [None] * TABLES, [None] * TABLES
        cdef dict rows = {}
        cdef list keys = []
        cdef const uint8_t *at = <const uint8_t *> PyBytes_AS_STRING(self._row) + self._sections[table].first
        cdef const uint8_t *end = <const uint8_t *> PyBytes_AS_STRING(self._row) + PyBytes_GET_SIZE(self._row)
        cdef uint64_t count, shared = 0, further = 0, value_bytes = 0
        cdef bytes key, before = self.prefix
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
        if changes is not None:
            for key, value in (<dict> changes).items():
                if value is not None:
                    rows[key] = value
                else:
                    rows.pop(key, None)
            keys = None
        self._tables[table], self._sorted[table] = rows, keys
        return rows

    cdef object _scanned(self, int table, bytes key):
        """Return the value under a key of a table in the row, or None."""
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

    cdef object _value(self, int table, bytes key):
        """Return the value under a key of a table, or None."""
        cdef object rows = self._changes[table]
        cdef void *found
        if rows is not None:
            found = <void *> PyDict_GetItemWithError(<dict> rows, key)
            if found is not NULL:
                return <object> found
        return self._scanned(table, key)

    def get(self, int table, bytes key not None) -> bytes | None:
        """Return the value under a key of a table, or None."""
        return self._value(table, key)

    def get_many(self, int table, list keys not None) -> list:
        """Return the (key, value) of each key that exists, in the order of `keys`."""
        cdef list found = []
        cdef bytes key
        cdef object value
        for key in keys:
            value = self._value(table, key)
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
        self.put_row(table, key, value)

    cdef int put_row(self, int table, bytes key, bytes value) except -1:
        cdef object known = self._known(table), changes = self._changes[table]
        cdef void *before = NULL
        if changes is None:
            changes = self._changes[table] = {}
        else:
            before = <void *> PyDict_GetItemWithError(<dict> changes, key)
        self.size += PyBytes_GET_SIZE(value)
        if before is NULL or <object> before is None:
            self.size += PyBytes_GET_SIZE(key) - BUCKET_BYTES + ENTRY_BYTES
        else:
            self.size -= PyBytes_GET_SIZE(<bytes> before)
        (<dict> changes)[key] = value
        if known is not None:
            if key not in <dict> known:
                self._sorted[table] = None
            (<dict> known)[key] = value
        self.changed = True
        return 0

    def delete(self, int table, bytes key not None) -> bool:
        """Delete one row; return whether it was there."""
        cdef object value = self._value(table, key), changes = self._changes[table]
        if value is None:
            return False
        if changes is None:
            changes = self._changes[table] = {}
        (<dict> changes)[key] = None
        if self._known(table) is not None:
            del (<dict> self._tables[table])[key]
            self._sorted[table] = None
        self.size -= PyBytes_GET_SIZE(<bytes> value) + PyBytes_GET_SIZE(key) - BUCKET_BYTES + ENTRY_BYTES
        self.changed = True
        return True

    def keys(self, int table) -> list:
        """Return the keys of a table in order; the caller must not change the list."""
        cdef dict rows = self._decoded(table)
        if self._sorted[table] is None:
            self._sorted[table] = sorted(rows)
        return self._sorted[table]

    def count(self, int table) -> int:
        """Return the number of rows of a table."""
        return self._sections[table].count if self._changes[table] is None else len(self._decoded(table))

    def stored(self, tuple tables not None) -> list:
        """Return the numbers of rows of some tables in the row of `small`, as it was read or packed last."""
        return [self._sections[table].count for table in tables]

    cdef void count_into(self, int64_t *counts, int sign) noexcept:
        cdef int table
        for table in range(TABLES):
            counts[table] += sign * <int64_t> self._sections[table].count

    def tables(self) -> list:
        """Return the numbers of the tables with rows."""
        return [table for table in range(TABLES) if self.count(table)]

    def pack(self) -> bytes:
        """Return the row of `small`, which the caller writes."""
        cdef Output out
        cdef Section sections[TABLES]
        cdef Section *old
        cdef int table
        cdef Py_ssize_t size
        memset(sections, 0, sizeof(sections))
        memset(&out, 0, offsetof_key())
        try:
            for table in range(TABLES):
                old = &self._sections[table]
                size = old.end - old.begin
                sections[table].begin = out.used
                if self._changes[table] is not None:
                    self._merge(&out, &sections[table], table)
                elif size:
                    reserve_bytes(&out, size)
                    memcpy(out.room + out.used, PyBytes_AS_STRING(self._row) + old.begin, size)
                    sections[table].first = out.used + old.first - old.begin
                    sections[table].count = old.count
                    out.used += size
                sections[table].end = out.used
            self._row = PyBytes_FromStringAndSize(<char *> out.room, out.used)
        finally:
            free(out.room)
        for table in range(TABLES):
            self._changes[table] = None
        memcpy(self._sections, sections, sizeof(sections))
        self.size, self.changed = out.used, False
        return self._row

    cdef int _merge(self, Output *out, Section *section, int table) except -1:
        """Write the rows of a table with its changes; nothing if no row is left."""
        cdef const uint8_t *begin = <const uint8_t *> PyBytes_AS_STRING(self._row)
        cdef const uint8_t *at = begin + self._sections[table].first
        cdef const uint8_t *end = begin + self._sections[table].end
        cdef const uint8_t *entry = at
        cdef const uint8_t *before = NULL  # the place in the row behind the entry that was written last
        cdef uint8_t key[KEY_BYTES_MAX]  # of the entry
        cdef Py_ssize_t key_size = 0, start = out.used, shift
        cdef uint64_t value_bytes = 0, count = 0, left = self._sections[table].count
        cdef uint8_t head[ENTRY_BYTES_MAX]
        cdef int order = 1
        cdef dict changes = self._changes[table]
        cdef bytes changed
        cdef object value
        out.key_size = 0
        if left:
            read_entry(&at, end, key, &key_size, &value_bytes)
        for changed in sorted(changes):
            value = changes[changed]
            if PyBytes_GET_SIZE(changed) - BUCKET_BYTES > KEY_BYTES_MAX:
                raise ValueError("a key of a small bucket is too long")
            order = 1
            while left:
                order = compared(key, key_size, changed)
                if order >= 0:
                    break
                count += 1
                if before == entry:
                    put_raw(out, entry, at + value_bytes - entry, key, key_size)
                else:
                    put_entry(out, key, key_size, at, value_bytes)
                before = at + value_bytes
                left = next_entry(&at, &entry, end, key, &key_size, &value_bytes, left)
            if value is not None:
                count += 1
                put_entry(
                    out, <const uint8_t *> PyBytes_AS_STRING(changed) + BUCKET_BYTES,
                    PyBytes_GET_SIZE(changed) - BUCKET_BYTES, <const uint8_t *> PyBytes_AS_STRING(value),
                    PyBytes_GET_SIZE(value),
                )
                before = NULL
            if left and order == 0:
                left = next_entry(&at, &entry, end, key, &key_size, &value_bytes, left)
        if left:
            if before == entry:
                put_raw(out, entry, at + value_bytes - entry, key, key_size)
            else:
                put_entry(out, key, key_size, at, value_bytes)
            at += value_bytes
            put_raw(out, at, end - at, key, key_size)
            count += left
        if count:
            shift = put_varint(put_varint(head, table), count) - head
            reserve_bytes(out, shift)
            memmove(out.room + start + shift, out.room + start, out.used - start)
            memcpy(out.room + start, head, shift)
            out.used += shift
            section.first, section.count = start + shift, count
        return 0


def are_of_one_bucket(list keys not None) -> bool:
    """Return whether all keys of a list, which is not empty, belong to one bucket."""
    cdef const char *first = PyBytes_AS_STRING(<bytes?> keys[0])
    cdef bytes key
    for key in keys:
        if memcmp(PyBytes_AS_STRING(key), first, BUCKET_BYTES) != 0:
            return False
    return True


def put_in_small(dict kept not None, find, int table, rows, Py_ssize_t most) -> tuple:
    """Write those of (key, value) pairs that belong to small buckets.

    Args:
        kept: SmallRows of some buckets, by number; None: the bucket is not small.
        find: a function, for buckets that are not in `kept`, that returns the SmallRows of the bucket to which a key of a
            table belongs; or a list, which gets (table, key, value) of each row; None: the bucket is not small.
        most: the size of SmallRows that are large.

    Returns:
        The other pairs, in order; a key of each bucket that became large.
    """
    cdef list others = [], large = []
    cdef bytes key, number, first = None
    cdef object small = None
    for row in rows:
        key = (<tuple?> row)[0]
        if first is None or memcmp(PyBytes_AS_STRING(key), PyBytes_AS_STRING(first), BUCKET_BYTES) != 0:
            if type(small) is SmallRows and (<SmallRows> small).size > most:
                large.append(first)
            first, number = key, key[:BUCKET_BYTES]
            small = kept[number] if number in kept else find(table, key)
        if small is None:
            others.append(row)
        elif type(small) is list:
            (<list> small).append((table, key, (<tuple> row)[1]))
        else:
            (<SmallRows?> small).put_row(table, key, (<tuple> row)[1])
    if type(small) is SmallRows and (<SmallRows> small).size > most:
        large.append(first)
    return others, large


def pack_small(list buckets not None, tuple tables not None, list counts not None, Py_ssize_t room) -> tuple:
    """Pack the rows of small buckets.

    Args:
        buckets: SmallRows.
        tables: the numbers of tables.
        counts: the numbers of rows that small buckets have in these tables, by place; they are brought up to date.
        room: the most bytes of a row of `small`.

    Returns:
        The (key, row) pairs to put into `small`; the buckets whose rows are larger, which are counted no more.
    """
    cdef list rows = [], large = []
    cdef SmallRows small
    cdef int64_t changes[TABLES]
    cdef int table
    cdef Py_ssize_t place
    memset(changes, 0, sizeof(changes))
    for small in buckets:
        small.count_into(changes, -1)
        if PyBytes_GET_SIZE(<bytes> small.pack()) > room:
            large.append(small)
        else:
            small.count_into(changes, 1)
            rows.append((small.prefix, small._row))
    for place in range(len(tables)):
        table = tables[place]
        counts[place] += changes[table]
    return rows, large
