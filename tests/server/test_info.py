"""INFO over real connections: its figures rise and fall as they should."""

import time
from pathlib import Path

from tests.processes import Server
from tests.server.peer import Peer
from tests.support.patience import until
from tests.support.texts import MANY_WORDS


def info(control: Peer) -> dict[str, int]:
    answer = control.ask("INFO").removeprefix("RESULT ")
    return {name: int(value) for name, value in (item.removesuffix(")").split("(") for item in answer.split())}


def wait_for(control: Peer, name: str, expected: int) -> None:
    """Wait until a figure has the expected value, because the server notices a closed socket a moment later."""
    until(lambda: info(control)[name] == expected, f"{name} is {expected}")


def test_the_names_and_their_order(shared_server: Server) -> None:
    with Peer(shared_server, "control") as control:
        assert list(info(control)) == [
            "uptime", "clients_connected", "commands_total", "command_latency_best", "command_latency_worst",
            "kv_open_count", "fst_open_count", "fst_consolidate_count",
        ]  # fmt: skip


def test_clients_connected_comes_down_however_they_end(shared_server: Server) -> None:
    server = shared_server
    with Peer(server, "control") as control:
        wait_for(control, "clients_connected", 1)
        quitting, overflowing, closing, resetting = (Peer(server, "search") for _ in range(4))
        refused, silent = Peer(server), Peer(server)
        wait_for(control, "clients_connected", 7)
        assert quitting.ask("QUIT") == "ENDED quit"
        overflowing.send(b"x" * 30_000)
        refused.send(b"START nothing\n")
        resetting.send(b"HELP\n" * 10_000)  # closed before it has read the answers
        for peer in (closing, resetting, silent):
            peer.close()
        wait_for(control, "clients_connected", 1)
        assert (quitting.rest(), overflowing.rest()) == (b"", b"")
        assert refused.rest().endswith(b"ENDED invalid_mode\r\n")
        for peer in (quitting, overflowing, refused):
            peer.close()


def test_commands_total_counts_every_line_behind_start_but_the_info_that_asks(server: Server) -> None:
    with Peer(server, "control") as control:
        assert info(control)["commands_total"] == 0
        with Peer(server, "ingest") as peer:
            peer.send(b'PING\n\nPUSH c b o "eins"\njunk\n\xff\nQUIT\n')
            assert peer.rest().count(b"\r\n") == 5
        earlier = 1
        while (found := info(control))["clients_connected"] != 1:
            earlier += 1
        assert found["commands_total"] == earlier + 6
        assert control.ask("PING") == "PONG"
        assert info(control)["commands_total"] == earlier + 8


def test_the_other_figures(server: Server) -> None:
    with Peer(server, "control") as control, Peer(server, "ingest") as ingest:
        first = info(control)
        assert (first["kv_open_count"], first["fst_consolidate_count"]) == (0, 0)
        assert 0 <= first["uptime"] < 60
        for collection, bucket in ("ca", "cb", "da"):
            assert ingest.ask(f'PUSH {collection} {bucket} o "{MANY_WORDS}"') == "OK"
        until(lambda: info(control)["fst_consolidate_count"] == 3, "a commit gives them pending words")
        assert info(control)["kv_open_count"] == 2
        assert control.ask("TRIGGER consolidate") == "OK"
        time.sleep(1.1)
        last = info(control)
        assert last["fst_consolidate_count"] == 0
        assert last["uptime"] > first["uptime"]
        assert 0 <= last["command_latency_best"] <= max(last["command_latency_worst"], 1)


def test_collections_are_counted_after_a_restart(server: Server) -> None:
    with Peer(server, "ingest") as ingest:
        for collection in ("ca", "da"):
            assert ingest.ask(f'PUSH {collection} b o "eins"') == "OK"
    server.stop()
    server.start()
    with Peer(server, "control") as control:
        assert info(control)["kv_open_count"] == 2


def test_words_that_came_back_wait_for_consolidation(tmp_path: Path) -> None:
    """In compat mode, as in Sonic, the graph keeps the words of a removed object, so there is nothing to
    consolidate.
    """
    with (
        Server(tmp_path, {"server.compat": "sonic"}) as server,
        Peer(server, "control") as control,
        Peer(server, "ingest") as ingest,
    ):
        for took_away in ("FLUSHO c b o", 'POP c b o "eins zwei"'):
            assert ingest.ask('PUSH c b o "eins zwei"') == "OK"
            assert control.ask("TRIGGER consolidate") == "OK"
            wait_for(control, "fst_consolidate_count", 0)
            assert ingest.ask(took_away) == "RESULT 2"
            assert info(control)["fst_consolidate_count"] == 0
        assert ingest.ask('PUSH c b o "eins zwei"') == "OK"
        assert info(control)["fst_consolidate_count"] == 1, "Sonic says 0: its graph holds them"
