"""The named texts of an object. A record holds their terms, see `rows.named_words`, packed as the terms of a PUSH."""

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from sonicpy._native.named_terms import unpack_named
from sonicpy._native.object_record import ObjectRecord
from sonicpy._native.records import pack_terms
from sonicpy._native.terms import Terms
from sonicpy._native.varint import DamagedBytes
from sonicpy.store.disk.table_numbers import TAGS
from sonicpy.store.disk.transaction import Transaction
from sonicpy.store.fields.field import FieldMode, FieldWriter
from sonicpy.store.rows import uses
from sonicpy.store.rows.bucket_state import BucketState
from sonicpy.store.rows.named_words import named_word, split_name

if TYPE_CHECKING:
    from sonicpy.store.views.bucket_reader import BucketReader


class Texts:
    """The field of named texts."""

    id = 4
    name = uses.TEXTS
    tables = (TAGS,)

    def apply(self, writer: FieldWriter, oid: str, mode: FieldMode, value: bytes) -> None:
        """Add named texts to an object, or, with REPLACE, replace its named texts; see `Field`."""
        terms, names = unpack_named(value)
        if (iid := writer.iid_of(oid) if oid else None) is None:
            raise DamagedBytes("named texts are of an object that exists")
        if mode is FieldMode.REPLACE:
            writer.texts.replace(iid, terms, names)
        else:
            writer.texts.add(iid, terms, names, new=writer.takes_first_texts())

    def remove(self, writer: FieldWriter, iid: int, record: ObjectRecord) -> None:
        """Remove all named texts of an object; see `Field`."""
        if writer.view.is_used(uses.TEXTS):
            writer.texts.drop(iid)

    def faults(self, transaction: Transaction, state: BucketState) -> Iterator[str]:
        """Yield nothing: `care.check_terms` compares named texts with all other rows."""
        return iter(())

    def export(self, reader: "BucketReader", iid: int, record: ObjectRecord) -> dict[str, Any]:
        """Return the words of the named texts of an object by name; see `Field`."""
        texts = reader.texts
        held: dict[str, list[str]] = {}
        for term in [] if texts is None else texts.tags_of([iid])[0]:
            name, word = split_name(term.encode())
            held.setdefault(name.decode(), []).append(word.decode())
        return {"texts": held} if held else {}


def pack_texts(texts: Mapping[str, Iterable[bytes]]) -> bytes:
    """Return the words of named texts, given by name, packed for a record."""
    terms = sorted({named_word(name.encode(), word) for name, words in texts.items() for word in words})
    return pack_terms(Terms(terms, b"\1" * len(terms), bytes(len(terms))))
