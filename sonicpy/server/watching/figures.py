"""The figures of a server at one moment, as values."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class VerbFigures:
    """The counts and durations of the commands of one verb since the start."""

    count: int
    seconds: float
    up_to_bound: list[int]
    """The number of commands that took at most each of server_statistics.BOUNDS_S."""


@dataclass(frozen=True, slots=True)
class LabelledFigures:
    """A figure with a value for each value of a label, such as one for each partition of a cluster.

    Attributes:
        name, meaning: the name (without `_total`) and the description of the metric.
        values: value of the label -> figure; for a summary, the count and the sum.
    """

    name: str
    meaning: str
    kind: Literal["gauge", "counter", "summary"]
    label: str
    values: Mapping[str, float | tuple[int, float]]


@dataclass(frozen=True, slots=True)
class ServerFigures:
    """The figures of one moment; names with `_total` count since the start."""

    connections: dict[str, int]
    """The number of connections by mode; `none`: before START."""
    search_processes: int
    connections_total: int
    received_bytes_total: int
    sent_bytes_total: int
    verbs: dict[str, VerbFigures]
    errors_total: dict[str, int]
    uncommitted: int
    buckets: int
    pending_buckets: int
    open_graphs: int
    store_used_bytes: int
    store_map_bytes: int
    log_bytes: int
    oldest_reader_s: float
    pinned_bytes: int
    is_refusing: bool
    consolidations_total: int
    consolidation_seconds_total: float
    more: list[LabelledFigures]
    """Figures that only some servers have."""
