"""`sonicpy cluster` and `serve --cluster`: loaded only when asked for, and clear about what is missing or wrong."""

import subprocess
import sys
from pathlib import Path

import pytest

from sonicpy.cli.cluster_room import load_cluster
from sonicpy.errors import ConfigError
from tests.processes import run_here

ROOMS = """\
import sys
import sonicpy.cli.serve
loaded = sorted(name for name in sys.modules if name.startswith(("nats", "sonicpy.cluster")))
assert not loaded, loaded
"""


def test_a_server_loads_nothing_of_a_cluster() -> None:
    subprocess.run([sys.executable, "-c", ROOMS], check=True, timeout=30)


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("sonicpy.cluster")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "nats", None)
    with pytest.raises(ConfigError, match=r"pip install 'sonicpy-search\[cluster\]'"):
        load_cluster("jetstream")


WRONG = [
    (["serve", "--node", "n1"], "allowed with them is --cluster"),
    (["serve", "--consistency", "strong"], "allowed with them is --cluster"),
    (["serve", "--cluster", "nats://127.0.0.1:1"], "--node is missing"),
    (["cluster", "dev", "--partitions", "0"], "allowed is 1 to 1024"),
    (["cluster", "dev", "--copies", "8"], "allowed is 1 to 7"),
]


@pytest.mark.parametrize(("arguments", "said"), WRONG)
def test_wrong_arguments(arguments: list[str], said: str, tmp_path: Path) -> None:
    status, _, error = run_here(arguments, tmp_path)
    assert status == 2
    assert said in error


INIT = ["cluster", "init", "--cluster", "nats://127.0.0.1:1", "--monitor"]
WRONG_INIT = [
    (["http://127.0.0.1:1", "--nodes", "n1,n2,n 3"], "allowed are 1 to 64 letters"),
    (["http://127.0.0.1:1", "--nodes", "n1,n2"], "allowed are at least 3"),
    (["http://127.0.0.1:1", "--nodes", "n1,n2,n2"], "allowed are at least 3"),
    (["127.0.0.1:1", "--nodes", "n1,n2,n3"], "allowed are addresses such as http://"),
    (["http://127.0.0.1:1", "--nodes", "n1,n2,n3"], "does not answer"),
]


@pytest.mark.parametrize(("arguments", "said"), WRONG_INIT)
def test_wrong_arguments_of_init(arguments: list[str], said: str, tmp_path: Path) -> None:
    pytest.importorskip("nats", reason="needs nats-py: pip install nats-py")
    status, _, error = run_here([*INIT, *arguments], tmp_path)
    assert status == 2
    assert said in error
