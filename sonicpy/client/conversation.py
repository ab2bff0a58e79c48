"""Conversation: the client side of one connection as a state machine without I/O; bytes go in, answers come out.

    greeting --CONNECTED--> starting --STARTED--> open --ENDED, or an unexpected line--> over

The server answers commands in the order in which they were sent, with OK, PONG, RESULT, ERR or PENDING. The EVENT that
follows a PENDING may come after the answers to later commands; its marker is that of its PENDING.
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

IS_IT_HTTP = "is it the port of HTTP?"
OUR_NAME = "sonicpy"
"""The name in the greeting of servers that may offer more than Sonic."""
_NOT_PERMITTED = re.compile(r"not_permitted\((.*)\)")
BUFFER_BYTES = 20_000
"""The most bytes of a line to a server that announces no limit."""
ANSWER_MAX_BYTES = 1 << 28
"""A number of bytes above any answer; a peer that sends more without a line end is not a Sonic server."""

_GREETING = re.compile(r"CONNECTED <([^<>]*?)(?: v([^<>]*))?>")
_BUFFER = re.compile(r" buffer\((\d+)\)")
_ERROR = re.compile(r"([^()]*)\((.*)\)", re.DOTALL)
_EVENT_PARTS = 3

PASSWORD_REASONS = {
    "authentication_required": "the server requires a password and none was given",
    "authentication_failed": "the password is wrong",
}


class AnswerKind(StrEnum):
    """The kinds of answers to commands that succeed."""

    OK = "OK"
    PONG = "PONG"
    RESULT = "RESULT"
    QUERY = "QUERY"
    SUGGEST = "SUGGEST"
    LIST = "LIST"
    SIMILAR = "SIMILAR"

    @property
    def is_event(self) -> bool:
        """Whether the answer is a PENDING, followed by an EVENT of this name."""
        return self in _EVENTS


_EVENTS = frozenset({AnswerKind.QUERY, AnswerKind.SUGGEST, AnswerKind.LIST, AnswerKind.SIMILAR})

Answer = str | SonicError
"""The text after the first word of the line (in an EVENT: its items), or the server's refusal."""


class ServerInfo:
    """The properties of a server, from its greeting and its replies to one connection."""

    __slots__ = ("buffer_bytes", "name", "refused", "version")

    def __init__(self) -> None:
        self.name = "unknown"
        """The name of the server: `sonicpy`, or `sonic-server`."""
        self.version = ""
        self.buffer_bytes = BUFFER_BYTES
        """The most bytes of a line that the server accepts, without the line end."""
        self.refused: set[str] = set()
        """The options that the server has refused as unknown."""

    def __str__(self) -> str:
        return f"{self.name} {self.version}".strip()


class InFlight:
    """Lines sent together, and the answers received so far.

    Args:
        count: the number of lines.
        kind: the answer that each line should get.
        command: the first word of each line.
    """

    __slots__ = ("answers", "command", "kind", "left")

    def __init__(self, count: int, kind: AnswerKind, command: str) -> None:
        self.kind = kind
        self.command = command
        self.left = count
        """The number of answers still to come."""
        self.answers: list[Answer] = [""] * count
        """The answers in the order of the lines; complete when `left` is 0."""


