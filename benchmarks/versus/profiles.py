"""How much is measured: `quick` ends within three minutes, `full` is what the bars are for, `tiny` is for tests."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Profile:
    """The sizes of one call of the harness."""

    name: str
    messages: int
    """Texts in the index that is asked."""
    rounds: int
    pushes: int
    """PUSHes of one mode in one round, to one server."""
    read_s: float
    """Seconds of one reading operation in one mode in one round, of one server."""
    rest_s: float
    """Wait after a run of PUSHes; what the server does then counts as their CPU."""
    settle_s: float
    """Wait before memory and disk are looked at, so that what runs once a second has run."""
    beside_s: float
    """Seconds of queries beside pushes."""
    checked: int
    """Answers of each kind that are judged."""
    grown: tuple[int, int]
    """Texts at which the cost of PUSH is compared."""
    window: int
    """PUSHes over which it is taken."""
    churned: int
    """Objects that are popped and pushed again."""
    churns: int
    library: int
    """Texts for the libraries."""


TINY = Profile("tiny", 400, 1, 40, 0.01, 0.0, 0.1, 0.1, 20, (200, 400), 100, 100, 2, 200)
QUICK = Profile("quick", 20_000, 3, 1_500, 0.4, 1.2, 2.0, 1.5, 200, (5_000, 20_000), 5_000, 2_000, 4, 5_000)
FULL = Profile("full", 330_000, 5, 5_000, 1.0, 1.2, 5.0, 10.0, 500, (100_000, 1_000_000), 50_000, 100_000, 10, 100_000)
PROFILES = {profile.name: profile for profile in (TINY, QUICK, FULL)}
