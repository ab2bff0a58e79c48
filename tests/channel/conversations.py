"""Golden transcripts as conversations: the lines that one connection sends, and the lines that it must receive.

Answers that depend on an index are reduced to their kind, on both sides; everything else is compared exactly.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import SimpleNamespace

from sonicpy import ids
from sonicpy.channel import commands, replies
from sonicpy.channel.commands import Command
from sonicpy.channel.session import Session
from sonicpy.channel.syntax import Limits
from sonicpy.errors import CommandError, StoreError
from tests.transcripts import replay

GOLDEN = Path(replay.__file__).parent / "golden"
PASSWORD = "SecretPassword"
VERSION = "9.8.7"


@dataclass
class Conversation:
    """One connection of one scenario; `sent` has an entry for each packet."""

    name: str
    sent: list[bytes] = field(default_factory=list)
    expected: list[str] = field(default_factory=list)
    half_closed: bool = False
    closed: bool = False


def conversations(theme: str, without_tags: Iterable[str] = ()) -> Iterator[Conversation]:
    """Yield every connection of the scenarios in `theme`, a file name, that have none of the given tags."""
    for scenario in replay.parse(GOLDEN / theme).scenarios:
        if scenario.tags.isdisjoint(without_tags):
            yield from _connections(scenario)


def _connections(scenario: replay.Scenario) -> Iterator[Conversation]:
    current = Conversation(scenario.title)
    for step in scenario.steps:
        match step.kind:
            case "connect" | "start":
                if current.expected:
                    yield current
                current = Conversation(f"{scenario.title} (line {step.line})", expected=["CONNECTED <BANNER>"])
                if step.kind == "start":
                    mode = step.arg.split()[0]
                    current.sent.append(f"START {mode} {PASSWORD}\n".encode())
                    current.expected.append(f"STARTED {mode} protocol(1) buffer(20000)")
            case "exchange":
                text = "".join(line + "\n" for line in step.sends)
                current.sent.append(text.replace("{PASSWORD}", PASSWORD).encode())
            case "send":
                current.sent.append(replay.unescape(step.arg.replace("{PASSWORD}", PASSWORD)))
            case "halfclose":
                current.half_closed = True
            case "eof":
                current.closed = True
            case "clean" | "consolidate" | "sleep":
                pass  # between connections; an index and a clock are not here
            case other:
                raise ValueError(f"line {step.line}: cannot play {other!r}")
        if step.kind != "connect":
            current.expected += map(reduced, step.expect)
    yield current


def reduced(line: str) -> str:
    """Return `line` without its parts that depend on an index."""
    line = re.sub(r"^(EVENT \w+ <ID>) .*", r"\1 ", line, flags=re.DOTALL)
    return re.sub(r"^RESULT \d+$", "RESULT 0", line)


def play(pieces: Iterable[bytes], half_closed: bool = False) -> tuple[list[str], bool]:
    """Return the lines with which a session answers `pieces`, in the notation of the transcripts, and whether it
    ended.
    """
    session = Session(VERSION, PASSWORD, Limits(), compat=True)
    answers = session.greeting()
    for piece in pieces:
        session.feed(piece)
        while (step := session.next()) is not None:
            answers += step if isinstance(step, bytes) else execute(step)
    if half_closed:
        answers += session.end_of_input()
    link = SimpleNamespace(pending=[])
    lines = answers.decode().split("\r\n")
    assert lines.pop() == "", "the last line ends too"
    return [reduced(replay.normalise(line, link)) for line in lines], session.ended


def execute(command: Command) -> bytes:
    """Return the reply to a command from an index in which no query finds anything."""
    try:
        _check_names(command)
    except CommandError as refusal:
        return replies.error(refusal)
    match command:
        case commands.Query() | commands.Suggest() | commands.List():
            return replies.event(type(command).__name__.upper(), [])
        case commands.Trigger(action="restore"):
            return replies.error(StoreError("nothing to restore"))
        case commands.Push() | commands.Trigger():
            return replies.OK
        case commands.Info():
            return replies.info(replies.InfoFigures(*range(8)))
    return replies.result(0)


def _check_names(command: Command) -> None:
    for name, check in (
        ("collection", ids.check_collection),
        ("bucket", ids.check_bucket),
        ("object", partial(ids.check_object, compat=True)),
    ):
        value = getattr(command, name, None)
        if value is not None:
            check(value)
