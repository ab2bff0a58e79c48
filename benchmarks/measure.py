"""Measurements: one run of a system, systems in turns, percentiles and CPU times of runs."""

import time
from array import array
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from statistics import median
from types import TracebackType
from typing import Any, Self, TypeVar

from benchmarks.client import Lane, drive
from benchmarks.peers.servers import Server

QUIET_S, QUIET_SHARE, QUIET_TRIES = 0.1, 0.1, 50
"""A server counts as quiet after QUIET_S seconds in which it used less than QUIET_SHARE of a core; QUIET_TRIES is the
most checks.
"""

Key = TypeVar("Key", bound=Hashable)
Found = TypeVar("Found")


@dataclass(frozen=True, slots=True)
class Run:
    """The measurements of a run of a system: its length and CPU times in seconds, and a latency for each operation."""

    seconds: float
    cpu_s: float
    client_cpu_s: float
    latencies_s: "array[float]"

    @property
    def per_s(self) -> float:
        """The number of operations per second."""
        return len(self.latencies_s) / self.seconds

    @property
    def cpu_us(self) -> float:
        """The CPU time of the system per operation in microseconds."""
        return self.cpu_s / len(self.latencies_s) * 1e6

    def percentile_s(self, percent: float) -> float:
        """Return a percentile of the latencies in seconds."""
        return percentile(sorted(self.latencies_s), percent)


@dataclass(frozen=True, slots=True)
class Rate:
    """All runs of one operation in one mode by one server."""

    operations: int
    operations_s: float
    """The median of the rounds, in operations per second."""
    mean_us: float
    p50_us: float
    p95_us: float
    p99_us: float
    worst_us: float
    cpu_us: float
    """The CPU time of the server per operation in microseconds."""
    client_us: float
    """The CPU time of the client per operation in microseconds."""

    @classmethod
    def of(cls, runs: Sequence[Run]) -> "Rate":
        """Return the rate over runs, none of them empty."""
        latencies = sorted(latency for run in runs for latency in run.latencies_s)
        count = len(latencies)
        return cls(
            operations=count,
            operations_s=median(run.per_s for run in runs),
            mean_us=sum(latencies) / count * 1e6,
            p50_us=percentile(latencies, 50) * 1e6,
            p95_us=percentile(latencies, 95) * 1e6,
            p99_us=percentile(latencies, 99) * 1e6,
            worst_us=latencies[-1] * 1e6,
            cpu_us=sum(run.cpu_s for run in runs) / count * 1e6,
            client_us=sum(run.client_cpu_s for run in runs) / count * 1e6,
        )


def percentile(rising: Sequence[float], percent: float) -> float:
    """Return the smallest value that at least `percent` % of the values do not exceed.

    Args:
        rising: the values, smallest first.
    """
    return rising[max(0, -int(-percent * len(rising) // 100) - 1)]


class Taken:
    """Measures the wall-clock and the CPU seconds of a `with` block.

    Args:
        clock: returns the CPU seconds used until now; by default those of this process.
    """

    def __init__(self, clock: Callable[[], float] = time.process_time) -> None:
        self.seconds = self.cpu_s = 0.0
        self._clock = clock

    def __enter__(self) -> Self:
        self._before_s, self._began = self._clock(), time.perf_counter()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.seconds, self.cpu_s = time.perf_counter() - self._began, self._clock() - self._before_s


def in_turns(acts: Mapping[Key, Callable[[int], Found]], rounds: int) -> dict[Key, list[Found]]:
    """Call each act with the number of each round, and return the results of each act. Acts take turns, so that busy
    moments of the machine affect all of them.
    """
    found: dict[Key, list[Found]] = {key: [] for key in acts}
    for number in range(rounds):
        for key, act in acts.items():
            found[key].append(act(number))
    return found


def share(operations: Sequence[Any], number: int, rounds: int) -> Sequence[Any]:
    """Return the share of the operations for round `number` of `rounds`."""
    return operations[number * len(operations) // rounds : (number + 1) * len(operations) // rounds]


def load(
    server: Server,
    mode: str,
    lines: Sequence[bytes] | Iterator[bytes],
    *,
    connections: int = 1,
    in_flight: int = 1,
    reply_lines: int = 1,
    seconds: float = float("inf"),
    rest_s: float = 0.0,
    check: Callable[[Lane], None] | None = None,
) -> Run:
    """Send lines over connections of a mode of the channel; return the measurement.

    Args:
        lines: a sequence is divided among the connections; the lines of an iterator go to the connections in turn.
        in_flight: the number of commands under way on each connection.
        reply_lines: the number of lines in each reply.
        seconds, rest_s, check: as in `run`.
    """
    with ExitStack() as stack:
        lanes = [
            Lane(
                stack.enter_context(server.connect(mode)),
                lines[number::connections] if isinstance(lines, Sequence) else lines,
                in_flight=in_flight,
                reply_lines=reply_lines,
            )
            for number in range(connections)
        ]
        return run(server, lanes, seconds, rest_s=rest_s, check=check)


def run(
    server: Server,
    lanes: Sequence[Lane],
    seconds: float = float("inf"),
    *,
    rest_s: float = 0.0,
    check: Callable[[Lane], None] | None = None,
) -> Run:
    """Drive lanes to a server until all are done; return the measurement.

    Args:
        seconds: the longest time in seconds.
        rest_s: the length in seconds of a pause after the lanes, before a wait for a quiet server; the CPU time of the
            server in both is included.
        check: raises an error if the replies that a lane received are wrong.
    """
    before_s = server.cpu_s()
    took_s, client_cpu_s = drive(lanes, seconds)
    if rest_s:
        time.sleep(rest_s)
        wait_until_quiet(server)
    cpu_s = server.cpu_s() - before_s
    latencies_s = array("d")
    for lane in lanes:
        if check is not None:
            check(lane)
        latencies_s.extend(lane.latencies_s)
    return Run(took_s, cpu_s, client_cpu_s, latencies_s)


def wait_until_quiet(server: Server) -> None:
    """Wait until a server is quiet, at most QUIET_TRIES times QUIET_S."""
    cpu_s = server.cpu_s()
    for _ in range(QUIET_TRIES):
        time.sleep(QUIET_S)
        before_s, cpu_s = cpu_s, server.cpu_s()
        if cpu_s - before_s < QUIET_S * QUIET_SHARE:
            return
