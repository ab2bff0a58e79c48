"""The results: rates by operation, mode and server, and single figures by name and server."""

from dataclasses import asdict, dataclass, field

from benchmarks.measure import Rate


@dataclass(slots=True)
class Results:
    """All results of one call of the harness."""

    rates: dict[tuple[str, str, str], Rate] = field(default_factory=dict)
    """(operation, mode, server) -> rate."""
    figures: dict[tuple[str, str], float] = field(default_factory=dict)
    """(name, server) -> figure, for all other figures."""

    def ratio(self, operation: str, mode: str, what: str, ours: str, theirs: str) -> float | None:
        """Return the field `what` of the rate of the server `ours`, divided by that of `theirs`, for an operation in a
        mode; None if either was not measured, or the second is 0."""
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
