"""The time of commits, and the rows that the server writes earlier while other connections take turns."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

import sonicpy.server.jobs.committer as committer_module
from sonicpy import Index
from sonicpy.server.jobs.committer import (
    COMMIT_BYTES,
    COMMIT_BYTES_KNOWN,
    COMMIT_CHANGES,
    COMMIT_CHANGES_SHARED,
    FLUSH_ROWS_CHANGES,
    Committer,
)
from sonicpy.store.disk.environment import Environment
from sonicpy.store.views.write_view import WriteView
from tests.in_loop import Address, serving, set_commit_after
from tests.support.patience import WAIT_S, until_in_loop

Ask = Callable[[bytes, int], Awaitable[list[bytes]]]
"""Sends lines and returns the given number of answers."""


@pytest.fixture
def no_timer(monkeypatch: pytest.MonkeyPatch) -> None:
    set_commit_after(monkeypatch, 60.0)
    for name in ("COMMIT_BYTES", "COMMIT_BYTES_KNOWN"):
        monkeypatch.setattr(committer_module, name, 1 << 30)


def run(
    folder: Path,
    talk: Callable[[Index, Ask, Ask], Awaitable[None]],
    modes: tuple[bytes, bytes] = (b"ingest", b"search"),
) -> None:
    """Run `talk`, which pushes over one connection and usually searches over another one."""

    async def serve() -> None:
        async with serving(folder) as (index, address):
            writers: list[asyncio.StreamWriter] = []
            try:
                await talk(index, *[await started(address, mode, writers) for mode in modes])
            finally:
                for writer in writers:
                    writer.close()

    asyncio.run(serve())


async def started(address: Address, mode: bytes, writers: list[asyncio.StreamWriter]) -> Ask:
    reader, writer = await asyncio.open_connection(*address)
    writers.append(writer)

    async def ask(lines: bytes, answers: int) -> list[bytes]:
        writer.write(lines)
        return [await asyncio.wait_for(reader.readline(), WAIT_S) for _ in range(answers)]

    await ask(b"START %s\n" % mode, 2)
    return ask


def waiting_rows(index: Index) -> int:
    """Return the number of term rows that are not written before the commit."""
    with index.engine.store.reading() as view:
        assert isinstance(view, WriteView)
        return view.terms.changed


async def push(ask: Ask, first: int, count: int) -> None:
    lines = b"".join(
        b'PUSH c b o%d "shared word%d w%d x%d" LANG(none)\n' % (number, number, number, number)
        for number in range(first, first + count)
    )
    assert set(await ask(lines, count)) == {b"OK\r\n"}


@pytest.mark.usefixtures("no_timer")
def test_alone(tmp_path: Path) -> None:
    async def talk(index: Index, ingest: Ask, search: Ask) -> None:
        await push(ingest, 0, COMMIT_CHANGES - 1)
        assert index.engine.store.uncommitted == COMMIT_CHANGES - 1
        await push(ingest, COMMIT_CHANGES, 1)
        assert index.engine.store.uncommitted == 0

    run(tmp_path, talk)


@pytest.mark.usefixtures("no_timer")
@pytest.mark.parametrize(("second", "line", "limit"), [
    (b"search", b"PING\n", COMMIT_CHANGES_SHARED),
    (b"ingest", b'PUSH c b other "another text" LANG(none)\n', COMMIT_CHANGES),
])  # fmt: skip
def test_commits_are_smaller_only_while_a_connection_reads(
    tmp_path: Path, second: bytes, line: bytes, limit: int
) -> None:
    async def talk(index: Index, first: Ask, other: Ask) -> None:
        await push(first, 0, 1)
        await other(line, 1)
        await push(first, 1, limit - 1 - index.engine.store.uncommitted)
        assert index.engine.store.uncommitted == limit - 1
        await push(first, limit, 1)
        assert index.engine.store.uncommitted == 0

    run(tmp_path, talk, (b"ingest", second))


@pytest.mark.usefixtures("no_timer")
def test_while_another_asks_some_is_written_before(tmp_path: Path) -> None:
    async def talk(index: Index, ingest: Ask, search: Ask) -> None:
        await push(ingest, 0, FLUSH_ROWS_CHANGES + 10)
        assert waiting_rows(index) > 0
        assert await search(b"PING\n", 1) == [b"PONG\r\n"]
        await push(ingest, 100, 1)  # one line is one turn
        assert waiting_rows(index) == 0
        await push(ingest, 200, 10)
        assert waiting_rows(index) > 0, "not turn by turn"
        for number in (7, 100, 205):
            event = (await search(b'QUERY c b "word%d" COMPLETE(0)\n' % number, 2))[1]
            assert event.split()[3:] == [b"o%d" % number]
        await push(ingest, 300, FLUSH_ROWS_CHANGES - 11)
        assert waiting_rows(index) > 0
        await push(ingest, 400, 1)
        assert waiting_rows(index) == 0
        assert index.engine.store.uncommitted == 2 * FLUSH_ROWS_CHANGES + 11

    run(tmp_path, talk)


@pytest.mark.usefixtures("no_timer")
def test_while_all_push_nothing_is_written_before(tmp_path: Path) -> None:
    async def talk(index: Index, first: Ask, other: Ask) -> None:
        for number in range(0, 8 * FLUSH_ROWS_CHANGES, 2):
            await push(first, number, 1)
            await push(other, number + 1, 1)
        assert waiting_rows(index) == 3 * 8 * FLUSH_ROWS_CHANGES + 1, (
            "three words of each push, and one that they share"
        )

    run(tmp_path, talk, (b"ingest", b"ingest"))


@pytest.mark.usefixtures("no_timer")
def test_few_changes_of_many_words_are_written_before_too(tmp_path: Path) -> None:
    def line(number: int) -> bytes:
        words = " ".join(f"unheard{number}word{place}" for place in range(800))
        return f'PUSH c b o{number} "{words}" LANG(none)\n'.encode()

    async def talk(index: Index, ingest: Ask, search: Ask) -> None:
        assert await ingest(line(0), 1) == [b"OK\r\n"]
        assert await search(b"PING\n", 1) == [b"PONG\r\n"]
        assert waiting_rows(index) > 0
        assert await ingest(line(1), 1) == [b"OK\r\n"]
        assert waiting_rows(index) == 0
        await push(ingest, 100, 5)
        assert waiting_rows(index) > 0, "not turn by turn"
        assert await ingest(line(2) + line(3), 2) == [b"OK\r\n"] * 2
        assert waiting_rows(index) == 0
        assert index.engine.store.uncommitted == 9

    run(tmp_path, talk)


@pytest.mark.parametrize(
    ("are_known", "is_shared", "most"),
    [(False, False, COMMIT_BYTES), (True, False, COMMIT_BYTES_KNOWN), (True, True, COMMIT_BYTES)],
)
def test_few_changes_of_very_many_words_are_committed_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, are_known: bool, is_shared: bool, most: int
) -> None:
    set_commit_after(monkeypatch, 60.0)
    with Index(tmp_path) as index:
        index.push("c", "b", "known", " ".join(f"unheard0word{place}" for place in range(800)), "none")

    def line(number: int) -> bytes:
        words = " ".join(f"unheard{0 if are_known else number}word{place}" for place in range(800))
        return f'PUSH c b o{number} "{words}" LANG(none)\n'.encode()

    async def talk(index: Index, ingest: Ask, search: Ask) -> None:
        store = index.engine.store
        before, number = store.log_position, 0
        while store.uncommitted == number:
            assert store.log_position - before < most
            assert await ingest(line(number + 1), 1) == [b"OK\r\n"]
            number += 1
            if is_shared:
                assert await search(b"PING\n", 1) == [b"PONG\r\n"]
        assert store.uncommitted == 0
        assert number > 2
        assert store.log_position - before >= most

    run(tmp_path, talk)


@pytest.mark.usefixtures("no_timer")
def test_another_that_asked_before_the_last_commit_does_not_count(tmp_path: Path) -> None:
    async def talk(index: Index, ingest: Ask, search: Ask) -> None:
        await push(ingest, 0, COMMIT_CHANGES)
        assert index.engine.store.uncommitted == 0
        assert await search(b"PING\n", 1) == [b"PONG\r\n"]
        await push(ingest, COMMIT_CHANGES, FLUSH_ROWS_CHANGES + 10)
        assert waiting_rows(index) > 0

    run(tmp_path, talk)


@pytest.mark.full
@pytest.mark.parametrize("is_shared", [False, True])
def test_few_changes_wait_for_a_moment(tmp_path: Path, is_shared: bool) -> None:
    async def talk(index: Index, ingest: Ask, search: Ask) -> None:
        await push(ingest, 0, 5)
        if is_shared:
            assert await search(b"PING\n", 1) == [b"PONG\r\n"]
        await push(ingest, 10, 5)
        await until_in_loop(lambda: not index.engine.store.uncommitted, "they are committed")

    run(tmp_path, talk)


@pytest.mark.parametrize("is_read", [False, True])
def test_a_commit_waits_longer_while_no_other_process_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_read: bool
) -> None:
    looks = 0

    def look(environment: Environment) -> bool:
        nonlocal looks
        looks += 1
        return is_read

    monkeypatch.setattr(Environment, "is_read_elsewhere", property(look))
    set_commit_after(monkeypatch, 0.4)

    async def talk(index: Index, ingest: Ask, search: Ask) -> None:
        await push(ingest, 0, 5)
        await until_in_loop(lambda: not index.engine.store.uncommitted, "they are committed")

    run(tmp_path, talk)
    assert looks == 1 if is_read else looks > 1


def test_a_commit_wanted_sooner_comes_sooner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    set_commit_after(monkeypatch, 10 * WAIT_S)

    async def wait() -> None:
        with Index(tmp_path, autocommit=False) as index:
            committer = Committer(index.engine, syncs_before_reply=False)
            committer.commit_within(0.01)
            assert not committer.commits_later
            index.push("c", "b", "o", "text")
            committer.seal("a connection")
            committer.commit_within(0.02)
            committer.commit_within(5 * WAIT_S)
            await until_in_loop(lambda: not index.engine.store.uncommitted, "it is committed")
            assert not committer.commits_later

    asyncio.run(wait())
