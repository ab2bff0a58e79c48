"""Tests of Session: START, the end in all its forms, shutdown, and any bytes divided into any pieces."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sonicpy.channel import commands
from sonicpy.channel.commands import Mode
from sonicpy.channel.session import Session
from sonicpy.channel.syntax import Limits
from tests.channel.conversations import execute

STARTED = b"STARTED ingest protocol(1) buffer(20000)\r\n"


def session(password: str | None = None, compat: bool = False) -> Session:
    return Session("1.2.3", password, Limits(), compat)


def started(mode: str = "ingest", compat: bool = False) -> Session:
    talk = session(compat=compat)
    talk.feed(f"START {mode}\n".encode())
    assert talk.next() == f"STARTED {mode} protocol(1) buffer(20000)\r\n".encode()
    return talk


def answers(talk: Session, data: bytes = b"") -> bytes:
    """Feed `data` and return everything that is answered."""
    talk.feed(data)
    out = b""
    while (step := talk.next()) is not None:
        out += step if isinstance(step, bytes) else execute(step)
    return out


STARTS = [
    (b"START ingest pw", STARTED, "all right"),
    (b"sTaRt\tingest \xc2\xa0pw\r", STARTED, "any case, any white space"),
    (b"START ingest pw more words", STARTED, "words behind the password are ignored"),
    (b"START", b"ENDED invalid_mode\r\n", "no mode"),
    (b"START Ingest pw", b"ENDED invalid_mode\r\n", "modes are lower case"),
    (b"START pw ingest", b"ENDED invalid_mode\r\n", "wrong order"),
    (b"START nomode wrong", b"ENDED invalid_mode\r\n", "the mode is judged before the password"),
    (b"START ingest", b"ENDED authentication_required\r\n", "no password"),
    (b"START ingest PW", b"ENDED authentication_failed\r\n", "another password"),
    (b'START ingest "pw"', b"ENDED authentication_failed\r\n", "quotes are part of it"),
    (b"START ingest p\xc3\xa9", b"ENDED authentication_failed\r\n", "characters above ASCII"),
    (b"PING", b"ENDED not_recognized\r\n", "another command"),
    (b"", b"ENDED not_recognized\r\n", "empty"),
    (b" \r", b"ENDED not_recognized\r\n", "blank"),
    (b"START ingest pw \xff", b"ENDED not_recognized\r\n", "not UTF-8"),
    (b"x" * 20_001, b"ENDED not_recognized\r\n", "too long"),
]


@pytest.mark.parametrize(("line", "expected", "why"), STARTS)
def test_start(line: bytes, expected: bytes, why: str) -> None:
    talk = session("pw")
    assert answers(talk, line + b"\n") == expected, why
    assert talk.ended == (expected != STARTED)
    assert answers(talk, b"PING\n") == (b"" if talk.ended else b"PONG\r\n"), "after the end nothing is read"


@pytest.mark.parametrize("line", [b"START ingest", b"START ingest anything at all"])
def test_without_a_password_anyone_may_start(line: bytes) -> None:
    assert answers(session(), line + b"\n") == STARTED


@pytest.mark.parametrize("password", ["pässwörd", "\udcff"])
def test_a_password_above_ascii(password: str) -> None:
    talk = session(password)
    assert answers(talk, "START ingest pässwörd\n".encode()) in (STARTED, b"ENDED authentication_failed\r\n")
    assert talk.ended == (password != "pässwörd")


def test_start_waits_for_its_line_feed_and_keeps_what_is_glued_to_it() -> None:
    talk = session()
    assert answers(talk, b"START ") == b""
    assert answers(talk, b"ingest") == b""
    assert talk.mode is None
    assert answers(talk, b"\nPING\nPUSH c b o") == STARTED + b"PONG\r\n"
    assert talk.mode is Mode.INGEST
    assert answers(talk, b' "x"\n') == b"OK\r\n"


def test_greeting() -> None:
    assert session().greeting() == b"CONNECTED <sonicpy v1.2.3>\r\n"


def test_next_reads_one_line_at_a_time() -> None:
    talk = started()
    talk.feed(b'PING\n\nPUSH c b o "x"\nNOPE\nCOUNT')
    assert talk.next() == b"PONG\r\n"
    assert talk.next() == b"", "a blank line: nothing to send, but the caller gets its turn back"
    push = talk.next()
    assert (type(push), push) == (commands.Push, ("c", "b", "o", "x", None, None, None, None, None))
    assert talk.next() == b"ERR unknown_command\r\n"
    assert talk.next() is None


@pytest.mark.parametrize(
    ("end", "expected"),
    [
        (Session.end_of_input, b"ENDED closed\r\n"),
        (Session.start_timed_out, b"ENDED unknown\r\n"),
        (lambda talk: answers(talk, b"x" * 30_000), b"ENDED not_recognized\r\n"),
    ],
    ids=["end of input", "timeout", "overflow"],
)
def test_ends_before_start(end: object, expected: bytes) -> None:
    talk = session()
    assert answers(talk, b"START inge") == b""
    assert end(talk) == expected
    assert talk.ended
    assert answers(talk, b"st\nPING\n") == b""
    assert talk.end_of_input() == talk.start_timed_out() == b"", "the client gets it once"


def test_end_of_input_in_a_mode_drops_the_unfinished_line() -> None:
    talk = started()
    assert answers(talk, b'PING\nPUSH c b o "lost"') == b"PONG\r\n"
    assert talk.end_of_input() == b""
    assert talk.ended
    assert answers(talk, b"\n") == b""


def test_a_start_that_came_in_time_is_not_timed_out() -> None:
    talk = started()
    assert talk.start_timed_out() == b""
    assert not talk.ended


def test_overflow_in_a_mode_answers_what_came_before_and_closes_without_a_line() -> None:
    talk = started()
    assert answers(talk, b"PING\n" + b"x" * 20_002 + b"\nPING\n") == b"PONG\r\n"
    assert talk.ended
    assert talk.next() is None
    assert answers(talk, b"PING\n") == b""


def test_quit_ends_and_nothing_is_read_behind_it() -> None:
    talk = started()
    assert answers(talk, b"PING\nquit \r\nPING\n") == b"PONG\r\nENDED quit\r\n"
    assert talk.ended
    assert answers(talk, b"PING\n") == b""


def test_lines_that_are_not_utf8_are_refused_and_the_session_goes_on() -> None:
    talk = started()
    refusal = b"ERR invalid_format(line is not UTF-8)\r\n"
    assert answers(talk, b'\xff\nPUSH c b o "\xed\xa0\x80"\nPING\n') == refusal * 2 + b"PONG\r\n"


def test_shutting_down_refuses_every_line_but_quit() -> None:
    talk = started()
    talk.feed(b"PING\nPING\n")
    assert talk.next() == b"PONG\r\n"
    talk.shutting_down = True
    refusal = b"ERR shutting_down\r\n"
    assert answers(talk) == refusal, "also what has arrived but was not read"
    assert answers(talk, b'\nPUSH c b o "x"\n\xff\nQUIT x\nNOPE\n') == refusal * 5
    assert not talk.ended
    assert answers(talk, b" Quit \r\nPING\n") == b"ENDED quit\r\n"
    assert talk.ended


def test_shutting_down_still_starts() -> None:
    talk = session()
    talk.shutting_down = True
    assert answers(talk, b"START ingest\nPING\n") == STARTED + b"ERR shutting_down\r\n"


@pytest.mark.parametrize(
    ("line", "counted"),
    [(b"PING", 1), (b"", 1), (b"\xff", 1), (b"NOPE", 1), (b"TRIGGER x", 1), (b"QUIT", 1), (b"INFO", 1), (b"INFO x", 1)],
)
def test_lines_handled(line: bytes, counted: int) -> None:
    talk = started("control")
    assert talk.lines_handled == 0, "START is not counted"
    answers(talk, line + b"\n")
    assert talk.lines_handled == counted


@pytest.mark.parametrize(("compat", "expected"), [(False, b"OK\r\n"), (True, b"ERR invalid_meta_value(LANG[hau])\r\n")])
def test_compat_takes_only_the_codes_of_sonic(compat: bool, expected: bytes) -> None:
    assert answers(started(compat=compat), b'PUSH c b o "x" LANG(hau)\n') == expected


WORDS = [
    "PUSH",
    "query",
    "COUNT",
    "HELP",
    "TRIGGER",
    "PING",
    "START",
    "search",
    "c",
    "LIMIT(1)",
    "LANG(",
    "é",
    "\u3000",
]
TOKENS = st.sampled_from(
    [word.encode() for word in WORDS] + [b" ", b" ", b"\n", b"\r\n", b'"', b'\\"', b"\\", b"\xff", b"\x00"]
)
STREAMS = st.lists(TOKENS, max_size=40).map(b"".join) | st.binary(max_size=200)


@given(STREAMS)
def test_any_first_bytes_start_a_session_or_end_it(data: bytes) -> None:
    talk = session("pw")
    first, *rest = answers(talk, data + b"\n").split(b"\r\n")
    assert first.startswith(b"ENDED "), "the password is not among the words"
    assert rest == [b""]
    assert talk.ended


@given(st.sampled_from(list(Mode)), STREAMS)
def test_any_line_in_a_mode_is_answered_by_one_reply(mode: Mode, data: bytes) -> None:
    assume(b"QUIT" not in data.upper())
    talk = started(mode)
    talk.feed(data + b"\n")
    for line in (data + b"\n").split(b"\n")[:-1]:
        step = talk.next()
        if isinstance(step, bytes):
            assert step.count(b"\n") == (0 if step == b"" else 1), line
            assert step == b"" or (step.startswith((b"PONG", b"RESULT ", b"ERR ")) and step.endswith(b"\r\n")), line
        else:
            assert isinstance(step, tuple), line
    assert talk.next() is None
    assert answers(talk, b"PING\n") == b"PONG\r\n", "malformed input leaves the session usable"


@given(st.sampled_from(list(Mode)), STREAMS, st.data())
def test_any_cut_gives_the_same_answers(mode: Mode, stream: bytes, data: st.DataObject) -> None:
    ends = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    cuts = [stream[begin:end] for begin, end in zip([0, *ends], [*ends, len(stream)], strict=True)]
    bytewise = [stream[at : at + 1] for at in range(len(stream))]
    outcomes = []
    for pieces in ([stream], cuts, bytewise):
        talk = started(mode)
        steps = []
        for piece in pieces:
            talk.feed(piece)
            while (step := talk.next()) is not None:
                steps.append(step)
        outcomes.append((steps, talk.ended, talk.lines_handled))
    assert outcomes[0] == outcomes[1] == outcomes[2]


@pytest.mark.parametrize("line", [b"STATS\n", b"VERIFY\n", b"stats c b\n"])
def test_commands_of_our_own_are_unknown_in_compat_mode_and_elsewhere_than_in_control(line: bytes) -> None:
    assert answers(started("control", compat=True), line) == b"ERR unknown_command\r\n"
    assert answers(started("search"), line) == b"ERR unknown_command\r\n"
    talk = started("control")
    talk.feed(line)
    assert isinstance(talk.next(), commands.Stats | commands.Verify)


def test_help_tells_what_sonic_does_in_both_modes() -> None:
    expected = b"RESULT commands(TRIGGER, INFO, PING, HELP, QUIT)\r\n"
    assert answers(started("control"), b"HELP commands\n") == expected
    assert answers(started("control"), b"HELP additions\n") == (
        b"RESULT additions(STATS [<collection> [<bucket>]?]?, VERIFY)\r\n"
    )
    told = answers(started("search"), b"HELP additions\n")
    assert told.startswith(
        b"RESULT additions(QUERY SCORES(1), QUERY STEM(0), QUERY TOTAL(1), QUERY COMPLETE(0), QUERY WHOLE(1), "
    )
    assert b", LIST PREFIX(<letters>), " in told
    assert b"EXISTS <collection> <bucket> <object>" in told
    assert answers(started("control", compat=True), b"HELP additions\n") == b"ERR not_found\r\n"
    assert answers(started("control", compat=True), b"HELP commands\n") == expected


@pytest.mark.parametrize("password", ["SecretPassword", "pässwörd", "x"])
def test_nothing_but_the_whole_password_is_the_password(password: str) -> None:
    cuts = range(1, len(password))
    others = {*(password[:end] for end in cuts), *(password[start:] for start in cuts)}
    others |= {password + password, password + "x", "x" + password, password.swapcase(), f"{password[:-1]}\x00"}
    for wrong in sorted(others):
        talk = session(password)
        assert answers(talk, f"START ingest {wrong}\n".encode()) == b"ENDED authentication_failed\r\n", wrong
        assert talk.ended and talk.wrong_password and talk.mode is None
