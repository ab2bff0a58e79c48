"""A node's figures of each partition and each log, for the metrics."""

from collections.abc import Mapping, Sequence
from typing import Literal

from sonicpy.cluster.log.lag import Lag
from sonicpy.cluster.log.writer import LogWriter
from sonicpy.cluster.node.replica import Replica
from sonicpy.server.watching.figures import LabelledFigures

Values = dict[str, float | tuple[int, float]]


def partition_figures(
    node: str, replicas: Mapping[int, Replica], writers: Sequence[LogWriter], lag: Lag
) -> list[LabelledFigures]:
    """Return the figures of the partitions that a node holds, and of all logs."""

    def one(
        of: str, name: str, meaning: str, values: Values, kind: Literal["gauge", "counter", "summary"] = "gauge"
    ) -> LabelledFigures:
        return LabelledFigures(f"sonicpy_{of}_{name}", meaning, kind, of, values)

    held = sorted(replicas.items())
    written = list(enumerate(writers))
    return [
        one(
            "partition",
            "position",
            "Entries of the log that the replica has applied.",
            {str(n): r.applied for n, r in held},
        ),
        one(
            "partition",
            "faulty",
            "1 while the replica does not answer.",
            {str(n): float(r.fault is not None) for n, r in held},
        ),
        one("partition", "lag_entries", "Entries that the replica lacks.", {str(n): lag.behind(n) for n, _ in held}),
        one("partition", "lag_seconds", "For how long it has been behind.", {str(n): lag.behind_s(n) for n, _ in held}),
        one("partition", "log_entries", "Entries that the brokers keep.", {str(n): lag.entries(n) for n, _ in held}),
        one("log", "batches", "Acknowledged batches of this node.", {str(n): w.batches for n, w in written}, "counter"),
        one(
            "log",
            "gap_seconds",
            "Waits of over 0.2 s for an acknowledgement, and how long they were.",
            {str(n): (w.gaps.count, w.gaps.seconds) for n, w in written},
            "summary",
        ),
        one(
            "log",
            "waiting_seconds",
            "For how long the batch under way has waited for its acknowledgement.",
            {str(n): w.gaps.lasting_s for n, w in written},
        ),
        LabelledFigures(
            "sonicpy_brokers_silent_seconds",
            "For how long no broker has answered; a few seconds are usual.",
            "gauge",
            "node",
            {node: lag.silence_s},
        ),
    ]
