"""The kinds of changes of a store, and their log records; `_native.records` packs them.

A mutation contains everything that decides its effect (names, terms after analysis), so that replay needs no lexer, no
configuration and no clock.
"""

from collections.abc import Callable
from typing import NamedTuple

from sonicpy._native.records import RECORD_BYTES_MAX, RecordCodec
from sonicpy._native.terms import Terms
from sonicpy._native.varint import DamagedBytes
from sonicpy.errors import InvalidArgument, StoreDamaged
from sonicpy.rules import FIRST, KNOWN
from sonicpy.store.fields.all_fields import FIELDS
from sonicpy.store.fields.field import FieldMode
from sonicpy.store.rows import uses
from sonicpy.store.rows.uses import FIELD_RECORDS, check_known

RECORD = "a record of the log"
Fields = tuple[tuple[int, bytes], ...]
"""Fields of an object or a bucket: pairs of the id in FIELDS and the packed value."""
MODES = frozenset(FieldMode)


class PushTerms(NamedTuple):
    """Give an object the terms of a text.

    Attributes:
        window: a number in the format of the record that has no effect any more.
        rules: the version of the rules by which the text was cut; a new bucket gets it, another one must have it.
    """

    collection: str
    bucket: str
    oid: str
    terms: Terms
    window: int = 0
    rules: int = FIRST


class PopTerms(NamedTuple):
    """Remove the terms of a text from an object."""

    collection: str
    bucket: str
    oid: str
    terms: Terms


class FlushObject(NamedTuple):
    """Delete an object."""

    collection: str
    bucket: str
    oid: str


class FlushBucket(NamedTuple):
    """Delete a bucket."""

    collection: str
    bucket: str


class FlushCollection(NamedTuple):
    """Delete a collection."""

    collection: str


class RulesDiffer(Exception):
    """A text was cut by other rules than those of its bucket; nothing was changed, and the text has to be cut again.

    Attributes:
        scope: collection and bucket.
        rules: the rules of the bucket.
    """

    def __init__(self, scope: tuple[str, str], rules: int) -> None:
        super().__init__(f"the bucket {scope[1]} of {scope[0]} has the rules {rules}")
        self.scope = scope
        self.rules = rules


class ChangeFields(NamedTuple):
    """Change fields of an object, or of a bucket as a whole; used only where no other kind can express the change.

    Attributes:
        oid: the name of the object; "": the fields are those of the bucket.
        mode: a `FieldMode`.
        fields: pairs of the id in FIELDS and the packed value.
    """

    collection: str
    bucket: str
    oid: str
    mode: int
    fields: Fields


class UpsertTerms(NamedTuple):
    """Replace the terms of an object by those of a text. The object keeps its IID.

    Attributes:
        rules: as in PushTerms.
        fields: further fields that the change replaces, as in ChangeFields.
    """

    collection: str
    bucket: str
    oid: str
    terms: Terms
    rules: int = FIRST
    fields: tuple[tuple[int, bytes], ...] = ()


class PushWith(NamedTuple):
    """Give an object the terms of a text and other fields, as one change.

    Attributes:
        fields: the fields to add, as in ChangeFields; terms are not among them.
        rules: as in PushTerms.
    """

    collection: str
    bucket: str
    oid: str
    terms: Terms
    fields: tuple[tuple[int, bytes], ...]
    rules: int = FIRST


class ChangeSynonyms(NamedTuple):
    """Change the synonyms of a collection.

    Attributes:
        mode: "set" replaces the rules, "add" adds some.
        rules: the rules, packed by `pack_synonyms`.
    """

    collection: str
    mode: str
    rules: str


AnyPush = PushTerms | PushWith | UpsertTerms
Mutation = (
    PushTerms
    | PopTerms
    | FlushObject
    | FlushBucket
    | FlushCollection
    | ChangeFields
    | UpsertTerms
    | PushWith
    | ChangeSynonyms
)

