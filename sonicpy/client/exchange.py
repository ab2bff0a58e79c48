"""Exchange: some lines of one command and what answers them; and how long one is tried again."""

import os
import random
import socket
import ssl
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from sonicpy.channel.commands import Mode
from sonicpy.client.conversation import Answer, Kind, ServerInfo
from sonicpy.errors import ClientError, ConnectionLost, NotSonic, ShuttingDown, SonicError

LINES_UNDER_WAY = 64
"""Lines of one exchange that are sent at once: neither side can stall over answers that nobody takes."""

FIRST_PAUSE_S = 0.02
LONGEST_PAUSE_S = 1.0

KEEPALIVE = (("TCP_KEEPIDLE", 60), ("TCP_KEEPINTVL", 15), ("TCP_KEEPCNT", 4))
"""Seconds of silence before the first probe, seconds between probes, and how many may be lost."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """Lines to be sent over one connection, one answer to each."""

    mode: Mode
    command: str
    """Their first word."""
    kind: Kind
    lines: Callable[[ServerInfo], Sequence[str]]
    """Makes them, without ends, for what the server takes; they hold no line break."""
    changes: bool = False
    """Carried out twice it is not the same as once: POP and FLUSH."""
    timeout_s: float | None = None
    """For each answer; None: as the client has it."""


class Reply(NamedTuple):
    """What came of an exchange when no line of it was refused."""

    answers: list[str]
    facts: ServerInfo


class Keepable(Protocol):
    """A socket, or what an event loop shows of one."""

    def setsockopt(self, level: int, name: int, value: int, /) -> object: ...


def keep_alive(connection: Keepable) -> None:
    """Let the system find out within about two minutes that a peer, or the way to it, is gone while nothing is sent."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in KEEPALIVE:
        if hasattr(socket, name):
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def encoded(lines: Sequence[str]) -> bytes:
    """Return lines as they are sent. The end is a bare line feed: a CR would count to the length."""
    return "".join(f"{line}\n" for line in lines).encode()


def accepted(answers: Sequence[Answer]) -> list[str]:
    """Return the answers to an exchange.

    Raises:
        SonicError: the first refusal; ConnectionLost: the server is about to close, and what it has carried out of
            several lines is known only if that is nothing.
    """
    refusals = [answer for answer in answers if not isinstance(answer, str)]
    if not refusals:
        return [answer for answer in answers if isinstance(answer, str)]
    if all(isinstance(refusal, ShuttingDown) for refusal in refusals):
        raise ConnectionLost(str(refusals[0]), was_sent=len(refusals) < len(answers))
    raise next(refusal for refusal in refusals if not isinstance(refusal, ShuttingDown))


class RetryPolicy:
    """Whether an exchange that failed is tried again, and after which pause: longer from time to time.

    Args:
        retry_s: for how long from now on.
        repeats: it may be carried out twice.
    """

    def __init__(self, retry_s: float, repeats: bool) -> None:
        self._retry_s = retry_s
        self._deadline = time.monotonic() + retry_s
        self._repeats = repeats
        self._pause_s = 0.0

    def pause_s(self, trouble: SonicError) -> float:
        """Return how long to wait before the next try; raise `trouble` if there is none."""
        if not isinstance(trouble, ConnectionLost) or (trouble.was_sent and not self._repeats):
            raise trouble
        pause_s = self._pause_s * random.uniform(0.5, 1.0)  # not all clients at the same moment
        if time.monotonic() + pause_s > self._deadline:
            raise trouble
        # The first time at once: a connection that lay idle may be gone while the server is well.
        self._pause_s = min(LONGEST_PAUSE_S, self._pause_s * 2 or FIRST_PAUSE_S)
        return pause_s

    def renew(self) -> None:
        """Begin anew: something was answered."""
        self._deadline = time.monotonic() + self._retry_s
        self._pause_s = 0.0


def lost(peer: str, trouble: OSError) -> ConnectionLost:
    """Return what to raise for a connection that broke with something under way."""
    return ConnectionLost(f"the connection to {peer} is lost: {_reason(trouble)}")


def unreachable(peer: str, trouble: OSError) -> ClientError:
    """Return what to raise where no connection could be made."""
    if isinstance(trouble, ssl.SSLCertVerificationError):
        return NotSonic(f"{peer} shows a certificate that is not trusted: {trouble.verify_message}")
    if isinstance(trouble, ssl.SSLError):
        reason = (trouble.reason or str(trouble)).lower().replace("_", " ")
        return NotSonic(f"{peer} does not speak TLS as it should: {reason}")
    return ConnectionLost(f"{peer} cannot be reached: {_reason(trouble)}", was_sent=False)


def _reason(trouble: OSError) -> str:
    # asyncio puts addresses and calls into strerror; numbers of getaddrinfo are below 0.
    if trouble.errno is not None and trouble.errno > 0 and not isinstance(trouble, ssl.SSLError):
        return os.strerror(trouble.errno)
    return trouble.strerror or str(trouble) or type(trouble).__name__
