"""Filters as masks of a bucket: each condition becomes the objects that meet it, window by window on demand."""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice

from sonicpy._native.column_mask import InRange, LazyWindows, Near, OneOf
from sonicpy._native.mask import Alive, AllOf, AnyOf, Bits, Mask, NotIn
from sonicpy._native.query_state import QueryState
from sonicpy._native.term_mask import Holders, lists_of
from sonicpy.filters.conditions import All, Among, Any, Condition, HasTag, Not, Range, Within, literals
from sonicpy.store.views.beside_words import ColumnRows
from sonicpy.store.views.bucket_reader import BucketReader, window_count
from sonicpy.values import pack_point


class Masks:
    """Makes the masks of a filter in a bucket.

    Args:
        reader: reads the bucket.
        condition: the filter.
    """

    def __init__(self, reader: BucketReader, condition: Condition) -> None:
        self._reader = reader
        self._lengths = reader.length_masks()
        self._windows = window_count(reader)
        self._tagged = _tagged(condition)
        self._lists: QueryState | None = None
        self._holders: list[int] = []
        self._read_tags()

    def of(self, condition: Condition) -> Mask:
        """Return the objects that meet a condition of the filter. The mask may also hold IIDs that no object has if
        `holds_strangers` is true for the condition.
        """
        return self._made(condition)[1]

    def _read_tags(self) -> None:
        tags = self._reader.tags if self._tagged else None
        if tags is None:
            return
        named = [each for _, each in self._tagged.values()]
        rows = iter(tags.words([tag for each in named for tag in each]))
        held = [[row for row in islice(rows, len(each)) if row is not None] for each in named]
        self._holders = [sum(row.df for row in some) for some in held]
        self._lists = lists_of(tags, [tags.postings_of(some) for some in held], self._lengths)

    def _made(self, condition: Condition) -> tuple[int, Mask]:
        """Return an upper estimate of the objects that meet a condition, and its mask."""
        match condition:
            case HasTag():
                return self._of_tags(condition)
            case Not():
                return len(self._reader.lengths()), NotIn(self._windows, self.of(condition.condition))
            case All():
                # Those of few objects come first: where no object meets them, nothing else is read.
                made = sorted(map(self._made, one_range_each(condition.conditions)), key=lambda one: one[0])
                return made[0][0], AllOf(self._windows, [mask for _, mask in made])
            case Any():
                made = [self._made(each) for each in condition.conditions]
                return sum(count for count, _ in made), AnyOf(self._windows, [mask for _, mask in made])
        return mask_of_values(self._reader, condition, self._windows)

    def _of_tags(self, condition: HasTag) -> tuple[int, Mask]:
        if self._lists is None:
            return 0, Bits(self._windows)
        number, _ = self._tagged[condition]
        return self._holders[number], Holders(self._windows, self._lists, number)


def mask_of_values(reader: BucketReader, condition: Range | Among | Within, count: int) -> tuple[int, Mask]:
    """Return an upper estimate of the objects that meet a condition on values, and its mask of `count` windows."""
    columns = reader.columns
    column = None if columns is None else columns.names.get(condition.name)
    if columns is None or column is None:
        return 0, Bits(count)
    held, windows = columns.count(column), lazy_windows(columns, column, count)
    match condition:
        case Range():
            return held, InRange(count, windows, condition.low, condition.high)
        case Among():
            return held, OneOf(count, windows, condition.values)
        case Within():
            if not columns.is_point(column):
                return 0, Bits(count)
            point = pack_point(condition.latitude, condition.longitude)
            return held, Near(count, windows, point, float(condition.meters))


def lazy_windows(columns: ColumnRows, column: int, count: int) -> LazyWindows:
    """Return the first `count` windows of the values of a column, by its number, each read when a filter of the commit
    needs it first."""
    return LazyWindows(columns, column, columns.known_windows(column, count))


def one_range_each(conditions: Sequence[Condition]) -> list[Condition]:
    """Return conditions with one range for each name of values: the part that all its ranges share."""
    ranges: dict[str, Range] = {}
    for each in conditions:
        if isinstance(each, Range):
            other = ranges.get(each.name, each)
            ranges[each.name] = Range(each.name, max(each.low, other.low), min(each.high, other.high))
    return [*ranges.values(), *(each for each in conditions if not isinstance(each, Range))]


def mask_of(reader: BucketReader, condition: Condition) -> Mask:
    """Return the mask of a filter, for objects that hold words."""
    return Masks(reader, condition).of(condition)


def unmet(reader: BucketReader, condition: Condition) -> Iterator[str]:
    """Yield the tags and the names of values of a filter that no object has, each with the kind."""
    columns = {} if reader.columns is None else reader.columns.names
    for each in dict.fromkeys(literals(condition)):
        if isinstance(each, HasTag):
            tags = [tag.encode() for tag in each.tags]
            rows = [None] * len(tags) if reader.tags is None else reader.tags.words(tags)
            yield from (f"the tag {tag}" for tag, row in zip(each.tags, rows, strict=True) if row is None)
        elif isinstance(each, Range | Among | Within) and each.name not in columns:
            yield f"a value {each.name}"


def everybody(reader: BucketReader, condition: Condition | None) -> Mask:
    """Return the objects of a bucket that meet a condition, whether they hold words or not; None: all objects."""
    if condition is None:
        return alive(reader)
    mask = mask_of(reader, condition)
    return AllOf(window_count(reader), [mask, alive(reader)]) if holds_strangers(condition) else mask


def alive(reader: BucketReader) -> Mask:
    """Return the objects of a bucket."""
    return Alive(window_count(reader), reader.length_masks(), reader.wordless())


def holds_strangers(condition: Condition) -> bool:
    """Return whether the mask of a condition may hold IIDs that no object has."""
    match condition:
        case Not():
            return not holds_strangers(condition.condition)
        case All():
            return all(map(holds_strangers, condition.conditions))
        case Any():
            return any(map(holds_strangers, condition.conditions))
    return False


def _tagged(condition: Condition) -> Mapping[HasTag, tuple[int, list[bytes]]]:
    """Return the number, and the tags in bytes, of each condition on tags in a filter."""
    if type(condition) is HasTag and len(condition.tags) == 1:  # most are new: a cache would cost more
        return {condition: (0, [condition.tags[0].encode()])}
    return _all_tagged(condition)


@lru_cache(maxsize=256)
def _all_tagged(condition: Condition) -> Mapping[HasTag, tuple[int, list[bytes]]]:
    found = dict.fromkeys(each for each in literals(condition) if isinstance(each, HasTag))
    return {each: (number, [tag.encode() for tag in each.tags]) for number, each in enumerate(found)}
