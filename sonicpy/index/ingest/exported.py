"""The lines of an export that are no objects: its head, the facts of a bucket, and the synonyms of a collection."""

from collections.abc import Mapping
from typing import Any

from sonicpy.errors import StoreDamaged
from sonicpy.store.changing.mutations import ChangeFields
from sonicpy.store.fields.all_fields import FACTS, ORDER, TEXTS, VECTORS
from sonicpy.store.fields.facts import OF_OBJECTS, pack_facts
from sonicpy.store.fields.field import FieldMode
from sonicpy.store.rows.bucket_rules import MIRRORS, RULES, unpack_rules
from sonicpy.store.rows.language_counts import LANGUAGES, unpack_languages
from sonicpy.store.rows.uses import check_known
from sonicpy.store.rows.vector_columns import VECTOR_COLUMNS

USES, FACTS_KEY, FIELDS_KEY, SYNONYMS_KEY = "uses", "facts", "fields", "synonyms"
TERMS_KEYS = frozenset({"terms", "hidden"})
DIGEST_KEY = "digest"
OTHER_KEYS = frozenset({"tags", "values", VECTORS.name, TEXTS.name, ORDER.name, DIGEST_KEY})
"""Keys of an object beside those of its terms."""


def is_head(row: Mapping[str, Any]) -> bool:
    """Return whether a row is the head of an export: it lists the features that the store used."""
    return row.keys() == {USES} and isinstance(row[USES], list)


def check_head(row: Mapping[str, Any], path: str) -> None:
    """Raise StoreError if an export uses something that is not known here.

    Args:
        row: its head.
        path: its name, for the message.
    """
    check_known(map(str, row[USES]), f"the export {path}")


def is_bucket(row: Mapping[str, Any]) -> bool:
    """Return whether a row holds the facts of a bucket."""
    return row.keys() == {"collection", "bucket", FACTS_KEY} and isinstance(row[FACTS_KEY], Mapping)


def is_of_synonyms(row: Mapping[str, Any]) -> bool:
    """Return whether a row holds the synonyms of a collection."""
    return row.keys() == {"collection", SYNONYMS_KEY} and isinstance(row[SYNONYMS_KEY], list)


def terms_of(row: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the part of an object's row that holds its terms; None: it is no row of an export.

    Raises:
        StoreError: the object has a field that is not known here.
    """
    fields = row.get(FIELDS_KEY)
    if isinstance(fields, Mapping) and isinstance(fields.get("terms"), Mapping):
        check_known(fields.keys() - TERMS_KEYS - OTHER_KEYS, "the export")
        return fields
    return row if isinstance(row.get("terms"), Mapping) else None


def others_of(held: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of an object beside its terms. `held`: the result of `terms_of` for its row."""
    return {name: held[name] for name in OTHER_KEYS & held.keys()}


def facts_of(row: Mapping[str, Any]) -> dict[int, bytes]:
    """Return the facts of a row.

    Raises:
        ValueError: they cannot be read, or follow from objects. Stored, they would damage their bucket.
        StoreError: this version of sonicpy does not have the rules of the bucket.
    """
    facts = {int(kind): bytes.fromhex(fact) for kind, fact in row[FACTS_KEY].items()}
    if any(not 0 <= kind <= 0xFF for kind in facts):
        raise ValueError("a kind is a number from 0 to 255")
    following = facts.keys() & (OF_OBJECTS | {VECTOR_COLUMNS})
    if following:
        raise ValueError(f"a fact of the kind {min(following)} follows from objects")
    unpack_languages(facts.get(LANGUAGES))
    if MIRRORS in facts:
        from sonicpy.store.rows.mirror_notes import unpack_mirrors  # noqa: PLC0415  few buckets have any

        unpack_mirrors(facts[MIRRORS])
    try:
        unpack_rules(facts.get(RULES))
    except StoreDamaged as error:
        raise ValueError(str(error)) from error
    return facts


def change_of_facts(collection: str, bucket: str, facts: Mapping[int, bytes]) -> ChangeFields:
    """Return the change that notes facts of a bucket, which is created if it is missing."""
    return ChangeFields(collection, bucket, "", FieldMode.ADD, ((FACTS.id, pack_facts(facts)),))
