"""The digest of the text that an UPSERT gave an object; see `rows.digests`."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from sonicpy._native.object_record import ObjectRecord
from sonicpy._native.objects import OBJECTS_PER_RECORD_ROW, RecordRow
from sonicpy._native.varint import DamagedBytes
from sonicpy.store.disk.table_numbers import DIGESTS, OBJECTS
from sonicpy.store.disk.transaction import Transaction
from sonicpy.store.fields.field import FieldMode, FieldWriter
from sonicpy.store.rows import uses
from sonicpy.store.rows.bucket_state import BucketState
from sonicpy.store.rows.digests import DIGEST_BYTES, DIGESTS_PER_ROW, NO_DIGEST, digests_in
from sonicpy.store.rows.keys import bucket_key, object_key
from sonicpy.store.rows.meta import uses_of

if TYPE_CHECKING:
    from sonicpy.store.views.bucket_reader import BucketReader

ROW_KEY_BYTES = 9
ROW_SIZES = range(DIGEST_BYTES, (DIGESTS_PER_ROW + 1) * DIGEST_BYTES, DIGEST_BYTES)


class Digests:
    """The field of digests."""

    id = 3
    name = uses.DIGESTS
    tables = (DIGESTS,)

    def apply(self, writer: FieldWriter, oid: str, mode: FieldMode, value: bytes) -> None:
        """Note the digest of an existing object; with ADD, only if the change under way has created it with all of its
        words. Raises DamagedBytes if the digest has another length."""
        if len(value) != DIGEST_BYTES:
            raise DamagedBytes(f"a digest has {len(value)} bytes, not {DIGEST_BYTES}")
        if mode is FieldMode.ADD and not writer.is_new(oid):
            return
        iid = writer.iid_of(oid)
        if iid is not None:
            writer.view.digests.set(writer.state.bucket, iid, value)

    def remove(self, writer: FieldWriter, iid: int, record: ObjectRecord) -> None:
        """Remove the digest of an object that is being deleted; see `Field`."""
        writer.view.digests.end(writer.state.bucket, iid)

    def faults(self, transaction: Transaction, state: BucketState) -> Iterator[str]:
        """Yield the faults of the digests of a bucket; see `Field`."""
        has_rows = False
        for key, row in transaction.rows(DIGESTS, bucket_key(state.bucket)):
            has_rows = True
            number = int.from_bytes(key[4:], "big")
            if len(key) != ROW_KEY_BYTES or len(row) not in ROW_SIZES:
                yield f"the row {key[4:].hex()} of digests has {len(row)} bytes; allowed are {DIGEST_BYTES} an object"
                continue
            if row.endswith(NO_DIGEST):
                yield f"row {number} of digests ends with an object that has none"
            there = _objects_in(transaction, state.bucket, number)
            for place, _ in digests_in(row):
                if place not in there:
                    yield f"digests has one of the object {number * DIGESTS_PER_ROW + place}, which does not exist"
        if has_rows and uses.DIGESTS not in uses_of(transaction):
            yield "it has digests, and the row 'uses' of meta does not name the table"

    def export(self, reader: "BucketReader", iid: int, record: ObjectRecord) -> dict[str, Any]:
        """Return the digest of an object, see `exported_digest`. An import gives a digest only to new objects."""
        digest = reader.exported_digest(iid)
        return {} if digest is None else {"digest": digest}


def _objects_in(transaction: Transaction, bucket: int, number: int) -> set[int]:
    """Return the places in row `number` of a bucket's digests that belong to existing objects."""
    rows = DIGESTS_PER_ROW // OBJECTS_PER_RECORD_ROW
    found: set[int] = set()
    for step in range(rows):
        row = transaction.get(OBJECTS, object_key(bucket, number * rows + step)) or b""
        found.update(step * OBJECTS_PER_RECORD_ROW + place for place, _ in RecordRow(row).oids())
    return found
