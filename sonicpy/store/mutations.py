"""The five changes a store knows, and their bytes in the log.

A mutation holds everything that decides its effect (names, terms after lexing, the window in force), so that replaying
it needs no lexer, no configuration and no clock.

    record   kind u8, then strings as v(size) and bytes
    PUSH     collection, bucket, oid, v(window), terms (postings.pack_terms)
    POP      collection, bucket, oid, terms
    FLUSHO   collection, bucket, oid
    FLUSHB   collection, bucket
    FLUSHC   collection
"""

from functools import lru_cache
from typing import NamedTuple

from sonicpy._native.postings import DamagedBytes, pack_terms, pack_varints, unpack_terms
from sonicpy._native.text import Terms
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

PUSH, POP, FLUSH_OBJECT, FLUSH_BUCKET, FLUSH_COLLECTION = range(1, 6)


def pack_mutation(mutation: Mutation) -> bytes:
    """Return the log record of a mutation."""
    match mutation:
        case Push(collection, bucket, oid, terms, window):
            names = _names(PUSH, collection, bucket) + _string(oid)
            return names + pack_varints((window,)) + pack_terms(terms.words, terms.counts, terms.flags)
        case Pop(collection, bucket, oid, terms):
            names = _names(POP, collection, bucket) + _string(oid)
            return names + pack_terms(terms.words, terms.counts, terms.flags)
        case FlushObject(collection, bucket, oid):
            return _names(FLUSH_OBJECT, collection, bucket) + _string(oid)
        case FlushBucket(collection, bucket):
            return _names(FLUSH_BUCKET, collection, bucket)
        case FlushCollection(collection):
            return _names(FLUSH_COLLECTION, collection)


def unpack_mutation(record: bytes) -> Mutation:
    """Return the mutation of a log record.

    Raises:
        StoreDamaged: the record is of no known kind or is cut off.
    """
    try:
        return _unpack(record)
    except (DamagedBytes, IndexError, UnicodeDecodeError) as fault:
        raise StoreDamaged(f"a record of the log cannot be read: {fault}") from fault


def _unpack(record: bytes) -> Mutation:
    kind = record[0]
    if kind == PUSH:
        (collection, bucket, oid), at = _take_strings(record, 3)
        window, at = _take_varint(record, at)
        return Push(collection, bucket, oid, Terms(*unpack_terms(record[at:])), window)
    if kind == POP:
        (collection, bucket, oid), at = _take_strings(record, 3)
        return Pop(collection, bucket, oid, Terms(*unpack_terms(record[at:])))
    if kind == FLUSH_OBJECT:
        return FlushObject(*_only_strings(record, 3))
    if kind == FLUSH_BUCKET:
        return FlushBucket(*_only_strings(record, 2))
    if kind == FLUSH_COLLECTION:
        return FlushCollection(*_only_strings(record, 1))
    raise StoreDamaged(f"a record of the log has the unknown kind {kind}")


@lru_cache(maxsize=4096)
def _names(kind: int, *names: str) -> bytes:
    """Return the kind and the names that many records in a row begin with."""
    return bytes((kind,)) + b"".join(map(_string, names))


def _string(name: str) -> bytes:
    """Names are ASCII of at most 128 bytes, so every size but 128 is one byte of varint."""
    encoded = name.encode()
    size = len(encoded)
    return (bytes((size,)) if size < 128 else bytes((size & 0x7F | 0x80, size >> 7))) + encoded


def _take_strings(record: bytes, count: int) -> tuple[list[str], int]:
    at = 1
    names = []
    for _ in range(count):
        size, at = _take_varint(record, at)
        if at + size > len(record):
            raise DamagedBytes("a name is cut off")
        names.append(record[at : at + size].decode())
        at += size
    return names, at


def _only_strings(record: bytes, count: int) -> list[str]:
    names, end = _take_strings(record, count)
    if end != len(record):
        raise DamagedBytes("there are bytes behind its end")
    return names


def _take_varint(record: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte = record[at]
        at += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number, at
        shift += 7
