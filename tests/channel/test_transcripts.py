"""Golden transcripts played through a Session: whole, in packets of any size, always with the same answers."""

import random

import pytest

from tests.channel.conversations import Conversation, conversations, play

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
NOT_KEPT = {"one-packet", "slow"}
"""What Sonic does by accident: it judges START by one read, and its clock is not in this layer."""

CONVERSATIONS = [talk for theme in THEMES for talk in conversations(theme, NOT_KEPT)]


def in_packets_of(size: int, stream: bytes) -> list[bytes]:
    return [stream[at : at + size] for at in range(0, len(stream), size)]


def in_pairs(sent: list[bytes]) -> list[bytes]:
    return [b"".join(sent[at : at + 2]) for at in range(0, len(sent), 2)]


def check(talk: Conversation, pieces: list[bytes]) -> None:
    lines, ended = play(pieces, talk.half_closed)
    assert lines == talk.expected
    assert ended == (talk.closed or talk.half_closed)


@pytest.fixture(params=CONVERSATIONS, ids=lambda talk: talk.name)
def talk(request: pytest.FixtureRequest) -> Conversation:
    conversation: Conversation = request.param
    return conversation


def test_as_it_was_sent(talk: Conversation) -> None:
    check(talk, talk.sent)


def test_in_one_piece(talk: Conversation) -> None:
    check(talk, [b"".join(talk.sent)])


def test_two_lines_in_one_packet(talk: Conversation) -> None:
    check(talk, in_pairs(talk.sent))


def test_byte_by_byte(talk: Conversation) -> None:
    check(talk, in_packets_of(1, b"".join(talk.sent)))


def test_cut_at_random(talk: Conversation) -> None:
    stream = b"".join(talk.sent)
    for seed in range(3):
        dice = random.Random(seed)
        ends = sorted(dice.randrange(len(stream) + 1) for _ in range(dice.randrange(20)))
        pieces = [stream[begin:end] for begin, end in zip([0, *ends], [*ends, len(stream)], strict=True)]
        check(talk, pieces)
