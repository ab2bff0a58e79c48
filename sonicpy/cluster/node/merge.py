"""Merges the answers of several partitions into one."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sonicpy.index.report.stats import Figures

SUMS = ("buckets", "objects", "words", "hidden_words", "pending_words")
SUMS_OF_NODE = ("disk_bytes", "log_bytes", "graph_bytes", "used_bytes", "map_bytes", "open_graphs", "uncommitted")
NAMED_MAX = 1_000
"""The most collections or buckets that are listed one by one."""


def merge_names(pages: Iterable[Sequence[str]], limit: int, *, by_length: bool = False) -> list[str]:
    """Return the first `limit` names of some pages, each once.

    Args:
        by_length: shorter names come first, as in lists of collections; else byte order alone counts.
    """
    names = {name for page in pages for name in page}
    return sorted(names, key=lambda name: (len(name) if by_length else 0, name))[:limit]


def merge_figures(found: "Sequence[Figures]") -> "Figures":
    """Return the figures of all partitions as those of one index.

    Counts and sizes are sums, and left out if a partition does not have them; the average length is that of all
    objects; the number of tags is that of the partition with most tags; `refusing` is true if any partition refuses
    changes. All other figures are those of the first partition.

    Args:
        found: the figures of each partition, at least one.
    """
    merged = dict(found[0])
    for key in (*SUMS, *SUMS_OF_NODE):
        if all(key in figures for figures in found):
            merged[key] = sum(figures[key] for figures in found)
        else:
            merged.pop(key, None)
    merged["average_length"] = _average(found)
    _merge_tagging(merged, found)
    for key in ("by_collection", "by_bucket"):
        if key in merged:
            merged[key] = _merge_named(found, key)
    if "by_collection" in merged:
        merged["collections"] = len(merged["by_collection"])
        merged["refusing"] = any(figures["refusing"] for figures in found)
    return merged


def _merge_tagging(merged: "Figures", found: "Sequence[Figures]") -> None:
    """Set the number of objects with each value and field to the sum of all parts, and the number of tags to that of
    the part with most tags.
    """
    for key in ("values", "fields"):
        together = Counter[str]()
        for figures in found:
            together.update(figures.get(key, {}))
        if together:
            merged[key] = dict(sorted(together.items()))
    if tags := max(figures.get("tags", 0) for figures in found):
        merged["tags"] = tags


def _merge_named(found: "Sequence[Figures]", key: str) -> "Figures":
    parts: dict[str, list[Figures]] = {}
    for figures in found:
        for name, part in figures[key].items():
            parts.setdefault(name, []).append(part)
    return {name: _merge_part(some) for name, some in sorted(parts.items())[:NAMED_MAX]}


def _merge_part(some: "Sequence[Figures]") -> "Figures":
    merged = {key: sum(part[key] for part in some) for key in SUMS if key in some[0]}
    return {**merged, "average_length": _average(some)}


def _average(found: "Sequence[Figures]") -> float:
    objects = sum(figures["objects"] for figures in found)
    length = sum(figures["average_length"] * figures["objects"] for figures in found)
    return round(length / objects, 3) if objects else 0.0
