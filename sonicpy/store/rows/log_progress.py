"""The progress of a replica in the log of a cluster."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class LogProgress:
    """How far a replica has applied the cluster's log.

    Attributes:
        position: the position of the last entry that the replica holds.
        epoch: the identity of the log: a log that was lost and made again has another epoch.
        chain: a hash over all entries up to the position, in hexadecimal digits. At equal positions, replicas have
            equal chains.
        writers: writer -> its incarnation and the number of its last batch.
    """

    position: int = 0
    epoch: str = ""
    chain: str = ""
    writers: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    def facts(self) -> dict[str, Any]:
        """Return the attributes as a dict for JSON."""
        return dataclasses.asdict(self)

    @classmethod
    def of(cls, facts: Mapping[str, Any]) -> "LogProgress":
        """Return the progress that a dict made by `facts` describes."""
        writers = {str(writer): (int(pair[0]), int(pair[1])) for writer, pair in facts["writers"].items()}
        return cls(int(facts["position"]), str(facts["epoch"]), str(facts["chain"]), writers)
