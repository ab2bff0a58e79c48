"""TRIGGER backup and TRIGGER restore while the server serves other connections."""

import asyncio
import shutil
import socket
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

import pytest

from sonicpy.index.maintenance.verify import verify_folder
from sonicpy.store.care import backup
from sonicpy.store.care.backup import BACKUP_FILE
from tests.in_loop import serving_with
from tests.processes import Server
from tests.server import flood
from tests.server.fair import ping_s
from tests.server.peer import Peer
from tests.server.streams import SETTINGS, word_of
from tests.support.patience import WAIT_S, is_below
from tests.support.shared_data import shared_data

OBJECTS = 3_000
PUSHED_AT_ONCE = 50
PING_P99_S = 0.020


@dataclass
class Pusher:
    """A connection that pushes objects o0, o1, ... and counts the acknowledged ones."""

    acknowledged: int = 0
    stopped: threading.Event = field(default_factory=threading.Event)

    def run(self, server: Server, bucket: str) -> None:
        with Peer(server, "ingest") as peer:
            while not self.stopped.is_set():
                numbers = range(self.acknowledged, self.acknowledged + PUSHED_AT_ONCE)
                peer.send_lines(*(f'PUSH c {bucket} o{n} "each {word_of(n)}" LANG(none)' for n in numbers))
                assert set(peer.lines(len(numbers))) == {"OK"}
                self.acknowledged += PUSHED_AT_ONCE


@contextmanager
def pushing(server: Server, bucket: str) -> Iterator[Pusher]:
    pusher = Pusher()
    thread = threading.Thread(target=pusher.run, args=(server, bucket))
    thread.start()
    try:
        yield pusher
    finally:
        pusher.stopped.set()
        thread.join()


def objects_in(peer: Peer, bucket: str) -> int:
    return int(peer.ask(f"COUNTB c {bucket}").removeprefix("RESULT "))


def test_a_backup_under_writes_holds_everything_acknowledged_before(tmp_path: Path) -> None:
    with Server(tmp_path / "one", SETTINGS) as server, Peer(server, "control") as control:
        with pushing(server, "b") as pusher:
            for _ in range(3):
                while pusher.acknowledged < 200:
                    time.sleep(0.01)
                before = pusher.acknowledged
                assert control.ask("TRIGGER backup copy") == "OK"
                after = pusher.acknowledged
        assert (server.folder / "copy" / BACKUP_FILE).exists(), "a relative path counts from the working directory"
    assert verify_folder(tmp_path / "one" / "copy") == []
    with Server(tmp_path / "two", SETTINGS) as server, Peer(server, "control") as control:
        assert control.ask(f"TRIGGER restore {tmp_path / 'one' / 'copy'}") == "OK"
        with Peer(server, "ingest") as ingest, Peer(server, "search") as search:
            count = objects_in(ingest, "b")
            assert before <= count <= after + PUSHED_AT_ONCE
            for number in range(0, before, 97):
                assert search.results(f'QUERY c b "{word_of(number)}"') == [f"o{number}"]
            assert search.results(f'SUGGEST c b "{word_of(7)}"')[0] == word_of(7)
    assert verify_folder(tmp_path / "two" / "store") == []


@pytest.mark.full
def test_who_asks_during_a_restore_finds_the_old_or_the_new_collection(tmp_path: Path) -> None:
    with (
        Server(tmp_path, SETTINGS) as server,
        Peer(server, "ingest") as ingest,
        Peer(server, "search") as search,
        Peer(server, "control") as control,
    ):
        ingest.send_lines(*(f'PUSH c b o{n} "each {word_of(n)}" LANG(none)' for n in range(OBJECTS)))
        assert set(ingest.lines(OBJECTS)) == {"OK"}
        assert control.ask("TRIGGER backup copy") == "OK"
        assert ingest.ask("FLUSHC c") == "RESULT 1"
        assert ingest.ask('PUSH c b new "each newcomer" LANG(none)') == "OK"
        control.send(b"TRIGGER restore copy\n")
        seen = []
        while not seen or seen[-1] == 1:
            seen.append(objects_in(ingest, "b"))
            newcomer = search.results('QUERY c b "newcomer"')
        assert len(seen) > 3, "it was asked meanwhile"
        assert seen[-1] == OBJECTS
        assert newcomer == []
        assert control.line() == "OK"


