"""Finds the object of an OID: in `oids` by the hash of the OID, or among the OIDs of new objects in memory.

With a row for each name, nearly every PUSH would change a page of its own, because hashes are spread evenly. So names
wait in memory until there are thousands, and are then written into rows of about fifty, each for a slice of all hashes
(`sonicpy._native.name_rows`). A loss of the memory is harmless: waiting names belong to objects from
`BucketState.named` on, whose records contain them.
"""

import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

from sonicpy._native.held import Held
from sonicpy._native.name_map import NameMap, name_hash
from sonicpy._native.name_rows import NameMerge, name_key, named, without_name
from sonicpy._native.objects import OBJECTS_PER_RECORD_ROW, RecordRow
from sonicpy.store.disk.table_numbers import OBJECTS, OIDS, StoredRow
from sonicpy.store.rows.bucket_state import BucketState
from sonicpy.store.rows.keys import bucket_key, object_key

if TYPE_CHECKING:
    from sonicpy.store.disk.transaction import Transaction


__all__ = [
    "KnownNames",
    "NewNames",
    "drop_stored_name",
    "find_new",
    "name_hash",
    "new_names",
    "oids_from",
    "stored_names",
    "write_names",
]

NAMES_PER_SLICE = 64
"""The greatest average number of names per slice: 450 bytes. With twice as many, a page has room for four rows and
usually holds two or three."""
WAITING_MIN = 1_000
WAITING_MAX = 8_000
"""The bounds of the number of waiting names, which is otherwise a sixteenth of all names."""
FOLDED_MIN = 8
"""The number of names that a commit writes into rows while more than enough wait, besides two for each new name."""


class NewNames(NameMap):
    """The names of a bucket that `oids` may not hold yet."""

    __slots__ = ()  # `until`: objects before it are going into `oids`; 0: none are

    def fold(self, transaction: "Transaction", state: BucketState) -> None:
        """Write some of the waiting names into their rows, if there are more than enough.

        Raises:
            DamagedBytes: a row is damaged.
        """
        if self.rests(WAITING_MIN):
            return
        if not self.until and len(self) >= min(state.objects // 16, WAITING_MAX):
            self.until = state.next_iid
        if self.until:
            names, are_left = self.take(2 * self.added + FOLDED_MIN, self.until)
            if names:
                _merge(transaction, state, names)
            if not are_left:
                state.named = self.until
                self.until = 0
        self.added = 0


def new_names(transaction: "Transaction", state: BucketState) -> NewNames:
    """Return the names of the objects that `oids` may not hold, read from their records."""
    first = state.named // OBJECTS_PER_RECORD_ROW
    most = max(0, state.next_iid - 1) // OBJECTS_PER_RECORD_ROW - first + 1
    rows = transaction.some_rows(OBJECTS, object_key(state.bucket, first), most, bucket_key(state.bucket))
    return names_in_rows(rows, state)


def names_in_rows(rows: list[StoredRow], state: BucketState) -> NewNames:
    """Return the names that `oids` may not hold, given the rows of `objects` that hold them; others may be there."""
    names = NewNames()
    for key, row in rows:
        names.add_row(row, int.from_bytes(key[4:], "big") * OBJECTS_PER_RECORD_ROW, state.named)
    names.added = 0
    return names


def stored_names(transaction: "Transaction", state: BucketState, hash: int) -> tuple[int, ...]:
    """Return the IIDs of the objects in `oids` whose OID hashes to `hash`.

    Raises:
        DamagedBytes: the row is damaged.
    """
    if not state.slices:
        return ()
    row = transaction.get(OIDS, name_key(state.bucket, hash, state.slices))
    return () if row is None else named(row, hash)


def find_new(transaction: "Transaction", state: BucketState, oid: bytes) -> Iterator[int]:
    """Yield the IID of the object with an OID, if its name may be missing from the table `oids`; for readers without
    `NewNames`.
    """
    return (iid for iid, other in oids_from(transaction, state.bucket, state.named) if other == oid)


def drop_stored_name(transaction: "Transaction", state: BucketState, hash: int, iid: int) -> None:
    """Remove a name from `oids`, if it is there."""
    if not state.slices:
        return
    key = name_key(state.bucket, hash, state.slices)
    row = transaction.get(OIDS, key)
    left = None if row is None else without_name(row, hash, iid)
    if left is not None:
        write_names(transaction, key, left)


def write_names(transaction: "Transaction", key: bytes, row: bytes) -> None:
    """Write a row of `oids`; delete it if it is empty."""
    if row:
        transaction.put(OIDS, key, row)
    else:
        transaction.delete(OIDS, key)


def oids_from(transaction: "Transaction", bucket: int, first: int) -> Iterator[tuple[int, bytes]]:
    """Yield the IID and the OID of each object of a bucket from IID `first` on."""
    row_number = first // OBJECTS_PER_RECORD_ROW
    for key, row in transaction.rows(OBJECTS, bucket_key(bucket), object_key(bucket, row_number)):
        start = int.from_bytes(key[4:], "big") * OBJECTS_PER_RECORD_ROW
        for place, oid in RecordRow(row).oids():
            if start + place >= first:
                yield start + place, oid


def _merge(transaction: "Transaction", state: BucketState, names: bytes) -> None:
    """Merge a row of names into the rows of their slices, and split slices if there are too few.

    The work is proportional to the names: a bucket whose slices are all too large gets new slices over many calls.
    """
    before = max(state.slices, 1)
    wanted = -(-state.objects // NAMES_PER_SLICE)
    state.slices = max(before, min(wanted, before + len(names) // 2))
    merge = NameMerge(state.bucket, names, before, state.slices)
    while keys := merge.next_keys():
        transaction.put_many(OIDS, merge.rows(transaction.get_many(OIDS, keys)))
    for key in merge.emptied:
        transaction.delete(OIDS, key)


class KnownNames:
    """The OIDs of a bucket that its rows of names may lack, as far as they have been read; later commits add to them.

    Attributes:
        named: see BucketState.
        until: the objects from `named` up to this IID, exclusive, were read.
        iids: OID -> the IID of the newest object with this name, which may have been removed since.
    """

    __slots__ = ("_lock", "iids", "named", "until")

    def __init__(self, named: int, until: int) -> None:
        self.named = named
        self.until = until
        self.iids: dict[bytes, int] = {}
        self._lock = threading.Lock()

    def take(self, new: dict[bytes, int], before: int, until: int) -> None:
        """Add the objects with IIDs from `before` to below `until`, unless another thread has added objects
        meanwhile."""
        with Held(self._lock):
            if self.until == before:
                self.iids.update(new)
                self.until = until

    def find(self, oid: bytes) -> tuple[int | None, int]:
        """Return the IID of the newest object with an OID (None: not known), and `until`."""
        with Held(self._lock):
            return self.iids.get(oid), self.until
