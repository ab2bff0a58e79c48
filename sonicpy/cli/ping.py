"""`sonicpy ping`: ask a server whether it answers, over one socket: TCP, TLS or Unix."""

import argparse
import math
import os
import socket
import ssl
import sys
import time
from pathlib import Path

from sonicpy.cli.target import SERVER_VARIABLE, open_server
from sonicpy.client.address import Address, read_url, trusting
from sonicpy.client.blocking.connection import connected, left
from sonicpy.client.exchange import unreachable
from sonicpy.config import split_address
from sonicpy.errors import ConfigError

DEFAULT_ADDRESSES = (("::1", 1491), ("127.0.0.1", 1491))
"""Where a server without settings listens; the second where the machine has no IPv6."""

ANSWER_MAX_BYTES = 1024
"""More than any line of the greeting; whoever sends more is no Sonic server."""

DESCRIPTION = """\
Connect and read the greeting of a Sonic server (CONNECTED ...). With --password also open a session in mode control
with START, send PING, and leave with QUIT; without it nothing is sent, so a wrong password stays unnoticed.
Exit status: 0 the server answered, 1 it did not."""


def add_verbs(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add `ping` and its arguments to the command line."""
    parser = verbs.add_parser("ping", description=DESCRIPTION, epilog="example: sonicpy ping --inet 127.0.0.1:1491")
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--inet", metavar="HOST:PORT", type=_address, help="the server (default: [::1]:1491, then 127.0.0.1:1491)"
    )
    where.add_argument("--server", metavar="URL", help=f"as other verbs take it (default: {SERVER_VARIABLE})")
    where.add_argument("--unix", metavar="PATH", type=Path, help="the server, by its Unix socket")
    parser.add_argument("--tls", action="store_true", help="speak TLS; HOST must be in the server's certificate")
    parser.add_argument(
        "--ca", metavar="FILE", type=Path, help="speak TLS; trust this certificate (PEM), not those of the system"
    )
    parser.add_argument("--password", metavar="P", type=_password, help="also open a session with this password")
    parser.add_argument("--timeout", metavar="S", type=_seconds, default=5.0, help="for all of it (default: 5 seconds)")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Ask the server, print one sentence, and return 0 when it answered or 1 when not.

    Raises:
        ConfigError: --ca names no certificate, or TLS is asked of a Unix socket.
    """
    url = _url(arguments)
    if url is not None:
        return _ping_url(url, arguments.timeout)
    addresses = _addresses(arguments)
    deadline = time.monotonic() + arguments.timeout
    problems = []
    for address in addresses:
        try:
            banner = _ask(address, deadline)
        except OSError as problem:
            problems.append(_sentence(str(address), problem))
        else:
            print(f"{address} answers: {banner}")
            return 0
    print(f"sonicpy: {' and '.join(problems)}.", file=sys.stderr)
    return 1


def _url(arguments: argparse.Namespace) -> str | None:
    """Return the URL that is meant, or None where the other flags, or nothing, say which server."""
    others = arguments.inet or arguments.unix or arguments.tls or arguments.ca or arguments.password
    if arguments.server is None:
        return None if others else os.environ.get(SERVER_VARIABLE) or None
    if others:
        raise ConfigError("flags --tls, --ca and --password are for --inet; with --server its URL says all of it.")
    url: str = arguments.server
    return url


def _ping_url(url: str, timeout_s: float) -> int:
    with open_server(url, timeout_s=timeout_s, retry_s=0.0) as client:
        print(f"{read_url(url)} answers: {client.server}")
    return 0


def _addresses(arguments: argparse.Namespace) -> list[Address]:
    is_tls = arguments.tls or arguments.ca is not None
    if arguments.unix:
        if is_tls:
            raise ConfigError("flags --tls and --ca are for --inet; allowed with --unix is neither.")
        return [Address(unix=arguments.unix, password=arguments.password)]
    tls = trusting(arguments.ca, "flag --ca: {}") if is_tls else None
    pairs = [arguments.inet] if arguments.inet else DEFAULT_ADDRESSES
    return [Address(host, port, password=arguments.password, tls=tls) for host, port in pairs]


def _ask(address: Address, deadline: float) -> str:
    # The client would send START behind every greeting.
    with connected(address, deadline) as connection:
        banner = _expect(connection, b"CONNECTED ", deadline)
        if address.password is not None:
            _converse(connection, f"START control {address.password}", b"STARTED ", deadline)
            _converse(connection, "PING", b"PONG", deadline)
            _converse(connection, "QUIT", b"ENDED quit", deadline)
        return banner


def _converse(connection: socket.socket, line: str, expected: bytes, deadline: float) -> None:
    connection.settimeout(left(deadline))
    connection.sendall(f"{line}\r\n".encode("utf-8", "surrogateescape"))
    _expect(connection, expected, deadline)


def _expect(connection: socket.socket, expected: bytes, deadline: float) -> str:
    line = _read_line(connection, deadline)
    # Shown with escapes: the bytes come from whoever listens there, and go to a terminal.
    text = ascii(line.decode("utf-8", "replace"))[1:-1]
    if not line.startswith(expected):
        raise ConnectionError(f'answered "{text}" in the place of {expected.decode().strip()}')
    return text


def _read_line(connection: socket.socket, deadline: float) -> bytes:
    # One line is under way at a time, so nothing can stand behind its end.
    received = b""
    while not received.endswith(b"\n") and len(received) < ANSWER_MAX_BYTES:
        connection.settimeout(left(deadline))
        part = connection.recv(ANSWER_MAX_BYTES)
        if not part:
            raise ConnectionError("closed the connection without an answer")
        received += part
    return received.rstrip(b"\r\n")


def _sentence(peer: str, problem: OSError) -> str:
    if isinstance(problem, TimeoutError):
        return f"{peer} did not answer in time"
    if isinstance(problem, ssl.SSLError):
        return str(unreachable(peer, problem))
    if problem.strerror is None:
        return f"{peer} {problem}"
    return f"{peer} does not answer: {problem.strerror}"


def _address(text: str) -> tuple[str, int]:
    try:
        host, port = split_address(text)
        host.encode("idna")  # what connecting does first, with the same error
    except ValueError as error:
        raise argparse.ArgumentTypeError(f'"{text}" is not HOST:PORT, such as 127.0.0.1:1491 or [::1]:1491') from error
    return host, port


def _password(text: str) -> str:
    if not text or any(character.isspace() for character in text):
        raise argparse.ArgumentTypeError("a password has one character or more, and no white space")
    return text


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds < math.inf:
        raise argparse.ArgumentTypeError(f'"{text}" is not a number of seconds above 0')
    return seconds
