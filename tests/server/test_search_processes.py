"""Search processes: other processes serve connections in mode search, with the same answers as the main process."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from sonicpy import Index
from sonicpy.server.process.stop_signals import EACH
from tests.index.extras import cut_by_letters
from tests.processes import HOST, Server, environment, free_port
from tests.server.certificates import Certificates, write_certificates
from tests.server.history import History
from tests.server.peer import Peer
from tests.server.search_tree import moved, search_processes, wait_for
from tests.support.patience import WAIT_S, until
from tests.support.proc import is_running, sockets
from tests.support.texts import MANY_WORDS

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at processes in /proc")

MOST = 12
STARTED = b"STARTED search protocol(1) buffer(20000)\r\n"
FAULTY = """
import asyncio, sys
from sonicpy.server.jobs.tasks import PeriodicTasks

async def fail(self):
    await asyncio.sleep(1.5)
    raise RuntimeError("unforeseen")

if __name__ == "__main__":
    PeriodicTasks.run = fail
    from sonicpy.cli.main import main
    sys.exit(main())
"""
IMPATIENT = """
import signal, sys
from sonicpy.server.searching import search_processes

class Impatient(search_processes.SearchProcesses):
    def __init__(self, *arguments):
        super().__init__(*arguments)
        self._is_auto = True

def lose_patience(*_):
    search_processes.IDLE_S = 0.5

if __name__ == "__main__":
    signal.signal(signal.SIGUSR1, lose_patience)
    search_processes.SearchProcesses = Impatient
    from sonicpy.cli.main import main
    sys.exit(main())
