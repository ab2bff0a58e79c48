"""Promises of answers: the work that an answer waits for, withdrawn answers, and the preparations of commands."""

import asyncio
import errno
import os
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from sonicpy.errors import StoreError, StoreFull
from sonicpy.server.connections import connection
from sonicpy.server.service import Service
from sonicpy.store.care.backup import open_backup
from sonicpy.store.disk.log import Log
from sonicpy.store.views.view import View
from tests.in_loop import Address, serving_with, set_commit_after
from tests.support.patience import WAIT_S

COMMIT = {"store": {"kv": {"durability": "commit"}}}
PUSH = b'PUSH c b o "amber" LANG(none)\n'
MOMENT_S = 0.1
"""A time in seconds that is long enough for an answer without a wait."""


class Client:
    """A connection to a server in the same loop."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def ask(self, lines: bytes, answers: int = 1) -> list[bytes]:
        """Send lines and return the given number of answers."""
        self.writer.write(lines)
        return [await self.answer() for _ in range(answers)]

    async def answer(self) -> bytes:
        return await asyncio.wait_for(self.reader.readline(), WAIT_S)


class Clients:
    """Opens connections, and closes them at the end."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._writers: list[asyncio.StreamWriter] = []

    async def open(self, mode: bytes = b"ingest") -> Client:
        reader, writer = await asyncio.open_connection(*self._address)
        self._writers.append(writer)
        client = Client(reader, writer)
        assert (await client.ask(b"START %s\n" % mode, 2))[1].startswith(b"STARTED ")
        return client

    def close(self) -> None:
        for writer in self._writers:
            writer.close()


def run(folder: Path, talk: Callable[[Service, Clients], Awaitable[None]], settings: dict[str, Any]) -> None:
    """Run `talk` with a server, which ends when `talk` returns."""

    async def serve() -> None:
        async with serving_with(folder, settings) as (service, address):
            clients = Clients(address)
            try:
                await talk(service, clients)
            finally:
                clients.close()

    asyncio.run(serve())


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Make the disk take no log before the returned event is set."""
    ready = threading.Event()
    sync = Log.sync

    def slow_sync(self: Log) -> int:
        assert ready.wait(WAIT_S)
        return sync(self)

    monkeypatch.setattr(Log, "sync", slow_sync)
    return ready


# -- with durability = "commit" ----------------------------------------------------------------------------------------


def test_ok_comes_when_the_disk_has_the_log(tmp_path: Path, disk: threading.Event) -> None:
    async def talk(service: Service, clients: Clients) -> None:
        client = await clients.open()
        disk.clear()
        client.writer.write(PUSH + b"COUNTO c b o\n")
        await asyncio.sleep(MOMENT_S)
        assert not client.reader._buffer, "neither OK nor what was read behind it"  # type: ignore[attr-defined]
        disk.set()
        assert [await client.answer() for _ in range(2)] == [b"OK\r\n", b"RESULT 1\r\n"]

    disk.set()
    run(tmp_path, talk, COMMIT)


def test_ok_does_not_come_if_the_disk_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def talk(service: Service, clients: Clients) -> None:
        client = await clients.open()
        with monkeypatch.context() as patched:
            patched.setattr(Log, "sync", fail)
            answers = await client.ask(PUSH + b"COUNTO c b o\nPING\n", 3)
        assert answers == [b"ERR internal_error\r\n", b"ERR internal_error\r\n", b"PONG\r\n"]
        assert await client.ask(PUSH) == [b"OK\r\n"]

    def fail(log: Log) -> int:
        raise StoreError("the disk failed")

    monkeypatch.setattr(connection, "TURN_S", 60.0)
    run(tmp_path, talk, COMMIT)


def test_nothing_is_acknowledged_after_a_disk_has_failed_and_the_server_stops(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Linux reports a lost page once; the next sync succeeds although the disk lacks it."""
    calls: list[int] = []

    def fail_once(descriptor: int) -> None:
        calls.append(descriptor)
        if len(calls) == 1:
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    async def talk(service: Service, clients: Clients) -> None:
        client = await clients.open()
        assert await client.ask(PUSH) == [b"OK\r\n"]
        monkeypatch.setattr("sonicpy.store.disk.log.sync_file", fail_once)
        assert await client.ask(PUSH) == [b"ERR internal_error\r\n"]
        assert await client.ask(PUSH * 3 + b"COUNT c b o\n", 4) == [b"ERR internal_error\r\n"] * 3 + [b"RESULT 1\r\n"]
        assert service.index.stats()["refusing"]

    with pytest.raises(StoreError, match="cannot sync the log in .* any more: an earlier sync failed"):
        run(tmp_path, talk, COMMIT)
    assert len([record for record in caplog.records if record.name.startswith("sonicpy.store")]) == 1
    monkeypatch.undo()

    async def talk_again(service: Service, clients: Clients) -> None:
        client = await clients.open()
        assert await client.ask(PUSH + b"COUNT c b o\n", 2) == [b"OK\r\n", b"RESULT 1\r\n"]

    run(tmp_path, talk_again, COMMIT)


