"""What the metrics report of the server at one moment: read on the loop's thread, shown by another."""

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sonicpy.server.service import Service


@dataclass(frozen=True, slots=True)
class VerbFigures:
    """The commands of one verb since the start."""

    count: int
    seconds: float
    up_to_bound: list[int]
    """For each of statistics.BOUNDS_S, how many commands took at most that long."""


@dataclass(frozen=True, slots=True)
class ServerFigures:
    """The figures of one moment; `*_total` count since the start."""

    connections: dict[str, int]
    """By mode; `none`: before START."""
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


def server_figures(service: "Service") -> ServerFigures:
    """Return the figures of this moment.

    Raises:
        StoreError: the store cannot be read.
    """
    maintainer, statistics = service.index.maintainer, service.statistics
    modes = Counter[str](peer.session.mode or "none" for peer in service.peers)
    modes["search"] += service.handed_over
    return ServerFigures(
        connections={mode: modes[mode] for mode in ("none", "search", "ingest", "control")},
        search_processes=0 if service.search is None else service.search.ready,
        connections_total=statistics.connections,
        received_bytes_total=statistics.received_bytes,
        sent_bytes_total=statistics.sent_bytes,
        verbs={
            tally.verb: VerbFigures(tally.count, tally.seconds, tally.up_to_bound())
            for tally in statistics.all_tallies()
        },
        errors_total=dict(statistics.errors),
        uncommitted=maintainer.uncommitted,
        buckets=maintainer.open_scopes(),
        pending_buckets=maintainer.pending_buckets(),
        open_graphs=maintainer.open_graphs(),
        store_used_bytes=maintainer.used_bytes(),
        store_map_bytes=maintainer.map_bytes(),
        log_bytes=maintainer.log_bytes(),
        oldest_reader_s=service.readers.age_s,
        pinned_bytes=service.readers.pinned_bytes,
        is_refusing=maintainer.refusing,
        consolidations_total=statistics.consolidations,
        consolidation_seconds_total=statistics.consolidation_s,
    )


def not_ready(service: "Service") -> str | None:
    """Return why the server is not ready for clients, as a sentence; None: it is ready."""
    if service.unready is not None:
        return service.unready
    if service.index.maintainer.refusing:
        return "the store cannot be written: changes are refused, queries are answered"
    return None
