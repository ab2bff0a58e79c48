"""The digests of texts that UPSERT gave to objects: eight bytes each, of 64 neighbouring IIDs in a row.

A digest means that the object holds exactly the words of one text. Any other change of its words removes the digest. A
row ends with its last digest; within a row, eight zero bytes mean that the object has none.

In an export, a digest comes with a hash of the analysis settings: under other settings, the text has other words.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

from sonicpy._native.digest import DIGEST_BYTES
from sonicpy._native.keys import bucket_key
from sonicpy._native.keys import object_key as digest_key  # the row number takes the place of an IID
from sonicpy.errors import StoreDamaged
from sonicpy.store.disk.blake import blake2b
from sonicpy.store.disk.table_numbers import DIGESTS

if TYPE_CHECKING:
    from sonicpy.store.disk.transaction import Transaction


__all__ = [
    "DIGESTS_PER_ROW",
    "DIGEST_BYTES",
    "NO_DIGEST",
    "DigestRows",
    "count_digests",
    "digest_at",
    "digest_key",
    "digest_rows",
    "digests_in",
    "exported_digest",
    "imported_digest",
]

DIGESTS_PER_ROW = 64
"""The number of digests in a row: seven rows fill a page of LMDB. A row of a whole page would be written anew for each
digest."""
NO_DIGEST = bytes(DIGEST_BYTES)
HASH_BYTES = 4
"""The number of bytes of the hash of settings in an export."""


def digest_at(row: bytes | bytearray, place: int) -> bytes:
    """Return the digest at `place` of a row; NO_DIGEST: the object there has none."""
    return bytes(row[place * DIGEST_BYTES : (place + 1) * DIGEST_BYTES]) or NO_DIGEST


def digests_in(row: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the place and the digest of all digests of a row."""
    for place in range(len(row) // DIGEST_BYTES):
        if (digest := digest_at(row, place)) != NO_DIGEST:
            yield place, digest


def digest_rows(transaction: "Transaction", bucket: int) -> Iterator[tuple[int, bytes]]:
    """Yield the IID of the first digest and the row, of all rows of a bucket in the table."""
    for key, row in transaction.rows(DIGESTS, bucket_key(bucket)):
        yield int.from_bytes(key[4:], "big") * DIGESTS_PER_ROW, row


def count_digests(transaction: "Transaction", bucket: int) -> int:
    """Return how many objects of a bucket have a digest in the table. Raises StoreDamaged."""
    count = 0
    for _, row in transaction.rows(DIGESTS, bucket_key(bucket)):
        if len(row) % DIGEST_BYTES:
            raise StoreDamaged(f"bucket {bucket}: a row of digests has {len(row)} bytes")
        digests = memoryview(row).cast("Q").tolist()
        count += len(digests) - digests.count(0)
    return count


def exported_digest(digest: bytes, settings: bytes) -> str:
    """Return the form of a digest in an export: 16 hexadecimal digits, a blank, and 8 digits of the hash of the
    settings.

    Args:
        settings: the analysis settings, as `meta.ANALYZER` packs them.
    """
    return f"{digest.hex()} {_settings_hash(settings)}"


def imported_digest(exported: str, settings: bytes) -> bytes:
    """Return the digest that `exported_digest` wrote; NO_DIGEST: it was made with other settings.

    Raises:
        ValueError: `exported` does not have the form of a digest.
    """
    digest, _, of_settings = exported.partition(" ")
    held = bytes.fromhex(digest)
    if len(held) != DIGEST_BYTES or len(of_settings) != 2 * HASH_BYTES:
        raise ValueError(f"{exported!r} is no digest")
    return held if of_settings == _settings_hash(settings) else NO_DIGEST


@lru_cache(maxsize=8)  # every object of an export asks
def _settings_hash(settings: bytes) -> str:
    return blake2b(settings, digest_size=HASH_BYTES).hexdigest()


class DigestRows:
    """The rows of digests of a bucket in the open write transaction: changed rows, and the row that was read last.

    Args:
        bucket: the number of the bucket.
    """

    __slots__ = ("_bucket", "_changed", "_number", "_row")

    def __init__(self, bucket: int) -> None:
        self._bucket = bucket
        self._changed: dict[int, bytearray] = {}
        self._number, self._row = -1, b""

    def get(self, transaction: "Transaction", iid: int) -> bytes:
        """Return the digest of an object; NO_DIGEST: the object has none."""
        number, place = divmod(iid, DIGESTS_PER_ROW)
        return digest_at(self._changed.get(number) or self._read(transaction, number), place)

    def set(self, transaction: "Transaction", iid: int, digest: bytes) -> None:
        """Note the digest of an object, or NO_DIGEST to remove it; `write` stores it."""
        number, place = divmod(iid, DIGESTS_PER_ROW)
        row = self._changed.get(number)
        if row is None:
            row = self._changed[number] = bytearray(self._read(transaction, number))
        start = place * DIGEST_BYTES
        if len(row) < start:
            row += bytes(start - len(row))
        row[start : start + DIGEST_BYTES] = digest

    def write(self, transaction: "Transaction") -> None:
        """Write the changed rows; delete those that hold no digest any more."""
        rows, gone = [], []
        for number, row in sorted(self._changed.items()):
            key = digest_key(self._bucket, number)
            packed = row.rstrip(b"\0")
            if packed:
                rows.append((key, bytes(row[: -(-len(packed) // DIGEST_BYTES) * DIGEST_BYTES])))
            else:
                gone.append(key)
        transaction.put_many(DIGESTS, rows)
        transaction.delete_many(DIGESTS, gone)
        self._changed.clear()
        self._number, self._row = -1, b""

    def _read(self, transaction: "Transaction", number: int) -> bytes:
        if number != self._number:
            self._row = transaction.get(DIGESTS, digest_key(self._bucket, number)) or b""
            self._number = number
        return self._row
