"""Connections over real sockets: order, pieces, pipelines, and every way to close."""

import threading
from pathlib import Path

import pytest

from tests.processes import Server
from tests.server.peer import EVENT, Peer


def test_pending_and_event_arrive_together(shared_server: Server) -> None:
    with Peer(shared_server, "ingest") as ingest:
        assert ingest.ask('PUSH together b o "valeriane pousse"') == "OK"
    with Peer(shared_server, "search") as search:
        for _ in range(200):
            search.send(b'QUERY together b "valeriane"\n')
            first = search.socket.recv(1 << 16).decode()
            pending, event, rest = first.split("\r\n")
            found = EVENT.fullmatch(event)
            assert found, "both lines stand in what one read returns"
            assert pending == f"PENDING {found[2]}"
            assert (found[3], rest) == ("o", "")


def test_an_empty_result_keeps_its_blank(shared_server: Server) -> None:
    with Peer(shared_server, "search") as search:
        for line in ('QUERY empty b "nothing"', 'SUGGEST empty b "nothing"', "LIST empty b"):
            pending = search.ask(line)
            event = search.line()
            assert event == f"EVENT {line.split()[0]} {pending.removeprefix('PENDING ')} "


def test_twenty_thousand_pings_in_one_write(shared_server: Server) -> None:
    with Peer(shared_server, "search") as peer:
        peer.send(b"PING\n" * 20_000)
        assert peer.lines(20_000) == ["PONG"] * 20_000


@pytest.mark.full
def test_two_hundred_thousand_commands_in_one_go(shared_server: Server) -> None:
    with Peer(shared_server, "ingest") as peer:
        sender = threading.Thread(target=peer.send, args=(b"PING\r\nCOUNT many b\nNOPE\n\nHELP\n" * 50_000,))
        sender.start()
        answers = peer.lines(200_000)
        sender.join()
        assert answers == ["PONG", "RESULT 0", "ERR unknown_command", "RESULT manuals(commands)"] * 50_000
        assert peer.ask("PING") == "PONG", "blank lines are not answered"


def test_mixed_commands_are_answered_in_order(shared_server: Server) -> None:
    with Peer(shared_server, "ingest") as peer:
        for number in range(300):
            peer.send_lines(
                f'PUSH mixed b o{number} "wort{number} gemeinsam"',
                f"COUNTO mixed b o{number}",
                f'POP mixed b o{number} "wort{number}"',
                "COUNTB mixed b",
                "junk",
                f'PUSH mixed b "o{number} no-closing-quote',
            )
        for number in range(300):
            assert peer.lines(6) == [
                "OK",
                "RESULT 2",
                "RESULT 1",
                f"RESULT {number + 1}",
                "ERR unknown_command",
                'ERR invalid_format(PUSH <collection> <bucket> <object> "<text>" [LANG(<locale>)]?)',
            ]


def test_a_conversation_byte_by_byte(locked_server: Server) -> None:
    with Peer(locked_server) as peer:
        for byte in b'START ingest SecretPassword\r\nPUSH bytes b o "eins zwei"\r\nCOUNTO bytes b o\r\nQUIT\r\n':
            peer.send(bytes([byte]))
        assert peer.line().startswith("CONNECTED <")
        assert peer.lines(4) == ["STARTED ingest protocol(1) buffer(20000)", "OK", "RESULT 2", "ENDED quit"]
        assert peer.rest() == b""


def test_what_is_glued_to_start_is_answered(locked_server: Server) -> None:
    with Peer(locked_server) as peer:
        peer.send(b"START search SecretPassword\nPING\nPI")
        peer.send(b"NG\n")
        assert peer.lines(4)[1:] == ["STARTED search protocol(1) buffer(20000)", "PONG", "PONG"]


