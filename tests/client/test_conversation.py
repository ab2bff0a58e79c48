"""A conversation matches every answer to its line, however the bytes are divided and however late EVENTs come."""

import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonicpy.channel.commands import Mode
from sonicpy.client.conversation import AnswerKind, Conversation, InFlight
from sonicpy.errors import CommandError, ConnectionLost, NotOffered, NotSonic, ShuttingDown, WrongPassword

GREETING = b"CONNECTED <sonic-server v1.4.9>\r\nSTARTED search protocol(1) buffer(20000)\r\n"


def opened(mode: Mode = Mode.SEARCH) -> Conversation:
    conversation = Conversation(mode, None, "peer")
    conversation.feed(GREETING.replace(b"search", mode.encode()))
    conversation.outgoing = b""
    assert conversation.is_open
    return conversation


def test_start_goes_out_when_the_greeting_is_there() -> None:
    conversation = Conversation(Mode.INGEST, "Sécret", "peer")
    conversation.feed(b"CONNECTED <sonic-ser")
    assert (conversation.outgoing, conversation.is_open) == (b"", False)
    conversation.feed(b"ver v1.10.2>\r\n")
    assert conversation.outgoing == "START ingest Sécret\n".encode()
    conversation.feed(b"STARTED ingest protocol(1) buffer(30000)\r\n")
    assert conversation.is_open
    assert str(conversation.server) == "sonic-server 1.10.2"
    assert conversation.server.buffer_bytes == 30_000


@pytest.mark.parametrize(
    ("greeting", "name", "version"),
    [
        ("CONNECTED <sonicpy v0.1.0>", "sonicpy", "0.1.0"),
        ("CONNECTED <sonic-server v1.2.3-beta>", "sonic-server", "1.2.3-beta"),
        ("CONNECTED <something>", "something", ""),
    ],
)
def test_greetings_tell_who_it_is(greeting: str, name: str, version: str) -> None:
    conversation = Conversation(Mode.SEARCH, None, "peer")
    conversation.feed(f"{greeting}\r\nSTARTED search\r\n".encode())
    assert (conversation.server.name, conversation.server.version) == (name, version)
    assert conversation.server.buffer_bytes == 20_000  # of those that do not say


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        (b"CONNECTED <x v1>\r\nENDED authentication_failed\r\n", WrongPassword),
        (b"CONNECTED <x v1>\r\nENDED authentication_required\r\n", WrongPassword),
        (b"CONNECTED <x v1>\r\nENDED not_permitted(the token has expired)\r\n", WrongPassword),
        (b"ENDED too_many_connections\r\n", ConnectionLost),
        (b"CONNECTED <x v1>\r\nENDED unknown\r\n", ConnectionLost),
        (b"220 mail.example.net ESMTP\r\n", NotSonic),
        (b"CONNECTED <x v1>\r\nOK\r\n", NotSonic),
        (b"CONNECTED <x v1>\r\nSTARTED ingest protocol(1) buffer(20000)\r\n", NotSonic),
        (b"\xff\xfe\r\n", NotSonic),
        (GREETING + b"OK\r\n", NotSonic),
        (GREETING + b"EVENT QUERY abcdefgh x\r\n", NotSonic),
        (GREETING + b"ENDED quit\r\n", ConnectionLost),
    ],
)
def test_what_ends_a_conversation(said: bytes, kind: type[Exception]) -> None:
    conversation = Conversation(Mode.SEARCH, None, "peer")
    assert conversation.feed(said) == []
    assert type(conversation.end) is kind
    assert "peer" in str(conversation.end)


def test_nothing_was_carried_out_before_a_session_began() -> None:
    conversation = Conversation(Mode.SEARCH, None, "peer")
    conversation.feed(b"ENDED too_many_connections\r\n")
    assert isinstance(conversation.end, ConnectionLost)
    assert not conversation.end.was_sent


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("ERR query_error", CommandError("query_error")),
        (
            "ERR policy_reject(LIMIT out of minimum/maximum bounds)",
            CommandError("policy_reject", "LIMIT out of minimum/maximum bounds"),
        ),  # noqa: E501
        ("ERR invalid_meta_value(LANG[xx])", CommandError("invalid_meta_value", "LANG[xx]")),
        ("ERR invalid_format(COUNT <c> [<b> [<o>]?]?)", CommandError("invalid_format", "COUNT <c> [<b> [<o>]?]?")),
        ("ERR unknown_command", NotOffered("QUERY", "sonic-server 1.4.9")),
        ("ERR invalid_meta_key(SCORES[1])", NotOffered("SCORES of QUERY", "sonic-server 1.4.9")),
        ("ERR shutting_down", ShuttingDown("peer is shutting down")),
    ],
)
def test_refusals(line: str, expected: Exception) -> None:
    conversation = opened()
    ticket = conversation.submit(1, AnswerKind.QUERY, "QUERY")
    assert conversation.feed(f"{line}\r\n".encode()) == [ticket]
    (answer,) = ticket.answers
    assert isinstance(answer, Exception)
    assert (type(answer), str(answer), vars(answer)) == (type(expected), str(expected), vars(expected))
    assert conversation.end is None


