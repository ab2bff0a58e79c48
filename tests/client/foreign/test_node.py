"""Tests with sonic-channel 1.3.1 from npm, the official client for Node, unchanged."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.client.foreign.both import Address
from tests.processes import Server
from tests.support.patience import WAIT_S

PACKAGE = "sonic-channel@1.3.1"
INSTALL_S = 60

Results = dict[str, Any]


@pytest.fixture(scope="session")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The client, installed into a temporary folder."""
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        pytest.skip("needs node and npm")
    folder = tmp_path_factory.mktemp("npm")
    command = [
        npm,
        "install",
        "--logs-max=0",
        "--no-audit",
        "--no-fund",
        "--ignore-scripts",
        "--prefix",
        str(folder),
        PACKAGE,
    ]
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=INSTALL_S, check=False)
    except subprocess.TimeoutExpired:
        pytest.skip(f"npm did not install {PACKAGE} within {INSTALL_S} s")
    if done.returncode != 0:
        pytest.skip(f"npm cannot install {PACKAGE}: {done.stderr.strip().splitlines()[-1:]}")
    return folder / "node_modules" / "sonic-channel"


def talk(package: Path, server: Server | Address) -> Results:
    """Return the results of the calls of node_client.js: ["ok", value] or ["error", reason] each."""
    script = Path(__file__).with_name("node_client.js")
    arguments = [str(package), server.host, str(server.port), server.password or ""]
    done = subprocess.run(
        ["node", str(script), *arguments], capture_output=True, text=True, timeout=WAIT_S, check=False
    )
    assert done.returncode == 0, done.stderr
    read: Results = json.loads(done.stdout)
    return read


@pytest.fixture(scope="module")
def results(package: Path, locked_server: Server) -> Results:
    return talk(package, locked_server)


def test_ingest(results: Results) -> None:
    ingest = results["ingest"]
    assert ingest.pop("pushed") == [["ok", None]] * 200
    assert ingest.pop("longWords")[1] >= 2, "a long text was cut and pushed in parts"
    assert ingest == {
        "ping": ["ok", None],
        "long": ["ok", None],
        "buckets": ["ok", 2],
        "words": ["ok", 5],
        "popped": ["ok", 1],
        "flusho": ["ok", 5],
        "flushb": ["ok", 1],
        "flushc": ["ok", 0],
        "badName": ["error", {"code": "invalid_argument", "message": "InvalidObject"}],
    }


def test_search(results: Results) -> None:
    assert results["search"] == {
        "each": ["ok", [[f"o{number}"] for number in range(50) if number != 8]],
        "page": ["ok", ["o3", "o2", "o1", "o0"]],
        "nothing": ["ok", []],
        "suggested": ["ok", ["gemeinsam"]],
        "nothingSuggested": ["ok", []],
        "listed": ["ok", ["c", "gemeinsam", "new"]],
        "tooMany": ["error", {"code": "policy_reject", "message": "LIMIT out of minimum/maximum bounds"}],
        "ping": ["ok", None],
    }


def test_control(results: Results) -> None:
    control = results["control"]
    assert control["consolidated"] == control["ping"] == ["ok", None]
    assert control["unknown"][0] == "error"
    kind, info = control["info"]
    assert kind == "ok"
    assert info["clients_connected"] == 1
    assert info["commands_total"] > 200
    assert info["fst_consolidate_count"] == 0


def test_a_wrong_password_is_refused(results: Results) -> None:
    assert results["wrongPassword"] is False
