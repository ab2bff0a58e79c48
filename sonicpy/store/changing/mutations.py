"""The five kinds of changes of a store, and their log records; `_native.records` packs them.

A mutation contains everything that decides its effect (names, terms after analysis), so that replay needs no lexer, no
configuration and no clock.
"""

from collections.abc import Callable
from typing import NamedTuple

from sonicpy._native.records import RecordCodec
from sonicpy._native.terms import Terms
from sonicpy._native.varint import DamagedBytes
from sonicpy.errors import StoreDamaged


class PushTerms(NamedTuple):
    """Add the terms of a text to an object; `window` is a number of the record's format without effect."""

    collection: str
    bucket: str
    oid: str
    terms: Terms
    window: int = 0


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


Mutation = PushTerms | PopTerms | FlushObject | FlushBucket | FlushCollection

KINDS: dict[int, type[Mutation]] = {1: PushTerms, 2: PopTerms, 3: FlushObject, 4: FlushBucket, 5: FlushCollection}
"""First byte of a log record -> its kind of mutation. A number is never reused."""

_CODEC = RecordCodec(KINDS)

pack_mutation: Callable[[Mutation], bytes] = _CODEC.pack
"""Return the log record of a mutation."""

pack_push: Callable[[str, str, str, Terms], bytes] = _CODEC.pack_push
"""Return the log record of PushTerms(collection, bucket, oid, terms)."""


def unpack_mutation(record: bytes) -> Mutation:
    """Return the mutation of a log record.

    Raises:
        StoreDamaged: the record is of no known kind or is cut off.
    """
    try:
        mutation: Mutation = _CODEC.unpack(record)
    except (DamagedBytes, UnicodeDecodeError) as error:
        raise StoreDamaged(f"a record of the log cannot be read: {error}") from error
    return mutation