def test_an_answer_of_another_kind_ends_it() -> None:
    conversation = opened(Mode.INGEST)
    conversation.submit(1, AnswerKind.OK, "PUSH")
    conversation.feed(b"RESULT 1\r\n")
    assert isinstance(conversation.end, NotSonic)


def test_an_empty_event_has_no_items_with_or_without_its_blank() -> None:
    for event in (b"EVENT QUERY abcdefgh \r\n", b"EVENT QUERY abcdefgh\r\n"):
        conversation = opened()
        ticket = conversation.submit(1, AnswerKind.QUERY, "QUERY")
        conversation.feed(b"PENDING abcdefgh\r\n")
        assert ticket.left == 1
        assert conversation.feed(event) == [ticket]
        assert ticket.answers == [""]


def test_an_answer_without_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sonicpy.client.conversation.ANSWER_MAX_BYTES", 1000)
    conversation = opened()
    conversation.submit(1, AnswerKind.RESULT, "EXPLAIN")
    conversation.feed(b"RESULT " + b"x" * 1000)
    assert isinstance(conversation.end, NotSonic)


@given(
    counts=st.lists(st.integers(1, 5), min_size=1, max_size=8),
    seed=st.integers(0, 2**32),
    cuts=st.lists(st.integers(0, 5000), max_size=30),
)
def test_every_line_gets_its_own_answer(counts: list[int], seed: int, cuts: list[int]) -> None:
    """Lines of three kinds are answered in order; EVENTs come later, in any order, between other answers."""
    chance = random.Random(seed)
    conversation = opened()
    tickets: list[tuple[InFlight, int]] = []
    expected: dict[tuple[int, int], str] = {}
    said: list[str] = []
    events: list[str] = []
    for number, count in enumerate(counts):
        kind = chance.choice([AnswerKind.PONG, AnswerKind.RESULT, AnswerKind.QUERY, AnswerKind.LIST])
        tickets.append((conversation.submit(count, kind, "X"), count))
        for place in range(count):
            name = f"{number}:{place}"
            if kind.is_event:
                said.append(f"PENDING m{name}")
                events.append(f"EVENT {kind} m{name} {name} {name}")
                expected[number, place] = f"{name} {name}"
            else:
                said.append(f"{kind} {name}")
                expected[number, place] = name
            while events and chance.random() < 0.5:
                said.append(events.pop(chance.randrange(len(events))))
    chance.shuffle(events)
    stream = "".join(f"{line}\r\n" for line in [*said, *events]).encode()
    completed: list[InFlight] = []
    for start, end in pairwise([0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]):
        completed += conversation.feed(stream[start:end])
    assert conversation.end is None
    assert conversation.is_idle
    assert len(completed) == len(counts)
    assert {id(ticket) for ticket in completed} == {id(ticket) for ticket, _ in tickets}
    for number, (ticket, count) in enumerate(tickets):
        assert ticket.answers == [expected[number, place] for place in range(count)]


def test_a_server_that_has_not_greeted_has_no_name() -> None:
    assert str(Conversation(Mode.SEARCH, None, "peer").server) == "unknown"


@pytest.mark.parametrize("is_open", [False, True])
def test_an_empty_line_is_a_line(is_open: bool) -> None:
    conversation = opened() if is_open else Conversation(Mode.SEARCH, None, "peer")
    conversation.feed(b"\n")
    assert isinstance(conversation.end, NotSonic)
    assert "answered '' instead of" in str(conversation.end)


def test_a_line_has_an_end_or_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sonicpy.client.conversation.ANSWER_MAX_BYTES", 10)
    conversation = opened()
    conversation.feed(b"x" * 9)
    conversation.feed(b"x")
    assert conversation.end is None
    conversation.feed(b"x")
    assert "sent 11 bytes without a line end" in str(conversation.end)


@pytest.mark.parametrize(
    ("kind", "answers"),
    [
        (AnswerKind.QUERY, "RESULT 1"),
        (AnswerKind.QUERY, "QUERY m one"),
        (AnswerKind.QUERY, "PENDING m\r\nEVENT LIST m one"),
        (AnswerKind.QUERY, "PENDING m\r\nEVENT QUERY n one"),
        (AnswerKind.OK, "PENDING m"),
        (AnswerKind.OK, "RESULT 1"),
        (AnswerKind.RESULT, "OK"),
    ],
)
def test_an_answer_of_another_kind_ends_it_for_every_kind(kind: AnswerKind, answers: str) -> None:
    conversation = opened()
    in_flight = conversation.submit(1, kind, "COMMAND")
    conversation.feed(f"{answers}\r\n".encode())
    assert isinstance(conversation.end, NotSonic)
    assert in_flight.left == 1
