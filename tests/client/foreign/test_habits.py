"""The behaviour of clients in other languages, as bytes: their commands, and a few lines that parse answers as they do.

Each test is a whole session in the manner of one client; if a client parses answers more strictly than others, the test
does so, too.
"""

import re

import pytest

from tests.processes import Server
from tests.server.peer import Peer


def whole_line(peer: Peer) -> bytes:
    """Return the next line with its line end, unchanged."""
    line = b""
    while not line.endswith(b"\n"):
        line += peer.socket.recv(1)
    return line


def test_php_lines_end_in_cr_lf_and_blanks_trail(locked_server: Server) -> None:
    """The client in PHP sends LF, leaves blanks where arguments are missing, cuts lines at CR LF, and takes words of an
    EVENT by their numbers.
    """
    with Peer(locked_server) as peer:

        def ask(command: str) -> list[str]:
            peer.send(f"{command}\n".encode())
            line, rest = whole_line(peer).decode().split("\r\n")
            assert rest == ""
            return line.split(" ")

        assert whole_line(peer).split(b"\r\n")[0].startswith(b"CONNECTED")
        assert ask("START ingest SecretPassword")[0] == "STARTED"
        assert ask('PUSH php b o "un texte avec des blancs" LANG(none) ')[0] == "OK"
        assert ask('PUSH php b p "un autre texte" LANG(none)')[0] == "OK"
        assert ask("COUNT php  ") == ["RESULT", "1"]
        assert ask("COUNT php b o") == ["RESULT", "5"]
        assert ask("PING ") == ["PONG"]
        assert ask("FLUSHO php b p ") == ["RESULT", "3"]
        assert ask("QUIT") == ["ENDED", "quit"]
    with Peer(locked_server, "search") as peer:
        for text, expected in (("texte", ["o"]), ("rien", [""])):
            peer.send(f'QUERY php b "{text}"  \n'.encode())
            whole_line(peer)
            assert whole_line(peer).decode().split("\r\n")[0].split(" ")[3:] == expected, "no result is one empty name"


def test_elixir_compares_started_as_a_whole(locked_server: Server) -> None:
    """The client in Elixir waits for CR LF, accepts one exact STARTED, and escapes nothing."""
    with Peer(locked_server) as peer:
        assert whole_line(peer).endswith(b"\r\n")
        peer.send(b"START ingest SecretPassword\n")
        assert whole_line(peer) == b"STARTED ingest protocol(1) buffer(20000)\r\n"
        peer.send(b'PUSH elixir default o "he said "hello" to us"\n')
        assert whole_line(peer).startswith(b"ERR "), "one answer to one line, and no end of the connection"
        peer.send(b'PUSH elixir default o "hello to us"\n')
        assert whole_line(peer) == b"OK\r\n"


def test_go_starts_before_the_greeting_and_cuts_by_blanks(locked_server: Server) -> None:
    """The client in Go writes START at once, takes the last word of STARTED as a number, and drops three words of an
    EVENT."""
    pushers = [Peer(locked_server) for _ in range(8)]
    for number, peer in enumerate(pushers):  # a bulk of pushes goes over as many connections
        peer.send(b"START ingest SecretPassword\r\n")
        assert whole_line(peer).startswith(b"CONNECTED")
        last = whole_line(peer).decode().strip().split(" ")[-1]
        assert int(re.sub(r"buffer\((\d+)\)", r"\1", last)) == 20_000
        peer.send(f'PUSH go b o{number} "C:\\\\temp \\"quoted\\"\\ngemeinsam"\r\n'.encode())
    for peer in pushers:
        assert whole_line(peer).strip() == b"OK"
        peer.close()
    with Peer(locked_server, "search") as peer:
        for text, count in (("gemeinsam", 8), ("nichts", 1)):
            peer.send(f'QUERY go b "{text}" LIMIT(10) OFFSET(0)\r\n'.encode())
            assert whole_line(peer).startswith(b"PENDING ")
            assert len(whole_line(peer).decode().strip("\r\n").split(" ")[3:]) == count


