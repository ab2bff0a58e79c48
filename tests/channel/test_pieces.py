"""Tests of UPSERT in a session: a text in pieces, and all the ways in which its rest is refused."""

import tracemalloc
from collections.abc import Iterator

import pytest

from sonicpy.channel import pieces
from sonicpy.channel.commands import Mode, Upsert
from sonicpy.channel.quoting import pieces_to_join
from sonicpy.channel.session import Session
from sonicpy.channel.syntax import Limits
from sonicpy.errors import CommandError


class Asked:
    """A session in mode ingest that is fed line by line."""

    def __init__(self, *, compat: bool = False, room: pieces.RoomForPieces | None = None) -> None:
        self.session = Session("1", None, Limits(), compat, room=room)
        assert self.ask("START ingest") == "STARTED ingest protocol(1) buffer(20000)"

    def ask(self, line: str) -> str | Upsert:
        self.session.feed(line.encode() + b"\n")
        answer = self.session.next()
        if isinstance(answer, bytes):
            return answer.decode().strip()
        assert isinstance(answer, Upsert)
        return answer


@pytest.fixture
def asked() -> Iterator[Asked]:
    yield Asked()


def test_a_text_in_one_line(asked: Asked) -> None:
    assert asked.ask('UPSERT c b o "a text" LANG(eng)') == Upsert("c", "b", "o", "a text", "eng", 0)
    assert asked.ask('UPSERT c b o "a\\\\b \\"c\\""') == Upsert("c", "b", "o", 'a\\\\b "c"', None, 0)


def test_the_last_piece_brings_the_whole_text(asked: Asked) -> None:
    assert asked.ask('UPSERT c b o "one" MORE(1)') == "OK"
    assert asked.ask("PING") == "PONG"
    assert asked.ask('UPSERT c b o "two thr" MORE(2)') == "OK"
    assert asked.ask('UPSERT c b o "ee" LANG(eng)') == Upsert("c", "b", "o", "one two three", "eng", 0)
    assert asked.ask('UPSERT c b o "another"') == Upsert("c", "b", "o", "another", None, 0)


def test_another_object_waits(asked: Asked) -> None:
    asked.ask('UPSERT c b o "one" MORE(1)')
    for rest in ('"x"', '"x" MORE(1)'):
        refused = "ERR policy_reject(pieces of the text of o wait for the last one, before p)"
        assert asked.ask(f"UPSERT c b p {rest}") == refused
    assert asked.ask('UPSERT c b o "two"') == Upsert("c", "b", "o", "one two", None, 0)
    assert asked.ask('UPSERT c b q "x"') == Upsert("c", "b", "q", "x", None, 0)


@pytest.mark.parametrize("ended_first", ["the text that waits", "the text that is refused"])
def test_a_text_refused_behind_another_one_is_refused_to_its_end(asked: Asked, ended_first: str) -> None:
    asked.ask('UPSERT c b o "one" MORE(1)')
    assert str(asked.ask('UPSERT c b p "first" MORE(1)')).startswith("ERR policy_reject(pieces of the text of o wait")
    refused = "ERR policy_reject(a piece of the text of p was refused: send all of it again)"
    assert asked.ask('UPSERT c b p "second" MORE(1)') == refused
    if ended_first == "the text that waits":
        assert asked.ask('UPSERT c b o "two"') == Upsert("c", "b", "o", "one two", None, 0)
    for rest in ('"third" MORE(1)', '"fourth"'):
        assert asked.ask(f"UPSERT c b p {rest}") == refused
    if ended_first == "the text that is refused":
        assert asked.ask('UPSERT c b o "two"') == Upsert("c", "b", "o", "one two", None, 0)
    assert asked.ask('UPSERT c b p "again" MORE(1)') == "OK"
    assert asked.ask('UPSERT c b p "all"') == Upsert("c", "b", "p", "again all", None, 0)


