"""Reads and writes rows of tables in an open transaction of LMDB: the methods that each change and each query call.

    StoredRows  the rows as LMDB has them
    MixedRows   the same methods, where the rows of small buckets share rows of the table `small`

`sonicpy.store.disk` adds all other methods, and those that these classes call: `_failed` translates an error of lmdb,
and `_look`, `_read_small`, `_place` and `_spill` keep the rows of small buckets.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.dict cimport PyDict_GetItemWithError

from sonicpy._native.small_entries cimport BUCKET_BYTES

from sonicpy._native.keys import floor_rows
from sonicpy._native.small_rows import are_of_one_bucket, put_in_small
from sonicpy._native.term_rows import common_keys, with_common

SPILLED_BYTES = 1 << 14
"""The size in bytes at which rows of a small bucket move into the tables before they are written."""


cdef class StoredRows:
    """The rows of all tables in one transaction of LMDB. Every error of lmdb leaves it as `_failed` translates it.

    Args:
        tables: the handles of the tables, by number.
        txn: the transaction of lmdb.
        write: whether it is for writing.
        commits: the number of commits that this process had made when the transaction began.

    Attributes:
        began_after: `commits`, as given.
        cached_view: state that a reader keeps for the next reader of the snapshot.
        write: as given.
    """

    def __cinit__(self, *_, **__):
        self._tables, self._cursors = [], []

    def __init__(self, list tables not None, txn, bint write, commits=0):
        self._tables, self._txn, self.write, self.began_after = tables, txn, write, commits
        self._cursors = [None] * len(tables)

    cdef object handle(self, int table):
        """Return the handle of a table. Raises IndexError if there is no table with this number."""
        if not 0 <= table < len(self._tables):
            raise IndexError(f"the transaction has no table {table}")
        return self._tables[table]

    cdef object at(self, int table):
        """Return the cursor of a table, which each search places anew."""
        cdef object handle = self.handle(table), cursor = self._cursors[table]
        if cursor is None:
            cursor = self._cursors[table] = self._txn.cursor(handle)
        return cursor

    cdef list found(self, int table, list keys):
        try:
            return self.at(table).getmulti(keys)
        except Exception as error:
            self._failed(error)

    def _cursor(self, int table):
        """Return the cursor of a table, which each search places anew."""
        return self.at(table)

    def get(self, int table, bytes key not None) -> bytes | None:
        """Return the value under `key`, or None."""
        try:
            return self._txn.get(key, None, self.handle(table))
        except Exception as error:
            self._failed(error)

    def get_many(self, int table, list keys not None) -> list:
        """Return the (key, value) of each key that exists, in the order of `keys`."""
        return self.found(table, keys) if keys else []

    def floor_many(self, int table, list keys not None, int prefix_bytes) -> list:
        """Return, for each key, the last row at or before it whose key has the same first `prefix_bytes` bytes, or
        None."""
        try:
            return floor_rows(self.at(table), keys, prefix_bytes)
        except Exception as error:
            self._failed(error)

    def put(self, int table, bytes key not None, bytes value not None) -> None:
        """Write one row.

        Raises:
            StoreFull: the map or the disk is full; the transaction is lost.
            StoreError: any other error of the storage; the transaction is lost.
        """
        try:
            self._txn.put(key, value, True, True, False, self.handle(table))
        except Exception as error:
            self._failed(error)

    def put_many(self, int table, rows not None) -> None:
        """Write several rows. Raises the errors of `put`."""
        if not rows:
            return
        try:
            self.at(table).putmulti(rows)
        except Exception as error:
            self._failed(error)

    def delete(self, int table, bytes key not None) -> bool:
        """Delete one row; return whether it was there."""
        try:
            return self._txn.delete(key, b"", self.handle(table))
        except Exception as error:
            self._failed(error)


cdef class MixedRows(StoredRows):
    """The rows of all tables in one transaction, those of small buckets included.

    Attributes:
        _has_small: whether there are small buckets; None: not known yet.
        _small: the rows of some small buckets, by number; None: the bucket is not small.
        _mixed: for each table, whether its rows may be those of a small bucket.
    """

    def __cinit__(self, *_, **__):
        self._small, self._mixed = {}, ()

    cdef object small_of(self, int table, bytes key):
        """Return the rows of the small bucket to which a key of a table belongs; None: the table itself has the key."""
        cdef bytes number
        cdef void *found
        if self._has_small is False or not self.may_mix(table):
            return None
        number = PyBytes_FromStringAndSize(PyBytes_AS_STRING(key), min(PyBytes_GET_SIZE(key), <Py_ssize_t> BUCKET_BYTES))
        found = <void *> PyDict_GetItemWithError(self._small, number)
        return self._read_small(number) if found is NULL else <object> found

    cdef bint may_mix(self, int table):
        return 0 <= table < len(self._mixed) and self._mixed[table]

    cdef bint is_mixed(self, int table) except -1:
        """Return whether rows of a table may be in the table `small`."""
        if not self.may_mix(table):
            return False
        return self._look() if self._has_small is None else self._has_small

    def _rows(self, int table, bytes key not None):
        """Return the rows of the small bucket to which a key of a table belongs; None: the table itself has the key."""
        return self.small_of(table, key)

    def _is_mixed(self, int table) -> bool:
        """Return whether rows of a table may be in the table `small`."""
        return self.is_mixed(table)

    def get(self, int table, bytes key not None) -> bytes | None:
        """Return the value under `key`, or None."""
        cdef object rows = self.small_of(table, key)
        return StoredRows.get(self, table, key) if rows is None else rows.get(table, key)

    def get_many(self, int table, list keys not None) -> list:
        """Return the (key, value) of each key that exists, in the order of `keys`."""
        cdef object rows
        cdef bytes key, value
        if not keys:
            return []
        if self._has_small is False or not self.may_mix(table):
            return self.found(table, keys)
        if are_of_one_bucket(keys):
            rows = self.small_of(table, keys[0])
            return self.found(table, keys) if rows is None else rows.get_many(table, keys)
        found = []
        for key in keys:
            value = self.get(table, key)
            if value is not None:
                found.append((key, value))
        return found

    def floor_many(self, int table, list keys not None, int prefix_bytes) -> list:
        """Return, for each key, the last row at or before it whose key has the same first `prefix_bytes` bytes, or
        None."""
        cdef bytes key
        if not keys or not self.is_mixed(table) or (are_of_one_bucket(keys) and self.small_of(table, keys[0]) is None):
            return StoredRows.floor_many(self, table, keys, prefix_bytes)
        return [self._floor(table, key, prefix_bytes) for key in keys]

    def put(self, int table, bytes key not None, bytes value not None) -> None:
        """Write one row.

        Raises:
            StoreFull: the map or the disk is full; the transaction is lost.
            StoreError: any other error of the storage; the transaction is lost.
        """
        cdef object rows = self.small_of(table, key)
        if rows is None:
            StoredRows.put(self, table, key, value)
        else:
            rows.put(table, key, value)
            if rows.size > SPILLED_BYTES:
                self._spill(key[:BUCKET_BYTES])

    def put_many(self, int table, rows not None) -> None:
        """Write several rows. Raises the errors of `put`."""
        if self.is_mixed(table):
            rows, large = put_in_small(self._small, self._place, table, rows, SPILLED_BYTES)
            for key in large:
                self._spill(key[:BUCKET_BYTES])
        StoredRows.put_many(self, table, rows)

    def delete(self, int table, bytes key not None) -> bool:
        """Delete one row; return whether it was there."""
        cdef object rows = self.small_of(table, key)
        return StoredRows.delete(self, table, key) if rows is None else rows.delete(table, key)

    def delete_many(self, int table, keys not None) -> None:
        """Delete the rows with these keys that exist."""
        for key in keys:
            self.delete(table, key)


def words_found(MixedRows transaction not None, int words, int common, list keys not None) -> list:
    """Return the (key, row) of each word that exists, in the order of `keys`.

    Args:
        words: the number of the table `words`.
        common: the number of the table `common`.

    Raises:
        DamagedBytes: the row of a common word is missing.
    """
    cdef list rows = transaction.get_many(words, keys), referred = common_keys(rows) if rows else None
    return with_common(rows, transaction.get_many(common, referred)) if referred else rows
