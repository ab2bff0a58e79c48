"""The bars: the limits that the results of the harness must meet."""

from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.versus import scenes
from benchmarks.versus.results import Results
from benchmarks.versus.workload import EIGHT, MODES, ONE, PING, PUSH, QUERIES, SIXTEEN, SUGGEST

OURS = "sonicpy"
THEIRS = "sonic"
MET, MISSED, NOT_RUN = "met", "not met", "not run"


@dataclass(frozen=True, slots=True)
class Bar:
    """A limit for one value computed from the results."""

    name: str
    limit: float
    is_least: bool
    """Whether the limit is a lower one; otherwise the value may be at most the limit."""
    value: Callable[[Results], float | None]
    """Computes the value; None: it was not measured."""

    def verdict(self, results: Results) -> str:
        """Return MET, MISSED or NOT_RUN."""
        value = self.value(results)
        if value is None:
            return NOT_RUN
        return MET if (value >= self.limit if self.is_least else value <= self.limit) else MISSED

    def judged(self, results: Results) -> dict[str, object]:
        """Return the bar, its value and its verdict as JSON data."""
        return {
            "name": self.name,
            "limit": self.limit,
            "is_least": self.is_least,
            "value": self.value(results),
            "verdict": self.verdict(results),
        }


def speed(operation: str, mode: str, limit: float) -> Bar:
    """Return the bar of operations per second: those of sonicpy divided by those of Sonic.

    Args:
        limit: the least allowed quotient.
    """
    return Bar(
        f"{operation}, {mode}: ops/s against Sonic",
        limit,
        True,
        lambda results: results.ratio(operation, mode, "operations_s", OURS, THEIRS),
    )


def cpu(operation: str, limit: float) -> Bar:
    """Return the bar of CPU time per operation: that of sonicpy divided by that of Sonic, in the worst mode.

    Args:
        limit: the greatest allowed quotient.
    """

    def value(results: Results) -> float | None:
        shares = [results.ratio(operation, mode.name, "cpu_us", OURS, THEIRS) for mode in MODES]
        return max((share for share in shares if share is not None), default=None)

    return Bar(f"{operation}: CPU against Sonic, worst mode", limit, False, value)


def cpu_in(operation: str, mode: str, limit: float) -> Bar:
    """Return the bar of CPU time per operation in one mode: that of sonicpy divided by that of Sonic.

    Args:
        limit: the greatest allowed quotient.
    """
    return Bar(
        f"{operation}, {mode}: CPU against Sonic",
        limit,
        False,
        lambda results: results.ratio(operation, mode, "cpu_us", OURS, THEIRS),
    )


def figure(name: str, limit: float) -> Bar:
    """Return the bar of a figure of the sonicpy server, which may be at most `limit`."""
    return Bar(name, limit, False, lambda results: results.figures.get((name, OURS)))


def share(name: str, limit: float, first: tuple[str, str], second: tuple[str, str], *, is_least: bool = False) -> Bar:
    """Return the bar of one figure divided by another, each given by its name and server; `is_least` as in `Bar`."""

    def value(results: Results) -> float | None:
        over, under = results.figures.get(first), results.figures.get(second)
        return over / under if over is not None and under else None

    return Bar(name, limit, is_least, value)


def suggest_against_ping(results: Results) -> float | None:
    suggest, ping = (results.rates.get((operation, ONE.name, OURS)) for operation in (SUGGEST, PING))
    return suggest.operations_s / ping.operations_s if suggest and ping else None


def slowest_query_p99_ms(results: Results) -> float | None:
    rates = [results.rates.get((operation, ONE.name, OURS)) for operation in QUERIES]
    return max((rate.p99_us / 1e3 for rate in rates if rate), default=None)


BARS = (
    speed(PUSH, ONE.name, 1.4),
    speed(PUSH, EIGHT.name, 1.5),
    speed(PUSH, SIXTEEN.name, 3.0),
    *(
        speed(operation, mode.name, limit)
        for operation in QUERIES
        for mode, limit in ((ONE, 5.0), (EIGHT, 5.0), (SIXTEEN, 8.0))
    ),
    Bar("SUGGEST, 1 connection: ops/s against our PING", 0.8, True, suggest_against_ping),
    speed(SUGGEST, EIGHT.name, 2.5),
    speed(SUGGEST, SIXTEEN.name, 8.0),
    *(cpu_in(PUSH, mode.name, limit) for mode, limit in ((ONE, 0.55), (EIGHT, 0.3), (SIXTEEN, 0.23))),
    *(cpu(operation, 1 / 8) for operation in QUERIES),
    cpu(SUGGEST, 1 / 4),
    Bar("QUERY, 1 connection: p99 of the slowest kind, ms", 1.0, False, slowest_query_p99_ms),
    figure(scenes.BESIDE_P99_MS, 3.0),
    figure(scenes.CONSOLIDATE_PING_MS, 20.0),
    figure(scenes.IDLE_MB, 45.0),
    figure(scenes.LOADED_MB, 80.0),
    share(
        "disk against Sonic, both consolidated, restarted and idle",
        0.8,
        (scenes.IDLE_DISK_MB, OURS),
        (scenes.IDLE_DISK_MB, THEIRS),
    ),
    share(
        "PUSH, 8 connections: durability commit against interval",
        1 / 3,
        (scenes.COMMIT_S, OURS),
        (scenes.INTERVAL_S, OURS),
        is_least=True,
    ),
    share("PUSH: CPU in a large index against a small one", 1.3, (scenes.LATE_US, OURS), (scenes.EARLY_US, OURS)),
    share(
        "tables on disk after all churns against half of them",
        1.02,
        (scenes.CHURNED_MB, OURS),
        (scenes.HALF_CHURNED_MB, OURS),
    ),
    figure(scenes.FIRST_ANSWER_S, 1.0),
)
