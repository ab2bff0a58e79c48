"""Conversation: one connection as a client sees it, as a machine that bytes go into and answers come out of.

    greeting --CONNECTED--> starting --STARTED--> open --ENDED, or a line nobody can place--> over

Commands are answered in the order they were sent: with OK, PONG, RESULT or ERR, or with PENDING, whose EVENT may come
after the answers of later commands and is told apart by its marker.
"""

import re
from collections import deque
from enum import StrEnum

from sonicpy.channel.commands import Mode
from sonicpy.errors import (
    ClientError,
    CommandError,
    ConnectionLost,
    NotOffered,
    NotSonic,
    ShuttingDown,
    SonicError,
    WrongPassword,
)

BUFFER_BYTES = 20_000
"""Longest line of servers that do not say."""
ANSWER_MAX_BYTES = 1 << 28
"""More than any answer; whoever sends more without a line end is not listened to."""

_GREETING = re.compile(r"CONNECTED <([^<>]*?)(?: v([^<>]*))?>")
_BUFFER = re.compile(r" buffer\((\d+)\)")
_ERROR = re.compile(r"([^()]*)\((.*)\)", re.DOTALL)
_EVENT_PARTS = 3

PASSWORD_REASONS = {
    "authentication_required": "the server wants a password and was given none",
    "authentication_failed": "the password is wrong",
}


class Kind(StrEnum):
    """What answers a command when all is well."""

    OK = "OK"
    PONG = "PONG"
    RESULT = "RESULT"
    QUERY = "QUERY"
    SUGGEST = "SUGGEST"
    LIST = "LIST"

    @property
    def is_event(self) -> bool:
        """Whether it is an EVENT of this name."""
        return self in _EVENTS


_EVENTS = frozenset({Kind.QUERY, Kind.SUGGEST, Kind.LIST})

Answer = str | SonicError
"""What stood behind the first word of the line (in an EVENT: its items), or why the command was refused."""


class ServerInfo:
    """What a server told of itself on one connection."""

    __slots__ = ("buffer_bytes", "name", "refused", "version")

    def __init__(self) -> None:
        self.name = "unknown"
        """`sonicpy`, or `sonic-server`."""
        self.version = ""
        self.buffer_bytes = BUFFER_BYTES
        """Longest line it takes, without its end."""
        self.refused: set[str] = set()
        """Options it turned out not to know."""

    def __str__(self) -> str:
        return f"{self.name} {self.version}".strip()


class InFlight:
    """Some lines that were sent together, and what has been answered.

    Args:
        count: how many lines.
        kind: what is to answer each of them.
        command: their first word.
    """

    __slots__ = ("answers", "command", "kind", "left")

    def __init__(self, count: int, kind: Kind, command: str) -> None:
        self.kind = kind
        self.command = command
        self.left = count
        """How many answers are still to come."""
        self.answers: list[Answer] = [""] * count
        """In the order of the lines; whole when nothing is left."""


