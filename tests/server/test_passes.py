"""Connections that change something in the same pass of the loop share one write of the log."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from sonicpy.errors import StoreFull
from sonicpy.server.connections import connection
from sonicpy.server.connections.connection import Connection
from sonicpy.server.jobs import committer
from sonicpy.server.jobs.committer import IMMEDIATE_TURNS, LONE_TURNS
from sonicpy.store.disk.log import Log
from tests.in_loop import serving_with, set_commit_after
from tests.support.patience import WAIT_S

WRITERS = 6
PUSH = b'PUSH c b o%d "shared w%d" LANG(none)\n'
QUERY = b'QUERY c b "shared" LANG(none)\n'


class Client:
    """A connection to a server in the same loop."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def answer(self) -> bytes:
        return await asyncio.wait_for(self.reader.readline(), WAIT_S)

    async def push(self, number: int) -> bytes:
        self.writer.write(PUSH % (number, number))
        return await self.answer()


@pytest.fixture(autouse=True)
def long_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Prevent turns from using up their time on a busy machine, because they would then seal at once."""
    monkeypatch.setattr(connection, "TURN_S", 60.0)
    monkeypatch.setattr(connection, "SHORT_TURN_S", 60.0)


Talk = Callable[[list[Client], Client], Awaitable[None]]


def run(folder: Path, talk: Talk, settings: dict[str, Any] | None = None) -> None:
    """Run `talk` with several connections that push, which have shared a pass before, and one that searches."""

    async def serve() -> None:
        async with serving_with(folder, settings or {}) as (_, address):
            clients = [Client(*await asyncio.open_connection(*address)) for _ in range(WRITERS + 1)]
            try:
                for number, client in enumerate(clients):
                    client.writer.write(b"START ingest\n" if number < WRITERS else b"START search\n")
                    await client.answer()
                    await client.answer()
                for number in (0, 1):
                    assert await clients[number].push(number) == b"OK\r\n"
                await talk(clients[:WRITERS], clients[WRITERS])
            finally:
                for client in clients:
                    client.writer.close()

    asyncio.run(serve())


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Return a list of the events from now on, in order: numbers of records written to the log, and lines that
    connections send.
    """
    set_commit_after(monkeypatch, 60.0)
    append, write = Log.append, Connection._write
    happened: list[object] = []

    def note_append(self: Log, records: list[bytes]) -> int:
        happened.append(len(records))
        return append(self, records)

    def note_write(self: Connection, out: list[bytes]) -> None:
        happened.extend(reply[:5] for reply in out)
        write(self, out)

    monkeypatch.setattr(Log, "append", note_append)
    monkeypatch.setattr(Connection, "_write", note_write)
    return happened


@contextmanager
def full_log() -> Iterator[None]:
    """Make the log refuse records inside a `with` block."""

    def refuse(self: Log, records: list[bytes]) -> int:
        raise StoreFull("no room")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Log, "append", refuse)
        yield


def send_all(clients: list[Client], first: int) -> None:
    """Make every client push, so that the server finds all lines in its next pass."""
    for number, client in enumerate(clients, first):
        client.writer.write(PUSH % (number, number))


def test_one_write_for_a_pass(tmp_path: Path, written: list[object]) -> None:
    async def talk(writers: list[Client], search: Client) -> None:
        del written[:]
        send_all(writers, 10)
        assert [await client.answer() for client in writers] == [b"OK\r\n"] * WRITERS
        assert written == [WRITERS, *[b"OK\r\n"] * WRITERS]

    run(tmp_path, talk)


def test_replies_wait_for_the_disk_where_they_promise_it(tmp_path: Path, written: list[object]) -> None:
    async def talk(writers: list[Client], search: Client) -> None:
        del written[:]
        send_all(writers, 10)
        assert [await client.answer() for client in writers] == [b"OK\r\n"] * WRITERS
        assert [one for one in written if isinstance(one, int)] == [1] * WRITERS

    run(tmp_path, talk, {"store": {"kv": {"durability": "commit"}}})


def test_a_log_that_cannot_be_written_withdraws_all_of_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    set_commit_after(monkeypatch, 60.0)

    async def talk(writers: list[Client], search: Client) -> None:
        with full_log():
            send_all(writers, 10)
            assert {(await client.answer())[:4] for client in writers} == {b"ERR "}
        search.writer.write(QUERY)
        assert (await search.answer()).startswith(b"PENDING")
        assert (await search.answer()).split()[3:] == [b"o1", b"o0"]
        assert await writers[0].push(20) == b"OK\r\n"

    run(tmp_path, talk)


