"""Sizes and durations: `quick` takes at most three minutes, the bars apply to `full`, and tests run `tiny`."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Profile:
    """The sizes and durations of one call of the harness."""

    name: str
    messages: int
    """The number of texts in the index that queries run on."""
    rounds: int
    pushes: int
    """The number of PUSHes per mode, round and server."""
    read_s: float
    """The seconds per reading operation, mode, round and server."""
    rest_s: float
    """The pause in seconds after a run of PUSHes; the CPU time of the server in the pause counts for the PUSHes."""
    settle_s: float
    """The pause in seconds before memory and disk are measured, so that periodic work (once per second) is done."""
    idle_s: float
    """The pause in seconds after a restart, before the disk is measured once more."""
    beside_s: float
    """The seconds of queries while another connection pushes."""
    checked: int
    """The number of answers of each kind to check."""
    grown: tuple[int, int]
    """The two sizes of the index at which the cost of PUSH is compared, in texts."""
    window: int
    """The number of PUSHes over which that cost is measured."""
    churned: int
    """The number of objects that each churn pops and pushes again."""
    churns: int
    """The number of churns."""
    library: int
    """The number of texts for the libraries."""


TINY = Profile("tiny", 400, 1, 40, 0.01, 0.0, 0.1, 0.1, 0.1, 20, (200, 400), 100, 100, 2, 200)
QUICK = Profile("quick", 20_000, 3, 1_500, 0.4, 1.2, 2.0, 5.0, 1.5, 200, (5_000, 20_000), 5_000, 2_000, 4, 5_000)
FULL = Profile(
    "full", 330_000, 5, 5_000, 1.0, 1.2, 5.0, 60.0, 10.0, 500, (100_000, 1_000_000), 50_000, 100_000, 10, 100_000
)
PROFILES = {profile.name: profile for profile in (TINY, QUICK, FULL)}
