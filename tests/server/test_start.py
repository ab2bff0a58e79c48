"""Servers that start, or refuse to start with one sentence; and `sonicpy ping`."""

import asyncio
import errno
import logging
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import sonicpy
from sonicpy.config import Config
from sonicpy.errors import SonicError, StoreLocked
from sonicpy.index.index import Index
from sonicpy.server.connections import listeners
from sonicpy.server.connections.descriptors import Room
from sonicpy.server.connections.listeners import bind_tcp
from tests.processes import HOST, Server, free_port, refused_start, run_here, run_serve
from tests.server.peer import Peer
from tests.support.patience import WAIT_S


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """A server that is started as an operator starts it."""
    with Server(tmp_path, is_fresh=True) as running:
        yield running


def is_one_sentence(text: str) -> bool:
    return text.startswith("sonicpy: ") and text.count("\n") == 1 and text.endswith("\n")


@pytest.mark.full
def test_a_second_server_on_the_same_folder_ends(shared_server: Server) -> None:
    server = shared_server
    store = server.folder / "store"
    status, said = run_serve(["--inet", f"{HOST}:{free_port()}", "--data", str(store)], server.folder)
    assert (status, is_one_sentence(said)) == (1, True), said
    assert str(store) in said
    assert str(server.pid) in said, "it names the one that has the folder"
    assert f"connect to it at sonic://{HOST}:{server.port} (" in said
    with pytest.raises(StoreLocked, match=rf"connect to it at sonic://{HOST}:{server.port} .*read_only=True"):
        sonicpy.open(store)
    with Peer(server, "search") as peer:
        assert peer.ask("PING") == "PONG", "the first one goes on"


def test_a_port_in_use_ends_the_server(shared_server: Server, tmp_path: Path) -> None:
    server = shared_server
    status, said = refused_start(["--inet", f"{HOST}:{server.port}", "--data", str(tmp_path / "other")], tmp_path)
    assert (status, is_one_sentence(said)) == (1, True), said
    assert f"{HOST}:{server.port}" in said
    with Index(tmp_path / "other") as index:
        assert index.engine.count_scopes() == 0, "the folder is free again"


WRONG_SETTINGS: list[tuple[list[str], dict[str, object], str]] = [
    (["-c", "missing.cfg"], {}, "missing.cfg"),
    (["-c", "broken.cfg"], {}, "broken.cfg"),
    (["--inet", "localhost"], {}, "--inet"),
    ([], {"channel.tcp_timeout": "soon"}, "SONIC_CHANNEL__TCP_TIMEOUT"),
    ([], {"server.compat": "almost"}, "SONIC_SERVER__COMPAT"),
]


def test_wrong_settings_end_the_server_with_status_2(tmp_path: Path) -> None:
    (tmp_path / "broken.cfg").write_text("[server\n")
    for row, (arguments, settings, named) in enumerate(WRONG_SETTINGS):
        run = run_serve if row == 0 else refused_start
        status, said = run(["--data", str(tmp_path / "store"), *arguments], tmp_path, settings)
        assert (status, is_one_sentence(said)) == (2, True), said
        assert named in said
        assert not (tmp_path / "store").exists(), "nothing was touched"


def test_settings_of_the_analysis_may_not_change(server: Server) -> None:
    server.stop()
    arguments = ["--inet", f"{HOST}:{server.port}", "--data", str(server.folder / "store")]
    status, said = refused_start(arguments, server.folder, {"normalization.stemming_enabled": "true"})
    assert (status, is_one_sentence(said)) == (1, True), said
    assert "normalization.stemming_enabled" in said


def test_a_folder_that_cannot_be_written_ends_the_server(tmp_path: Path) -> None:
    (tmp_path / "store").write_text("a file stands in the way")
    status, said = refused_start(["--inet", f"{HOST}:{free_port()}", "--data", str(tmp_path / "store")], tmp_path)
    assert (status, is_one_sentence(said)) == (1, True), said
    assert str(tmp_path / "store") in said


def ping(*arguments: str) -> tuple[int, str]:
    status, out, said = run_here(["ping", *arguments], Path.cwd())
    return status, out + said


def test_ping_asks_a_running_server(tmp_path: Path) -> None:
    with Server(tmp_path, password="SecretPassword") as server:
        address = f"{HOST}:{server.port}"
        assert ping("--inet", address)[0] == 0
        assert ping("--inet", address, "--password", "SecretPassword")[0] == 0
        status, said = ping("--inet", address, "--password", "wrong")
        assert (status, is_one_sentence(said)) == (1, True), said
        server.stop()
        status, said = ping("--inet", address)
        assert (status, is_one_sentence(said)) == (1, True), said


