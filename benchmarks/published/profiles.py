"""The amounts of work of each row."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Profile:
    """The sizes of one run of all rows."""

    name: str
    rounds: int
    messages: int
    """S1: the number of texts pushed."""
    queries: int
    """The number of queries of each kind in S1, and of operations of a case of R1 to R6."""
    articles: int
    """S2: the number of articles pushed; L1: the number of articles on each of three servers."""
    questions: int
    """S3: the number of short questions that should be found again."""
    items: int
    """R1 to R6: the number of documents."""
    seconds: float
    """The seconds of a case of queries in S1 and S2, of a function in S4 (at most 0.2), and of one try of R over 50
    connections.
    """
    tries: int
    names: int
    """Y: the number of objects."""
    gate: int
    """Y: the number of objects that 8 connections push at the same time."""
    keys: int
    """K1: the number of keys."""
    phase_s: float
    """K2: the seconds of a phase."""
    requests: int
    """K4: the number of requests of a case."""
    agents: tuple[int, ...]
    """L2: the numbers of agents that run at the same time."""
    iterations: int
    """L2: the number of queries of each agent."""
    benches: int
    """S4: the number of files of benches."""
    steps: tuple[float, ...] = (0.01, 0.03, 0.1, 0.3, 1)
    """S1: the shares of the messages after which every operation is measured."""
    has_cluster: bool = True
    """Y4 and L: whether to measure a cluster of three nodes, too, if one can run here."""


TINY = Profile(
    "tiny", 1, 150, 30, 5, 20, 150, 0.03, 1, 150, 80, 300, 0.01, 100, (1,), 5, 1, (0.3, 1), has_cluster=False
)
SMALL = Profile(
    "small", 5, 20_000, 2_000, 300, 4_000, 20_000, 0.5, 3, 10_000, 2_000, 50_000, 1.0, 5_000, (1, 2, 4), 100, 5
)
FULL = Profile(
    "full", 5, 1_000_000, 20_000, 3_000, 20_000, 100_000, 2.0, 10, 100_000, 10_000, 1_000_000, 10.0, 100_000,
    (1, 2, 4, 6, 8, 10), 250, 5,
)  # fmt: skip
PROFILES = {profile.name: profile for profile in (TINY, SMALL, FULL)}
