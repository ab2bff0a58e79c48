"""Tests of `sonicpy cluster` and `serve --cluster`: loaded only on demand, and with clear errors."""

import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from sonicpy.cli.brokers import CLUSTER_VARIABLE
from sonicpy.cli.cluster_room import load_cluster
from sonicpy.cli.main import main
from sonicpy.config import Loaded
from sonicpy.errors import ConfigError
from tests.processes import environment, run_here
from tests.support.patience import WAIT_S

ROOMS = """\
import sys
import sonicpy.cli.serve
loaded = sorted(name for name in sys.modules if name.startswith(("nats", "sonicpy.cluster")))
assert not loaded, loaded
"""


def test_a_server_loads_nothing_of_a_cluster() -> None:
    subprocess.run([sys.executable, "-c", ROOMS], check=True, timeout=WAIT_S)


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("sonicpy.cluster")]:
        monkeypatch.delitem(sys.modules, name)
    for name in {"nats", *(name for name in sys.modules if name.startswith("nats."))}:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ConfigError, match=r"pip install 'sonicpy-search\[cluster\]'"):
        load_cluster("log.jetstream")


def test_the_variable_alone_makes_no_node(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []

    def serve(loaded: Loaded, announce: object) -> int:
        made.append("server")
        return 0

    monkeypatch.setenv(CLUSTER_VARIABLE, "nats://127.0.0.1:1")
    monkeypatch.setattr("sonicpy.server.server.serve", serve)
    assert main(["serve"]) == 0
    assert made == ["server"]


SHOWN = "every user of this machine reads"


@pytest.mark.parametrize("verb", [["status"], ["drain", "n1"], ["rebalance"]])
def test_the_addresses_come_from_a_variable(verb: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("nats", reason="needs nats-py: pip install nats-py")
    status, _, error = run_here(["cluster", *verb], tmp_path)
    assert status == 2
    assert f"--cluster is missing, and so is the variable {CLUSTER_VARIABLE}" in error
    monkeypatch.setenv(CLUSTER_VARIABLE, "nats://u:secret@a:b")
    status, _, error = run_here(["cluster", *verb], tmp_path)
    assert status == 2
    assert "--cluster holds 'nats://***@a:b'" in error
    assert SHOWN not in error
    status, _, error = run_here(["cluster", *verb, "--cluster", "nats://u:secret@a:b"], tmp_path)
    assert error.count(SHOWN) == 1
    assert "secret" not in error


@pytest.mark.parametrize("is_shown", [True, False])
def test_a_node_says_once_that_its_arguments_show_a_password(
    is_shown: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("nats", reason="needs nats-py: pip install nats-py")
    monkeypatch.setenv(CLUSTER_VARIABLE, "nats://u:secret@a:b")
    arguments = ["serve", "--node", "n1", *(["--cluster", "nats://u:secret@a:b"] if is_shown else [])]
    status, _, error = run_here(arguments, tmp_path)
    assert status == 2
    assert error.count(SHOWN) == is_shown
    assert "--cluster holds 'nats://***@a:b'" in error
    assert "secret" not in error


ODD = [  # a list of addresses, and the message about it
    ("nats://u:se,cret@a", "nats://***@a"),
    ("nats://u:se/cret@a", "nats://***@a"),
    ("nats://u:secret@x@a:b", "nats://***@a:b"),
    ("nats://a,nats://u:secret@b:99999", "nats://a,nats://***@b:99999"),
    ("u:secret@[::1", "***@[::1"),
    ("nats://u:secret@", "nats://***@"),
    ("nats://u:\udcffsecret@a", "nats://***@a"),
]


@pytest.mark.parametrize(("addresses", "shown"), ODD)
def test_no_message_shows_an_odd_password(
    addresses: str, shown: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("nats", reason="needs nats-py: pip install nats-py")
    monkeypatch.setenv(CLUSTER_VARIABLE, addresses)
    status, _, error = run_here(["cluster", "status"], tmp_path)
    assert status == 2
    assert f"--cluster holds '{shown}'; allowed are" in error
    assert "cret" not in error


WRONG = [
    (["serve", "--node", "n1"], "allowed with them is --cluster"),
    (["serve", "--consistency", "strong"], "allowed with them is --cluster"),
    (["serve", "--cluster", "nats://127.0.0.1:1"], "--node is missing"),
    (["serve", "--cluster", "nats://127.0.0.1:1", "--node", "n 1"], "allowed are 1 to 64 letters"),
    (["serve", "--cluster", "nats://127.0.0.1:1", "--node", "=import"], "allowed are 1 to 64 letters"),
    (["cluster", "status", "--cluster", ""], "--cluster holds ''; allowed are addresses of NATS servers"),
    (["cluster", "status", "--cluster", "sonic://a,nats://b"], "--cluster holds 'sonic://a'; allowed are"),
    (["cluster", "status", "--cluster", "nats://u:secret@a, nats://b"], "--cluster holds ' nats://b'; allowed are"),
    (["cluster", "status", "--cluster", "http://u:secret@a"], "--cluster holds 'http://***@a'; allowed are"),
    (["cluster", "dev", "--partitions", "0"], "allowed is 1 to 1024"),
    (["cluster", "dev", "--copies", "8"], "allowed is 1 to 7"),
]


@pytest.mark.parametrize(("arguments", "said"), WRONG)
def test_wrong_arguments(arguments: list[str], said: str, tmp_path: Path) -> None:
    if len(arguments) > 3:
        pytest.importorskip("nats", reason="needs nats-py: pip install nats-py")
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


@pytest.mark.parametrize(
    "greeting",
    [
        b"INFO {}\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n7",
    ],
)
def test_a_port_where_no_broker_is_monitored(greeting: bytes, tmp_path: Path) -> None:
    pytest.importorskip("nats", reason="needs nats-py: pip install nats-py")
    with socket.create_server(("127.0.0.1", 0)) as listening:
        answering = threading.Thread(target=answer_once, args=(listening, greeting))
        answering.start()
        port = listening.getsockname()[1]
        status, _, error = run_here([*INIT, f"http://127.0.0.1:{port}", "--nodes", "n1,n2,n3"], tmp_path)
        answering.join()
    assert status == 2
    assert error.count("\n") == 1
    assert f"127.0.0.1:{port}" in error
    assert "where no broker is monitored" in error or "has no JetStream" in error


def answer_once(listening: socket.socket, greeting: bytes) -> None:
    connection, _ = listening.accept()
    with connection:
        connection.recv(1000)
        connection.sendall(greeting)


def test_refused_passwords_are_told_and_not_shown() -> None:
    pytest.importorskip("nats", reason="needs nats-py: pip install nats-py")
    with socket.create_server(("127.0.0.1", 0)) as listening:
        answering = threading.Thread(target=refuse_once, args=(listening,))
        answering.start()
        address = f"127.0.0.1:{listening.getsockname()[1]}"
        command = [sys.executable, "-m", "sonicpy", "cluster", "status", "--cluster", f"nats://u:secret@{address}"]
        done = subprocess.run(command, env=environment({}), capture_output=True, text=True, timeout=WAIT_S, check=False)
        answering.join()
    assert done.returncode == 2
    error = done.stderr
    assert f"--cluster is nats://***@{address}: the brokers refuse the user or the password" in error
    assert "secret" not in error


def refuse_once(listening: socket.socket) -> None:
    connection, _ = listening.accept()
    with connection:
        connection.sendall(b'INFO {"server_id":"a","version":"2.10.0","max_payload":1048576,"auth_required":true}\r\n')
        connection.recv(1000)
        connection.sendall(b"-ERR 'Authorization Violation'\r\n")