class Conversation:
    """The state of one connection.

    Args:
        mode: the mode to START.
        password: sent with START, unless None.
        peer: the address of the server, for error messages.
    """

    def __init__(self, mode: Mode, password: str | None, peer: str) -> None:
        self.server = ServerInfo()
        self.is_open = False
        """Whether commands may be sent."""
        self.end: ClientError | None = None
        """The error that ended the conversation; None: it is open."""
        self.is_stopping = False
        """Whether the server is shutting down and refuses every command."""
        self.outgoing = b""
        """Bytes that the owner sends, and then clears, after each `feed`."""
        self._mode = mode
        self._password = password
        self._peer = peer
        self.has_received = False
        """Whether the server has sent anything."""
        self._received = bytearray()
        self._searched = 0  # the first bytes of _received, known to hold no line feed
        self._has_greeted = False
        self._waiting: deque[tuple[InFlight, int]] = deque()
        self._pending: dict[str, tuple[InFlight, int]] = {}

    @property
    def is_idle(self) -> bool:
        """Whether every command is answered and no unexpected bytes have come."""
        return not self._waiting and not self._pending and not self._received

    def submit(self, count: int, kind: AnswerKind, command: str) -> InFlight:
        """Expect an answer to each of `count` lines, which the owner has to send now; return their InFlight, which has
        the same arguments.
        """
        in_flight = InFlight(count, kind, command)
        self._waiting.extend((in_flight, place) for place in range(count))
        return in_flight

    def feed(self, data: bytes) -> list[InFlight]:
        """Read received bytes; return completed groups of lines. The owner then reads `outgoing`, `is_open` and
        `end`."""
        completed: list[InFlight] = []
        self.has_received = True
        self._received += data
        start = 0
        while self.end is None and (end := self._received.find(b"\n", max(start, self._searched))) >= 0:
            line = bytes(self._received[start:end]).removesuffix(b"\r")
            start = end + 1
            try:
                in_flight = self._read(line.decode())
            except ClientError as error:
                self.end = error
            except UnicodeDecodeError:
                self.end = NotSonic(f"{self._peer} answered with a line that is not UTF-8")
            else:
                if in_flight is not None and in_flight.left == 0:
                    completed.append(in_flight)
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
            hint = f": {IS_IT_HTTP}" if line.startswith("HTTP/") else ""
            raise self._not_sonic(line, f"CONNECTED <name version>{hint}")
        self.server.name, self.server.version = found[1], found[2] or ""
        self._has_greeted = True
        start = f"START {self._mode}" if self._password is None else f"START {self._mode} {self._password}"
        self.outgoing += f"{start}\n".encode(errors="surrogateescape")

    def _started(self, line: str) -> None:
        if not line.startswith(f"STARTED {self._mode}"):
            raise self._not_sonic(line, f"STARTED {self._mode}")
        announced = _BUFFER.search(line)
        if announced is not None:
            self.server.buffer_bytes = int(announced[1])
        self.is_open = True

    def _answer(self, line: str, word: str, rest: str) -> InFlight:
        if word == "EVENT":
            return self._event(line, rest)
        if not self._waiting:
            raise self._not_sonic(line, "nothing, because no command was sent")
        in_flight, place = self._waiting.popleft()
        if word == "ERR":
            return self._fill(in_flight, place, self._refusal(rest, in_flight.command))
        expected = "PENDING" if in_flight.kind.is_event else in_flight.kind
        if word != expected:
            raise self._not_sonic(line, expected)
        if in_flight.kind.is_event:
            self._pending[rest] = in_flight, place
            return in_flight
        return self._fill(in_flight, place, rest)

    def _event(self, line: str, rest: str) -> InFlight:
        name, marker, items = (*rest.split(" ", _EVENT_PARTS - 1), "", "")[:_EVENT_PARTS]
        if marker not in self._pending:
            raise self._not_sonic(line, "an EVENT that a PENDING announced")
        in_flight, place = self._pending.pop(marker)
        if name != in_flight.kind:
            raise self._not_sonic(line, f"EVENT {in_flight.kind}")
        return self._fill(in_flight, place, items)

    def _fill(self, in_flight: InFlight, place: int, answer: Answer) -> InFlight:
        in_flight.answers[place] = answer
        in_flight.left -= 1
        return in_flight

    def _refusal(self, text: str, command: str) -> SonicError:
        found = _ERROR.fullmatch(text)
        code, detail = (found[1], found[2]) if found else (text, None)
        if code == "shutting_down":
            self.is_stopping = True
            return ShuttingDown(f"{self._peer} is shutting down")
        if code == "unknown_command":
            return self._not_offered(command)
        if code == "invalid_meta_key":
            # The client sends only well-formed keys, so the server does not know this one.
            key = (detail or "").partition("[")[0]
            self.server.refused.add(key)
            return self._not_offered(f"{key} of {command}")
        return CommandError(code, detail)

    def _not_offered(self, what: str) -> NotOffered:
        why = "compat mode offers only the commands of Sonic" if self.server.name == OUR_NAME else ""
        return NotOffered(what, str(self.server), why)

    def _ended(self, reason: str) -> ClientError:
        if reason in PASSWORD_REASONS:
            return WrongPassword(f"{self._peer}: {PASSWORD_REASONS[reason]}")
        refused = None if self.is_open else _NOT_PERMITTED.fullmatch(reason)
        if refused is not None:  # such as a token that has expired
            return WrongPassword(f"{self._peer}: {refused[1]}")
        # The server executes nothing before STARTED.
        return ConnectionLost(f"{self._peer} ended the session: {reason}", was_sent=self.is_open)

    def _not_sonic(self, line: str, expected: str) -> NotSonic:
        return NotSonic(f"{self._peer} answered {ascii(line[:100])} instead of {expected}")
