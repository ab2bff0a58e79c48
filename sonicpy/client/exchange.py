"""Exchange: the lines of one command, and the answers to them."""

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from sonicpy.channel.commands import Mode
from sonicpy.client.conversation import Answer, AnswerKind, ServerInfo
from sonicpy.errors import ConnectionLost, ShuttingDown

Value = TypeVar("Value")

LINES_IN_FLIGHT_MAX = 64
"""The most lines of one exchange that are sent at once: few enough that client and server never block each other with
unread data."""


MAINTENANCE_TIMEOUT_S = 3600.0
"""The longest wait in seconds for commands on a whole store or bucket."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """Lines to send over one connection; the server gives each line one answer."""

    mode: Mode
    command: str
    """The first word of each line."""
    kind: AnswerKind
    lines: Callable[[ServerInfo], Sequence[str]]
    """A function that makes the lines for a server, without line breaks: servers accept different lines."""
    changes: bool = False
    """Whether the effect of executing it twice differs from that of executing it once, as for POP and FLUSH."""
    timeout_s: float | None = None
    """The longest wait for each answer in seconds; None: that of the client."""


class Reply(NamedTuple):
    """The answers to an exchange in which the server refused no line."""

    answers: list[str]
    server: ServerInfo


CallPlan = Generator[Exchange, Reply, Value]
"""A generator that yields the exchanges of one method of a client, and returns its result; see `client.plans`."""


def encoded(lines: Sequence[str]) -> bytes:
    """Return lines as bytes to send. Each ends with a bare line feed, because the server counts a CR as part of the
    line.
    """
    return "".join(f"{line}\n" for line in lines).encode()


def accepted(answers: Sequence[Answer]) -> list[str]:
    """Return the answers to an exchange if the server refused no line.

    Raises:
        SonicError: the first refusal.
        ConnectionLost: the server is shutting down; `was_sent` is false only if it executed none of the lines.
    """
    refusals = [answer for answer in answers if not isinstance(answer, str)]
    if not refusals:
        return [answer for answer in answers if isinstance(answer, str)]
    if all(isinstance(refusal, ShuttingDown) for refusal in refusals):
        raise ConnectionLost(str(refusals[0]), was_sent=len(refusals) < len(answers))
    raise next(refusal for refusal in refusals if not isinstance(refusal, ShuttingDown))
