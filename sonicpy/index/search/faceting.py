"""FACETS: the number of objects that hold each tag, or have a value in each range, over the whole answer."""

from collections.abc import Mapping, Sequence
from typing import Any as AnyValue

from sonicpy._native.mask import Bits, settled
from sonicpy._native.ordered import count_ranges
from sonicpy.api.facets import Facets, RangeCount, in_order, merged, most_first
from sonicpy.filters.conditions import All, Any, Condition, HasTag, Not, clauses, literals
from sonicpy.filters.sorting import Facet
from sonicpy.index.search.refine import Wanted
from sonicpy.index.search.tag_holders import count_holders
from sonicpy.store.views.bucket_reader import BucketReader

ALL_TAGS = 1 << 32


def count_facets(
    wanted: Wanted, condition: Condition | None, facets: Sequence[Facet], *, apart: bool, limit: int
) -> Facets:
    """Return the counts of facets over all objects that answer, and meet a condition.

    Args:
        apart: each facet leaves out the clauses of its own tags or values.
        limit: the most tags of a facet.
    """
    answer = settled(wanted.under(condition))
    found = {condition: answer}
    tags: dict[str, dict[str, int]] = {}
    ranges: dict[str, list[RangeCount]] = {}
    for facet in facets:
        rest = without(condition, facet) if apart else condition
        if rest not in found:
            found[rest] = settled(wanted.under(rest))
        if facet.bounds is None:
            tags[facet.name] = most_first(_count_tags(wanted.reader, facet.name, found[rest], limit), limit)
        else:
            ranges[facet.name] = _count_values(wanted.reader, facet, found[rest])
    return Facets(answer.total(), tags, ranges)


def count_all_facets(
    wanted: Sequence[Wanted], condition: Condition | None, facets: Sequence[Facet], *, apart: bool, limit: int
) -> Facets:
    """Return the counts of facets over the objects of all buckets.

    Args:
        wanted: for each bucket, the objects that answer; empty: no object answers.
        apart, limit: as in `count_facets`.
    """
    if not wanted:
        return no_facets(facets)
    if len(wanted) == 1:
        return count_facets(wanted[0], condition, facets, apart=apart, limit=limit)
    return merged([count_facets(one, condition, facets, apart=apart, limit=ALL_TAGS) for one in wanted], limit)


def no_facets(facets: Sequence[Facet]) -> Facets:
    """Return the counts of facets where no object answers."""
    return Facets(
        0,
        {facet.name: {} for facet in facets if facet.bounds is None},
        {facet.name: [] for facet in facets if facet.bounds is not None},
    )


def merge_facets(parts: Sequence[Mapping[str, AnyValue]], limit: int) -> Facets:
    """Return the sum of the facets of all parts of a bucket.

    Args:
        parts: the facets of each part, with all their tags, as `Facets.to_dict` returned them.
        limit: the most tags of a facet.
    """
    return merged([Facets.from_dict(part) for part in parts], limit)


def without(condition: Condition | None, facet: Facet) -> Condition | None:
    """Return a filter without the clauses that are only about the tags or values of a facet; None: no clause is
    left.
    """
    if condition is None:
        return None
    rest = tuple(clause for clause in clauses(condition) if not all(_is_of(each, facet) for each in literals(clause)))
    if not rest:
        return None
    return rest[0] if len(rest) == 1 else All(rest)


def _is_of(literal: Condition, facet: Facet) -> bool:
    match literal:
        case HasTag():
            return facet.bounds is None and all(tag.startswith(facet.name) for tag in literal.tags)
        case Not() | All() | Any():
            return False
    return facet.bounds is not None and literal.name == facet.name


def _count_tags(reader: BucketReader, prefix: str, among: Bits, limit: int) -> dict[str, int]:
    """Return the number of objects that hold each tag with a prefix, at least of the `limit` tags with the highest
    numbers; tags without objects are left out.
    """
    tags = reader.tags
    if tags is None:
        return {}
    rows = list(tags.starting(prefix.encode()))
    counts = count_holders(tags, [row for _, row in rows], reader.length_masks(), among)
    least = max(sorted(counts)[-limit], 1) if 0 < limit < len(counts) else 1
    return {tag.decode(): count for (tag, _), count in zip(rows, counts, strict=True) if count >= least}


def _count_values(reader: BucketReader, facet: Facet, among: Bits) -> list[RangeCount]:
    columns = reader.columns
    column = None if columns is None else columns.names.get(facet.name)
    if columns is None or column is None:
        return []
    bounds = list(facet.bounds or ())
    counts = count_ranges(among, columns.windows(column), bounds)
    lows, highs = [None, *bounds], [*bounds, None]
    return in_order({(low, high): count for low, high, count in zip(lows, highs, counts, strict=True) if count})
