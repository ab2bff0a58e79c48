"""Tests of the pytest plugin in a user's project: its fixtures, objects that tests share, and its cost if no test uses
it.
"""

import re
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from sonicpy import NotOffered
from sonicpy.pytest_plugin import SonicpyServer

pytest_plugins = ["pytester"]

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
PLUGIN = "sonicpy.pytest_plugin"

FRESH = """
import os
import pytest
import sonicpy

served = []

@pytest.mark.parametrize("number", range(3))
def test_every_test_finds_an_empty_server(sonicpy_server, number):
    with sonicpy_server.connect() as client:
        assert client.stats()["collections"] == 0
        for name in ("c", "d.e"):
            client.push(name, "b", f"o{number}", "hello from nantes")
        assert client.query("c", "b", "nantes") == [f"o{number}"]
        for name in ("c", "without_a_bucket"):
            assert client.synonyms(name) == []
            client.set_synonyms(name, [f"nantes, town{number}"])
    served.append(sonicpy_server.port)
    assert len(set(served)) == 1

def test_it_says_where_it_is(sonicpy_server):
    url = f"sonic://:{sonicpy_server.password}@{sonicpy_server.host}:{sonicpy_server.port}"
    assert sonicpy_server.url == url
    with sonicpy.connect(url) as client:
        assert client.ping() < 5
    with pytest.raises(sonicpy.WrongPassword):
        sonicpy.connect(url, password="other")

def test_a_server_that_a_test_has_ended(sonicpy_server):
    sonicpy_server.stop()

def test_is_started_again(sonicpy_server):
    with sonicpy_server.connect(timeout_s=5) as client:
        assert client.count("c") == 0

@pytest.mark.parametrize("number", range(2))
def test_every_index_is_empty(sonicpy_index, number):
    assert sonicpy_index.stats()["collections"] == 0
    sonicpy_index.push("c", "b", "o", "hello")
    assert sonicpy_index.query("c", "b", "hello") == ["o"]
    assert sonicpy_index.config.search.query_limit_default == 7
"""


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A project that loads the plugin by its entry point, or by its name if the package is not installed."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("SONIC_SEARCH__RANKING", "nonsense")  # settings of the machine must not apply
    if not entry_points(group="pytest11", name="sonicpy"):
        pytester.plugins = [PLUGIN]
    return pytester


@pytest.mark.full
def test_fixtures(project: pytest.Pytester) -> None:
    (example,) = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    project.makepyfile(FRESH, test_of_the_page=example)
    project.makefile(".cfg", sonicpy="search.query_limit_default = 7")
    project.makeini("[pytest]\nsonicpy_settings = sonicpy.cfg")
    result = project.runpytest_subprocess("-q", "-p", "no:cacheprovider", "-p", "no:asyncio", "-W", "error")
    result.assert_outcomes(passed=10)


@pytest.mark.full
def test_a_server_like_sonic_is_emptied_too(tmp_path: Path) -> None:
    (tmp_path / "sonicpy.cfg").write_text('server.compat = "sonic"')
    server = SonicpyServer(tmp_path, tmp_path / "sonicpy.cfg")
    server.start()
    try:
        with server.connect() as client:
            with pytest.raises(NotOffered):
                client.stats()
            client.push("c", "b", "o", "hello")
        server.clear()
        with server.connect() as client:
            assert client.query("c", "b", "hello") == []
    finally:
        server.stop()


def test_a_server_that_cannot_start_says_why(tmp_path: Path) -> None:
    settings = tmp_path / "sonicpy.cfg"
    settings.write_text('search.ranking = "loud"')
    with pytest.raises(RuntimeError, match=r'did not start:\n.*search.ranking is "loud"'):
        SonicpyServer(tmp_path, settings).start()


def test_a_project_that_does_not_use_it_loads_next_to_nothing() -> None:
    code = f"import sys, pytest; before = set(sys.modules); import {PLUGIN}; print(*set(sys.modules) - before)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    loaded = set(done.stdout.split())
    assert {name for name in loaded if name.startswith("sonicpy.")} <= {
        "sonicpy.checkout", "sonicpy.errors", "sonicpy.interpreter", "sonicpy.pytest_plugin", "sonicpy.version",
    }  # fmt: skip
    assert not loaded & {"pydantic", "lmdb", "asyncio", "ssl", "numpy"}
