"""Tests of `sonicpy ping` with servers that answer well, badly, slowly or not at all."""

import json
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import pytest

from sonicpy.cli import ping
from sonicpy.cli.main import main
from tests.support.patience import WAIT_S, is_within

BANNER = b"CONNECTED <sonic-server v1.10.2>\r\n"
STARTED = b"STARTED control protocol(1) buffer(20000)\r\n"

Script = list[tuple[bytes, bytes]]
"""The turns of a server: the line that it waits for (empty: none), and the line that it sends then."""


@contextmanager
def server(script: Script) -> Iterator[tuple[str, list[bytes]]]:
    """Listen for one connection, follow `script`, and close; yield (HOST:PORT, the lines received)."""
    received: list[bytes] = []

    def follow() -> None:
        connection, _ = listener.accept()
        with connection, connection.makefile("rb") as lines:
            for awaited, answer in script:
                if awaited:
                    received.append(lines.readline())
                connection.sendall(answer)
            connection.shutdown(socket.SHUT_WR)
            received.extend(lines)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(WAIT_S)
        thread = Thread(target=follow)
        thread.start()
        yield f"127.0.0.1:{listener.getsockname()[1]}", received
        thread.join()


ANSWERED: list[tuple[list[str], Script, list[bytes], str]] = [
    ([], [(b"", BANNER)], [], "nothing is sent without a password"),
    (
        ["--password", "pass"],
        [(b"", BANNER), (b"START", STARTED), (b"PING", b"PONG\r\n"), (b"QUIT", b"ENDED quit\r\n")],
        [b"START control pass\r\n", b"PING\r\n", b"QUIT\r\n"],
        "a whole session",
    ),
    ([], [(b"", BANNER[:5]), (b"", BANNER[5:])], [], "the banner in two pieces"),
]

NOT_ANSWERED: list[tuple[list[str], Script, str]] = [
    ([], [], "closed the connection without an answer"),
    ([], [(b"", b"SSH-2.0-x\x1b[31m\r\n")], 'answered "SSH-2.0-x\\x1b[31m" instead of CONNECTED'),
    ([], [(b"", b"CONNECTED")], "closed the connection without an answer"),
    ([], [(b"", b"x" * 1024)], f'answered "{"x" * 1024}" instead of CONNECTED'),
    (
        ["--password", "wrong"],
        [(b"", BANNER), (b"START", b"ENDED authentication_failed\r\n")],
        'answered "ENDED authentication_failed" instead of STARTED',
    ),
    (
        ["--password", "pass"],
        [(b"", BANNER), (b"START", STARTED), (b"PING", b"ERR shutting_down\r\n")],
        'answered "ERR shutting_down" instead of PONG',
    ),
]


def test_a_server_answers(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, script, sent, why in ANSWERED:
        with server(script) as (address, received):
            assert main(["ping", "--inet", address, *arguments]) == 0
        assert received == sent, why
        assert capsys.readouterr().out == f"{address} answers: CONNECTED <sonic-server v1.10.2>\n"


def test_an_answer_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    with server([(b"", BANNER)]) as (address, _):
        assert main(["ping", "--inet", address, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"server": address, "answer": "CONNECTED <sonic-server v1.10.2>"}


def test_a_server_answers_badly(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, script, reason in NOT_ANSWERED:
        with server(script) as (address, _):
            assert main(["ping", "--inet", address, *arguments]) == 1
        assert capsys.readouterr().err == f"sonicpy: {address} {reason}.\n"


def test_a_silent_server_is_given_up_in_time(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:  # the kernel connects, no program accepts
        address = f"127.0.0.1:{listener.getsockname()[1]}"
        begin = time.monotonic()
        assert main(["ping", "--inet", address, "--timeout", "0.2"]) == 1
    assert time.monotonic() - begin >= 0.2
    assert is_within(2, begin)
    assert capsys.readouterr().err == f"sonicpy: {address} did not answer in time.\n"


def test_without_an_address_both_defaults_are_tried(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        free_port = closed.getsockname()[1]
    monkeypatch.setattr(ping, "DEFAULT_ADDRESSES", (("127.0.0.1", free_port), ("127.0.0.1", free_port)))
    assert main(["ping"]) == 1
    refused = f"127.0.0.1:{free_port} does not answer: Connection refused"
    assert capsys.readouterr().err == f"sonicpy: {refused} and {refused}.\n"

    with server([(b"", BANNER)]) as (address, _):
        port = int(address.rpartition(":")[2])
        monkeypatch.setattr(ping, "DEFAULT_ADDRESSES", (("127.0.0.1", free_port), ("127.0.0.1", port)))
        assert main(["ping"]) == 0
    assert capsys.readouterr().err == ""


WRONG_TLS = [
    (["--ca", "none.pem"], "flag --ca: none.pem cannot be read: No such file or directory."),
    (["--ca", "{not_pem}"], "flag --ca: {not_pem} is not a PEM certificate."),
    (["--unix", "x", "--tls"], "flags --tls and --ca are for --inet; allowed with --unix is neither."),
]


def test_tls_that_cannot_be_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, said in WRONG_TLS:
        (tmp_path / "not.pem").write_text("nothing")
        names = {"not_pem": tmp_path / "not.pem"}
        assert main(["ping", *(argument.format(**names) for argument in arguments)]) == 2
        assert capsys.readouterr().err == f"sonicpy: {said.format(**names)}\n"


def test_a_server_without_tls_is_told_apart(capsys: pytest.CaptureFixture[str]) -> None:
    def answer() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(1 << 16)
            connection.sendall(BANNER)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = f"127.0.0.1:{listener.getsockname()[1]}"
        thread = Thread(target=answer)
        thread.start()
        assert main(["ping", "--inet", address, "--tls"]) == 1
        thread.join()
    assert capsys.readouterr().err == f"sonicpy: the server at {address} speaks no TLS: use sonic://.\n"


def test_a_unix_socket_that_nobody_serves(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "s.sock"
    assert main(["ping", "--unix", str(path)]) == 1
    assert capsys.readouterr().err == f"sonicpy: {path} does not answer: No such file or directory.\n"


WRONG_ARGUMENTS = [
    ["--inet", "localhost"],
    ["--inet", f"{'x' * 64}.example:1"],
    ["--inet", "[localhost]:1491"],
    ["--password", "two words"],
    ["--password", ""],
    ["--password", "x\r\nTRIGGER"],
    ["--timeout", "0"],
    ["--timeout", "nan"],
    ["--timeout", "1e10"],
    ["--timeout", "soon"],
]


def test_wrong_arguments_end_with_status_2(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in WRONG_ARGUMENTS:
        with pytest.raises(SystemExit) as exit_:
            main(["ping", *arguments])
        assert exit_.value.code == 2
        assert f"error: argument {arguments[0]}: " in capsys.readouterr().err
