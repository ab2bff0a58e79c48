"""Sockets of both clients: keep-alive, and an error for each way in which they fail."""

import os
import socket
import ssl
from typing import Protocol

from sonicpy.client.conversation import IS_IT_HTTP
from sonicpy.errors import ClientError, ConnectionLost, NotSonic

KEEPALIVE = (("TCP_KEEPIDLE", 60), ("TCP_KEEPINTVL", 15), ("TCP_KEEPCNT", 4))
"""The options of keep-alive: seconds of silence before the first probe, seconds between probes, lost probes allowed."""

SILENCE_S = 5.0
"""The time in seconds of a new connection without a greeting from which its end means that the server waited for a
request, as HTTP does. A proxy whose server is away ends connections sooner."""

NO_TLS = frozenset({"HTTPS_PROXY_REQUEST", "WRONG_VERSION_NUMBER"})
"""The reasons of OpenSSL for an answer that is not TLS. The first one means the greeting of Sonic: CONNECTED begins as
a request of HTTP does."""


class NoGreeting(ConnectionLost):
    """A server waited on a new connection, sent nothing, and closed the connection."""


class HasOptions(Protocol):
    """A socket, or the object that an event loop shows in its place."""

    def setsockopt(self, level: int, name: int, value: int, /) -> object: ...


def keep_alive(connection: HasOptions) -> None:
    """Make the system notice within about two minutes that the peer of an idle connection is gone."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in KEEPALIVE:
        if hasattr(socket, name):
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def lost(peer: str, error: OSError) -> ConnectionLost:
    """Return the error to raise when a connection breaks while a command waits for its answer.

    Args:
        peer: the address of the server.
    """
    return ConnectionLost(f"the connection to {peer} is lost: {_reason(error)}")


def unopened(peer: str, error: ConnectionLost, silent_s: float) -> ConnectionLost:
    """Return the error to raise when a server ends a connection before the session is open: `error`, or NoGreeting.

    Args:
        peer: the address of the server.
        silent_s: the time in seconds for which the server sent nothing; 0: it has sent something.
    """
    if silent_s >= SILENCE_S:
        error = NoGreeting(f"{peer} closed the connection after {silent_s:.0f} s without a greeting: {IS_IT_HTTP}")
    error.was_sent = False
    return error


def unreachable(peer: str, error: OSError) -> ClientError:
    """Return the error to raise when no connection can be made.

    Args:
        peer: the address of the server.
    """
    if isinstance(error, ssl.SSLCertVerificationError):
        return NotSonic(f"{peer} shows a certificate that is not trusted: {error.verify_message}")
    if isinstance(error, ssl.SSLError) and error.reason in NO_TLS:
        return NotSonic(f"the server at {peer} speaks no TLS: use sonic://")
    if isinstance(error, ssl.SSLError):
        reason = (error.reason or str(error)).lower().replace("_", " ")
        return NotSonic(f"TLS with {peer} failed: {reason}")
    return ConnectionLost(f"{peer} cannot be reached: {_reason(error)}", was_sent=False)


def _reason(error: OSError) -> str:
    # asyncio puts addresses and calls into strerror; error numbers of getaddrinfo are negative.
    if error.errno is not None and error.errno > 0 and not isinstance(error, ssl.SSLError):
        return os.strerror(error.errno)
    return error.strerror or str(error) or type(error).__name__
