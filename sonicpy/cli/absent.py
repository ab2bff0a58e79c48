"""A remark beside an empty answer: a collection, bucket or object does not exist, but similar names do."""

from collections.abc import Sequence
from contextlib import suppress

from sonicpy.cli.nearest import nearest
from sonicpy.cli.output import remark
from sonicpy.cli.target import Target
from sonicpy.errors import CommandError, NotOffered

NAMES_SHOWN = 5


def remark_absent(index: Target, collection: str, bucket: str | None, object: str | None = None) -> None:
    """Print a remark if one of the names does not exist. Raises SonicError if a server does not answer."""
    sentence = absent(index, collection, bucket, object)
    if sentence is not None:
        remark(sentence)


def absent(index: Target, collection: str, bucket: str | None, object: str | None = None) -> str | None:
    """Return a sentence about a collection, bucket or object that does not exist; None: all exist, or the server lists
    no names.

    Raises:
        SonicError: a server does not answer.
    """
    with suppress(CommandError, NotOffered):  # Sonic itself lists no names
        buckets = index.buckets(collection)
        if bucket in buckets or (bucket is None and buckets):
            if bucket is None or object is None or index.exists(collection, bucket, object):
                return None
            return f"bucket {bucket!r} of collection {collection!r} has no object {object!r}"
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
