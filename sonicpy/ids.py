"""Names and numbers that every layer shares: scopes, objects, terms, and which names are valid."""

from typing import NamedTuple, NewType

from sonicpy._native.ids import are_names
from sonicpy.errors import CommandError

Iid = NewType("Iid", int)
"""An object's number inside one bucket; given once, never again."""

TermId = NewType("TermId", int)
"""A term's number inside one bucket; given once, never again."""

NAME_MAX_BYTES = 128


class Scope(NamedTuple):
    """The two levels of name space."""

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
    """Raise CommandError unless all that are given are names."""
    if are_names(collection, bucket, object):
        return
    check_collection(collection)
    check_bucket(bucket)
    if object is not None:
        check_object(object)


_NOT_IN_NAMES = frozenset(" \t\n\v\f\r")


def _is_name(name: str) -> bool:
    return 0 < len(name) <= NAME_MAX_BYTES and name.isascii() and _NOT_IN_NAMES.isdisjoint(name)
