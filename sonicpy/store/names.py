"""Which object has an OID: `oids` by the hash of the OID, and the newest names in memory.

A row for each name would be changed on a page of its own by nearly every PUSH, because hashes have nothing to do with
each other. So names wait in memory until there are thousands, then go into rows of about a hundred, a slice of all
hashes each (`sonicpy._native.names`). Nothing is lost with the memory: objects from `BucketState.named` on may wait,
and their records tell their names.
"""

from collections.abc import Iterator
from hashlib import blake2b

from sonicpy._native.names import (
    NAME_HASH_BITS,
    by_slice,
    merge_names,
    named,
    pack_names,
    slice_start,
    slice_to_split,
    unpack_names,
)
from sonicpy._native.objects import OBJECTS_PER_RECORD_ROW, RecordRow
from sonicpy.store.environment import OBJECTS, OIDS, Transaction
from sonicpy.store.keys import bucket_key, object_key
from sonicpy.store.scopes import BucketState

NAMES_PER_SLICE = 128
"""At the most, on average: 900 bytes."""
WAITING_MIN = 1_000
WAITING_MAX = 8_000
"""Names that wait: a sixteenth of all, within these bounds."""
FOLDED_MIN = 8
"""Names that go into rows at a commit while more than enough wait, besides two for each new one."""

name_key = object_key  # the smallest hash of a slice stands where an IID would


def name_hash(oid: bytes) -> int:
    """Return the 40 bits that an OID is found by; others may have the same."""
    return int.from_bytes(blake2b(oid, digest_size=NAME_HASH_BITS // 8).digest(), "big")


class NewNames:
    """The names of a bucket that `oids` may not hold yet."""

    __slots__ = ("_added", "_at", "_clashes", "_iids", "_until", "_waiting")

    def __init__(self) -> None:
        self._iids: dict[int, int] = {}
        self._clashes: list[tuple[int, int]] = []  # names with the hash of another one
        self._added = 0  # since the last fold
        self._waiting: list[int] = []  # the hashes that are being folded
        self._at = 0
        self._until = 0  # objects before it will be in `oids` once that is done

    def __len__(self) -> int:
        return len(self._iids) + len(self._clashes)

    def find(self, hash: int) -> list[int]:
        """Return the IIDs of the objects whose OID has this hash."""
        iid = self._iids.get(hash)
        if iid is None:
            return []
        return [iid, *(other for clashing, other in self._clashes if clashing == hash)]

    def add(self, hash: int, iid: int) -> None:
        """Note the name of a new object."""
        self._added += 1
        if self._iids.setdefault(hash, iid) != iid:
            self._clashes.append((hash, iid))

    def drop(self, hash: int, iid: int) -> None:
        """Forget a name, if it is here."""
        if (hash, iid) in self._clashes:
            self._clashes.remove((hash, iid))
        elif self._iids.get(hash) == iid:
            del self._iids[hash]
            for clash in [clash for clash in self._clashes if clash[0] == hash]:
                self._clashes.remove(clash)
                self.add(*clash)

    def fold(self, transaction: Transaction, state: BucketState) -> None:
        """Put some of the names that wait into their rows, if there are more than enough."""
        if not self._waiting and len(self) >= min(max(state.objects // 16, WAITING_MIN), WAITING_MAX):
            self._waiting = sorted(self._iids)
            self._at = 0
            self._until = state.next_iid
        some = self._waiting[self._at : self._at + 2 * self._added + FOLDED_MIN]
        self._at += len(some)
        self._added = 0
        entries = [(hash, iid) for hash in some if (iid := self._iids.pop(hash, None)) is not None]
        if self._clashes:
            entries = sorted([*entries, *self._take_clashes(set(some))])
        if entries:
            _merge(transaction, state, entries)
        if self._waiting and self._at >= len(self._waiting):
            self._waiting = []
            state.named = self._until

    def _take_clashes(self, hashes: set[int]) -> list[tuple[int, int]]:
        taken = [clash for clash in self._clashes if clash[0] in hashes]
        self._clashes = [clash for clash in self._clashes if clash[0] not in hashes]
        return taken


def new_names(transaction: Transaction, state: BucketState) -> NewNames:
    """Return the names of the objects that `oids` may not hold, as their records tell them."""
    names = NewNames()
    for iid, oid in _newest(transaction, state):
        names.add(name_hash(oid), iid)
    names._added = 0
    return names


def stored_names(transaction: Transaction, state: BucketState, hash: int) -> list[int]:
    """Return the IIDs of the objects in `oids` whose OID has this hash.

    Raises:
        DamagedBytes: the row is damaged.
    """
    if not state.slices:
        return []
    row = transaction.get(OIDS, name_key(state.bucket, slice_start(hash, state.slices)))
    return [] if row is None else named(row, hash)


def find_new(transaction: Transaction, state: BucketState, oid: bytes) -> Iterator[int]:
    """Yield the IID of an object that `oids` may not hold, without anything in memory."""
    return (iid for iid, other in _newest(transaction, state) if other == oid)


def drop_stored_name(transaction: Transaction, state: BucketState, hash: int, iid: int) -> None:
    """Take a name out of `oids`, if it is there."""
    if iid not in stored_names(transaction, state, hash):
        return
    key = name_key(state.bucket, slice_start(hash, state.slices))
    entries = unpack_names(transaction.get(OIDS, key) or b"")
    entries.remove((hash, iid))
    _write(transaction, key, entries)


def _newest(transaction: Transaction, state: BucketState) -> Iterator[tuple[int, bytes]]:
    first = state.named // OBJECTS_PER_RECORD_ROW
    for key, row in transaction.rows(OBJECTS, bucket_key(state.bucket), object_key(state.bucket, first)):
        start = int.from_bytes(key[4:], "big") * OBJECTS_PER_RECORD_ROW
        for place, oid in RecordRow(row).oids():
            if start + place >= state.named:
                yield start + place, oid


def _merge(transaction: Transaction, state: BucketState, entries: list[tuple[int, int]]) -> None:
    """Put (hash, IID) entries, by hash, into their rows, and split slices that are too large by now."""
    state.slices = max(state.slices, 1)
    for start, some in by_slice(entries, state.slices):
        key = name_key(state.bucket, start)
        transaction.put(OIDS, key, merge_names(transaction.get(OIDS, key) or b"", some))
    while state.objects > NAMES_PER_SLICE * state.slices:
        _split(transaction, state)


def _split(transaction: Transaction, state: BucketState) -> None:
    start, middle = slice_to_split(state.slices)
    key = name_key(state.bucket, start)
    row = transaction.get(OIDS, key)
    state.slices += 1
    if row is None:
        return
    entries = unpack_names(row)
    _write(transaction, key, [entry for entry in entries if entry[0] < middle])
    _write(transaction, name_key(state.bucket, middle), [entry for entry in entries if entry[0] >= middle])


def _write(transaction: Transaction, key: bytes, entries: list[tuple[int, int]]) -> None:
    if entries:
        transaction.put(OIDS, key, pack_names(entries))
    else:
        transaction.delete(OIDS, key)
