"""The groups of the objects of a bucket: by a value, or by tags that begin alike.

An object without the value, or without such a tag, is in no group: it counts as a group of its own. An object with
several such tags is in several groups.
"""

from collections.abc import Collection, Iterable, Sequence
from functools import cached_property
from typing import Any, NamedTuple, Protocol, cast

from sonicpy._native.column_mask import LazyWindows, OneOf
from sonicpy._native.mask import AnyOf, Mask, NotIn, both, settled
from sonicpy._native.ordered import distinct_values
from sonicpy._native.term_mask import Holders, lists_of
from sonicpy.filters.grouping import Group, GroupKey
from sonicpy.index.search.masks import lazy_windows
from sonicpy.index.search.tag_holders import count_holders
from sonicpy.store.views.bucket_reader import BucketReader, TagReader, window_count
from sonicpy.values import shown_point


class CountedGroups(NamedTuple):
    """The groups of some objects.

    Attributes:
        keys: the groups.
        alone: the number of objects in no group.
    """

    keys: set[GroupKey]
    alone: int

    @property
    def total(self) -> int:
        """The number of groups; each object in no group counts as one."""
        return len(self.keys) + self.alone


class Groups(Protocol):
    """The groups of the objects of a bucket."""

    def of(self, iids: list[int]) -> Sequence[Sequence[GroupKey]]:
        """Return the groups of each of the objects `iids`; an empty sequence: the object is a group of its own."""
        ...

    def others(self, seen: Collection[GroupKey]) -> Mask:
        """Return the objects that are in a group other than the given ones, or in none; IIDs that no object has may be
        among them.
        """
        ...

    def count(self, answer: Mask) -> CountedGroups:
        """Return the groups of some objects."""
        ...

    def shown(self, key: GroupKey) -> GroupKey:
        """Return a group as answers show it."""
        ...


class ValueGroups:
    """Groups by a value.

    Args:
        reader: reads the bucket.
        name: the name of the values.
    """

    def __init__(self, reader: BucketReader, name: str) -> None:
        self._windows = window_count(reader)
        self._columns = reader.columns
        self._column = None if self._columns is None else self._columns.names.get(name)

    def of(self, iids: list[int]) -> Sequence[Sequence[GroupKey]]:
        """Return the groups of objects; see `Groups`."""
        if self._columns is None or self._column is None:
            return [()] * len(iids)
        return [() if value is None else (value,) for value in self._columns.values_of(self._column, iids)]

    def others(self, seen: Collection[GroupKey]) -> Mask:
        """Return the objects of other groups; see `Groups`."""
        values = tuple(sorted(cast(Collection[int], seen)))
        if self._columns is None or self._column is None:
            values, windows = (), cast(LazyWindows, [])
        else:
            windows = lazy_windows(self._columns, self._column, self._windows)
        return NotIn(self._windows, OneOf(self._windows, windows, values))

    def count(self, answer: Mask) -> CountedGroups:
        """Return the groups of some objects; see `Groups`."""
        if self._columns is None or self._column is None:
            return CountedGroups(set(), answer.total())
        values, held = distinct_values(answer, self._columns.windows(self._column))
        return CountedGroups(cast(set[GroupKey], values), answer.total() - held)

    def shown(self, key: GroupKey) -> GroupKey:
        """Return a group as answers show it: a point as text."""
        if self._columns is not None and self._column is not None and self._columns.is_point(self._column):
            return shown_point(cast(int, key))
        return key


class TagGroups:
    """Groups by tags.

    Args:
        reader: reads the bucket.
        prefix: the beginning of the tags.
    """

    def __init__(self, reader: BucketReader, prefix: str) -> None:
        self._windows = window_count(reader)
        self._lengths = reader.length_masks()
        self._tags = cast(TagReader | None, reader.tags)
        self._prefix = prefix

    @cached_property
    def _rows(self) -> list[tuple[bytes, Any]]:
        return [] if self._tags is None else list(self._tags.starting(self._prefix.encode()))

    def of(self, iids: list[int]) -> Sequence[Sequence[GroupKey]]:
        """Return the groups of objects; see `Groups`."""
        if self._tags is None:
            return [()] * len(iids)
        return [[tag for tag in held if tag.startswith(self._prefix)] for held in self._tags.tags_of(iids)]

    def others(self, seen: Collection[GroupKey]) -> Mask:
        """Return the objects of other groups; see `Groups`."""
        known = {str(tag).encode() for tag in seen}
        new = self._holders([row for row in self._rows if row[0] not in known])
        return AnyOf(self._windows, [NotIn(self._windows, self._holders(self._rows)), new])

    def count(self, answer: Mask) -> CountedGroups:
        """Return the groups of some objects; see `Groups`."""
        if self._tags is None or not self._rows:
            return CountedGroups(set(), answer.total())
        found = settled(answer)
        counts = count_holders(self._tags, [row for _, row in self._rows], self._lengths, found)
        keys = {tag.decode() for (tag, _), count in zip(self._rows, counts, strict=True) if count}
        return CountedGroups(cast(set[GroupKey], keys), found.total() - both(found, self._holders(self._rows)).total())

    def shown(self, key: GroupKey) -> GroupKey:
        """Return a group as answers show it."""
        return key

    def _holders(self, rows: Iterable[tuple[bytes, object]]) -> Mask:
        """Return the objects that hold one of some tags."""
        wanted = [row for _, row in rows]
        if self._tags is None or not wanted:
            return AnyOf(self._windows, [])
        lists = lists_of(self._tags, [self._tags.postings_of(wanted)], self._lengths)  # type: ignore[arg-type]
        return Holders(self._windows, lists, 0)


def groups_in(reader: BucketReader, group: Group) -> Groups:
    """Return the groups of the objects of a bucket."""
    return TagGroups(reader, group.name) if group.is_tags else ValueGroups(reader, group.name)


def counted_together(counts: Iterable[CountedGroups]) -> CountedGroups:
    """Return the sum of the groups of several buckets, or of several parts of one."""
    keys, alone = set[GroupKey](), 0
    for each in counts:
        keys |= each.keys
        alone += each.alone
    return CountedGroups(keys, alone)
