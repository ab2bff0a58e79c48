"""A node's figures of each partition and each log, for the metrics."""

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from sonicpy.cluster.log.lag import Lag
from sonicpy.cluster.log.writer import LogWriter
from sonicpy.cluster.node.replica import Replica
from sonicpy.server.watching.figures import LabelledFigures

FigureKind = Literal["gauge", "counter", "summary"]

OF_PARTITIONS: tuple[tuple[str, str, Callable[[int, Replica, Lag], float]], ...] = (
    ("position", "Entries of the log that the replica has applied.", lambda _, replica, lag: replica.applied),
    ("faulty", "1 while the replica does not answer.", lambda _, replica, lag: float(replica.fault is not None)),
    ("lag_entries", "Entries that the replica lacks.", lambda number, _, lag: lag.behind(number)),
    ("lag_seconds", "For how long it has been behind.", lambda number, _, lag: lag.behind_s(number)),
    ("log_entries", "Entries that the brokers keep.", lambda number, _, lag: lag.entries(number)),
)
"""The gauges of a partition that a node holds: (name, meaning, function that returns the value)."""
OF_LOGS: tuple[tuple[str, FigureKind, str, Callable[[LogWriter], float | tuple[int, float]]], ...] = (
    ("batches", "counter", "Acknowledged batches of this node.", lambda writer: writer.batches),
    (
        "gap_seconds",
        "summary",
        "Waits of over 0.2 s for an acknowledgement, and how long they were.",
        lambda writer: (writer.gaps.count, writer.gaps.seconds),
    ),
    (
        "waiting_seconds",
        "gauge",
        "For how long the batch under way has waited for its acknowledgement.",
        lambda writer: writer.gaps.lasting_s,
    ),
)
"""The figures of a log: (name, kind, meaning, function that returns the value)."""


def partition_figures(
    node: str, replicas: Mapping[int, Replica], writers: Sequence[LogWriter], lag: Lag
) -> list[LabelledFigures]:
    """Return the figures of the partitions that a node holds, of all logs, and of the silence of the brokers."""
    held = sorted(replicas.items())
    of_partitions = [
        _figures("partition", name, meaning, "gauge", {str(n): value(n, replica, lag) for n, replica in held})
        for name, meaning, value in OF_PARTITIONS
    ]
    of_logs = [
        _figures("log", name, meaning, kind, {str(n): value(writer) for n, writer in enumerate(writers)})
        for name, kind, meaning, value in OF_LOGS
    ]
    silence = "For how long no broker has answered; a few seconds are usual."
    of_brokers = LabelledFigures("sonicpy_brokers_silent_seconds", silence, "gauge", "node", {node: lag.silence_s})
    return [*of_partitions, *of_logs, of_brokers]


def _figures(
    label: str, name: str, meaning: str, kind: FigureKind, values: Mapping[str, float | tuple[int, float]]
) -> LabelledFigures:
    return LabelledFigures(f"sonicpy_{label}_{name}", meaning, kind, label, values)
