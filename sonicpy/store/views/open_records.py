"""Records of objects, as the open write transaction shows them: rows that wait in its cache come first."""

from sonicpy._native.objects import OBJECTS_PER_RECORD_ROW, record_at, row_keys
from sonicpy._native.waiting_rows import NewestRow, RecentRow
from sonicpy.store.disk.table_numbers import OBJECTS
from sonicpy.store.disk.transaction import Transaction
from sonicpy.store.rows.bucket_state import BucketState
from sonicpy.store.rows.keys import object_key
from sonicpy.store.views.write_cache import BucketWriteCache, WriteCache


class OpenRecords:
    """The part of a `WriteView` for records of objects."""

    transaction: Transaction
    by_association: bool
    _write_cache: WriteCache
    _changed_buckets: set[int]

    def held(self, state: BucketState) -> BucketWriteCache:
        """Return the cache of a bucket, with the rows that PUSH changes, until the transaction ends."""
        self._changed_buckets.add(state.bucket)
        held = self._write_cache.of(state.bucket)
        if held.names is None or held.newest is None or held.lengths is None:
            held.read(self.transaction, state, dense=not self.by_association)
        return held

    def newest(self, state: BucketState) -> NewestRow:
        """Return the newest row of records of a bucket, which may be changed until the transaction ends."""
        self._changed_buckets.add(state.bucket)
        held = self._write_cache.of(state.bucket)
        if held.newest is None:  # one without records is false
            return held.read_newest(self.transaction, state, dense=not self.by_association)
        return held.newest

    def recent(self, bucket: int, number: int) -> RecentRow:
        """Return a row of records of a bucket, not the newest one, for changes until another row is returned."""
        held = self._write_cache.of(bucket)
        row = held.recent.get(number)
        if row is None:
            if held.has_many_recent():
                held.write_recent(self.transaction, bucket)
            packed = self.transaction.get(OBJECTS, object_key(bucket, number))
            held.recent_bytes += len(packed or b"")
            row = held.recent[number] = RecentRow(number, packed, not self.by_association)
        return row

    def record_rows(self, bucket: int, iids: list[int], *, names: bool = False) -> dict[bytes, bytes]:
        """Return the rows with the records of some objects of a bucket, by key; see `View`."""
        rows: dict[bytes, bytes] = {}
        stored: list[bytes] = []
        held = self._write_cache.of(bucket)
        for key in row_keys(bucket, iids):
            number = int.from_bytes(key[4:])  # behind the number of the bucket
            row = held.waiting_records(number)
            if row is None:
                stored.append(key)
            else:
                rows[key] = row.names if names else row.packed
        if stored:
            rows.update(self.transaction.get_many(OBJECTS, stored))
        return rows

    def record(self, bucket: int, iid: int) -> bytes | None:
        """Return the record of an object, or None. Raises DamagedBytes if its row cannot be read."""
        number, place = divmod(iid, OBJECTS_PER_RECORD_ROW)
        row = self._write_cache.of(bucket).waiting_records(number)
        if row is not None:
            return row.record(place)
        packed = self.transaction.get(OBJECTS, object_key(bucket, number))
        return None if packed is None else record_at(packed, place)

    def flush_records(self, bucket: int) -> None:
        """Write the changed rows of records of a bucket."""
        self._write_cache.of(bucket).write_records(self.transaction, bucket)
