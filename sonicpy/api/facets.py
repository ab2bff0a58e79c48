"""Facets: how many of the objects that answer hold each tag, or have a value in each range."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple


class RangeCount(NamedTuple):
    """The number of objects with a value from `low` up to `high`, without `high` itself.

    Attributes:
        low, high: the bounds of the values; None: no bound.
        objects: the number of objects.
    """

    low: int | None
    high: int | None
    objects: int


class Facets(NamedTuple):
    """The counts of facets over all objects that answer.

    Attributes:
        total: the number of all objects that answer.
        tags: beginning of tags, such as "size:" -> tag -> number of objects that hold it, highest first.
        ranges: name of values -> the ranges that have objects.
    """

    total: int
    tags: Mapping[str, Mapping[str, int]]
    ranges: Mapping[str, Sequence[RangeCount]]

    def to_dict(self) -> dict[str, Any]:
        """Return the facets for JSON."""
        return {
            "total": self.total,
            "tags": {name: dict(counts) for name, counts in self.tags.items()},
            "ranges": {name: [list(each) for each in counts] for name, counts in self.ranges.items()},
        }

    def to_json(self) -> str:
        """Return the facets as one line of JSON in ASCII."""
        return json.dumps(self.to_dict(), separators=(",", ":"))

    def without_tags(self) -> "Facets":
        """Return the facets without tags."""
        return self._replace(tags={name: {} for name in self.tags})

    def _repr_html_(self) -> str:
        """Return a table for notebooks."""
        rows: list[tuple[object, object]] = [one for counts in self.tags.values() for one in counts.items()]
        for name, ranges in self.ranges.items():
            rows += [(f"{name} {_shown(each.low)}..{_shown(each.high)}", each.objects) for each in ranges]
        from sonicpy.api.html import html_table  # noqa: PLC0415  loaded when it is needed

        return html_table(("tag or range", "objects"), rows, f"{self.total} objects")

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> "Facets":
        """Return the facets that `to_dict` returned."""
        ranges = {name: [RangeCount(*each) for each in counts] for name, counts in plain["ranges"].items()}
        return cls(plain["total"], plain["tags"], ranges)

    @classmethod
    def from_json(cls, line: str) -> "Facets":
        """Return the facets that `to_json` returned. Raises ValueError."""
        return cls.from_dict(json.loads(line))


def merged(parts: Sequence[Facets], limit: int) -> Facets:
    """Return the sum of the facets of all parts of a bucket.

    Args:
        parts: the facets of each part, with all its tags.
        limit: the most tags of a facet.
    """
    tags: dict[str, dict[str, int]] = {}
    ranges: dict[str, dict[tuple[int | None, int | None], int]] = {}
    for part in parts:
        for name, counts in part.tags.items():
            sums = tags.setdefault(name, {})
            for tag, count in counts.items():
                sums[tag] = sums.get(tag, 0) + count
        for name, rows in part.ranges.items():
            found = ranges.setdefault(name, {})
            for low, high, count in rows:
                found[low, high] = found.get((low, high), 0) + count
    return Facets(
        sum(part.total for part in parts),
        {name: most_first(counts, limit) for name, counts in tags.items()},
        {name: in_order(counts) for name, counts in ranges.items()},
    )


def most_first(counts: Mapping[str, int], limit: int) -> dict[str, int]:
    """Return the `limit` highest counts, equal ones in the order of their names."""
    least = sorted(counts.values(), reverse=True)[limit - 1] if 0 < limit < len(counts) else 0
    most = [one for one in counts.items() if one[1] >= least]
    return dict(sorted(most, key=lambda one: (-one[1], one[0]))[:limit])


def in_order(counts: Mapping[tuple[int | None, int | None], int]) -> list[RangeCount]:
    """Return the counts as ranges, by rising lower bounds; a range without a lower bound comes first."""
    found = [RangeCount(low, high, count) for (low, high), count in counts.items()]
    return sorted(found, key=lambda one: (one.low is not None, one.low or 0))


def _shown(bound: int | None) -> str:
    return "" if bound is None else str(bound)
