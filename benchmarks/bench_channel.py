"""The channel: from lines to commands, from replies to bytes."""

from benchmarks import stages
from benchmarks.conftest import Timed
from sonicpy.channel.commands import Push, Query


def test_parse_push(timed: Timed) -> None:
    assert {type(command) for command in timed(stages.parse_push)} == {Push}


def test_parse_query(timed: Timed) -> None:
    assert {type(command) for command in timed(stages.parse_query)} == {Query}


def test_encode_event(timed: Timed) -> None:
    assert all(reply.count(b"message:") == 10 for reply in timed(stages.encode_event))