class Conversation:
    """The state of one connection.

    Args:
        mode: what to START.
        password: what to START with; None: none.
        peer: the address of the server, for messages.
    """

    def __init__(self, mode: Mode, password: str | None, peer: str) -> None:
        self.facts = ServerInfo()
        self.is_open = False
        """Commands may be sent."""
        self.end: ClientError | None = None
        """Why nothing more will be answered."""
        self.is_stopping = False
        """The server refuses every command from now on."""
        self.outgoing = b""
        """To be sent by the owner after each `feed`, and emptied."""
        self._mode = mode
        self._password = password
        self._peer = peer
        self._received = bytearray()
        self._searched = 0  # so many bytes of it hold no line feed
        self._has_greeted = False
        self._waiting: deque[tuple[InFlight, int]] = deque()
        self._pending: dict[str, tuple[InFlight, int]] = {}

    @property
    def is_idle(self) -> bool:
        """Whether nothing is waited for, and nothing has come that was not asked for."""
        return not self._waiting and not self._pending and not self._received

    def submit(self, count: int, kind: Kind, command: str) -> InFlight:
        """Expect an answer to each of `count` lines that the owner sends now; see InFlight."""
        ticket = InFlight(count, kind, command)
        self._waiting.extend((ticket, place) for place in range(count))
        return ticket

    def feed(self, data: bytes) -> list[InFlight]:
        """Read what arrived; return the tickets that it completed. Look at `outgoing`, `is_open` and `end` then."""
        completed: list[InFlight] = []
        self._received += data
        start = 0
        while self.end is None and (end := self._received.find(b"\n", max(start, self._searched))) >= 0:
            line = bytes(self._received[start:end]).removesuffix(b"\r")
            start = end + 1
            try:
                ticket = self._read(line.decode())
            except ClientError as end_of_all:
                self.end = end_of_all
            except UnicodeDecodeError:
                self.end = NotSonic(f"{self._peer} answered with a line that is not UTF-8")
            else:
                if ticket is not None and ticket.left == 0:
                    completed.append(ticket)
        del self._received[:start]
        self._searched = len(self._received)
        if self.end is None and self._searched > ANSWER_MAX_BYTES:
            self.end = NotSonic(f"{self._peer} sent {self._searched} bytes without a line end")
        return completed

    def _read(self, line: str) -> InFlight | None:
        word, _, rest = line.partition(" ")
        if word == "ENDED":
            raise self._ended(rest)
        if self.is_open:
            return self._answer(line, word, rest)
        if self._has_greeted:
            self._started(line)
        else:
            self._greeted(line)
        return None

    def _greeted(self, line: str) -> None:
        found = _GREETING.match(line)
        if found is None:
            raise self._not_sonic(line, "CONNECTED <name version>")
        self.facts.name, self.facts.version = found[1], found[2] or ""
        self._has_greeted = True
        start = f"START {self._mode}" if self._password is None else f"START {self._mode} {self._password}"
        self.outgoing += f"{start}\n".encode(errors="surrogateescape")

    def _started(self, line: str) -> None:
        if not line.startswith(f"STARTED {self._mode}"):
            raise self._not_sonic(line, f"STARTED {self._mode}")
        announced = _BUFFER.search(line)
        if announced is not None:
            self.facts.buffer_bytes = int(announced[1])
        self.is_open = True

    def _answer(self, line: str, word: str, rest: str) -> InFlight:
        if word == "EVENT":
            return self._event(line, rest)
        if not self._waiting:
            raise self._not_sonic(line, "nothing, because nothing was asked")
        ticket, place = self._waiting.popleft()
        if word == "ERR":
            return self._fill(ticket, place, self._refusal(rest, ticket.command))
        if word == "PENDING" and ticket.kind.is_event:
            self._pending[rest] = ticket, place
            return ticket
        if word != ticket.kind:
            raise self._not_sonic(line, ticket.kind)
        return self._fill(ticket, place, rest)

    def _event(self, line: str, rest: str) -> InFlight:
        name, marker, items = (*rest.split(" ", _EVENT_PARTS - 1), "", "")[:_EVENT_PARTS]
        if marker not in self._pending:
            raise self._not_sonic(line, "an EVENT that was announced")
        ticket, place = self._pending.pop(marker)
        if name != ticket.kind:
            raise self._not_sonic(line, f"EVENT {ticket.kind}")
        return self._fill(ticket, place, items)

    def _fill(self, ticket: InFlight, place: int, answer: Answer) -> InFlight:
        ticket.answers[place] = answer
        ticket.left -= 1
        return ticket

    def _refusal(self, text: str, command: str) -> SonicError:
        found = _ERROR.fullmatch(text)
        code, detail = (found[1], found[2]) if found else (text, None)
        if code == "shutting_down":
            self.is_stopping = True
            return ShuttingDown(f"{self._peer} is shutting down")
        if code == "unknown_command":
            return NotOffered(command, str(self.facts))
        if code == "invalid_meta_key":
            # Keys that are sent are well formed: it does not know them.
            key = (detail or "").partition("[")[0]
            self.facts.refused.add(key)
            return NotOffered(f"{key} of {command}", str(self.facts))
        return CommandError(code, detail)

    def _ended(self, reason: str) -> ClientError:
        if reason in PASSWORD_REASONS:
            return WrongPassword(f"{self._peer}: {PASSWORD_REASONS[reason]}")
        # Before START has passed, nothing can have been carried out.
        return ConnectionLost(f"{self._peer} ended the session: {reason}", was_sent=self.is_open)

    def _not_sonic(self, line: str, expected: str) -> NotSonic:
        return NotSonic(f"{self._peer} answered {ascii(line[:100])} in the place of {expected}")
