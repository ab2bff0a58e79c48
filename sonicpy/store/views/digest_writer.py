"""Reads and changes digests in the open write transaction; see `rows.digests`."""

from collections.abc import Iterable
from typing import Protocol

from sonicpy.store.disk.transaction import Transaction
from sonicpy.store.rows import uses
from sonicpy.store.rows.digests import NO_DIGEST, DigestRows
from sonicpy.store.rows.meta import uses_of


class OpenView(Protocol):
    """The part of a `WriteView` that this file needs; `WriteView` documents the methods."""

    transaction: Transaction

    def require(self, name: str) -> None: ...
    def note_to_flush(self, bucket: int) -> None: ...


class DigestWriter:
    """Reads and changes the digests of all buckets. A bucket is given by its number."""

    def __init__(self, view: OpenView) -> None:
        self._view = view
        self._buckets: dict[int, DigestRows] = {}
        self._are_used: bool | None = None  # None: not read yet

    def get(self, bucket: int, iid: int) -> bytes:
        """Return the digest of the text of an object; NO_DIGEST: the object has none."""
        return self._rows(bucket).get(self._view.transaction, iid)

    def holds(self, bucket: int, iids: Iterable[int], digest: bytes) -> bool:
        """Return whether the text of one of some objects has a digest."""
        get, transaction = (self._buckets.get(bucket) or self._rows(bucket)).get, self._view.transaction
        return digest in [get(transaction, iid) for iid in iids]

    def set(self, bucket: int, iid: int, digest: bytes) -> None:
        """Set the digest of the text of an object; it is valid until the words of the object change."""
        if not self._are_used:
            self._view.require(uses.DIGESTS)
            self._are_used = True
        self._view.note_to_flush(bucket)
        rows = self._buckets.get(bucket) or self._rows(bucket)
        rows.set(self._view.transaction, iid, digest)

    def end(self, bucket: int, iid: int) -> None:
        """Remove the digest of an object, because its words change, but not by an UPSERT."""
        if self._are_used is None:
            self._are_used = uses.DIGESTS in uses_of(self._view.transaction)
        if self._are_used and self.get(bucket, iid) != NO_DIGEST:
            self.set(bucket, iid, NO_DIGEST)

    def flush(self, buckets: Iterable[int]) -> None:
        """Write the changed rows of digests of some buckets."""
        for bucket in buckets if self._buckets else ():
            if bucket in self._buckets:
                self._buckets[bucket].write(self._view.transaction)

    def _rows(self, bucket: int) -> DigestRows:
        rows = self._buckets.get(bucket)
        if rows is None:
            rows = self._buckets[bucket] = DigestRows(bucket)
        return rows
