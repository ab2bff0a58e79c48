"""PlainReader reads the lines of clients; `parse` makes an equal command from every line that it reads."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sonicpy._native.lines import LineReader
from sonicpy._native.plain import PlainLine, PlainReader
from sonicpy._native.quoting import split_head
from sonicpy.channel import commands, replies
from sonicpy.channel.commands import Mode
from sonicpy.channel.syntax import (
    COMMANDS_OF_MODE,
    SONIC_COMMANDS_OF_MODE,
    Limits,
    LineRules,
    parse,
    plain_reader,
)
from sonicpy.errors import CommandError
from sonicpy.langcodes import LANG_CODES
from sonicpy.option_kinds import Languages
from sonicpy.options import LIMIT_CEILING
from tests.support.examples import examples

RULES = LineRules(Limits(query_default=9, query_maximum=50), Languages(LANG_CODES))
READERS = {mode: plain_reader(rows.values(), RULES, {"PING": replies.PONG}) for mode, rows in COMMANDS_OF_MODE.items()}

PLAIN = [
    ("search", 'QUERY c b "two words"', commands.Query("c", "b", "two words", 9, 0, None), "defaults"),
    ("search", 'QUERY c b "x" LIMIT(50) OFFSET(123456789) LANG(fra)', None, "all that clients send"),
    ("search", 'QUERY c b "x" LANG(none) LIMIT(007)', None, "in any order"),
    ("search", 'QUERY c b "\u65e5\u672c \u8a9e" LIMIT(1)', None, "letters above ASCII"),
    ("search", 'SUGGEST c b "wo" LIMIT(3)', None, "SUGGEST"),
    ("search", "LIST c b", None, "no text"),
    ("search", "LIST c b LIMIT(5) OFFSET(0)", None, "META straight behind the names"),
    ("ingest", 'PUSH c b o "x"', commands.Push("c", "b", "o", "x", None), "language to be guessed"),
    ("ingest", 'PUSH c b o "a \\\\ b \\n \\" c" LANG(deu)\r', None, "escapes, and CR LF"),
    ("ingest", 'PUSH  c\tb \u3000 o   "  two   words "  ', None, "white space of all kinds"),
    ("ingest", 'PUSH \u00e9 "b" o "x"', None, "names are not judged here"),
    ("ingest", 'POP c b o "x"', None, "POP"),
    ("ingest", "COUNTO c b o", None, "no text and no META"),
    ("ingest", "FLUSHC c", None, "one name"),
    ("ingest", f"FLUSHC {'c' * 5_000}", None, "names that are too long"),
]

LEFT = [
    ("search", "", "blank"),
    ("search", ' QUERY c b "x"', "blanks before the name"),
    ("search", 'query c b "x"', "the name in other letters"),
    ("search", 'PUSH c b o "x"', "a command of another mode"),
    ("search", "PING ", "something behind PING"),
    ("search", "PINGS", "a longer name"),
    ("search", "QUERY", "nothing behind the name"),
    ("search", 'QUERY c "x"', "a name is missing"),
    ("search", "QUERY c b x", "no quotes"),
    ("search", 'QUERY c b "x', "no end"),
    ("search", 'QUERY c b ""', "no text"),
    ("search", 'QUERY c b " "', "a blank text"),
    ("search", 'QUERY c b "x" LIMIT(0)', "below the minimum"),
    ("search", 'QUERY c b "x" LIMIT(51)', "above the maximum"),
    ("search", 'QUERY c b "x" LIMIT()', "no number"),
    ("search", 'QUERY c b "x" LIMIT(1', "not closed"),
    ("search", 'QUERY c b "x" LIMIT(4294967297)', "more than 32 bits"),
    ("search", 'QUERY c b "x" OFFSET(18446744073709551617)', "more than 64 bits"),
    ("search", 'QUERY c b "x" LANG(xx)', "an unknown language"),
    ("search", 'QUERY c b "x" LANG()', "no language"),
    ("search", 'QUERY c b "x" LIMIT(1) LIMIT(2)', "a key twice"),
    ("search", 'QUERY c b "x" junk', "another word"),
    ("search", 'SUGGEST c b "x" OFFSET(1)', "a key of other commands"),
    ("search", "HELP", "optional words"),
    ("ingest", 'POP c b o "x" LANG(eng)', "no META at all"),
    ("ingest", "COUNT c", "optional words"),
    ("control", "TRIGGER consolidate", "its own way of reading"),
]


def judged(mode: str, line: bytes) -> object:
    """Return the command that `parse` makes from a line."""
    word, offset = split_head(line)
    return parse(COMMANDS_OF_MODE[Mode(mode)][word], line, offset, RULES)


@pytest.mark.parametrize(("mode", "line", "expected", "why"), PLAIN, ids=[row[-1] for row in PLAIN])
def test_plain_lines(mode: str, line: str, expected: object, why: str) -> None:
    got = READERS[Mode(mode)].read(line.encode())
    twin = judged(mode, line.encode())
    assert (type(got), got) == (type(twin), twin), why
    assert expected is None or got == expected


@pytest.mark.parametrize(("mode", "line", "why"), LEFT, ids=[row[-1] for row in LEFT])
def test_lines_left_to_others(mode: str, line: str, why: str) -> None:
    assert READERS[Mode(mode)].read(line.encode()) is None, why


@pytest.mark.parametrize("mode", Mode)
def test_ping_has_its_answer_ready(mode: Mode) -> None:
    assert READERS[mode].read(b"PING") is READERS[mode].read(b"PING\r") is replies.PONG


@pytest.mark.parametrize(
    "line", [b'PUSH \xff b o "x"', b'PUSH c b o "\xc3"', b'PUSH c b o "\xc3\\r\xa9"', b'PUSH c b \xc3 "x"']
)
def test_lines_that_are_not_utf8_are_left(line: bytes) -> None:
    assert READERS[Mode.INGEST].read(line) is None


def test_keys_that_sonic_lacks_and_limits_above_the_ceiling() -> None:
    rules = LineRules(Limits(query_maximum=10**6), Languages(LANG_CODES))
    reader = plain_reader(SONIC_COMMANDS_OF_MODE[Mode.SEARCH].values(), rules, {})
    assert reader.read(b'QUERY c b "x" SCORES(1)') is None
    assert reader.read(b'QUERY c b "x" TOTAL(1)') is None
    assert reader.read(b'EXPLAIN c b "x"') is None
    assert reader.read(f'QUERY c b "x" LIMIT({LIMIT_CEILING})'.encode()).limit == LIMIT_CEILING
    assert reader.read(f'QUERY c b "x" LIMIT({LIMIT_CEILING + 1})'.encode()) is None
    assert reader.read(b"PING") is None


def test_names_of_collections_are_the_same_strings_again() -> None:
    read = READERS[Mode.INGEST].read
    first, second = read(b'PUSH messages default o:1 "x"'), read(b'PUSH messages default o:1 "y"')
    assert first.collection is second.collection
    assert first.bucket is second.bucket


@given(st.lists(st.text("ab\u00e9\u00ff\u0100", min_size=1, max_size=3), min_size=1, max_size=400))
def test_names_that_share_a_slot_stay_different(names: list[str]) -> None:
    read = READERS[Mode.INGEST].read
    for name in names:
        assert read(f"COUNTB {name} {name[::-1]}".encode()) == commands.CountB(name, name[::-1])


PARTS = [
    *(
        "QUERY c b ",
        "PUSH c b o ",
        "SUGGEST c b ",
        "LIST c b ",
        "POP c b o ",
        "COUNTO ",
        "PING",
        "QUERY",
        "PUSH",
        "FLUSHB",
    ),
    *(" ", " ", " ", "  ", "\t", "\r", "\u3000", "\x1c", "a", "b", "\u00e9", "\u65e5"),
    *('"', '"', '"one two" ', '"x" ', "\\", '\\"', "\\n", "\\r"),
    *(
        "LIMIT(5)",
        "LIMIT(500)",
        "LIMIT(",
        ")",
        "OFFSET(3)",
        "OFFSET(99999999999)",
        "LANG(eng)",
        "LANG(FRA)",
        "SCORES(1)",
        "TOTAL(1)",
        'AFTER("a LIMIT(5) b")',
        'PREFIX("',
    ),
]
LINES = st.lists(st.sampled_from(PARTS).map(str.encode) | st.just(b"\xc3") | st.binary(max_size=3), max_size=12).map(
    b"".join
)


def holds_or_leaves(mode: Mode, line: bytes) -> None:
    got = READERS[mode].read(line)
    if got is None or got is replies.PONG:
        assert got is None or judged(mode, line) == commands.Ping()
        return
    twin = judged(mode, line)
    assert (type(got), got) == (type(twin), twin)
    assert [type(value) for value in got] == [type(value) for value in twin]


@settings(max_examples=examples(800))
@given(st.sampled_from(list(Mode)), LINES)
@example(Mode.INGEST, b'PUSH c b o "\xc3\\r\xa9"')
@example(Mode.INGEST, b'PUSH c b o """')
@example(Mode.INGEST, b'PUSH c b o """"')
@example(Mode.INGEST, b'PUSH c b o " "')
@example(Mode.INGEST, b'PUSH c b o " x "')
@example(Mode.INGEST, b'PUSH c b o "a" b"')
def test_what_is_read_is_what_parse_reads(mode: Mode, line: bytes) -> None:
    if b"\n" not in line:
        holds_or_leaves(mode, line)