def test_changes_that_a_commit_of_another_task_has_undone_are_not_acknowledged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_commit_after(monkeypatch, 60.0)
    end_pass, tries = committer.Committer._end_pass, list[int]()

    def commit_first(self: committer.Committer) -> None:
        tries.append(len(self._unacknowledged))
        with full_log(), pytest.raises(StoreFull):
            self._engine.store.commit()
        end_pass(self)

    async def talk(writers: list[Client], search: Client) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(committer.Committer, "_end_pass", commit_first)
            send_all(writers, 10)
            assert {(await client.answer())[:4] for client in writers} == {b"ERR "}
            assert tries == [WRITERS]
        search.writer.write(QUERY)
        assert (await search.answer()).startswith(b"PENDING")
        assert (await search.answer()).split()[3:] == [b"o1", b"o0"]
        assert await writers[0].push(20) == b"OK\r\n"

    run(tmp_path, talk)


def test_what_was_undone_is_neither_acknowledged_nor_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One connection ends in this pass, so its changes are sealed at once, together with those of the others."""
    set_commit_after(monkeypatch, 60.0)

    async def talk(writers: list[Client], search: Client) -> None:
        refused = 0
        for attempt, last in enumerate(reversed(writers[1:])):
            writers.remove(last)
            ends = b"COUNT c b\n" + PUSH % (30 + attempt, 30) + b"COUNT c b\nQUIT\n"
            with full_log():
                send_all(writers, 10)
                sent = [(search, QUERY), (last, ends)]
                for client, lines in sent if attempt % 2 else reversed(sent):
                    client.writer.write(lines)
                counted, *answers = [await last.answer() for _ in range(3)]
                assert [answer[:4] for answer in answers] == [b"ERR ", b"ERR "]
                assert counted.startswith(b"ERR ") or counted == b"RESULT 3\r\n", "what was there before"
                assert await last.answer() == b"ENDED quit\r\n"
                assert {(await client.answer())[:4] for client in writers} == {b"ERR "}
                found = await search.answer()
            if found.startswith(b"ERR "):
                refused += 1
            else:
                assert (await search.answer()).split()[3:] == [b"o1", b"o0"]
            for number in (0, 1):  # makes them share a pass again
                assert await writers[0].push(number) == b"OK\r\n"
        assert refused, "else no search came between a change and its end"

    run(tmp_path, talk)


def test_who_sees_a_change_hears_of_it_once_the_log_holds_it(tmp_path: Path, written: list[object]) -> None:
    async def talk(writers: list[Client], search: Client) -> None:
        del written[:]
        send_all(writers, 10)
        search.writer.write(QUERY)
        await search.answer()
        found = (await search.answer()).split()[3:]
        event = next(place for place, one in enumerate(written) if isinstance(one, bytes) and one.startswith(b"PEND"))
        assert sum(one for one in written[:event] if isinstance(one, int)) >= len(found) - 2
        assert [await client.answer() for client in writers] == [b"OK\r\n"] * WRITERS

    run(tmp_path, talk)


def test_an_end_in_the_same_pass_comes_behind_the_reply(tmp_path: Path, written: list[object]) -> None:
    async def talk(writers: list[Client], search: Client) -> None:
        for number, client in enumerate(writers):
            client.writer.write(PUSH % (number, number) + b"QUIT\n")
        for client in writers:
            assert [await client.answer(), await client.answer()] == [b"OK\r\n", b"ENDED quit\r\n"]

    run(tmp_path, talk)


def test_passes_with_one_turn_seal_at_once_for_a_while(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    set_commit_after(monkeypatch, 60.0)
    asked: list[bool] = []
    original = committer.Committer.seal_with_pass

    def noted(self: committer.Committer, connection: committer.Writer, out: list[bytes], promises: list[int]) -> bool:
        asked.append(original(self, connection, out, promises))
        return asked[-1]

    async def talk(writers: list[Client], search: Client) -> None:
        monkeypatch.setattr(committer.Committer, "seal_with_pass", noted)
        for number in range(LONE_TURNS + IMMEDIATE_TURNS + 1):
            assert await writers[number % WRITERS].push(number) == b"OK\r\n"

    run(tmp_path, talk)
    assert asked == [True] * LONE_TURNS + [False] * IMMEDIATE_TURNS + [True]
