"""The newest objects that meet a filter, found without a mask of the whole bucket where the row of one tag, or the
newest windows of values, suffice.
"""

from collections.abc import Sequence
from typing import cast

from sonicpy._native.mask import Mask
from sonicpy._native.term_mask import newest_in_tail
from sonicpy._native.term_rows import TermInfo
from sonicpy.filters.conditions import All, Condition, HasTag, Range
from sonicpy.index.search.masks import everybody, mask_of, mask_of_values, one_range_each
from sonicpy.store.views.bucket_reader import BucketReader, window_count


def newest_passing(reader: BucketReader, condition: Condition, wanted: int) -> list[int]:
    """Return the IIDs of the newest `wanted` objects that meet a condition, newest first."""
    kind = type(condition)
    found = None
    if kind is Range:
        return mask_of_values(reader, condition, window_count(reader))[1].newest(wanted)  # type: ignore[arg-type]
    if kind is HasTag:
        found = _driven(reader, (condition,), wanted)
    elif kind is All:
        found = _driven(reader, condition.conditions, wanted)  # type: ignore[union-attr]
    return everybody(reader, condition).newest(wanted) if found is None else found


def _driven(reader: BucketReader, conditions: Sequence[Condition], wanted: int) -> list[int] | None:
    """Return the newest objects that meet all of some conditions, read from the row of the rarest tag among these;
    None: no condition asks for a tag, or the row does not suffice.
    """
    places = [at for at, each in enumerate(conditions) if type(each) is HasTag and len(each.tags) == 1]
    if not places:
        return None
    tags = reader.tags
    rows = [] if tags is None else tags.words([conditions[at].tags[0].encode() for at in places])  # type: ignore[union-attr]
    if not rows or None in rows:  # a tag that no object has
        return []
    number = 0 if len(rows) == 1 else min(range(len(rows)), key=lambda at: rows[at].df)  # type: ignore[union-attr]
    row, place = cast(TermInfo, rows[number]), places[number]
    if len(conditions) == 1:
        return newest_in_tail(row, None, wanted)
    return newest_in_tail(row, _mask_of_all(reader, [*conditions[:place], *conditions[place + 1 :]]), wanted)


def _mask_of_all(reader: BucketReader, conditions: Sequence[Condition]) -> Mask:
    """Return a mask that holds those objects of the bucket that meet all of some conditions."""
    if len(conditions) > 1:
        conditions = one_range_each(conditions)
    if len(conditions) == 1 and type(conditions[0]) is Range:
        return mask_of_values(reader, conditions[0], window_count(reader))[1]
    return mask_of(reader, conditions[0] if len(conditions) == 1 else All(tuple(conditions)))
