"""Kinds of rows of the table `facts`: values of a bucket as a whole. The number of a kind is never reused."""

from typing import Final

from sonicpy._native.varint import DamagedBytes, pack_varints, unpack_varints
from sonicpy.errors import StoreDamaged, StoreError
from sonicpy.rules import FIRST, KNOWN, NEWEST
from sonicpy.store.rows.uses import INSTALL

RULES: Final = 8
"""The version of the rules by which the texts of the bucket are cut, a varint; see `sonicpy.rules`. No row: version
1.0."""

MIRRORS: Final = 43
"""For each beginning of object names, the mirror that owns these objects, as JSON: see `mirror_notes`."""


def pack_rules(rules: int) -> bytes:
    """Return the row for a version of the rules."""
    return pack_varints((rules,))


NEWEST_ROW = pack_rules(NEWEST)


def unpack_rules(row: bytes | None) -> int:
    """Return the version of the rules in a row of `pack_rules`; for None, that of version 1.0.

    Raises:
        StoreDamaged: the row cannot be read.
        StoreError: this version of sonicpy does not have the rules.
    """
    if row is None:
        return FIRST
    if row == NEWEST_ROW:  # nearly always
        return NEWEST
    try:
        (rules,) = unpack_varints(row)
    except (DamagedBytes, ValueError) as error:
        raise StoreDamaged(f"the rules of a bucket cannot be read: {row.hex()}") from error
    if rules not in KNOWN:
        raise StoreError(f"a bucket has the rules {rules}, unknown to this sonicpy: {INSTALL}")
    return rules