FIELD_KIND = 6
FIELD_BYTE = bytes((FIELD_KIND,))
RULED_KIND = 7
RULED_BYTE = bytes((RULED_KIND,))
"""The first byte of the record of a PUSH that names its rules."""
WITH_KIND = 12
WITH_BYTE = bytes((WITH_KIND,))
RULED_USES = frozenset((uses.FACTS, uses.RULES_8))
UPSERT_KIND = 8
UPSERT_BYTE = bytes((UPSERT_KIND,))
SYNONYM_KIND = 10
SYNONYM_BYTE = bytes((SYNONYM_KIND,))
SYNONYM_USES = frozenset((uses.SYNONYMS,))
KINDS: dict[int, type[Mutation]] = {
    1: PushTerms, 2: PopTerms, 3: FlushObject, 4: FlushBucket, 5: FlushCollection, FIELD_KIND: ChangeFields,
    UPSERT_KIND: UpsertTerms, WITH_KIND: PushWith, SYNONYM_KIND: ChangeSynonyms,
}  # fmt: skip
"""First byte of a log record -> its kind of mutation. A number is never reused."""


def names_of(mutation: Mutation) -> tuple[str, ...]:
    """Return the names that a mutation begins with: the collection, perhaps the bucket, and perhaps the OID."""
    if isinstance(mutation, ChangeSynonyms):
        return (mutation.collection,)
    return tuple(name for name in mutation[:3] if isinstance(name, str))


_CODEC = RecordCodec(KINDS)

pack_mutation: Callable[[Mutation], bytes] = _CODEC.pack
"""Return the log record of a mutation."""

pack_push: Callable[[str, str, str, Terms, int], bytes] = _CODEC.pack_push
"""Return the log record of PushTerms(collection, bucket, oid, terms, rules=rules)."""


pack_push_with: Callable[[str, str, str, Terms, tuple[tuple[int, bytes], ...], int], bytes] = _CODEC.pack_push_with
"""Return the log record of PushWith(collection, bucket, oid, terms, fields, rules)."""


pack_upsert: Callable[[str, str, str, Terms, int, tuple[tuple[int, bytes], ...]], bytes] = _CODEC.pack_upsert
"""Return the log record of UpsertTerms(collection, bucket, oid, terms, rules, fields)."""


def check_size(record: bytes) -> None:
    """Raise InvalidArgument if the record of a change is longer than the log takes."""
    if len(record) > RECORD_BYTES_MAX:
        raise InvalidArgument(
            f"a change of {len(record)} bytes of terms is refused: at most {RECORD_BYTES_MAX} are accepted; "
            "split the text"
        )


def unpack_mutation(record: bytes) -> Mutation:
    """Return the mutation of a log record.

    Raises:
        StoreDamaged: the record is cut off, or these bytes are not a record.
        StoreError: a newer version wrote it; the message names the unknown part.
    """
    if record and record[0] > RULED_KIND and record[0] not in KINDS:
        check_known([f"records of kind {record[0]}"], RECORD)
    try:
        mutation: Mutation = _CODEC.unpack(record)
    except (DamagedBytes, UnicodeDecodeError) as error:
        raise StoreDamaged(f"a record of the log cannot be read: {error}") from error
    if isinstance(mutation, AnyPush) and mutation.rules not in KNOWN:
        check_known([f"rules {mutation.rules}"], RECORD)
    if isinstance(mutation, ChangeFields | UpsertTerms | PushWith):
        check_known([f"field {id}" for id, _ in mutation.fields if id not in FIELDS], RECORD)
    if type(mutation) is ChangeFields:
        check_known([f"mode {mutation.mode}"] if mutation.mode not in MODES else [], RECORD)
    return mutation


def uses_of_record(record: bytes) -> frozenset[str]:
    """Return the names of `uses.KNOWN` that a reader of a record must know. Raises the errors of `unpack_mutation`."""
    if record[:1] == RULED_BYTE:
        return RULED_USES
    if record[:1] == SYNONYM_BYTE:
        return SYNONYM_USES
    if record[:1] not in (FIELD_BYTE, UPSERT_BYTE, WITH_BYTE):
        return frozenset()
    mutation = unpack_mutation(record)
    assert isinstance(mutation, ChangeFields | UpsertTerms | PushWith)
    names = {name for id, _ in mutation.fields if (name := FIELDS[id].name) is not None}
    if isinstance(mutation, ChangeFields):
        return frozenset(names | {FIELD_RECORDS})
    if isinstance(mutation, UpsertTerms):
        names.add(uses.DIGESTS)
    return frozenset(names | (RULED_USES if mutation.rules != FIRST else set()))
