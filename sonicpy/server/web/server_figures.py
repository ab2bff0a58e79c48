"""Reads the figures of a server for the metrics on the loop's thread; another thread shows them."""

from collections import Counter
from typing import TYPE_CHECKING

from sonicpy.server.watching.figures import ServerFigures, VerbFigures

if TYPE_CHECKING:
    from sonicpy.server.service import BaseService


def server_figures(service: "BaseService") -> ServerFigures:
    """Return the figures of this moment; those of several stores are added up.

    Raises:
        StoreError: the store cannot be read.
    """
    statistics, stores = service.statistics, service.stores()
    engines, readers = [store for store, _ in stores], [watch for _, watch in stores]
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
        uncommitted=sum(engine.store.uncommitted for engine in engines),
        buckets=sum(engine.count_scopes() for engine in engines),
        pending_buckets=sum(len(engine.store.pending_buckets()) for engine in engines),
        open_graphs=sum(len(engine.graphs) for engine in engines) + service.graphs_elsewhere,
        store_used_bytes=sum(engine.store.size_bytes() for engine in engines),
        store_map_bytes=sum(engine.store.map_bytes() for engine in engines),
        log_bytes=sum(engine.store.log_bytes() for engine in engines),
        oldest_reader_s=max((watch.age_s for watch in readers), default=0.0),
        pinned_bytes=sum(watch.pinned_bytes for watch in readers),
        is_refusing=any(engine.store.refusing for engine in engines),
        consolidations_total=statistics.consolidations,
        consolidation_seconds_total=statistics.consolidation_s,
        more=service.more_figures(),
    )


def not_ready(service: "BaseService", *, to_search: bool = False) -> str | None:
    """Return why the server is not ready for clients, as a sentence; None: it is ready.

    Args:
        to_search: for clients that only search.
    """
    return service.unready or service.room.lack() or service.trouble(to_search=to_search)