"""


class ImpatientServer(Server):
    """A server whose search process counts as added by "auto"; after SIGUSR1 it counts as idle."""

    def _begin(self, arguments: list[str], variables: dict[str, str]) -> "subprocess.Popen[bytes]":
        with open(self._log, "wb") as log:
            return subprocess.Popen([sys.executable, "-c", IMPATIENT, *arguments], env=variables, stderr=log)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("search")
    settings = {
        "server.search_processes": 1,
        "server.slow_command_ms": 1,
        "channel.max_connections": MOST,
        "channel.unix_socket": folder / "s.sock",
    }
    with Server(folder, settings, password="secret") as running:
        wait_for(running)
        yield running


@pytest.fixture
def process(server: Server) -> int:
    """The id of the search process of the server, which serves no connection yet."""
    [found] = wait_for(server)
    until(lambda: is_empty(server))
    return found


def is_empty(server: Server) -> bool:
    with Peer(server, "control") as control:
        return "clients_connected(1)" in control.ask("INFO")


def close(*peers: Peer) -> None:
    for peer in peers:
        peer.close()


def test_lines_behind_start_are_answered_in_order(server: Server, process: int) -> None:
    with Peer(server, "ingest") as ingest:
        assert ingest.ask('PUSH messages pipe o:1 "the quick fox" LANG(eng)') == "OK"
        for _ in range(3):  # of these, one process serves some and the other the rest
            with Peer(server) as peer:
                peer.line()
                peer.send(
                    b'START search secret\nPING\nEXISTS messages pipe o:1\nHELP nothing\nQUERY messages pipe "qui'
                )
                assert peer.lines(4) == [STARTED.decode().strip(), "PONG", "RESULT 1", "ERR not_found"]
                peer.send(b'ck fox"\nQUIT\n')
                pending, event, ended = peer.lines(3)
                assert event == pending.replace("PENDING ", "EVENT QUERY ") + " o:1"
                assert ended == "ENDED quit"
                assert peer.rest() == b""


def test_a_connection_moves(server: Server, process: int) -> None:
    before = sockets(server.pid)
    peer = moved(server, process)
    with peer:
        assert peer.ask("PING") == "PONG"
        until(lambda: sockets(server.pid) <= before, "the main process has no socket of it any more")


def test_a_connection_of_the_unix_socket_moves(server: Server, process: int) -> None:
    peer = moved(server, process, server.folder / "s.sock")
    assert peer.ask("PING") == "PONG"
    peer.close()


def test_long_lines_before_the_move(server: Server, process: int) -> None:
    for _ in range(3):
        with Peer(server) as peer:
            peer.line()
            peer.send(b"START search secret\nPING\n" + b"x" * 25_000)
            assert peer.rest() == STARTED + b"PONG\r\n", "a line that is too long ends the connection"


def test_the_password_is_checked_before(server: Server, process: int) -> None:
    with Peer(server) as peer:
        peer.line()
        peer.send(b"START search wrong\n")
        assert peer.rest() == b"ENDED authentication_failed\r\n"


def test_figures_count_all_processes(server: Server, process: int) -> None:
    peer = moved(server, process)
    with Peer(server, "control") as control, peer:
        before = figures(control.ask("INFO"))
        peer.send(b"PING\n" * 100 + b"QUERY messages none\n")
        peer.lines(101)
        after = figures(control.ask("INFO"))
        assert after["commands_total"] == before["commands_total"] + 102, "and one INFO"
        assert after["clients_connected"] == 2


def figures(info: str) -> dict[str, int]:
    return {name: int(value) for name, value in (item[:-1].split("(") for item in info.split()[1:])}


def test_totals_are_of_what_was_acknowledged(server: Server, process: int) -> None:
    with moved(server, process) as peer, Peer(server, "ingest") as ingest:
        for number in range(1, 21):
            assert ingest.ask(f'PUSH messages totals o:{number} "counted"') == "OK"
            assert peer.results('QUERY messages totals "counted" TOTAL(1) LIMIT(1)') == [str(number), f"o:{number}"]


def test_changed_synonyms_are_seen_at_once(server: Server, process: int) -> None:
    with moved(server, process) as peer, Peer(server, "ingest") as ingest:
        assert ingest.ask('PUSH synonyms b o:1 "television" LANG(none)') == "OK"
        for word in ("tv", "telly", "box"):
            assert ingest.ask(f'SYNONYMS synonyms SET "{word} => television"') == "RESULT 1"
            assert peer.results(f'QUERY synonyms b "{word}" FUZZY(0)') == ["o:1"]
        assert peer.results('QUERY synonyms b "tv" FUZZY(0)') == []
        assert ingest.ask("SYNONYMS synonyms") == 'RESULT ["box => television"]'
        assert ingest.ask("SYNONYMS synonyms LIST 1") == "RESULT []"
        assert ingest.ask("SYNONYMS synonyms SET") == "RESULT 0"
        assert peer.results('QUERY synonyms b "box" FUZZY(0)') == []


def test_the_limit_of_connections_counts_all_processes(server: Server, process: int) -> None:
    peers = [Peer(server, "search") for _ in range(MOST)]
    assert sockets(process) >= 3 + 2, "some of them went there"
    with Peer(server) as one_more:
        assert one_more.rest() == b"ENDED too_many_connections\r\n"
    close(*peers)
    until(lambda: comes_in(server), "there is room again")


def comes_in(server: Server) -> bool:
    with Peer(server) as peer:
        return peer.line().startswith("CONNECTED")


def test_slow_commands_are_logged(server: Server, process: int) -> None:
    peer = moved(server, process)
    words = " ".join(f"slow{number}" for number in range(2000))
    with peer:
        port = peer.socket.getsockname()[1]
        peer.results(f'QUERY messages pipe "{words[:19_000]}" LANG(eng)')
        until(lambda: f"peer=127.0.0.1:{port}" in server.log())
        assert "verb=QUERY" in server.log()
        assert f"peer=127.0.0.1:{port}" in server.log()


def test_everything_acknowledged_is_seen(server: Server, process: int) -> None:
    History(server, writers=2, readers=4, floods=1).run(seconds=1.0)


@pytest.mark.full
@pytest.mark.parametrize("processes", [1, 3])
def test_everything_acknowledged_is_seen_for_long(tmp_path: Path, processes: int) -> None:
    with Server(tmp_path, {"server.search_processes": processes}) as running:
        wait_for(running, processes)
        History(running, writers=4, readers=8, floods=2).run(seconds=20.0, answers=2_000)


@pytest.mark.full
def test_one_that_dies_is_replaced(tmp_path: Path) -> None:
    with Server(tmp_path, {"server.search_processes": 1}) as running:
        [first] = wait_for(running)
        peer = moved(running, first)
        with Peer(running, "ingest") as ingest:
            assert ingest.ask('PUSH c b o "still here"') == "OK"
            os.kill(first, signal.SIGKILL)
            assert peer.rest() == b""
            assert ingest.ask("COUNTB c b") == "RESULT 1"
            [second] = wait_for(running)
            assert second != first
            assert "search process" in running.log()
            peer.close()
            again = moved(running, second)
            assert again.results('QUERY c b "still here"') == ["o"]
        with Peer(running, "control") as control:
            assert figures(control.ask("INFO"))["clients_connected"] == 2
        # A service manager sends this to all processes; the main process alone acts on it.
        os.kill(second, signal.SIGTERM)
        assert again.ask("PING") == "PONG"
        running.stop()
        assert again.rest() == b""
        assert not is_running(second)
        again.close()
        running.start()
        wait_for(running)


@pytest.mark.full
def test_one_that_is_not_needed_ends_and_its_idle_connections_go_on(tmp_path: Path) -> None:
    with ImpatientServer(tmp_path, {"server.search_processes": 1}) as running:
        [process] = wait_for(running)
        with Peer(running, "ingest") as ingest:
            assert ingest.ask('PUSH c b o "still here"') == "OK"
        peers = [moved(running, process) for _ in range(3)]
        peers[0].send(b"PI")
        peers[1].ask("PING")
        os.kill(running.pid, signal.SIGUSR1)
        until(lambda: not is_running(process))
        assert peers[0].ask("NG") == "PONG"
        assert [peer.results('QUERY c b "still here"') for peer in peers] == [["o"]] * 3
        with Peer(running, "control") as control:
            assert figures(control.ask("INFO"))["clients_connected"] == 4
        close(*peers)
        assert running.log() == ""


@pytest.mark.full
def test_none_outlives_the_server(tmp_path: Path) -> None:
    running = Server(tmp_path, {"server.search_processes": 2})
    running.start()
    found = wait_for(running, 2)
    peer = moved(running, found[1])
    running.kill()
    assert peer.rest() == b""
    until(lambda: not any(map(is_running, found)))
    peer.close()


def test_not_even_one_that_is_stopped(tmp_path: Path) -> None:
    running = Server(tmp_path, {"server.search_processes": 1})
    running.start()
    [process] = wait_for(running)
    os.kill(process, signal.SIGSTOP)
    running.kill()
    try:
        until(lambda: not is_running(process), "the stopped process ends too")
    except AssertionError:
        os.kill(process, signal.SIGKILL)
        raise


@pytest.mark.full
def test_signals_while_one_starts(tmp_path: Path) -> None:
    """While a search process starts, a terminal or a service manager sends signals to all processes of the server."""
    with Server(tmp_path, {"server.search_processes": 1}) as running:
        until = time.monotonic() + 1.5
        found = set()
        while time.monotonic() < until:
            for process in search_processes(running):
                found.add(process)
                for number in EACH:
                    os.kill(process, number)
            time.sleep(0.002)
        assert wait_for(running) == list(found), "none died"
        assert running.log() == ""


@pytest.mark.full
def test_an_unexpected_error_of_the_periodic_work(tmp_path: Path) -> None:
    """The error is logged at once, and a stop still ends the search processes."""
    port = free_port()
    log = tmp_path / "log.txt"
    arguments = ["serve", "--inet", f"{HOST}:{port}", "--data", str(tmp_path / "store")]
    with open(log, "wb") as stderr:
        process = subprocess.Popen(
            [sys.executable, "-c", FAULTY, *arguments],
            env=environment({"server.search_processes": 1}),
            stdout=subprocess.DEVNULL,
            stderr=stderr,
        )
    try:
        until(lambda: "unforeseen" in log.read_text())
        assert process.poll() is None, "connections go on"
        process.terminate()
        assert process.wait(WAIT_S) == 0
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def test_open_word_graphs_are_those_of_all_processes(server: Server, process: int) -> None:
    with Peer(server, "ingest") as ingest, Peer(server, "control") as control, moved(server, process) as peer:
        assert ingest.ask(f'PUSH messages graph o "amber beryl {MANY_WORDS}"') == "OK"
        assert control.ask("TRIGGER consolidate") == "OK"
        before = figures(control.ask("INFO"))["fst_open_count"]
        peer.results('SUGGEST messages graph "abmer"')
        assert figures(control.ask("INFO"))["fst_open_count"] == before + 1


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return write_certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def encrypted(tmp_path_factory: pytest.TempPathFactory, certificates: Certificates) -> Iterator[Server]:
    """A server with TLS and a search process."""
    settings = {"server.search_processes": 1, "server.slow_command_ms": 1, **certificates.settings()}
    with Server(tmp_path_factory.mktemp("encrypted"), settings) as running:
        wait_for(running)
        yield running


def test_the_bytes_of_a_connection_with_tls_are_passed_on(encrypted: Server, certificates: Certificates) -> None:
    [process] = wait_for(encrypted)
    with Peer(encrypted, "ingest", tls=certificates.client()) as ingest:
        for number in range(50):
            assert ingest.ask(f'PUSH c b o:{number} "amber"') == "OK"
    with moved(encrypted, process, tls=certificates.client()) as peer:
        assert peer.results('QUERY c b "amber" LIMIT(50)') == [f"o:{number}" for number in reversed(range(50))]
        peer.send(b"PING\r\n" * 20_000 + b"QUIT\r\n")
        assert peer.lines(20_000) == ["PONG"] * 20_000
        assert peer.rest() == b"ENDED quit\r\n"
    assert len(search_processes(encrypted)) == 1


@pytest.mark.full
def test_a_client_with_tls_that_does_not_read_is_waited_for(encrypted: Server, certificates: Certificates) -> None:
    """The replies do not pile up: each process holds only a few hundred kilobytes."""
    [process] = wait_for(encrypted)
    with Peer(encrypted, "ingest", tls=certificates.client()) as ingest:
        for number in range(100):
            assert ingest.ask(f'PUSH c long {number:0100} "amber"') == "OK"
    line = b'QUERY c long "amber" LIMIT(100)\r\n'
    tls = certificates.client()
    with moved(encrypted, process, tls=tls) as peer, Peer(encrypted, "control", tls=tls) as control:
        before = encrypted.rss_bytes()
        peer.send(line * 2_000)  # 20 MB of replies
        time.sleep(1)
        assert control.ask("PING") == "PONG"
        assert encrypted.rss_bytes() - before < 10 << 20
        for _ in range(2_000):
            assert peer.line().startswith("PENDING")
            assert peer.line().count(" ") == 102


def test_the_slow_log_names_a_client_with_tls(encrypted: Server, certificates: Certificates) -> None:
    [process] = wait_for(encrypted)
    with moved(encrypted, process, tls=certificates.client()) as peer:
        port = peer.socket.getsockname()[1]
        words = " ".join(f"slow{number}" for number in range(2000))
        peer.results(f'QUERY c b "{words[:19_000]}" LANG(eng)')
        until(lambda: f"peer=127.0.0.1:{port}" in encrypted.log())


@pytest.mark.full
def test_both_ends_of_a_pump_close_together(tmp_path: Path, certificates: Certificates) -> None:
    with Server(tmp_path, {"server.search_processes": 1, **certificates.settings()}) as running:
        [first] = wait_for(running)
        at_rest = sockets(running.pid), sockets(first)
        moved(running, first, tls=certificates.client()).close()
        until(lambda: (sockets(running.pid), sockets(first)) == at_rest)
        peer = moved(running, first, tls=certificates.client())
        os.kill(first, signal.SIGKILL)
        assert peer.rest() == b""
        peer.close()
        [second] = wait_for(running)
        with moved(running, second, tls=certificates.client()) as last:
            last.send(b"PING\r\n")
            assert running.stop() == 0
            assert last.rest() == b"PONG\r\n"


@pytest.mark.full
def test_they_cut_chinese_as_an_older_store(tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as monkeypatch:
        cut_by_letters(monkeypatch)
        with Index(tmp_path / "store") as index:
            index.push("messages", "chinese", "o:1", "我来到北京清华大学")
    with Server(tmp_path, {"server.search_processes": 1}) as server:
        [process] = wait_for(server)
        with moved(server, process) as peer:
            answer = json.loads(peer.ask('EXPLAIN messages chinese "来到北京"').removeprefix("RESULT "))
            words = [term["word"] for term in answer["terms"]]
            assert words[0] == "来到北京", "the whole run, not 来到 and 北京"
