"""Fixtures and settings of all tests."""

import gc
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from sonicpy.store.views.write_cache import WriteCache
from tests.processes import WORKER, Server
from tests.support.examples import FULL_SET
from tests.support.forked import end_template
from tests.support.leftovers import left_behind, mark_run
from tests.support.patience import SLOWNESS, until
from tests.support.skips import lines_of

# Hundreds of tests start servers, which start a quarter faster if they find bytecode.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# pydantic would look for plugins in every installed package, at each start of a server.
os.environ["PYDANTIC_DISABLE_PLUGINS"] = "__all__"

# Some tests change the working folder, in which a process would take `PYTHONPATH=.` for another folder.
if paths := os.environ.get("PYTHONPATH"):
    os.environ["PYTHONPATH"] = os.pathsep.join(os.path.abspath(path) for path in paths.split(os.pathsep))

# Both compare times of the clock, which on a busy machine say nothing about the test.
settings.register_profile(
    "full set", deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=FULL_SET
)
settings.register_profile("gate", settings.get_profile("full set"), max_examples=FULL_SET // 4)

HERE = Path(__file__).parent
NOBODY = 65_534

ENDS_S = 30.0
"""The longest wait in seconds for the end of the last killed processes and their children."""
LEFT_BEHIND = pytest.StashKey[list[str]]()

LONG_FIRST = (
    "transcripts", "shared_suite", "benchmarks", "power", "cluster", "server", "evaluation", "store", "docs", "client",
    "attacks", "native", "test_options_everywhere.py",
)  # fmt: skip
"""The folders and files with long tests, and with tests that wait for clocks. They start first; otherwise one worker
would run them alone at the end.
"""


def pytest_configure(config: pytest.Config) -> None:
    """Set the number of examples of property tests, before they are imported."""
    if not hasattr(config, "workerinput"):
        mark_run()
    settings.load_profile("gate" if config.option.markexpr == "not full" else "full set")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put long tests first, and give tests on a slow machine more time before they count as hanging."""
    places = {name: place for place, name in enumerate(LONG_FIRST)}
    files = {item.path for item in items}
    place_of = {path: places.get(Path(os.path.relpath(path, HERE)).parts[0], len(places)) for path in files}
    items.sort(key=lambda item: place_of[item.path])
    if config.getoption("timeout", None) is None:
        for item in items:
            marker = item.get_closest_marker("timeout")
            limit_s = float(marker.args[0] if marker else config.getini("timeout"))
            item.add_marker(pytest.mark.timeout(limit_s * SLOWNESS), append=False)


@pytest.fixture(autouse=True, scope="session")
def own_ports_of_clusters() -> None:
    """Give the clusters of each test process ports of their own: a killed node finds its port free again."""
    dev = sys.modules.get("sonicpy.cluster.operator.dev")  # imported by the tests of clusters, which are collected
    if dev is not None:
        count = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
        dev.PORTS = dev.PORTS[WORKER % count :: count]


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail a run that leaves processes behind, after a wait for those that are just ending."""
    end_template()
    if not hasattr(session.config, "workerinput"):
        try:
            until(lambda: not left_behind(), pause_s=0.1, most_s=ENDS_S)
        except AssertionError:
            session.config.stash[LEFT_BEHIND] = left_behind()
            session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the number of skipped tests by reason, before the list of failed ones; `pytest -rs` names each."""
    if not terminalreporter.hasopt("skipped"):
        for line in lines_of(report.longrepr[2] for report in terminalreporter.getreports("skipped")):
            terminalreporter.write_line(line)
    for line in terminalreporter.config.stash.get(LEFT_BEHIND, []):
        terminalreporter.write_line(f"ERROR a process was left behind: {line}")


def pytest_collection_finish() -> None:
    """Exclude the thousands of collected tests, which live until the end, from garbage collections."""
    gc.collect()
    gc.freeze()


def pytest_unconfigure() -> None:
    """End the process that forks servers."""
    end_template()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """A server for only this test, with default settings."""
    with Server(tmp_path) as running:
        yield running


@pytest.fixture(scope="module")
def shared_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One server for all tests of a file; each test uses its own collections."""
    with Server(tmp_path_factory.mktemp("shared")) as running:
        yield running


@pytest.fixture(scope="module")
def locked_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Like shared_server, but with a password."""
    with Server(tmp_path_factory.mktemp("locked"), password="SecretPassword") as running:
        yield running


@pytest.fixture
def in_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make new buckets begin in the tables, with pending words and graphs, as large ones have them."""
    monkeypatch.setattr(WriteCache, "begins_small", False)


@pytest.fixture
def hidden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder in the working directory that this process cannot read, even if root runs the tests."""
    folder = Path("hidden")
    monkeypatch.chdir(tmp_path)
    tmp_path.chmod(0o755)
    folder.mkdir(mode=0o000)
    user = os.geteuid()
    if user == 0:
        os.seteuid(NOBODY)
    yield folder
    os.seteuid(user)
    folder.chmod(0o700)
