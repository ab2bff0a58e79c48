"""`sonicpy ping`: whether a server answers, over TCP, TLS or a Unix socket."""

import argparse
import os
import socket
import ssl
import sys
import time
from pathlib import Path

from sonicpy.cli.arguments import Verbs, seconds
from sonicpy.cli.output import add_json, show
from sonicpy.cli.target import SERVER_VARIABLE, open_server
from sonicpy.client.address import Address, read_url, split_urls, tls_context
from sonicpy.client.blocking.connection import connect_socket, seconds_left
from sonicpy.client.transport import unreachable
from sonicpy.config import split_address
from sonicpy.errors import ClientError, ConfigError

DEFAULT_ADDRESSES = (("::1", 1491), ("127.0.0.1", 1491))
"""The default addresses of a server, as far as the machine has them."""

ANSWER_MAX_BYTES = 1024
"""A number of bytes above any answer that ping reads; a peer that sends more without a line end is not a Sonic
server.
"""

DESCRIPTION = """\
Connect to a Sonic server and read its greeting (CONNECTED ...). With --password, also open a session in mode control
with START, send PING, and close it with QUIT. Without a password, ping sends nothing and so checks none.
Exit status: 0 the server answered, 1 it did not."""


def add_verbs(verbs: Verbs) -> None:
    """Add `ping` and its arguments to the command line."""
    parser = verbs.add_parser("ping", description=DESCRIPTION, epilog="example: sonicpy ping --inet 127.0.0.1:1491")
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--inet", metavar="HOST:PORT", type=_address, help="the server (default: [::1]:1491, then 127.0.0.1:1491)"
    )
    where.add_argument(
        "--server", metavar="URL", help=f"the server, as for the other verbs (default: {SERVER_VARIABLE})"
    )
    where.add_argument("--unix", metavar="PATH", type=Path, help="the Unix socket of the server")
    parser.add_argument("--tls", action="store_true", help="use TLS; the server's certificate must name HOST")
    parser.add_argument(
        "--ca", metavar="FILE", type=Path, help="use TLS; trust this certificate (PEM), not those of the system"
    )
    parser.add_argument("--password", metavar="P", type=_password, help="also open a session with this password")
    parser.add_argument("--timeout", metavar="S", type=seconds, default=5.0, help="time limit in seconds (default: 5)")
    add_json(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Ping the server, print one sentence, and return 0 if it answered, else 1.

    Raises:
        ConfigError: --ca does not name a certificate, or flags contradict each other.
    """
    url = _url(arguments)
    if url is not None:
        return _ping_url(arguments, url)
    addresses = _addresses(arguments)
    deadline = time.monotonic() + arguments.timeout
    errors = []
    for address in addresses:
        try:
            banner = _ask(address, deadline)
        except OSError as error:
            errors.append(_sentence(str(address), error))
        else:
            _show(arguments, str(address), banner)
            return 0
    print(f"sonicpy: {' and '.join(errors)}.", file=sys.stderr)
    return 1


def _url(arguments: argparse.Namespace) -> str | None:
    """Return the URL of --server or of the variable; None: other flags name the server, or no server is named. Raises
    ConfigError if --server and other flags name it.
    """
    others = arguments.inet or arguments.unix or arguments.tls or arguments.ca or arguments.password
    if arguments.server is None:
        return None if others else os.environ.get(SERVER_VARIABLE) or None
    if others:
        raise ConfigError("flags --tls, --ca and --password are for --inet; with --server, the URL contains them.")
    url: str = arguments.server
    return url


def _show(arguments: argparse.Namespace, server: str, answer: str) -> None:
    show(arguments, {"server": server, "answer": answer}, f"{server} answers: {answer}")


def _ping_url(arguments: argparse.Namespace, url: str) -> int:
    """Ping each server of a URL; return 0 if all answered. Raises the error of the server if there is only one."""
    urls = split_urls(url)
    failed = []
    for one in urls:
        try:
            with open_server(one, timeout_s=arguments.timeout, retry_s=0.0) as client:
                _show(arguments, str(read_url(one)), str(client.server))
        except ClientError as error:
            if len(urls) == 1:
                raise
            failed.append(str(error))
    for sentence in failed:
        print(f"sonicpy: {sentence}.", file=sys.stderr)
    return 1 if failed else 0


def _addresses(arguments: argparse.Namespace) -> list[Address]:
    is_tls = arguments.tls or arguments.ca is not None
    if arguments.unix:
        if is_tls:
            raise ConfigError("flags --tls and --ca are for --inet; allowed with --unix is neither.")
        return [Address(unix=arguments.unix, password=arguments.password)]
    tls = tls_context(arguments.ca, "flag --ca: {}") if is_tls else None
    pairs = [arguments.inet] if arguments.inet else DEFAULT_ADDRESSES
    return [Address(host, port, password=arguments.password, tls=tls) for host, port in pairs]


def _ask(address: Address, deadline: float) -> str:
    # Not with Client, which answers every greeting with START.
    with connect_socket(address, deadline) as connection:
        banner = _expect(connection, b"CONNECTED ", deadline)
        if address.password is not None:
            _converse(connection, f"START control {address.password}", b"STARTED ", deadline)
            _converse(connection, "PING", b"PONG", deadline)
            _converse(connection, "QUIT", b"ENDED quit", deadline)
        return banner


def _converse(connection: socket.socket, line: str, expected: bytes, deadline: float) -> None:
    connection.settimeout(seconds_left(deadline))
    connection.sendall(f"{line}\r\n".encode("utf-8", "surrogateescape"))
    _expect(connection, expected, deadline)


def _expect(connection: socket.socket, expected: bytes, deadline: float) -> str:
    line = _read_line(connection, deadline)
    # Escaped, because bytes from an unknown peer go to a terminal.
    text = ascii(line.decode("utf-8", "replace"))[1:-1]
    if not line.startswith(expected):
        raise ConnectionError(f'answered "{text}" instead of {expected.decode().strip()}')
    return text


def _read_line(connection: socket.socket, deadline: float) -> bytes:
    # Only one command is sent at a time, so nothing follows the line end.
    received = b""
    while not received.endswith(b"\n") and len(received) < ANSWER_MAX_BYTES:
        connection.settimeout(seconds_left(deadline))
        part = connection.recv(ANSWER_MAX_BYTES)
        if not part:
            raise ConnectionError("closed the connection without an answer")
        received += part
    return received.rstrip(b"\r\n")


def _sentence(peer: str, error: OSError) -> str:
    if isinstance(error, TimeoutError):
        return f"{peer} did not answer in time"
    if isinstance(error, ssl.SSLError):
        return str(unreachable(peer, error))
    if error.strerror is None:
        return f"{peer} {error}"
    return f"{peer} does not answer: {error.strerror}"


def _address(text: str) -> tuple[str, int]:
    try:
        host, port = split_address(text)
        host.encode("idna")  # what connecting does first, with the same error
    except ValueError as error:
        raise argparse.ArgumentTypeError(f'"{text}" is not HOST:PORT, such as 127.0.0.1:1491 or [::1]:1491') from error
    return host, port


def _password(text: str) -> str:
    if not text or any(character.isspace() for character in text):
        raise argparse.ArgumentTypeError("a password needs at least one character, and no white space")
    return text
