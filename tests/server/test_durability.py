"""The promise of OK: replies wait for the disk where they must, and a full disk loses no acknowledged change."""

import asyncio
import threading
from pathlib import Path

import pytest

from sonicpy.index.index import Index
from sonicpy.server.jobs.committer import Committer
from tests.processes import Server
from tests.server.peer import Peer
from tests.support.patience import WAIT_S, until

resource = pytest.importorskip("resource")
if not hasattr(resource, "prlimit"):
    pytest.skip("needs prlimit to make a disk look full", allow_module_level=True)

COMMIT = {"store.kv.durability": "commit"}


def limit_file_size(server: Server, size_bytes: int | None) -> None:
    """Limit the server's files to `size_bytes`; None: no limit."""
    _, hard = resource.prlimit(server.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (hard if size_bytes is None else size_bytes, hard))


def test_many_connections_wait_for_one_sync(tmp_path: Path) -> None:
    """20 connections send 20 PUSHes each; every PUSH is answered with one OK."""
    answers: dict[int, list[str]] = {}

    def talk(number: int) -> None:
        with Peer(server, "ingest") as peer:
            answers[number] = [peer.ask(f'PUSH many b{number} o{turn} "wort{turn}"') for turn in range(20)]

    with Server(tmp_path, COMMIT) as server:
        threads = [threading.Thread(target=talk, args=(number,)) for number in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert answers == {number: ["OK"] * 20 for number in range(20)}
        server.kill()
        server.start()
        with Peer(server, "ingest") as peer:
            assert [peer.ask(f"COUNTB many b{number}") for number in range(20)] == ["RESULT 20"] * 20


def test_replies_keep_their_order_behind_a_push_that_waits(tmp_path: Path) -> None:
    with Server(tmp_path, COMMIT) as server, Peer(server, "ingest") as peer:
        for number in range(30):
            peer.send_lines(f'PUSH order b o{number} "wort{number}"', f"COUNTO order b o{number}", "PING", "junk")
            peer.send_lines(f'POP order b o{number} "anderes"', "HELP", f"FLUSHO order b o{number}", "PING")
        expected = [
            "OK", "RESULT 1", "PONG", "ERR unknown_command",
            "RESULT 0", "RESULT manuals(commands)", "RESULT 1", "PONG",
        ]  # fmt: skip
        assert peer.lines(30 * len(expected)) == expected * 30


@pytest.mark.parametrize("durability", ["interval", "commit"])
def test_replies_keep_their_order_behind_a_consolidation(tmp_path: Path, durability: str) -> None:
    server = Server(tmp_path, {"store.kv.durability": durability})
    with server, Peer(server, "ingest") as ingest, Peer(server, "control") as control:
        ingest.send_lines(*(f'PUSH slow b o "wort{number} rest{number}" LANG(none)' for number in range(500)))
        assert ingest.lines(500) == ["OK"] * 500
        control.send_lines("PING", "TRIGGER consolidate", "HELP", "TRIGGER", "INFO", "TRIGGER consolidate", "QUIT")
        answers = control.rest().decode().splitlines()
        assert answers[4].startswith("RESULT uptime(")
        del answers[4]
        assert answers == [
            "PONG", "OK", "RESULT manuals(commands)", "RESULT actions(consolidate, backup, restore)",
            "OK", "ENDED quit",
        ]  # fmt: skip


@pytest.mark.parametrize("durability", ["interval", "commit"])
def test_a_log_that_cannot_grow(tmp_path: Path, durability: str) -> None:
    server = Server(tmp_path, {"store.kv.durability": durability})
    with server, Peer(server, "ingest") as ingest, Peer(server, "search") as search:
        # The same text again and again: the log grows, the environment does not.
        ingest.send_lines(*[f'PUSH disk b o "eins zwei {"x" * 5_000}" LANG(none)'] * 100)
        assert ingest.lines(100) == ["OK"] * 100
        log_bytes = max(path.stat().st_size for path in tmp_path.glob("store/log/*.log"))
        assert log_bytes > environment_bytes(tmp_path)
        limit_file_size(server, log_bytes)
        refused = [
            'PUSH disk b o "drei"', 'PUSH disk b p "vier"', 'POP disk b o "eins"',
            "FLUSHO disk b o", "FLUSHB disk b", "FLUSHC disk",
        ]  # fmt: skip
        for line in refused:
            assert ingest.ask(line) == "ERR internal_error", line
            assert search.results('QUERY disk b "eins" LANG(none)') == ["o"], "reading goes on"
            assert search.results('QUERY disk b "drei vier" LANG(none)') == [], "what was refused did not happen"
        ingest.send_lines(*refused, "PING", "COUNTO disk b o")
        *answers, count = ingest.lines(8)
        assert answers == ["ERR internal_error"] * 6 + ["PONG"]
        assert count in ("RESULT 3", "ERR internal_error"), "no answer shows what was undone"
        assert "cannot write the log" in server.log()
        limit_file_size(server, None)
        assert ingest.ask('PUSH disk b p "zwei"') == "OK"
        server.kill()
        server.start()
        with Peer(server, "search") as again:
            assert again.results('QUERY disk b "zwei" LANG(none)') == ["p", "o"]


@pytest.mark.full
def test_an_environment_that_cannot_grow(tmp_path: Path) -> None:
    """The server acknowledges PUSHes that are in the log until a commit fails; none of them is lost."""
    server = Server(tmp_path, {"search.query_alternates_try": 0})
    count = 1_000
    with server, Peer(server, "ingest") as ingest:
        ingest.send_lines(*(f'PUSH disk b o{number} "wort mit{number} noch{number}"' for number in range(count)))
        assert ingest.lines(count) == ["OK"] * count
    with server:  # with a new log, shorter than the environment
        with Peer(server, "ingest") as ingest, Peer(server, "search") as search:
            limit_file_size(server, environment_bytes(tmp_path))
            more = [f"mehr{number}x" for number in range(20)]  # words of each object alone, so that the tables grow
            while (answer := ingest.ask(f'PUSH disk b o{count} "noch{count} {f"{count} ".join(more)}{count}"')) == "OK":
                count += 1
                assert count < 20_000, "the limit was never met"
            assert answer == "ERR internal_error"
            assert ingest.ask(f"FLUSHO disk b o{count - 1}") == "ERR internal_error"
            assert all_are_there(ingest, search, count), "reading goes on"
            limit_file_size(server, None)
            assert comes_back(ingest, f'PUSH disk b o{count} "mit{count} noch{count}"')
            assert all_are_there(ingest, search, count + 1)
        server.kill()
        server.start()
        with Peer(server, "ingest") as ingest, Peer(server, "search") as search:
            assert all_are_there(ingest, search, count + 1)


def environment_bytes(folder: Path) -> int:
    return (folder / "store" / "data.mdb").stat().st_size


def all_are_there(ingest: Peer, search: Peer, count: int) -> bool:
    """Return whether the bucket holds the objects o0, o1, ..., each found by its word."""
    search.send_lines(*(f'QUERY disk b "noch{number}" LANG(none)' for number in range(count)))
    events = search.lines(2 * count)[1::2]
    found = [event.split()[3:] for event in events] == [[f"o{number}"] for number in range(count)]
    return found and ingest.ask("COUNTB disk b") == f"RESULT {count}"


def comes_back(ingest: Peer, line: str) -> bool:
    """Wait until the server accepts a change again; it retries a failed commit every second. Return whether it does."""
    return until(lambda: ingest.ask(line) == "OK", "it accepts a change again", pause_s=0.05)


def test_connections_that_wait_for_the_disk_get_an_unexpected_error_too(tmp_path: Path) -> None:
    """Otherwise the connections would wait for ever; the next sync is a new one."""

    async def wait() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: None)  # the loop reports it, too
        with Index(tmp_path, autocommit=False) as index:
            committer = Committer(index.engine, syncs_before_reply=True)
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(index.engine.store, "sync_log", lambda: [].remove(1))
                with pytest.raises(ValueError, match="not in list"):
                    await asyncio.wait_for(synced(committer), WAIT_S)
            await asyncio.wait_for(synced(committer), WAIT_S)

    def synced(committer: Committer) -> asyncio.Future[None]:
        future = committer.seal("a connection")
        assert future is not None
        return future

    asyncio.run(wait())
