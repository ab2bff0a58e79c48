"""The mirrors of a bucket: for each beginning of object names, the source that owns these objects.

The fact `MIRRORS` holds them as JSON: {beginning: {"owner": name of the source, "watermark": value of its column}}; ""
begins all names.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

from sonicpy._native.varint import DamagedBytes

MIRRORS_MAX: Final = 1_000
"""The most mirrors of a bucket."""
Notes = dict[str, dict[str, Any]]


def pack_mirrors(notes: Mapping[str, Mapping[str, Any]]) -> bytes:
    """Return the fact that holds notes."""
    return json.dumps(notes, separators=(",", ":")).encode()


def unpack_mirrors(fact: bytes | None) -> Notes:
    """Return the notes of a fact; {} for None. Raises DamagedBytes if it cannot be read."""
    if fact is None:
        return {}
    try:
        notes = json.loads(fact)
    except ValueError as error:
        raise DamagedBytes(f"the mirrors of a bucket cannot be read: {error}") from error
    except RecursionError as error:
        raise DamagedBytes("the mirrors of a bucket are nested too deeply") from error
    if not isinstance(notes, dict) or not all(
        isinstance(note, dict) and isinstance(note.get("owner"), str) for note in notes.values()
    ):
        raise DamagedBytes("the mirrors of a bucket have no owners")
    return notes


def overlapping(held: Mapping[str, Mapping[str, Any]], prefix: str, owner: str) -> str | None:
    """Return the beginning of names of a mirror that leaves no place for another one; None: there is place.

    Args:
        held: the notes of the bucket.
        prefix, owner: the other mirror. A mirror is never in its own way, nor is a note of it that holds a password.
    """
    from sonicpy.database_urls import without_password  # noqa: PLC0415  loaded when it is needed

    for other, note in held.items():
        if other.startswith(prefix) or prefix.startswith(other):
            is_same = other == prefix and without_password(note["owner"]) == without_password(owner)
            if not is_same:
                return other
    return None


def with_mirrors(fact: bytes | None, given: bytes) -> bytes:
    """Return the fact of a bucket with more notes. Notes for which there is no place are left out. Raises DamagedBytes
    if a fact cannot be read.
    """
    held = unpack_mirrors(fact)
    for prefix, note in unpack_mirrors(given).items():
        if overlapping(held, prefix, note["owner"]) is None and (prefix in held or len(held) < MIRRORS_MAX):
            held[prefix] = {**held.get(prefix, {}), **note}
    return pack_mirrors(held)
