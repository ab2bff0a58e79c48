"""Golden transcripts played through a Session: the answers are the same however the bytes are divided into packets."""

import random
from collections.abc import Callable

import pytest

from tests.channel.conversations import conversations, play

THEMES = [
    "01-handshake.txt",
    "02-framing.txt",
    "03-base-commands.txt",
    "04-push.txt",
    "05-quoting.txt",
    "06-meta-query.txt",
    "07-meta-suggest-list.txt",
    "08-names.txt",
    "19-count.txt",
    "23-control.txt",
    "25-count-commands.txt",
]
LEFT_OUT = {"one-packet", "slow"}
"""The tags of scenarios that this layer cannot repeat: Sonic needs START in one packet, and the session has no
clock.
"""

CONVERSATIONS = [talk for theme in THEMES for talk in conversations(theme, LEFT_OUT)]


def as_sent(sent: list[bytes]) -> list[list[bytes]]:
    return [sent]


def in_one_packet(sent: list[bytes]) -> list[list[bytes]]:
    return [[b"".join(sent)]]


def two_lines_in_a_packet(sent: list[bytes]) -> list[list[bytes]]:
    return [[b"".join(sent[at : at + 2]) for at in range(0, len(sent), 2)]]


def byte_by_byte(sent: list[bytes]) -> list[list[bytes]]:
    return [[bytes([byte]) for byte in b"".join(sent)]]


def at_random(sent: list[bytes]) -> list[list[bytes]]:
    return [randomly_divided(b"".join(sent), random.Random(seed)) for seed in range(3)]


def randomly_divided(stream: bytes, dice: random.Random) -> list[bytes]:
    ends = sorted(dice.randrange(len(stream) + 1) for _ in range(dice.randrange(20)))
    return [stream[begin:end] for begin, end in zip([0, *ends], [*ends, len(stream)], strict=True)]


@pytest.mark.parametrize("divide", [as_sent, in_one_packet, two_lines_in_a_packet, byte_by_byte, at_random])
def test_answers(divide: Callable[[list[bytes]], list[list[bytes]]]) -> None:
    for talk in CONVERSATIONS:
        for number, packets in enumerate(divide(talk.sent)):
            lines, ended = play(packets, talk.half_closed)
            assert lines == talk.expected, f"{talk.name}, try {number}"
            assert ended == (talk.closed or talk.half_closed), f"{talk.name}, try {number}"
