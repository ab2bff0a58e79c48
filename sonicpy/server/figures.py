"""What the server says of itself at one moment, taken on the loop's thread and read on any other."""

from collections import Counter
from dataclasses import dataclass

from sonicpy.server.service import Service


@dataclass(frozen=True, slots=True)
class VerbFigures:
    """One kind of command since the start."""

    count: int
    seconds: float
    up_to_bound: list[int]
    """How many took at most each of statistics.BOUNDS_S."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The figures of one moment; those without another word hold for now, `*_total` since the start."""

    connections: dict[str, int]
    """By mode; those before START as `none`."""
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
    is_refusing: bool
    consolidations_total: int
    consolidation_seconds_total: float


def take_snapshot(service: Service) -> Snapshot:
    """Return the figures of now.

    Raises:
        StoreError: the store cannot be read.
    """
    index, statistics = service.index, service.statistics
    modes = Counter(peer.session.mode or "none" for peer in service.peers)
    return Snapshot(
        connections={mode: modes[mode] for mode in ("none", "search", "ingest", "control")},
        connections_total=statistics.connections,
        received_bytes_total=statistics.received_bytes,
        sent_bytes_total=statistics.sent_bytes,
        verbs={
            tally.verb: VerbFigures(tally.count, tally.seconds, tally.up_to_bound())
            for tally in statistics.tallies.values()
        },
        errors_total=dict(statistics.errors),
        uncommitted=index.maintainer.uncommitted,
        buckets=index.maintainer.open_scopes(),
        pending_buckets=index.maintainer.pending_buckets(),
        open_graphs=index.maintainer.open_graphs(),
        store_used_bytes=index.maintainer.used_bytes(),
        store_map_bytes=index.maintainer.map_bytes(),
        log_bytes=index.maintainer.log_bytes(),
        is_refusing=index.maintainer.refusing,
        consolidations_total=statistics.consolidations,
        consolidation_seconds_total=statistics.consolidation_s,
    )


def not_ready(service: Service) -> str | None:
    """Return why clients should go elsewhere, as a sentence; None: they should not."""
    if service.unready is not None:
        return service.unready
    if service.index.maintainer.refusing:
        return "the store cannot be written: changes are refused, queries are answered"
    return None