TEXTS = st.text(st.sampled_from(' "\\ab\u00e9nr\t'), max_size=20)


@settings(max_examples=examples(500))
@given(TEXTS, st.sampled_from(["", " LANG(eng)", " LANG(none) ", ' "', "\r"]))
def test_texts_are_what_parse_reads_and_refusals_are_left_to_it(text: str, rest: str) -> None:
    line = f'PUSH c b o "{text}"{rest}'.encode()
    try:
        twin = judged("ingest", line)
    except CommandError:
        twin = None
    assert READERS[Mode.INGEST].read(line) == twin


def test_take_command_takes_plain_lines_alone() -> None:
    lines = LineReader(40)
    lines.feed(b"LIST c b\nlist c b\nLIST c b\r\nLIST")
    assert lines.take_command(READERS[Mode.SEARCH]) == commands.List("c", "b", 100, 0, "", None)
    assert lines.take_command(READERS[Mode.SEARCH]) is None
    assert lines.take_line() == b"list c b"
    assert lines.take_command(READERS[Mode.SEARCH]) == commands.List("c", "b", 100, 0, "", None)
    assert lines.take_command(READERS[Mode.SEARCH]) is None
    lines.feed(b' c b\nSUGGEST c b "' + b"x" * 40 + b'"\n')
    assert lines.take_command(READERS[Mode.SEARCH]) == commands.List("c", "b", 100, 0, "", None)
    assert lines.take_command(READERS[Mode.SEARCH]) is None, "too long"
    assert lines.take_line() is None
    assert lines.overflowed


@pytest.mark.parametrize(
    ("result", "shape", "message"),
    [
        (commands.Push, (3, True), "has 9 fields"),
        (commands.Push, (3, True, (None, None)), "has 9 fields"),
        (commands.Push, (5,), "is not a tuple"),
        (commands.Push, (-1, True), "is not a tuple"),
        (commands.Ping, (), "has 0 fields"),
    ],
)
def test_shapes_that_do_not_fit_their_type_are_refused(result: type, shape: tuple[object, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        PlainLine(b"X", result, *shape)  # type: ignore[arg-type]


def test_only_shapes_are_taken() -> None:
    with pytest.raises(TypeError):
        PlainReader([None])  # type: ignore[list-item]
