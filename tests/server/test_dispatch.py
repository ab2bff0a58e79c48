"""The part of the server that answers each command: the table of calls, the service, or the session."""

from typing import get_args

from sonicpy.channel.commands import (
    Actions,
    Command,
    CountFacets,
    FlushPassing,
    Info,
    SessionCommand,
    SetSynonyms,
    Stats,
    Trigger,
    Verify,
)
from sonicpy.channel.syntax import ROWS
from sonicpy.server.connections.dispatch import CALLS, CHANGES

OF_SERVICE = {FlushPassing, Info, Stats, Trigger, Verify}
"""The commands that only `Service.execute` answers."""
WORDS = {CountFacets: "FACETS", FlushPassing: "FLUSH", SetSynonyms: "SYNONYMS"}
"""Class of a command whose name differs from that of the command -> the command."""


def test_every_command_is_answered() -> None:
    answered = CALLS.keys() | OF_SERVICE
    assert answered == set(get_args(Command))
    of_rows = answered | set(get_args(SessionCommand)) - {Actions}  # Actions is TRIGGER without a word
    assert {WORDS.get(kind, kind.__name__.upper()) for kind in of_rows} == {row.name for row in ROWS}


def test_commands_are_answered_once() -> None:
    assert not CALLS.keys() & OF_SERVICE
    assert CALLS.keys() >= CHANGES.keys()