def test_a_signal_stops_an_idle_server_and_it_can_be_started_at_once(tmp_path: Path) -> None:
    server = Server(tmp_path)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT):
        server.start()
        with Peer(server, "search") as peer, Peer(server) as not_started:  # their sides keep the port busy for a while
            assert server.stop(number) == 0
            assert peer.rest() == b""
            assert not_started.line().startswith("CONNECTED <")
            assert not_started.rest() == b""
        assert server.log() == ""


SLOW = """
import sys, time
from sonicpy.cli.main import main
from sonicpy.server import server

def opening(config, autocommit):
    print("opening", flush=True)
    end = time.monotonic() + 600
    while time.monotonic() < end:
        pass

server.Index = opening
sys.exit(main(["serve", "--inet", sys.argv[1], "--data", sys.argv[2]]))
"""


@pytest.mark.full
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_a_server_that_opens_its_index(tmp_path: Path, number: signal.Signals) -> None:
    command = [sys.executable, "-c", SLOW, f"{HOST}:{free_port()}", str(tmp_path / "store")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as opening:
        assert opening.stdout is not None
        assert opening.stdout.readline() == "opening\n"
        opening.send_signal(number)
        said, errors = opening.communicate(timeout=WAIT_S)
    assert (opening.returncode, said, errors) == (0, "", "")


@pytest.mark.full
@pytest.mark.parametrize("is_ignored", [False, True])
def test_a_closed_terminal_stops_it_in_order_unless_it_was_started_by_nohup(tmp_path: Path, is_ignored: bool) -> None:
    server = Server(tmp_path, is_fresh=True)
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN if is_ignored else signal.SIG_DFL)  # the server inherits it
    try:
        server.start()
    finally:
        signal.signal(signal.SIGHUP, before)
    if is_ignored:
        os.kill(server.pid, signal.SIGHUP)
        with Peer(server, "search") as peer:
            assert peer.ask("PING") == "PONG"
    assert server.stop(signal.SIGTERM if is_ignored else signal.SIGHUP) == 0
    assert server.log() == ""


class TestWithoutIpv6:
    """A machine without IPv6 is served on 127.0.0.1, even in compat mode, whose default address is only ::1."""

    @pytest.mark.parametrize("code", [errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT])
    @pytest.mark.parametrize(("compat", "tried"), [("none", ["127.0.0.1", "::1"]), ("sonic", ["::1", "127.0.0.1"])])
    def test_the_default_address_gives_way(
        self,
        monkeypatch: pytest.MonkeyPatch,
        caplog: pytest.LogCaptureFixture,
        code: int,
        compat: str,
        tried: list[str],
    ) -> None:
        with caplog.at_level(logging.WARNING):
            asked = self.listen(Config.model_validate({"server": {"compat": compat}}), monkeypatch, code)
        assert asked == tried
        assert ("listening on 127.0.0.1 instead of [::1]:1491" in caplog.text) == (compat == "sonic")

    def test_a_name_is_served_on_the_addresses_that_there_are(self, monkeypatch: pytest.MonkeyPatch) -> None:
        config = Config.model_validate({"channel": {"inet": "localhost:0"}})
        assert self.listen(config, monkeypatch, errno.EADDRNOTAVAIL) == ["127.0.0.1", "::1"]

    def test_an_address_that_was_asked_for_does_not(self, monkeypatch: pytest.MonkeyPatch) -> None:
        config = Config.model_validate({"channel": {"inet": "[::1]:1491"}})
        with pytest.raises(SonicError, match=r"cannot listen on \[::1\]:1491"):
            self.listen(config, monkeypatch, errno.EADDRNOTAVAIL)

    def test_nor_does_a_port_in_use(self, monkeypatch: pytest.MonkeyPatch) -> None:
        with pytest.raises(SonicError, match="cannot listen on"):
            self.listen(Config(), monkeypatch, errno.EADDRINUSE)

    def listen(self, config: Config, monkeypatch: pytest.MonkeyPatch, code: int) -> list[str]:
        """Make a server listen when ::1 cannot be bound; return the addresses that it tried."""
        tried: list[str] = []

        def bind(host: str, port: int, *, takes_ipv4: bool = False) -> socket.socket:
            tried.append(host)
            if host == "::1":
                raise OSError(code, os.strerror(code))
            return bind_tcp(host, 0)

        async def listen() -> None:
            opened = listeners.Listeners(config.channel, None, Room())
            await opened.start(asyncio.Protocol)
            await opened.close()

        monkeypatch.setattr(listeners, "bind_tcp", bind)
        asyncio.run(listen())
        return tried


def test_ipv6_where_there_is_one(tmp_path: Path) -> None:
    try:
        server = Server(tmp_path, host="::1")
    except OSError:
        pytest.skip("this machine has no IPv6")
    with server, Peer(server, "search") as peer:
        assert peer.ask("PING") == "PONG"
