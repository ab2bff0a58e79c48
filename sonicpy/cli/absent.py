"""A remark beside an empty answer: the collection or the bucket is not there, and similar names that are."""

import importlib
from collections.abc import Sequence
from contextlib import suppress

from sonicpy.cli.output import remark
from sonicpy.cli.target import Target
from sonicpy.errors import CommandError

NAMES_SHOWN = 5
NEAR_ENOUGH = 60.0
"""Similarity from 0 to 100 of a name that was meant; one with a few typing errors, or in other case, is above."""


def remark_absent(index: Target, collection: str, bucket: str) -> None:
    """Print a remark unless the bucket is there. Raises SonicError if a server does not answer."""
    with suppress(CommandError):  # Sonic itself lists no names
        buckets = index.buckets(collection)
        if bucket in buckets:
            return
        if buckets:
            remark(f"collection {collection!r} has no bucket {bucket!r}{_meant(bucket, buckets)}")
        else:
            remark(f"there is no collection {collection!r}{_meant(collection, index.collections())}")


def _meant(name: str, names: Sequence[str]) -> str:
    """Return the nearest of some names, or a few of them, as the end of a sentence."""
    if not names:
        return ": the index is empty"
    process, fuzz = importlib.import_module("rapidfuzz.process"), importlib.import_module("rapidfuzz.fuzz")
    near = process.extractOne(name, names, scorer=fuzz.ratio, processor=str.casefold, score_cutoff=NEAR_ENOUGH)
    if near is not None:
        return f"; did you mean {near[0]!r}?"
    more = ", ..." if len(names) > NAMES_SHOWN else ""
    return f"; there is {', '.join(map(repr, names[:NAMES_SHOWN]))}{more}"
