"""The five changes a store knows; `_native.records` draws their bytes in the log.

A mutation holds everything that decides its effect (names, terms after lexing, the window in force), so that replaying
it needs no lexer, no configuration and no clock.
"""

from collections.abc import Callable
from typing import NamedTuple

from sonicpy._native.records import pack_record, unpack_record
from sonicpy._native.text import Terms
from sonicpy._native.varint import DamagedBytes
from sonicpy.errors import StoreDamaged


class Push(NamedTuple):
    """Give an object the terms of a text; `window` is how many newest objects each word keeps (0: all)."""

    collection: str
    bucket: str
    oid: str
    terms: Terms
    window: int


class Pop(NamedTuple):
    """Take the terms of a text from an object."""

    collection: str
    bucket: str
    oid: str
    terms: Terms


class FlushObject(NamedTuple):
    """Forget an object."""

    collection: str
    bucket: str
    oid: str


class FlushBucket(NamedTuple):
    """Forget a bucket."""

    collection: str
    bucket: str


class FlushCollection(NamedTuple):
    """Forget a collection."""

    collection: str


Mutation = Push | Pop | FlushObject | FlushBucket | FlushCollection

KINDS: dict[int, type[Mutation]] = {1: Push, 2: Pop, 3: FlushObject, 4: FlushBucket, 5: FlushCollection}

pack_mutation: Callable[[Mutation], bytes] = pack_record
"""Return the log record of a mutation."""


def unpack_mutation(record: bytes) -> Mutation:
    """Return the mutation of a log record.

    Raises:
        StoreDamaged: the record is of no known kind or is cut off.
    """
    try:
        mutation = KINDS.get(record[0])
        if mutation is None:
            raise StoreDamaged(f"a record of the log has the unknown kind {record[0]}")
        return mutation._make(unpack_record(record))
    except (DamagedBytes, IndexError, UnicodeDecodeError) as error:
        raise StoreDamaged(f"a record of the log cannot be read: {error}") from error
