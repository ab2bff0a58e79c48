"""Names that every layer shares, and which of them are valid."""

from typing import NamedTuple

from sonicpy._native.ids import are_names
from sonicpy.errors import CommandError

NAME_MAX_BYTES = 128


class Scope(NamedTuple):
    """The name of a bucket: its collection, and its name in that."""

    collection: str
    bucket: str


def check_collection(name: str) -> None:
    """Raise CommandError unless `name` is 1 to 128 ASCII characters without white space."""
    if not _is_name(name):
        raise CommandError("invalid_argument", "InvalidCollection")


def check_bucket(name: str) -> None:
    """Raise CommandError unless `name` is 1 to 128 ASCII characters without white space."""
    if not _is_name(name):
        raise CommandError("invalid_argument", "InvalidBucket")


def check_object(name: str) -> None:
    """Raise CommandError unless `name` is 1 to 128 ASCII characters without white space."""
    if not _is_name(name):
        raise CommandError("invalid_argument", "InvalidObject")


def check_names(collection: str, bucket: str, object: str | None = None) -> None:
    """Raise CommandError unless the collection, the bucket and, if given, the object have valid names."""
    if are_names(collection, bucket, object):
        return
    check_collection(collection)
    check_bucket(bucket)
    if object is not None:
        check_object(object)


_NOT_IN_NAMES = frozenset(" \t\n\v\f\r")


def _is_name(name: str) -> bool:
    return 0 < len(name) <= NAME_MAX_BYTES and name.isascii() and _NOT_IN_NAMES.isdisjoint(name)