def test_another_text_in_between_does_not_end_a_refusal(asked: Asked) -> None:
    asked.ask('UPSERT c b o "one" MORE(1)')
    asked.ask('UPSERT c b o "x" MORE(9)')
    assert asked.ask('UPSERT c b p "x" MORE(1)') == "OK"
    assert asked.ask('UPSERT c b p "y"') == Upsert("c", "b", "p", "x y", None, 0)
    refused = "ERR policy_reject(a piece of the text of o was refused: send all of it again)"
    assert [asked.ask(f"UPSERT c b o {rest}") for rest in ('"two" MORE(1)', '"three"')] == [refused, refused]
    assert asked.ask('UPSERT c b o "again"') == Upsert("c", "b", "o", "again", None, 0)


def test_refused_texts_take_little_memory(asked: Asked) -> None:
    asked.ask('UPSERT c b o "one" MORE(1)')
    asked.ask('UPSERT c b warm "x" MORE(1)')
    tracemalloc.start()
    try:
        for number in range(5_000):
            asked.ask(f'UPSERT c b o:{number} "x" MORE(1)')
        assert tracemalloc.get_traced_memory()[0] < 300_000
    finally:
        tracemalloc.stop()
    assert str(asked.ask('UPSERT c b o:4999 "x"')).startswith("ERR policy_reject(a piece")
    assert asked.ask('UPSERT c b o "two"') == Upsert("c", "b", "o", "one two", None, 0)


@pytest.mark.parametrize(
    ("line", "refusal"),
    [
        ('UPSERT c b o "x" MORE(9)', "ERR invalid_meta_value(MORE[9])"),
        ("UPSERT c b o x", "ERR invalid_format("),
        ('UPSERT c b o "x" NO(1)', "ERR invalid_meta_key(NO[1])"),
    ],
)
def test_a_refused_piece_refuses_the_rest(asked: Asked, line: str, refusal: str) -> None:
    asked.ask('UPSERT c b o "one" MORE(1)')
    assert str(asked.ask(line)).startswith(refusal)
    for rest in ('"two" MORE(1)', '"three"'):
        answer = "ERR policy_reject(a piece of the text of o was refused: send all of it again)"
        assert asked.ask(f"UPSERT c b o {rest}") == answer
    assert asked.ask('UPSERT c b o "again"') == Upsert("c", "b", "o", "again", None, 0)


def test_too_many_bytes(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "PIECES_MAX_BYTES", 2 << 20)
    long = "x" * 15_000
    answers = [asked.ask(f'UPSERT c b o "{long}" MORE(1)') for _ in range(150)]
    refused = "ERR policy_reject(the pieces of the text of o have more than 2 MB: send all of it again)"
    assert answers == ["OK"] * 139 + [refused] * 11
    assert asked.ask('UPSERT c b p "x"') == Upsert("c", "b", "p", "x", None, 0), "nothing waits"
    assert asked.ask('UPSERT c b o "x"') == refused
    assert asked.ask('UPSERT c b o "x"') == Upsert("c", "b", "o", "x", None, 0)


def test_pieces_of_all_connections_have_a_bound() -> None:
    room = pieces.RoomForPieces()
    assert room.take(pieces.ALL_PIECES_MAX_BYTES - 1_000)
    first, second, third = (Asked(room=room) for _ in range(3))
    assert first.ask(f'UPSERT c b o "{"x" * 600}" MORE(1)') == "OK"
    refused = "ERR policy_reject(the pieces of all connections have more than 64 MB: send all of it again)"
    assert second.ask(f'UPSERT c b p "{"y" * 300}" MORE(1)') == "OK"
    assert second.ask(f'UPSERT c b p "{"y" * 300}" MORE(1)') == refused, "and the first piece goes"
    assert third.ask(f'UPSERT c b q "{"z" * 300}" MORE(1)') == "OK"
    assert third.ask(f'UPSERT c b q "{"z" * 300}" MORE(1)') == refused
    assert second.ask('UPSERT c b p "end"') == refused
    first.session.feed(b"QUIT\n")
    assert first.session.next() == b"ENDED quit\r\n"
    assert second.ask(f'UPSERT c b p "{"y" * 600}" MORE(2)') == "OK", "the first connection has ended"
    assert second.ask('UPSERT c b p "y"') == Upsert("c", "b", "p", "y" * 601, None, 0)
    assert third.ask(f'UPSERT c b r "{"z" * 900}" MORE(1)') == "OK"
    third.session.drop_pieces()
    assert second.ask(f'UPSERT c b p "{"y" * 900}" MORE(1)') == "OK", "the third connection was lost"


