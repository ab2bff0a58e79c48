"""A remark beside an empty answer: the collection or the bucket is not there, and similar names that are."""

from collections.abc import Sequence
from contextlib import suppress

from sonicpy.cli.nearest import nearest
from sonicpy.cli.output import remark
from sonicpy.cli.target import Target
from sonicpy.errors import CommandError

NAMES_SHOWN = 5


def remark_absent(index: Target, collection: str, bucket: str | None) -> None:
    """Print a remark unless the bucket, or without one the collection, is there. Raises SonicError if a server does
    not answer."""
    sentence = absent(index, collection, bucket)
    if sentence is not None:
        remark(sentence)


def absent(index: Target, collection: str, bucket: str | None) -> str | None:
    """Return a sentence about a collection or bucket that is not there; None: both are, or the server lists no names.

    Raises:
        SonicError: a server does not answer.
    """
    with suppress(CommandError):  # Sonic itself lists no names
        buckets = index.buckets(collection)
        if bucket in buckets or (bucket is None and buckets):
            return None
        if bucket is not None and buckets:
            return f"collection {collection!r} has no bucket {bucket!r}{_meant(bucket, buckets)}"
        return f"there is no collection {collection!r}{_meant(collection, index.collections())}"
    return None


def _meant(name: str, names: Sequence[str]) -> str:
    """Return the nearest of some names, or a few of them, as the end of a sentence."""
    if not names:
        return ": the index is empty"
    near = nearest(name, names, str.casefold)
    if near is not None:
        return f"; did you mean {near!r}?"
    more = ", ..." if len(names) > NAMES_SHOWN else ""
    return f"; there is {', '.join(map(repr, names[:NAMES_SHOWN]))}{more}"
