"""READY=1 and STOPPING=1 are sent to a socket in place of the service manager."""

import logging
import os
import socket
from pathlib import Path

import pytest

from sonicpy.server.process.notify import READY, notify
from tests.processes import Server
from tests.support.patience import WAIT_S


@pytest.fixture
def manager() -> socket.socket:
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    listening.settimeout(WAIT_S)
    return listening


def test_a_server_tells_when_it_is_ready_and_when_it_stops(
    tmp_path: Path, manager: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "notify.sock"
    with manager:
        manager.bind(str(path))
        monkeypatch.setenv("NOTIFY_SOCKET", str(path))
        with Server(tmp_path) as server:
            assert manager.recv(100) == b"READY=1"
            manager.setblocking(False)
            with pytest.raises(BlockingIOError):
                manager.recv(100)
            assert server.stop() == 0
            assert manager.recv(100) == b"STOPPING=1"
            assert server.log() == ""


@pytest.mark.skipif(not os.path.exists("/proc/net/unix"), reason="abstract names are Linux's own")
def test_an_abstract_name(manager: socket.socket, monkeypatch: pytest.MonkeyPatch) -> None:
    with manager:
        manager.bind(f"\0sonicpy-test-{os.getpid()}")
        monkeypatch.setenv("NOTIFY_SOCKET", f"@sonicpy-test-{os.getpid()}")
        notify(READY)
        assert manager.recv(100) == b"READY=1"


@pytest.mark.parametrize(("name", "lines"), [("", 0), ("/nowhere/notify.sock", 1), ("/" + "x" * 200, 1)])
def test_a_manager_that_is_not_there_is_no_error(
    name: str, lines: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("NOTIFY_SOCKET", name)
    with caplog.at_level(logging.WARNING):
        notify(READY)
    assert len(caplog.records) == lines


def test_nothing_is_told_unless_asked(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.delenv("NOTIFY_SOCKET", raising=False)
    notify(READY)
    assert caplog.records == []