def test_rust_pipelines_and_splits_after_the_marker(locked_server: Server) -> None:
    """The client in Rust sends all lines at once, gives each PENDING to the oldest command, and needs the blank behind
    the marker.
    """
    with Peer(locked_server, "ingest") as peer:
        peer.send(
            b'PUSH rust b o:1 "premier texte" LANG(none)\r\nPUSH rust b o:2 "second texte" LANG(none)\r\n'
            b"COUNTC rust\r\nCOUNTB rust b\r\nCOUNTO rust b o:1\r\nCOUNTO rust b o:9\r\n"
        )
        assert peer.lines(6) == ["OK", "OK", "RESULT 1", "RESULT 2", "RESULT 2", "RESULT 0"]
    with Peer(locked_server) as peer:
        peer.send(b"START search SecretPassword\r\n")
        banner, started = whole_line(peer).decode(), whole_line(peer).decode()
        assert re.search(r"<(.+)>", banner)
        tokens = started.split()[2:]
        assert all(token.endswith(")") for token in tokens)
        assert dict(token.rstrip(")").split("(") for token in tokens) == {"protocol": "1", "buffer": "20000"}
        questions = ["premier", "nichts", "second", "texte", "nowhere"]
        peer.send("".join(f'QUERY rust b "{word}" LANG(none)\r\n' for word in questions).encode() + b"NOPE\r\n")
        waiting = list(questions)
        markers: dict[str, str] = {}
        found: dict[str, list[str]] = {}
        while len(found) < len(questions):
            verb, rest = whole_line(peer).decode().rstrip("\r\n").split(" ", 1)
            if verb == "PENDING":
                markers[rest] = waiting.pop(0)
            else:
                assert verb == "EVENT"
                marker, objects = rest.removeprefix("QUERY ").split(" ", 1)
                found[markers[marker]] = objects.split()
        assert found == {
            "premier": ["o:1"], "nichts": [], "second": ["o:2"], "texte": ["o:2", "o:1"], "nowhere": [],
        }  # fmt: skip
        assert whole_line(peer) == b"ERR unknown_command\r\n"


def test_java_reads_with_whole_patterns(locked_server: Server) -> None:
    """The client in Java matches every answer with a pattern from end to end."""
    with Peer(locked_server, "ingest") as peer:
        assert re.fullmatch("OK", peer.ask('PUSH java b o "ein Wort"\r'))
        assert re.fullmatch(r"RESULT (\d+)", peer.ask('POP java b o "ein"\r'))
        assert re.fullmatch(r"RESULT (\d+)", peer.ask("COUNT java b\r"))
    with Peer(locked_server, "search") as peer:
        for text in ("Wort", "keins"):
            pending = re.fullmatch(r"PENDING ([a-zA-Z0-9]+)", peer.ask(f'QUERY java b "{text}"\r'))
            assert pending
            assert re.fullmatch(rf"EVENT QUERY {pending[1]} (.*)", peer.line())
        assert re.fullmatch(r"ENDED quit", peer.ask("QUIT\r"))


def test_ruby_reads_pending_blindly_and_nim_trails_a_blank(locked_server: Server) -> None:
    """The client in Ruby reads any line after PENDING as its EVENT; the client in Nim sends a space behind the
    password."""
    with Peer(locked_server) as peer:
        assert whole_line(peer).decode().rstrip("\r\n").startswith("CONNECTED")
        peer.send(b"START search SecretPassword \r\n")
        assert whole_line(peer).startswith(b"STARTED search")
        peer.send(b'SUGGEST ruby b "nichts"\n')
        whole_line(peer)
        assert whole_line(peer).decode().rstrip("\r\n").split(" ")[:2] == ["EVENT", "SUGGEST"]
    with Peer(locked_server) as peer:
        whole_line(peer)
        peer.send(b"START control SecretPassword\r\n")
        assert whole_line(peer).startswith(b"STARTED control")
        peer.send(b"TRIGGER consolidate\r\n")
        assert whole_line(peer) == b"OK\r\n"
        peer.send(b"INFO\r\n")
        assert not re.match(rb"RESULT \d", whole_line(peer)), "a number would be taken for a count"


@pytest.mark.parametrize("password", [None, ""])
def test_a_password_is_left_out_where_none_is_needed(shared_server: Server, password: str | None) -> None:
    with Peer(shared_server) as peer:
        peer.send(b"START search\n" if password is None else b"START search \n")
        assert peer.line().startswith("CONNECTED")
        assert peer.line() == "STARTED search protocol(1) buffer(20000)"


def test_a_ping_after_every_command_costs_next_to_nothing(shared_server: Server) -> None:
    with Peer(shared_server, "ingest") as peer:
        for number in range(200):
            assert peer.ask(f'PUSH pool b o{number} "wort{number}"') == "OK"
            assert peer.ask("PING ") == "PONG"