REFUSED_STARTS = [
    (b"PING\n", "ENDED not_recognized", "another command"),
    (b"START nothing\n", "ENDED invalid_mode", "no such mode"),
    (b"START search\n", "ENDED authentication_required", "no password"),
    (b"START search wrong\nPING\n", "ENDED authentication_failed", "the wrong one; what follows is not answered"),
    (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "ENDED not_recognized", "another protocol"),
    (b"\x16\x03\x01" + b"\xff" * 30_000, "ENDED not_recognized", "TLS, and longer than a line"),
]


@pytest.mark.parametrize(("sent", "expected", "why"), REFUSED_STARTS, ids=[row[2] for row in REFUSED_STARTS])
def test_a_refused_start_closes(locked_server: Server, sent: bytes, expected: str, why: str) -> None:
    with Peer(locked_server) as peer:
        peer.send(sent)
        assert peer.line().startswith("CONNECTED <")
        assert peer.rest() == f"{expected}\r\n".encode(), why


def test_a_half_closed_connection_is_answered_and_closed(shared_server: Server) -> None:
    with Peer(shared_server, "search") as peer:
        peer.send(b"PING\n" * 5_000 + b"PING unfinished")
        peer.half_close()
        assert peer.rest() == b"PONG\r\n" * 5_000, "the line without an end is dropped"


def test_a_connection_half_closed_before_start(shared_server: Server) -> None:
    with Peer(shared_server) as peer:
        peer.half_close()
        assert peer.rest().endswith(b"ENDED closed\r\n")


def test_what_follows_quit_is_ignored(shared_server: Server) -> None:
    with Peer(shared_server, "ingest") as peer:
        peer.send(b'PING\nQUIT\nPUSH quit b o "never stored"\nPING\n')
        assert peer.rest() == b"PONG\r\nENDED quit\r\n"
    with Peer(shared_server, "ingest") as peer:
        assert peer.ask("COUNTB quit b") == "RESULT 0"


OVERFLOWS = [
    (b"x" * 20_001 + b"\n", "one byte too long"),
    (b"x" * 20_002, "too long, though it has not ended"),
    (b"x" * 500_000 + b"\nPING\n", "far too long, with another line behind it"),
]


@pytest.mark.parametrize(("sent", "why"), OVERFLOWS, ids=[row[1] for row in OVERFLOWS])
def test_overflow_closes_after_the_lines_before_it(shared_server: Server, sent: bytes, why: str) -> None:
    with Peer(shared_server, "search") as peer:
        peer.send(b"PING\nPING\nPING\n")
        assert peer.lines(3) == ["PONG"] * 3
        peer.send(b"HELP\nPING\n" + sent)
        assert peer.rest() == b"RESULT manuals(commands)\r\nPONG\r\n", why


def test_the_longest_line_is_answered(shared_server: Server) -> None:
    with Peer(shared_server, "ingest") as peer:
        line = b'PUSH long b o "' + b"a" * (20_000 - 16) + b'"'
        assert len(line) == 20_000
        peer.send(line + b"\r\n")
        assert peer.line() == "OK"
        assert peer.ask("COUNTO long b o") == "RESULT 1"


NOT_UTF8 = [b"\xff\n", b"PING \xc3\n", b'PUSH utf b o "\xed\xa0\x80"\n', b"\x00\x80\n"]


@pytest.mark.parametrize("line", NOT_UTF8)
def test_a_line_that_is_not_utf8_is_answered(shared_server: Server, line: bytes) -> None:
    with Peer(shared_server, "ingest") as peer:
        peer.send(line + b"PING\n")
        assert peer.lines(2) == ["ERR invalid_format(line is not UTF-8)", "PONG"]


def test_a_peer_that_vanishes_harms_nobody(tmp_path: Path) -> None:
    with Server(tmp_path) as server, Peer(server, "search") as search:
        for _ in range(8):
            peer = Peer(server, "ingest")
            peer.send(b'PUSH gone b o "words that nobody waits for"\n' * 200)
            peer.close()
        assert search.ask("PING") == "PONG"
        assert search.results('QUERY gone b "nobody"') == ["o"]
        assert server.log() == "", "a peer that goes is not worth a line in the log"