def test_what_cannot_be_done_is_said_in_the_log(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with Server(tmp_path, SETTINGS) as server, Peer(server, "control") as control, Peer(server, "ingest") as ingest:
        assert ingest.ask('PUSH c b o "word" LANG(none)') == "OK"
        assert control.ask("TRIGGER backup file") == "ERR internal_error"
        for action in ("backup", "restore"):
            assert control.ask(f"TRIGGER {action} a\0b") == "ERR internal_error", "no folder has such a name"
        assert control.ask("TRIGGER restore nowhere") == "ERR internal_error"
        assert control.ask("TRIGGER backup copy") == "OK"
        (tmp_path / "copy" / BACKUP_FILE).write_bytes(b"x" * 5000)
        assert control.ask("TRIGGER restore copy") == "ERR internal_error"
        assert objects_in(ingest, "b") == 1
        log = server.log()
        assert f"cannot write the backup file/{BACKUP_FILE}: " in log
        assert f"there is no backup in nowhere: {BACKUP_FILE} is missing" in log
        assert f"copy/{BACKUP_FILE} is not a whole backup" in log
        assert "Traceback" not in log


def test_stopped_in_the_middle_of_a_restore(tmp_path: Path) -> None:
    with Server(tmp_path, SETTINGS) as server, Peer(server, "ingest") as ingest, Peer(server, "control") as control:
        ingest.send_lines(*(f'PUSH c b o{n} "each {word_of(n)}" LANG(none)' for n in range(OBJECTS)))
        ingest.lines(OBJECTS)
        assert control.ask("TRIGGER backup copy") == "OK"
        assert ingest.ask('PUSH c b new "newcomer" LANG(none)') == "OK"
        control.send(b"TRIGGER restore copy\n")
        objects_in(ingest, "b")
        assert server.stop() == 0
        assert "Traceback" not in server.log()
    with Server(tmp_path, SETTINGS) as server, Peer(server, "search") as search:
        assert search.results('QUERY c b "newcomer"') in (["new"], [])
    assert verify_folder(tmp_path / "store") == []


def test_killed_in_the_middle_of_a_backup(tmp_path: Path) -> None:
    with Server(tmp_path, SETTINGS) as server, Peer(server, "control") as control:
        with Peer(server, "ingest") as ingest:
            ingest.send_lines(*(f'PUSH c b o{n} "each {word_of(n)}" LANG(none)' for n in range(OBJECTS)))
            ingest.lines(OBJECTS)
        assert control.ask("TRIGGER backup copy") == "OK"
        control.send(b"TRIGGER backup copy\n")
        server.kill()
    assert verify_folder(tmp_path / "copy") == []
    with Server(tmp_path, SETTINGS) as server, Peer(server, "control") as control:
        assert control.ask("TRIGGER backup copy") == "OK"
    assert [path.name for path in (tmp_path / "copy").iterdir()] == [BACKUP_FILE]


@pytest.mark.full
@pytest.mark.timeout(600)
def test_all_messages_backed_up_under_full_load(tmp_path: Path) -> None:
    """With 330,000 messages, PING is answered within 20 ms (99 of 100) while a backup is written and another client
    floods.
    """
    messages = shared_data("messages/messages.tsv")
    with Server(tmp_path, {"search.query_alternates_try": 0}) as server, Peer(server, "control") as control:
        pushed = push_messages(server, messages)
        with flooded(server):
            control.send(b"TRIGGER backup copy\n")
            pings = []
            with Peer(server, "search") as peer:
                control.socket.settimeout(0.0)
                while not pings or not is_answered(control):
                    pings.append(ping_s(server, peer))
                    time.sleep(0.001)
                control.socket.settimeout(WAIT_S)
            assert control.line() == "OK"
        p99 = statistics.quantiles(pings, n=100, method="inclusive")[98]  # the other method guesses beyond the worst
        print(f"{len(pings)} PINGs during the backup: p99 {p99 * 1000:.1f} ms, worst {max(pings) * 1000:.1f} ms")
        assert control.ask("TRIGGER backup again") == "OK"
    shutil.rmtree(tmp_path / "store")
    with Server(tmp_path, SETTINGS) as server, Peer(server, "control") as control, Peer(server, "ingest") as ingest:
        control.socket.settimeout(300.0)
        assert control.ask("TRIGGER restore copy") == "OK"
        assert ingest.ask("COUNTB messages default") == f"RESULT {pushed}"
    assert verify_folder(tmp_path / "copy") == []
    assert verify_folder(tmp_path / "store") == []
    assert is_below(p99, PING_P99_S)


@contextmanager
def flooded(server: Server) -> Iterator[None]:
    """Push from another process as fast as the server reads, inside a `with` block."""
    with subprocess.Popen(
        [sys.executable, flood.__file__, server.host, str(server.port), "push"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    ) as process:  # fmt: skip
        assert process.stdin and process.stdout
        assert process.stdout.readline() == b"flooding\n"
        yield
        process.stdin.close()


def is_answered(peer: Peer) -> bool:
    try:
        return bool(peer.socket.recv(1, socket.MSG_PEEK))
    except BlockingIOError:
        return False


def push_messages(server: Server, path: Path) -> int:
    """Push every message; return the number of messages."""
    number = 0
    with Peer(server, "ingest") as ingest, path.open(encoding="utf-8") as lines:
        while some := list(islice(lines, 500)):
            texts = [line.rstrip("\n").split("\t")[2].replace('"', '\\"') for line in some]
            ingest.send_lines(*(f'PUSH messages default m{number + n} "{text}"' for n, text in enumerate(texts)))
            ingest.lines(len(some))
            number += len(some)
        return int(ingest.ask("COUNTB messages default").removeprefix("RESULT "))


def test_a_restore_reads_the_whole_backup_in_no_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def restore() -> None:
        async with serving_with(tmp_path / "store", {}) as (service, _):
            service.index.push("c", "b", "o", "text")
            await service.maintenance.backup(tmp_path / "copy")
            service.index.flush("c")
            await service.maintenance.restore(tmp_path / "copy")
            await service.maintenance.stop()
            assert service.index.query("c", "b", "text") == ["o"]

    def digest(descriptor: int, size: int) -> bytes:
        threads.append(threading.current_thread() is threading.main_thread())
        return whole(descriptor, size)

    threads: list[bool] = []
    whole = backup._digest
    monkeypatch.setattr(backup, "_digest", digest)
    asyncio.run(restore())
    assert threads
    assert not any(threads)
