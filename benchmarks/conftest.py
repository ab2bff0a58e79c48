"""Fixtures of the benchmarks: texts (few of them if nothing is timed) and functions that time a stage."""

import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from benchmarks.stages import Stage, Work, do
from tests.support.texts import messages

TEXTS, TEXTS_UNTIMED = 5_000, 300
ROUNDS = 10

Timed = Callable[[Stage], list[object]]


@pytest.fixture(scope="session")
def texts(request: pytest.FixtureRequest) -> list[str]:
    """Chat messages."""
    return messages(TEXTS_UNTIMED if request.config.option.benchmark_disable else TEXTS)


@pytest.fixture
def timed(benchmark: BenchmarkFixture, texts: list[str], tmp_path: Path) -> Timed:
    """Time a stage that changes nothing, with one operation per text in each round; return the results of the last
    round.
    """

    def time(stage: Stage) -> list[object]:
        work = stage(texts, tmp_path)
        benchmark.extra_info["operations"] = len(texts)
        return list(benchmark(do, work, range(len(texts))))

    return time


@pytest.fixture
def timed_afresh(benchmark: BenchmarkFixture, texts: list[str], tmp_path: Path) -> Timed:
    """Time a stage that changes its index, with an empty folder at the start of each round."""

    def prepared(stage: Stage) -> tuple[tuple[Work, range], dict[str, object]]:
        return (stage(texts, Path(tempfile.mkdtemp(dir=tmp_path))), range(len(texts))), {}

    def time(stage: Stage) -> list[object]:
        benchmark.extra_info["operations"] = len(texts)
        rounds = 1 if benchmark.disabled else ROUNDS
        return list(benchmark.pedantic(do, setup=lambda: prepared(stage), rounds=rounds))

    return time