def test_a_piece_that_is_not_allowed_refuses_the_rest(asked: Asked) -> None:
    def check(command: Upsert) -> None:
        if command.bucket != "b" or "secret" in command.text:
            raise CommandError("not_permitted", "no")

    asked.session.check_piece = check
    refused = "ERR policy_reject(a piece of the text of o was refused: send all of it again)"
    assert asked.ask('UPSERT c b o "one" MORE(1)') == "OK"
    assert asked.ask('UPSERT c b o "secret" MORE(1)') == "ERR not_permitted(no)"
    assert [asked.ask(f"UPSERT c b o {rest}") for rest in ('"two" MORE(1)', '"three"')] == [refused, refused]
    assert asked.ask('UPSERT c b o "again"') == Upsert("c", "b", "o", "again", None, 0)
    assert asked.ask('UPSERT c b o "secret" MORE(1)') == "ERR not_permitted(no)"
    assert asked.ask('UPSERT c other o "one" MORE(1)') == "ERR not_permitted(no)"
    assert asked.ask('UPSERT c b o "three"') == refused
    assert asked.ask('UPSERT c b p "one" MORE(1)') == "OK"
    assert asked.ask('UPSERT c b q "secret" MORE(1)') == "ERR not_permitted(no)"
    assert asked.ask('UPSERT c b p "two"') == Upsert("c", "b", "p", "one two", None, 0), "the text that waits stays"


@pytest.mark.parametrize("expires", ["in time", "at the next piece"])
def test_pieces_that_wait_too_long(asked: Asked, monkeypatch: pytest.MonkeyPatch, expires: str) -> None:
    now = 100.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    asked.ask('UPSERT c b o "one" MORE(1)')
    now += 59
    asked.ask('UPSERT c b o "two" MORE(1)')
    now += 59
    asked.session.expire()
    assert asked.ask('UPSERT c b o "three" MORE(1)') == "OK"
    now += 61
    if expires == "in time":
        asked.session.expire()
    refused = (
        "ERR policy_reject(the pieces of the text of o have waited for more than 60 seconds: send all of it again)"
    )
    assert asked.ask('UPSERT c b o "four"') == refused
    assert asked.ask('UPSERT c b o "x"') == Upsert("c", "b", "o", "x", None, 0)


def test_compat_mode_does_not_know_it() -> None:
    asked = Asked(compat=True)
    assert asked.ask('UPSERT c b o "one"') == "ERR unknown_command"


@pytest.mark.parametrize(
    "text", ["word " * 30_000, "x" * 100_000, 'q"\\' * 30_000, "日本語の文章" * 9_000, "a\n\tb " * 9_000]
)
def test_what_a_client_sends_is_the_text(asked: Asked, text: str) -> None:
    found = [*pieces_to_join(text, 19_900)]
    assert len(found) > 1
    answers = [asked.ask(f"UPSERT c b o {piece} MORE({1 if is_blank else 2})") for piece, is_blank in found[:-1]]
    assert set(answers) == {"OK"}
    command = asked.ask(f"UPSERT c b o {found[-1][0]}")
    assert isinstance(command, Upsert)
    assert command.meant == " ".join(text.split())
    assert asked.session.mode is Mode.INGEST


@pytest.mark.full
def test_small_pieces_take_little_memory(asked: Asked) -> None:
    tracemalloc.start()
    try:
        for number in range(20_000):
            asked.ask(f'UPSERT c b o "a" MORE(2) FIELD(f{number % 8})')
        assert tracemalloc.get_traced_memory()[0] < 200_000
    finally:
        tracemalloc.stop()
    whole = asked.ask('UPSERT c b o "end"')
    assert isinstance(whole, Upsert)
    assert whole.field == {**{f"f{number}": "a" * 2_500 for number in range(8)}, "": "end"}


def test_too_many_fields(asked: Asked) -> None:
    for number in range(9):
        answer = asked.ask(f'UPSERT c b o "a" MORE(2) FIELD(f{number})')
        assert answer == "OK" or number == 8
    refused = "ERR policy_reject(the pieces of the text of o have more than 8 fields: send all of it again)"
    assert (answer, asked.ask('UPSERT c b o "end"')) == (refused, refused)
