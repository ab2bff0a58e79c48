"""Rates: every operation in every mode, servers in turn and in rounds, so that a busy moment affects all servers."""

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from itertools import repeat

from benchmarks.client import Lane, drive
from benchmarks.measure import Rate, Run
from benchmarks.peers.servers import Server
from benchmarks.versus.checks import check_replies
from benchmarks.versus.profiles import Profile
from benchmarks.versus.workload import MODES, PING, PUSH, READS, SET, Commands, Mode, push_line, reply_lines, set_lines

Key = tuple[str, str, str]
"""An operation, a mode, a server."""
Runs = dict[Key, list[Run]]
QUIET_S, QUIET_SHARE, QUIET_TRIES = 0.1, 0.1, 50
"""A server is quiet if it used less than QUIET_SHARE of a core for QUIET_S; check at most QUIET_TRIES times."""


def push_rates(servers: Sequence[Server], texts: Sequence[str], profile: Profile) -> dict[Key, Rate]:
    """Push the first `rounds * modes * pushes` texts to each server and return the rates.

    The run includes the work that a server does after its OK, so that this work does not disturb the next server.
    """
    runs: Runs = {}
    start = 0
    for _ in range(profile.rounds):
        for mode in MODES:
            lines = [push_line(number, texts[number]) for number in range(start, start + profile.pushes)]
            for server in servers:
                note(runs, PUSH, mode, server, push_run(server, mode, lines, profile.rest_s))
            start += profile.pushes
    return rates(runs)


def read_rates(servers: Sequence[Server], commands: Commands, rounds: int, seconds: float) -> dict[Key, Rate]:
    """Send every operation that only reads, for `seconds` each, and return the rates."""
    runs: Runs = {}
    for number in range(rounds):
        for operation in (PING, *READS):
            for mode in MODES:
                for server in servers:
                    lines = commands.lines(operation, number / rounds)
                    note(runs, operation, mode, server, read_run(server, operation, mode, lines, seconds))
    return rates(runs)


def floor_rates(server: Server, rounds: int, seconds: float) -> dict[Key, Rate]:
    """Return the rates of a server that only stores values in memory: the lower limit of a round trip."""
    runs: Runs = {}
    for _ in range(rounds):
        for mode in MODES:
            for operation, lines in ((PING, repeat(b"PING\n")), (SET, set_lines())):
                note(runs, operation, mode, server, read_run(server, operation, mode, lines, seconds))
    return rates(runs)


def push_run(server: Server, mode: Mode, lines: Sequence[bytes], rest_s: float = 0.0) -> Run:
    """Push lines over the connections of a mode, divided among them; then wait until the server is quiet."""
    with ExitStack() as stack:
        connections = [stack.enter_context(server.connect("ingest")) for _ in range(mode.connections)]
        lanes = [
            Lane(connection, lines[number :: mode.connections], in_flight=mode.in_flight)
            for number, connection in enumerate(connections)
        ]
        return run(server, PUSH, lanes, rest_s=rest_s)


def read_run(server: Server, operation: str, mode: Mode, lines: Iterator[bytes], seconds: float) -> Run:
    """Send lines over the connections of a mode, which take them in turn, for `seconds`."""
    with ExitStack() as stack:
        connections = [stack.enter_context(server.connect("search")) for _ in range(mode.connections)]
        lanes = [
            Lane(connection, lines, in_flight=mode.in_flight, reply_lines=reply_lines(operation))
            for connection in connections
        ]
        return run(server, operation, lanes, seconds)


def run(
    server: Server, operation: str, lanes: Sequence[Lane], seconds: float = float("inf"), *, rest_s: float = 0.0
) -> Run:
    """Drive lanes of one operation; the CPU time of the server includes the pause after it.

    Raises:
        WrongAnswers: a reply is wrong.
    """
    before_s = server.cpu_s()
    took_s, client_cpu_s = drive(lanes, seconds)
    if rest_s:
        time.sleep(rest_s)
        wait_until_quiet(server)
    cpu_s = server.cpu_s() - before_s
    latencies_s = lanes[0].latencies_s
    for lane in lanes:
        check_replies(server, operation, lane)
        if lane is not lanes[0]:
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


def note(runs: Runs, operation: str, mode: Mode, server: Server, done: Run) -> None:
    runs.setdefault((operation, mode.name, server.name), []).append(done)


def rates(runs: Runs) -> dict[Key, Rate]:
    return {key: Rate.of(some) for key, some in runs.items()}
