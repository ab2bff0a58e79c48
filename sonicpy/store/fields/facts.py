"""The facts of a bucket as a whole: a value for each kind of fact. In records, the OID of a fact is empty."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from struct import Struct
from typing import TYPE_CHECKING, Any

from sonicpy._native.keys import bucket_key
from sonicpy._native.object_record import ObjectRecord
from sonicpy._native.varint import DamagedBytes
from sonicpy.rules import FIRST
from sonicpy.store.disk.table_numbers import FACTS
from sonicpy.store.disk.transaction import Transaction
from sonicpy.store.fields.field import FieldMode, FieldWriter
from sonicpy.store.rows import uses
from sonicpy.store.rows.bucket_rules import MIRRORS, RULES, unpack_rules
from sonicpy.store.rows.bucket_state import BucketState
from sonicpy.store.rows.column_names import COLUMN_NAMES
from sonicpy.store.rows.keys import fact_key
from sonicpy.store.rows.language_counts import LANGUAGES, unpack_languages
from sonicpy.store.rows.meta import uses_of
from sonicpy.store.rows.named_words import TEXT_NAMES
from sonicpy.store.rows.order_rows import ORDERED
from sonicpy.store.rows.tag_counts import TAG_COUNTS, TEXT_COUNTS

if TYPE_CHECKING:
    from sonicpy.store.views.bucket_reader import BucketReader

HEAD = Struct("<BI")
OF_OBJECTS = frozenset((TAG_COUNTS, COLUMN_NAMES, TEXT_COUNTS, TEXT_NAMES, ORDERED))
"""The kinds of facts that follow from the tags, values, named texts and orders of objects."""
KEY_BYTES = 5
"""The number of bytes in a key for the numbers of the bucket and the kind together."""


class Facts:
    """The field of facts."""

    id = 2
    name = uses.FACTS
    tables = (FACTS,)

    def apply(self, writer: FieldWriter, oid: str, mode: FieldMode, value: bytes) -> None:
        """Note facts of the bucket; see `Field`. REPLACE deletes the facts of kinds that the value does not name. ADD
        adds mirrors to those of the bucket, and leaves the rules by which its texts were cut.
        """
        if oid:
            raise DamagedBytes(f"facts are of a bucket, not of the object {oid!r}")
        facts, view, bucket = unpack_facts(value), writer.view, writer.state.bucket
        if mode is FieldMode.REPLACE:
            for kind in view.facts(bucket).keys() - facts.keys() - OF_OBJECTS:
                view.set_fact(bucket, kind, None)
        for kind, fact in facts.items():
            if kind in OF_OBJECTS:
                raise DamagedBytes(f"a fact of the kind {kind} follows from objects")
            if mode is FieldMode.ADD and kind == RULES:
                continue  # a new bucket has them already; see `rules_of_facts`
            if mode is FieldMode.ADD and kind == MIRRORS:
                from sonicpy.store.rows.mirror_notes import with_mirrors  # noqa: PLC0415  not often

                fact = with_mirrors(view.fact(bucket, MIRRORS), fact)  # noqa: PLW2901
            view.set_fact(bucket, kind, fact)

    def remove(self, writer: FieldWriter, iid: int, record: ObjectRecord) -> None:
        """Do nothing: facts do not belong to objects."""

    def faults(self, transaction: Transaction, state: BucketState) -> Iterator[str]:
        """Yield the faults of the facts of a bucket; see `Field`."""
        keys = [key for key, _ in transaction.rows(FACTS, bucket_key(state.bucket))]
        if any(len(key) != KEY_BYTES for key in keys):
            yield f"facts has rows with the keys {', '.join(key[4:].hex() for key in keys)}; a kind is one byte"
        if transaction.get(FACTS, fact_key(state.bucket, RULES)) and uses.RULES_8 not in uses_of(transaction):
            yield "its texts are cut by the rules 8, and the row 'uses' of meta does not name them"
        if keys and uses.FACTS not in uses_of(transaction):
            yield f"facts has {len(keys)} rows, and the row 'uses' of meta does not name the table"
        from sonicpy.store.rows.mirror_notes import unpack_mirrors  # noqa: PLC0415  not often

        unpack: tuple[tuple[int, Callable[[bytes | None], object]], ...]
        unpack = (LANGUAGES, unpack_languages), (MIRRORS, unpack_mirrors)  # the check of no other table reads them
        for kind, read in unpack:
            try:
                read(transaction.get(FACTS, fact_key(state.bucket, kind)))
            except DamagedBytes as error:
                yield str(error)

    def export(self, reader: "BucketReader", iid: int, record: ObjectRecord) -> dict[str, Any]:
        """Return {}: an export has facts in the line of their bucket."""
        return {}


def rules_of_facts(fields: Iterable[tuple[int, bytes]]) -> int:
    """Return the rules that a change gives a bucket that it creates: those among its facts, or those of version 1.0.

    Args:
        fields: the fields of the change, as in `ChangeFields`.

    Raises:
        StoreError: this version of sonicpy does not have the rules.
    """
    packed = next((value for id, value in fields if id == Facts.id), None)
    return FIRST if packed is None else unpack_rules(unpack_facts(packed).get(RULES))


def pack_facts(facts: Mapping[int, bytes]) -> bytes:
    """Return facts packed for a record, by rising kind: kind u8, size u32 (little-endian), value."""
    return b"".join(HEAD.pack(kind, len(fact)) + fact for kind, fact in sorted(facts.items()))


def unpack_facts(packed: bytes) -> dict[int, bytes]:
    """Return the facts that `pack_facts` packed. Raises DamagedBytes."""
    facts: dict[int, bytes] = {}
    at = 0
    while at < len(packed):
        if at + HEAD.size > len(packed):
            raise DamagedBytes("a list of facts is cut off")
        kind, size = HEAD.unpack_from(packed, at)
        at += HEAD.size + size
        if at > len(packed):
            raise DamagedBytes("a list of facts is cut off")
        facts[kind] = packed[at - size : at]
    return facts
