"""The results: rates by operation, mode and server, and single figures by name and server."""

from array import array
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from statistics import median


@dataclass(frozen=True, slots=True)
class Run:
    """One run of one server."""

    seconds: float
    cpu_s: float
    client_cpu_s: float
    latencies_s: "array[float]"


@dataclass(frozen=True, slots=True)
class Rate:
    """All runs of one operation in one mode by one server."""

    operations: int
    operations_s: float
    """The median of the rounds."""
    mean_us: float
    p50_us: float
    p95_us: float
    p99_us: float
    worst_us: float
    cpu_us: float
    """CPU time of the server per operation."""
    client_us: float
    """CPU time of the client per operation."""

    @classmethod
    def of(cls, runs: Sequence[Run]) -> "Rate":
        """Return the rate over runs, none of them empty."""
        latencies = sorted(latency for run in runs for latency in run.latencies_s)
        count = len(latencies)
        return cls(
            operations=count,
            operations_s=median(len(run.latencies_s) / run.seconds for run in runs),
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


@dataclass(slots=True)
class Results:
    """All results of one call of the harness."""

    rates: dict[tuple[str, str, str], Rate] = field(default_factory=dict)
    """By operation, mode and server."""
    figures: dict[tuple[str, str], float] = field(default_factory=dict)
    """By name and server."""

    def ratio(self, operation: str, mode: str, what: str, ours: str, theirs: str) -> float | None:
        """Return a field of one server's rate divided by the other's, or None if either was not measured."""
        first, second = (self.rates.get((operation, mode, server)) for server in (ours, theirs))
        if first is None or second is None or not getattr(second, what):
            return None
        value: float = getattr(first, what) / getattr(second, what)
        return value

    def as_json(self) -> dict[str, object]:
        """Return the results as JSON data."""
        return {
            "rates": [
                {"operation": operation, "mode": mode, "server": server, **asdict(rate)}
                for (operation, mode, server), rate in self.rates.items()
            ],
            "figures": [
                {"name": name, "server": server, "value": value} for (name, server), value in self.figures.items()
            ],
        }
