"""The channel: lines to commands, answers to bytes."""

from benchmarks import stages
from benchmarks.conftest import Timed
from sonicpy.channel.commands import Push, Query


def test_push_to_command(timed: Timed) -> None:
    assert {type(command) for command in timed(stages.push_to_command)} == {Push}


def test_query_to_command(timed: Timed) -> None:
    assert {type(command) for command in timed(stages.query_to_command)} == {Query}


def test_event_to_bytes(timed: Timed) -> None:
    assert all(reply.count(b"message:") == 10 for reply in timed(stages.event_to_bytes))