def test_who_gives_up_does_not_take_the_sync_from_the_others(tmp_path: Path, disk: threading.Event) -> None:
    async def talk(service: Service, clients: Clients) -> None:
        one, other = await clients.open(), await clients.open()
        disk.clear()
        for client in (one, other):
            client.writer.write(PUSH)
        tasks: list[asyncio.Task[None]] = []
        async with asyncio.timeout(WAIT_S):
            while len(tasks) < 2:
                await asyncio.sleep(0.01)
                tasks = [peer._pending for peer in service.peers if peer._pending]  # type: ignore[attr-defined]
        tasks[0].cancel()
        with pytest.raises(asyncio.CancelledError):
            await tasks[0]
        disk.set()
        assert sorted([await one.answer(), await other.answer()]) == [b"", b"OK\r\n"]

    disk.set()
    run(tmp_path, talk, COMMIT)


def test_a_commit_comes_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def talk(service: Service, clients: Clients) -> None:
        client = await clients.open()
        assert await client.ask(PUSH) == [b"OK\r\n"]
        assert service.index.engine.store.uncommitted == 1
        async with asyncio.timeout(WAIT_S):
            while service.index.engine.store.uncommitted:
                await asyncio.sleep(0.01)

    set_commit_after(monkeypatch, 0.2)
    run(tmp_path, talk, COMMIT)


# -- what fails together -----------------------------------------------------------------------------------------------


def test_what_a_turn_read_of_an_undone_change_is_withdrawn_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def talk(service: Service, clients: Clients) -> None:
        client = await clients.open()
        with monkeypatch.context() as patched:
            patched.setattr(Log, "append", fail)
            answers = await client.ask(b"COUNTO c b o\n" + PUSH + b"COUNTO c b o\nPING\n", 4)
        assert answers == [b"RESULT 0\r\n", b"ERR internal_error\r\n", b"ERR internal_error\r\n", b"PONG\r\n"]
        assert await client.ask(b"COUNTO c b o\n") == [b"RESULT 0\r\n"]

    def fail(log: Log, records: list[bytes]) -> int:
        raise StoreFull("no room")

    monkeypatch.setattr(connection, "TURN_S", 60.0)  # all lines in one turn
    run(tmp_path, talk, {})


# -- long commands -----------------------------------------------------------------------------------------------------


def test_a_backup_holds_what_was_acknowledged_before_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def talk(service: Service, clients: Clients) -> None:
        ingest, control = await clients.open(), await clients.open(b"control")
        assert await ingest.ask(PUSH) == [b"OK\r\n"]
        assert await control.ask(f"TRIGGER backup {tmp_path}/backup\n".encode()) == [b"OK\r\n"]
        with open_backup(tmp_path / "backup") as environment, environment.reading() as transaction:
            assert View(transaction).bucket("c", "b") is not None

    set_commit_after(monkeypatch, 60.0)
    run(tmp_path / "store", talk, {})


def test_two_consolidations_follow_each_other(in_tables: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[str] = []

    async def talk(service: Service, clients: Clients) -> None:
        ingest = await clients.open()
        controls = [await clients.open(b"control") for _ in range(2)]
        for bucket in range(3):
            await ingest.ask(PUSH.replace(b" b ", b" b%d " % bucket))
        maintainer = service.index.maintainer
        for name in ("build_graph", "publish_graphs", "prune_small"):
            monkeypatch.setattr(maintainer, name, noted(name, getattr(maintainer, name)))
        answers = await asyncio.gather(*(control.ask(b"TRIGGER consolidate\n") for control in controls))
        assert answers == [[b"OK\r\n"]] * 2

    def noted(name: str, step: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            steps.append(name)
            return step(*arguments)

        return call

    run(tmp_path, talk, {})
    pruned = steps.index("prune_small")
    assert steps[:pruned].count("build_graph") == 3, "the second one begins when the first one has published"
    assert steps.count("build_graph") == 3, "and finds nothing to do"


async def begun(service: Service, folder: Path) -> "asyncio.Task[None]":
    """Begin a restore, and return its task in the middle of its steps."""
    task = asyncio.create_task(service.maintenance.restore(folder))
    async with asyncio.timeout(WAIT_S):
        while service.index.engine.count_scopes() < 2 and not task.done():
            await asyncio.sleep(0)
    assert not task.done()
    return task


def test_a_stop_waits_until_a_restore_has_dropped_what_it_had_begun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def talk(service: Service, clients: Clients) -> None:
        client = await clients.open()
        await client.ask(PUSH)
        await service.maintenance.backup(tmp_path / "backup")
        task = await begun(service, tmp_path / "backup")
        await service.maintenance.stop()
        assert task.done()
        with pytest.raises(StoreError, match="is not restored: the server stops"):
            task.result()
        assert service.index.engine.count_scopes() == 1

    monkeypatch.setattr("sonicpy.store.care.restore.STEP_ROWS", 1)
    run(tmp_path / "store", talk, {})


def test_a_stop_waits_until_a_check_has_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A check would read closed tables if the index were closed meanwhile."""

    async def talk(service: Service, clients: Clients) -> None:
        ended = False

        async def check(*arguments: object, **named: object) -> list[str]:
            nonlocal ended
            try:
                await asyncio.sleep(MOMENT_S)
            finally:
                ended = True
            return []

        monkeypatch.setattr(service.maintenance._verifiers, "run", check)
        task = asyncio.create_task(service.maintenance.verify())
        await asyncio.sleep(0.01)
        await service.maintenance.stop()
        assert ended
        await task

    run(tmp_path, talk, {})
