"""Rates of every operation in every mode; servers take turns in rounds."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import repeat

from benchmarks.measure import Rate, Run, in_turns, load
from benchmarks.peers.servers import Server
from benchmarks.versus.checks import check_replies
from benchmarks.versus.profiles import Profile
from benchmarks.versus.workload import MODES, PING, PUSH, READS, SET, Commands, Mode, push_line, reply_lines, set_lines

Key = tuple[str, str, str]
"""(operation, mode, server)."""


def push_rates(servers: Sequence[Server], texts: Sequence[str], profile: Profile) -> dict[Key, Rate]:
    """Push the first `profile.rounds * len(MODES) * profile.pushes` texts to each server and return the rates.

    A run includes the work of a server after its OK, so that it does not disturb the next server.
    """

    def push(place: int, mode: Mode, server: Server, number: int) -> Run:
        start = (number * len(MODES) + place) * profile.pushes
        lines = [push_line(number, texts[number]) for number in range(start, start + profile.pushes)]
        return push_run(server, mode, lines, profile.rest_s)

    acts = {
        (PUSH, mode.name, server.name): partial(push, place, mode, server)
        for place, mode in enumerate(MODES)
        for server in servers
    }
    return rates(acts, profile.rounds)


def read_rates(servers: Sequence[Server], commands: Commands, rounds: int, seconds: float) -> dict[Key, Rate]:
    """Send every operation that only reads, for `seconds` each, and return the rates."""

    def read(operation: str, mode: Mode, server: Server, number: int) -> Run:
        return read_run(server, operation, mode, commands.lines(operation, number / rounds), seconds)

    acts = {
        (operation, mode.name, server.name): partial(read, operation, mode, server)
        for operation in (PING, *READS)
        for mode in MODES
        for server in servers
    }
    return rates(acts, rounds)


def floor_rates(server: Server, rounds: int, seconds: float) -> dict[Key, Rate]:
    """Return the rates of a server that only stores values in memory: the lower limit of a round trip."""
    lines = {PING: repeat(b"PING\n"), SET: set_lines()}

    def read(operation: str, mode: Mode, _: int) -> Run:
        return read_run(server, operation, mode, lines[operation], seconds)

    acts = {
        (operation, mode.name, server.name): partial(read, operation, mode) for mode in MODES for operation in lines
    }
    return rates(acts, rounds)


def rates(acts: Mapping[Key, Callable[[int], Run]], rounds: int) -> dict[Key, Rate]:
    """Return the rates of runs that take turns.

    Args:
        acts: a function for each rate, which is called with the number of the round and returns the measurement.
        rounds: the number of rounds.
    """
    return {key: Rate.of(runs) for key, runs in in_turns(acts, rounds).items()}


def push_run(server: Server, mode: Mode, lines: Sequence[bytes] | Iterator[bytes], rest_s: float = 0.0) -> Run:
    """Push lines over the connections of a mode, pause for `rest_s` seconds, then wait until the server is quiet;
    return the measurement. Raises WrongAnswers.
    """
    check = partial(check_replies, server, PUSH)
    return load(
        server,
        "ingest",
        lines,
        connections=mode.connections,
        in_flight=mode.in_flight,
        rest_s=rest_s,
        check=check,
    )


def read_run(server: Server, operation: str, mode: Mode, lines: Iterator[bytes], seconds: float) -> Run:
    """Send lines over the connections of a mode, in turn, for `seconds`; check the answers and return the measurement.
    Raises WrongAnswers.
    """
    return load(
        server,
        "search",
        lines,
        connections=mode.connections,
        in_flight=mode.in_flight,
        reply_lines=reply_lines(operation),
        seconds=seconds,
        check=partial(check_replies, server, operation),
    )
