"""What happened since the start: the counters that INFO and the metrics show. Only the loop's thread touches them."""

import re
import time
from bisect import bisect_left
from collections import Counter
from typing import get_args

from sonicpy.channel.commands import Command, Ping
from sonicpy.channel.replies import InfoFigures

QUICK_S = 50e-6
"""What is quicker is only counted: telling how much quicker would cost as much as answering a PING."""
BOUNDS_S = (QUICK_S, 1e-4, 2.5e-4, 5e-4, 1e-3, 2.5e-3, 5e-3, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
INFO_S = 0.0005
"""INFO rounds to milliseconds, and what rounds to none is never its best nor its worst."""
REFUSAL = re.compile(rb"(?:ERR|ENDED) (?!quit\b)(\w+)")


class Tally:
    """How often one kind of command came, and how long it took."""

    __slots__ = ("count", "seconds", "slower", "verb")

    def __init__(self, verb: str) -> None:
        self.verb = verb
        self.count = 0
        self.seconds = 0.0
        self.slower = [0] * (len(BOUNDS_S) + 1)
        """By place in BOUNDS_S, those above the last one at the end; what is quicker than QUICK_S is left out."""

    def add(self, seconds: float) -> None:
        """Count one command."""
        self.count += 1
        self.seconds += seconds
        if seconds > QUICK_S:
            self.slower[bisect_left(BOUNDS_S, seconds)] += 1

    def up_to_bound(self) -> list[int]:
        """Return how many took at most each of BOUNDS_S."""
        reached, sums = self.count - sum(self.slower), []
        for slower in self.slower[:-1]:
            reached += slower
            sums.append(reached)
        return sums


class Statistics:
    """Counts over all connections since the start."""

    def __init__(self) -> None:
        kinds = (*get_args(Command), Ping)
        self.tallies: dict[type, Tally] = {kind: Tally(kind.__name__.upper()) for kind in kinds}
        """By type of command; bytes stands for the other lines that a session answers by itself."""
        self.tallies[bytes] = Tally("OTHER")
        self.errors: Counter[str] = Counter()
        """Refused lines by their code, and connections by the reason they were ended for."""
        self.connections = 0
        """Opened since the start."""
        self.received_bytes = self.sent_bytes = 0
        self.consolidations = 0
        self.consolidation_s = 0.0
        self._started_s = time.monotonic()
        self._lines_of_closed = 0
        self._best_ms = 0
        self._worst_ms = 0

    def closed(self, lines: int) -> None:
        """Note that a connection has ended that handled so many lines."""
        self._lines_of_closed += lines

    def took(self, tally: Tally, seconds: float) -> None:
        """Note how long a command took that was slower than QUICK_S; its tally has it already."""
        tally.slower[bisect_left(BOUNDS_S, seconds)] += 1
        if seconds <= INFO_S:
            return
        milliseconds = round(seconds * 1000)
        if milliseconds > self._worst_ms:
            self._worst_ms = milliseconds
        if milliseconds and (milliseconds < self._best_ms or not self._best_ms):
            self._best_ms = milliseconds

    def refused(self, reply: bytes) -> None:
        """Note the line of a refusal that a client is sent; other replies are passed over."""
        if (found := REFUSAL.match(reply)) is not None:
            self.errors[found[1].decode()] += 1

    def consolidated(self, seconds: float) -> None:
        """Note that a consolidation has ended."""
        self.consolidations += 1
        self.consolidation_s += seconds

    def figures(
        self, *, connections: int, lines_of_open: int, open_scopes: int, open_graphs: int, pending_graphs: int
    ) -> InfoFigures:
        """Return what INFO tells now."""
        return InfoFigures(
            uptime=int(time.monotonic() - self._started_s),
            clients_connected=connections,
            commands_total=self._lines_of_closed + lines_of_open,
            command_latency_best=self._best_ms,
            command_latency_worst=self._worst_ms,
            kv_open_count=open_scopes,
            fst_open_count=open_graphs,
            fst_consolidate_count=pending_graphs,
        )
