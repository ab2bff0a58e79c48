"""The terms of an object: the field that every object has, and the only one of format 5."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from sonicpy._native.object_record import ObjectRecord
from sonicpy._native.records import unpack_terms
from sonicpy.store.disk.table_numbers import COMMON, IMPACTS, PENDING, POSTINGS, REMOVED, TERMS, WORDS
from sonicpy.store.disk.transaction import Transaction
from sonicpy.store.fields.field import FieldMode, FieldWriter
from sonicpy.store.rows.bucket_state import BucketState

if TYPE_CHECKING:
    from sonicpy.store.views.bucket_reader import BucketReader


class Terms:
    """The field of terms."""

    id = 1
    name = None
    tables = (WORDS, COMMON, TERMS, POSTINGS, IMPACTS, PENDING, REMOVED)

    def apply(self, writer: FieldWriter, oid: str, mode: FieldMode, value: bytes) -> None:
        """Add the terms of a text to an object, or replace its terms; see `Field`. A value is packed as the terms of a
        PUSH."""
        terms = unpack_terms(value)
        if mode is FieldMode.REPLACE:
            writer.view.digests.end(writer.state.bucket, writer.replace(oid, terms))
        else:
            writer.push(oid, terms)

    def remove(self, writer: FieldWriter, iid: int, record: ObjectRecord) -> None:
        """Do nothing: terms are removed before all other fields, in steps if there are many."""

    def faults(self, transaction: Transaction, state: BucketState) -> Iterator[str]:
        """Yield nothing: `care.check_terms` compares terms with all other rows of the objects."""
        return iter(())

    def export(self, reader: "BucketReader", iid: int, record: ObjectRecord) -> dict[str, Any]:
        """Return {}: every line of an export holds terms."""
        return {}
