"""Tests of the load generator against a peer that answers lines, and of the accounting of processes."""

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from itertools import repeat
from pathlib import Path

import pytest

from benchmarks import accounting
from benchmarks.client import Lane, connect, drive


def answer_lines(connection: socket.socket, reply: bytes) -> None:
    """Send a reply for each line, in two pieces."""
    with connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while data := connection.recv(1 << 16):
            for _ in range(data.count(b"\n")):
                connection.sendall(reply[:3])
                connection.sendall(reply[3:])


@pytest.fixture
def port() -> Iterator[int]:
    """The port of a peer that answers each line with two lines."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threads: list[threading.Thread] = []

        def accept() -> None:
            for _ in range(2):
                threads.append(threading.Thread(target=answer_lines, args=(listener.accept()[0], b"one\r\ntwo\r\n")))
                threads[-1].start()

        acceptor = threading.Thread(target=accept)
        acceptor.start()
        yield listener.getsockname()[1]
        acceptor.join()
        for thread in threads:
            thread.join()


def test_every_command_is_answered_and_timed(port: int) -> None:
    with connect("127.0.0.1", port) as first, connect("127.0.0.1", port) as second:
        alone = Lane(first, [b"x\n"] * 100, in_flight=16, reply_lines=2)
        seconds, cpu_s = drive([alone])
        assert len(alone.latencies_s) == 100
        assert b"".join(alone.received) == b"one\r\ntwo\r\n" * 100
        assert 0 < min(alone.latencies_s) <= max(alone.latencies_s) <= seconds
        assert 0 < cpu_s < seconds + 1

        lines = iter([b"x\n"] * 101)
        both = [Lane(connection, lines, reply_lines=2) for connection in (first, second)]
        drive(both)
        assert sum(len(lane.latencies_s) for lane in both) == 101

        waited_for = Lane(first, [b"x\n"] * 50, reply_lines=2)
        beside = Lane(second, repeat(b"x\n"), reply_lines=2, endless=True)
        drive([waited_for, beside])
        assert len(waited_for.latencies_s) == 50 and not beside.waits

        endless = Lane(second, repeat(b"x\n"), reply_lines=2)
        seconds, _ = drive([endless], 0.05)
        assert 0.05 <= seconds < 5 and not endless.waits


def test_a_peer_that_closes() -> None:
    here, there = socket.socketpair()
    with here:
        there.close()
        lane = Lane(here, [])
        with pytest.raises(ConnectionError):
            lane.turn()


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_process_and_its_children_are_accounted_for() -> None:
    code = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "held = b'x' * (30 << 20); print(); input()"], stdout=subprocess.PIPE)
child.stdout.readline()
subprocess.run([sys.executable, "-c", "sum(range(3_000_000))"])
print(flush=True)
child.wait()
"""
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert len(accounting.processes(process.pid)) == 2
        assert accounting.anonymous_bytes(process.pid) > accounting.rollup_bytes(process.pid) + (30 << 20)
        ended_s = accounting.ended_cpu_s(process.pid)
        assert 0.01 < ended_s < accounting.cpu_s(process.pid)
        process.communicate(b"\n")
    assert accounting.cpu_s(process.pid) == accounting.anonymous_bytes(process.pid) == 0


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_own_cpu_is_what_the_system_says() -> None:
    sum(range(300_000))
    measured = accounting.own_cpu_s(os.getpid())
    fields = accounting.stat_fields(os.getpid())
    assert measured == pytest.approx((int(fields[11]) + int(fields[12])) / accounting.TICKS_S, abs=0.1)


def test_holes_take_nothing_of_the_disk(tmp_path: Path) -> None:
    with open(tmp_path / "hole", "wb") as file:
        file.truncate(10 << 20)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "full").write_bytes(b"x" * 100_000)
    assert 100_000 <= accounting.allocated_bytes(tmp_path) < 1 << 20
