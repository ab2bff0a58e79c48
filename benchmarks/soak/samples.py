"""Samples of a server once a second: memory, descriptors, disk, latencies; plots, and a check for growth."""

import json
import os
import statistics
import threading
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.accounting import allocated_bytes, children, resident_bytes
from benchmarks.measure import percentile
from benchmarks.published.plots import Plot, svg
from benchmarks.soak.world import World

EVERY_S = 1.0
WORK = 100_000
POINTS_MAX = 120
"""The most points of a line in a plot; with more samples, each point is the median of several."""


@dataclass(frozen=True, slots=True)
class Sample:
    """The figures of one second, memory and descriptors without those of workers; None: the server did not run.

    Attributes:
        calm: whether the server is not killed any more.
        machine_ms: the time of a fixed amount of work outside the server, which shows other load on the machine.
    """

    second: float
    calm: bool
    memory_mb: float | None
    descriptors: int | None
    workers: int | None
    disk_mb: float
    read_ms: float | None
    read_p99_ms: float | None
    write_ms: float | None
    write_p99_ms: float | None
    requests: int
    machine_ms: float


class Sampler:
    """A thread inside a `with` block that takes samples and appends them to a file.

    Attributes:
        calm: whether the server is not killed any more.
    """

    def __init__(self, world: World, store: Path, file: Path) -> None:
        self.samples: list[Sample] = []
        self.calm = False
        self._world = world
        self._store = store
        self._file = file
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._began = time.monotonic()

    def __enter__(self) -> "Sampler":
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._stopped.set()
        self._thread.join()

    def _run(self) -> None:
        with open(self._file, "w", encoding="utf-8") as out:
            while not self._stopped.wait(EVERY_S):
                sample = self._take()
                self.samples.append(sample)
                print(json.dumps(asdict(sample)), file=out, flush=True)

    def _take(self) -> Sample:
        times: dict[str, list[float]] = {"read": [], "write": []}
        latencies = self._world.latencies
        while latencies:
            kind, seconds = latencies.popleft()
            times[kind].append(seconds * 1000)
        memory, descriptors, workers = process_figures(self._world.pid)
        return Sample(
            round(time.monotonic() - self._began, 1),
            self.calm,
            memory,
            descriptors,
            workers,
            allocated_bytes(self._store) / 1e6,
            quantile(times["read"], 50),
            quantile(times["read"], 99),
            quantile(times["write"], 50),
            quantile(times["write"], 99),
            sum(map(len, times.values())),
            machine_ms(),
        )


def machine_ms() -> float:
    """Return the time of a small fixed amount of work in milliseconds."""
    began = time.perf_counter()
    sum(range(WORK))
    return round((time.perf_counter() - began) * 1000, 3)


def process_figures(pid: int | None) -> tuple[float | None, int | None, int | None]:
    """Return MB of memory, open descriptors and child processes of a process; each is None if it has ended."""
    if pid is None:
        return None, None, None
    try:
        return resident_bytes(pid) / 1e6, len(os.listdir(f"/proc/{pid}/fd")), len(children(pid))
    except OSError:
        return None, None, None


def quantile(values: list[float], percent: float) -> float | None:
    """Return a percentile; None if there is no value."""
    return round(percentile(sorted(values), percent), 3) if values else None


@dataclass(frozen=True, slots=True)
class Bar:
    """A limit of the growth of a figure from the first to the last quarter of the calm part; their medians are
    compared.

    Attributes:
        is_time: whether the figure may also grow in proportion to `machine_ms`.
    """

    field: str
    times: float
    plus: float
    is_time: bool = False


BARS = (
    Bar("memory_mb", 1.1, 16),
    Bar("descriptors", 1.0, 10),
    Bar("disk_mb", 1.25, 24),
    Bar("read_ms", 2.0, 1, is_time=True),
    Bar("write_ms", 2.0, 1, is_time=True),
    Bar("read_p99_ms", 3.0, 20, is_time=True),
    Bar("write_p99_ms", 3.0, 20, is_time=True),
)


def judge(samples: Sequence[Sample], settle_s: float) -> list[tuple[str, float, float, float]]:
    """Return each figure at the beginning and at the end of the calm part, and its limit at the end.

    Args:
        settle_s: the time in seconds at the start of the calm part that does not count, because caches fill.
    """
    calm = [sample for sample in samples if sample.calm]
    calm = [sample for sample in calm if sample.second >= calm[0].second + settle_s]
    quarter = max(1, len(calm) // 4)
    begin, end = calm[:quarter], calm[-quarter:]
    slower = max(1.0, (median(end, "machine_ms") or 1.0) / (median(begin, "machine_ms") or 1.0))
    found = []
    for bar in BARS:
        first, last = median(begin, bar.field), median(end, bar.field)
        if first is not None and last is not None:
            most = first * bar.times * (slower if bar.is_time else 1.0) + bar.plus
            found.append((bar.field, first, last, most))
    return found


def median(samples: Sequence[Sample], field: str) -> float | None:
    """Return the median of a figure; None if it has no value."""
    known = [value for sample in samples if (value := getattr(sample, field)) is not None]
    return statistics.median(known) if known else None


def draw(samples: Sequence[Sample], folder: Path) -> list[Path]:
    """Draw the figures as SVG; return the files."""
    plots = {
        "memory": ("Memory and disk of the server", "MB", ("memory_mb", "disk_mb")),
        "descriptors": ("Open descriptors and workers", "number", ("descriptors", "workers")),
        "latency": (
            "Latency of reads and writes beside everything else",
            "milliseconds",
            ("read_ms", "read_p99_ms", "write_ms", "write_p99_ms", "machine_ms"),
        ),
    }
    files = []
    for name, (title, up, fields) in plots.items():
        lines = {field: line for field in fields if (line := points(samples, field))}
        if lines:
            path = folder / f"{name}.svg"
            path.write_text(svg(Plot(title, "seconds", up, lines)), encoding="utf-8")
            files.append(path)
    return files


def points(samples: Sequence[Sample], field: str) -> list[tuple[float, float]]:
    """Return a figure as a line of at most POINTS_MAX points."""
    known = [(sample.second, value) for sample in samples if (value := getattr(sample, field)) is not None]
    step = -(-len(known) // POINTS_MAX) or 1
    return [
        (some[0][0], statistics.median(value for _, value in some))
        for some in (known[at : at + step] for at in range(0, len(known), step))
    ]
