"""The approximate share of a bucket's objects that meet a condition, from counts in the store: it only serves to choose
the way to an answer.
"""

from math import prod

from sonicpy._native.column_window import ColumnWindow
from sonicpy.filters.conditions import All, Among, Any, Condition, HasTag, Not, Range, Within
from sonicpy.index.search.masks import lazy_windows
from sonicpy.store.views.bucket_reader import BucketReader, window_count

LOOKED_AT = 4
"""The most windows of values that are read: the bounds of these values count as the bounds of all."""


def share_meeting(reader: BucketReader, condition: Condition) -> float:
    """Return the approximate share of the objects that meet a condition, from 0 to 1. Conditions count as independent,
    and the values of a window as spread evenly from the lowest to the highest one.
    """
    match condition:
        case HasTag():
            rows = [] if reader.tags is None else reader.tags.words([tag.encode() for tag in condition.tags])
            return _share(reader, sum(row.df for row in rows if row is not None))
        case Not():
            return 1.0 - share_meeting(reader, condition.condition)
        case All():
            return prod(share_meeting(reader, each) for each in condition.conditions)
        case Any():
            return min(1.0, sum(share_meeting(reader, each) for each in condition.conditions))
    return _share_of_values(reader, condition)


def _share(reader: BucketReader, count: int) -> float:
    return min(1.0, count / max(reader.state.objects, 1))


def _share_of_values(reader: BucketReader, condition: Range | Among | Within) -> float:
    columns = reader.columns
    column = None if columns is None else columns.names.get(condition.name)
    if columns is None or column is None:
        return 0.0
    share = _share(reader, columns.count(column))
    if not isinstance(condition, Range):
        return share
    last = window_count(reader) - 1
    windows = lazy_windows(columns, column, last + 1)
    numbers = {last * place // (LOOKED_AT - 1) for place in range(LOOKED_AT)}
    here = [window for number in numbers if (window := windows.at(number)) is not None]
    return share * sum(_part_within(window, condition) for window in here) / max(len(here), 1)


def _part_within(window: ColumnWindow, condition: Range) -> float:
    """Return the approximate share of the values of a window that are in a range."""
    low, high = max(window.lowest, condition.low), min(window.highest, condition.high)
    return max(0, high - low + 1) / (window.highest - window.lowest + 1)
