"""The counters that INFO shows."""

import time

from sonicpy.channel.replies import Figures


class Statistics:
    """Counts over all connections since the start."""

    def __init__(self) -> None:
        self._started_s = time.monotonic()
        self._lines_of_closed = 0
        self._best_ms = 0
        self._worst_ms = 0

    def closed(self, lines: int) -> None:
        """Note that a connection has ended that handled so many lines."""
        self._lines_of_closed += lines

    def took(self, seconds: float) -> None:
        """Note how long a command took; less than half a millisecond never counts as best."""
        milliseconds = round(seconds * 1000)
        if milliseconds > self._worst_ms:
            self._worst_ms = milliseconds
        if milliseconds and (milliseconds < self._best_ms or not self._best_ms):
            self._best_ms = milliseconds

    def figures(
        self, *, connections: int, lines_of_open: int, open_scopes: int, open_graphs: int, pending_graphs: int
    ) -> Figures:
        """Return what INFO tells now."""
        return Figures(
            uptime=int(time.monotonic() - self._started_s),
            clients_connected=connections,
            commands_total=self._lines_of_closed + lines_of_open,
            command_latency_best=self._best_ms,
            command_latency_worst=self._worst_ms,
            kv_open_count=open_scopes,
            fst_open_count=open_graphs,
            fst_consolidate_count=pending_graphs,
        )
