"""Stand-ins for the parts of a node."""

from types import SimpleNamespace
from typing import Any

from sonicpy.cluster.node.replica import Replica


class ReplicaStandIn(SimpleNamespace):
    """A replica of an index, which says as Replica does whether reads have their answer here."""

    fault: str | None = None
    held_up: str | None = None
    applied: int = 0
    committer: Any = None
    answers_at = Replica.answers_at  # type: ignore[assignment]
