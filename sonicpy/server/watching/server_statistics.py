"""The counters since the start that INFO and the metrics show. Only the loop's thread uses them."""

import re
import time
from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Mapping
from typing import Any, NamedTuple, get_args

from sonicpy.channel.commands import Command, CountFacets, FlushPassing, Ping, SetSynonyms
from sonicpy.channel.replies import InfoFigures
from sonicpy.ids import NAME_MAX_BYTES

QUICK_S = 50e-6
"""The duration in seconds below which commands are only counted: sorting it into BOUNDS_S would cost as much as a
PING.
"""
BOUNDS_S = (QUICK_S, 1e-4, 2.5e-4, 5e-4, 1e-3, 2.5e-3, 5e-3, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
NOTED_S = 0.01
SLOW_KEPT = 20
INFO_S = 0.0005
"""The shortest duration in seconds that counts as best or worst in INFO: shorter ones round to 0 milliseconds."""
VERBS: Mapping[type, str] = {CountFacets: "FACETS", FlushPassing: "FLUSH", SetSynonyms: "SYNONYMS"}
"""The verbs of the commands whose types have other names."""
REFUSAL = re.compile(rb"(?:ERR|ENDED) (?!quit\b)(\w+)")


class Tally:
    """The number and the durations of the commands of one verb."""

    __slots__ = ("count", "seconds", "slower", "verb")

    def __init__(self, verb: str) -> None:
        self.verb = verb
        self.count = 0
        self.seconds = 0.0
        self.slower = [0] * (len(BOUNDS_S) + 1)
        """The number of commands slower than QUICK_S, by place in BOUNDS_S; the last item counts those above the last
        bound.
        """

    def add(self, seconds: float) -> None:
        """Count one command that took `seconds`."""
        self.count += 1
        self.seconds += seconds
        if seconds > QUICK_S:
            self.slower[bisect_left(BOUNDS_S, seconds)] += 1

    def up_to_bound(self) -> list[int]:
        """Return the number of commands that took at most each of BOUNDS_S."""
        reached, sums = self.count - sum(self.slower), []
        for slower in self.slower[:-1]:
            reached += slower
            sums.append(reached)
        return sums


class Counts(NamedTuple):
    """Counts of a search process, for the statistics of the server."""

    tallies: dict[str, tuple[int, float, list[int]]]
    """verb -> count, seconds and `slower` of its tally; tallies without a command are left out."""
    slow: list[dict[str, Any]]
    errors: Counter[str]
    received_bytes: int
    sent_bytes: int
    lines: int
    best_ms: int
    worst_ms: int


class ServerStatistics:
    """Counts over all connections since the start."""

    def __init__(self) -> None:
        verbs = {kind: VERBS.get(kind, kind.__name__.upper()) for kind in (*get_args(Command), Ping)}
        verbs[bytes] = "OTHER"
        self._tallies = {verb: Tally(verb) for verb in verbs.values()}
        self.tallies: dict[type, Tally] = {kind: self._tallies[verb] for kind, verb in verbs.items()}
        """Type of command -> the tally of its verb; bytes is the type of lines that the session answers itself."""
        self.http: dict[str, Tally] = {}
        """Method of the index -> tally of the requests over HTTP that call it."""
        self.slow: deque[dict[str, Any]] = deque(maxlen=SLOW_KEPT)
        """The last commands that took NOTED_S or more, without their texts."""
        self.errors: Counter[str] = Counter()
        """The number of refused lines by error code, and of connections that the server ended by reason."""
        self.connections = 0
        """The number of connections since the start, closed ones included."""
        self.received_bytes = self.sent_bytes = 0
        self.consolidations = 0
        self.consolidation_s = 0.0
        self._started_s = time.monotonic()
        self.lines_of_closed = 0
        self._best_ms = 0
        self._worst_ms = 0

    def all_tallies(self) -> list[Tally]:
        """Return the tallies of the channel and of HTTP."""
        return [*self._tallies.values(), *self.http.values()]

    def note_http(self, method: str, seconds: float) -> None:
        """Count a request over HTTP that called `method` of the index and took `seconds`."""
        tally = self.http.get(method)
        if tally is None:
            tally = self.http[method] = Tally(f"HTTP {method}")
        tally.add(seconds)
        self.note_slow(tally.verb, None, seconds)

    def note_slow(self, verb: str, command: object, seconds: float) -> None:
        """Remember a command if it took NOTED_S or more."""
        if seconds < NOTED_S:
            return
        names = (getattr(command, name, None) for name in ("collection", "bucket", "object"))
        self.slow.append(
            {
                "when": time.strftime("%H:%M:%S"),
                "verb": verb,
                "ms": round(seconds * 1000, 1),
                "scope": " ".join(name[:NAME_MAX_BYTES] for name in names if isinstance(name, str)),
            }
        )

    def note_closed(self, lines: int) -> None:
        """Count the lines of a connection that is closed."""
        self.lines_of_closed += lines

    def note_duration(self, tally: Tally, seconds: float) -> None:
        """Note the duration of a command that took more than QUICK_S and that its tally has counted already."""
        tally.slower[bisect_left(BOUNDS_S, seconds)] += 1
        if seconds <= INFO_S:
            return
        milliseconds = round(seconds * 1000)
        if milliseconds > self._worst_ms:
            self._worst_ms = milliseconds
        if milliseconds and (milliseconds < self._best_ms or not self._best_ms):
            self._best_ms = milliseconds

    def note_error(self, reply: bytes) -> None:
        """Count a reply if it is an error or ends the connection; ignore other replies."""
        if (found := REFUSAL.match(reply)) is not None:
            self.errors[found[1].decode()] += 1

    def note_consolidation(self, seconds: float) -> None:
        """Count a consolidation that has ended and took `seconds`."""
        self.consolidations += 1
        self.consolidation_s += seconds

    def take_counts(self, lines: int) -> Counts:
        """Return the counts since the last call, and reset them.

        Args:
            lines: the number of lines on all connections since the last call.
        """
        found = Counts(
            {tally.verb: (tally.count, tally.seconds, tally.slower) for tally in self._tallies.values() if tally.count},
            list(self.slow),
            self.errors,
            self.received_bytes,
            self.sent_bytes,
            lines,
            self._best_ms,
            self._worst_ms,
        )
        for tally in self._tallies.values():
            tally.count, tally.seconds, tally.slower = 0, 0.0, [0] * len(tally.slower)
        self.slow.clear()
        self.errors = Counter()
        self.received_bytes = self.sent_bytes = self._best_ms = self._worst_ms = 0
        return found

    def add(self, counts: Counts) -> None:
        """Add the counts of another process."""
        for tally in self._tallies.values():
            count, seconds, slower = counts.tallies.get(tally.verb, (0, 0.0, ()))
            tally.count += count
            tally.seconds += seconds
            for place, more in enumerate(slower):
                tally.slower[place] += more
        self.slow.extend(counts.slow)
        self.errors.update(counts.errors)
        self.received_bytes += counts.received_bytes
        self.sent_bytes += counts.sent_bytes
        self.lines_of_closed += counts.lines
        self._worst_ms = max(self._worst_ms, counts.worst_ms)
        self._best_ms = min(filter(None, (self._best_ms, counts.best_ms)), default=0)

    def figures(
        self, *, connections: int, lines_of_open: int, open_collections: int, open_graphs: int, pending_graphs: int
    ) -> InfoFigures:
        """Return the figures of INFO at this moment.

        Args:
            connections: the number of open connections.
            lines_of_open: the number of lines on these connections.
            open_collections, open_graphs, pending_graphs: the figures that the statistics do not count; see
                `InfoFigures`.
        """
        return InfoFigures(
            uptime=int(time.monotonic() - self._started_s),
            clients_connected=connections,
            commands_total=self.lines_of_closed + lines_of_open,
            command_latency_best=self._best_ms,
            command_latency_worst=self._worst_ms,
            kv_open_count=open_collections,
            fst_open_count=open_graphs,
            fst_consolidate_count=pending_graphs,
        )
