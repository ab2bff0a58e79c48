"""The harness sends the same commands every time, and checks the answers against the texts."""

import re

import pytest

from benchmarks.corpora import chat_messages
from benchmarks.suggestions import LETTERS_MAX, LETTERS_MIN, prefixes
from benchmarks.versus.checks import answer_items, is_right
from benchmarks.versus.workload import (
    COMMANDS,
    QUERY_1,
    QUERY_3,
    QUERY_MISS,
    QUERY_TYPO,
    READS,
    SUGGEST,
    Commands,
    oid_number,
    plain_words,
    push_line,
    stop_words,
)
from tests.support.texts import oid


@pytest.fixture(scope="module")
def pushed() -> list[str]:
    return chat_messages(500)


@pytest.fixture(scope="module")
def commands(pushed: list[str]) -> Commands:
    return Commands(pushed)


def test_texts_come_again_with_the_number_of_the_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.corpora.real_messages", lambda count: ["one", " ", "two "])
    assert chat_messages(7) == ["one", "two", "one 2", "two 2", "one 3", "two 3", "one 4"]


def test_a_push_is_one_line_whatever_the_text() -> None:
    assert push_line(7, 'say "hi" \\o/') == b'PUSH messages default message:7 "say \\"hi\\" \\\\o/"\n'
    assert oid_number(oid(7)) == 7


def test_plain_words() -> None:
    assert plain_words("Please see http://a.example, it's v2 of Ubuntu! ok me@a.example") == ["please", "see", "ubuntu"]


def test_the_same_texts_give_the_same_commands(pushed: list[str], commands: Commands) -> None:
    assert Commands(pushed).by_operation == commands.by_operation
    assert {operation: len(found) for operation, found in commands.by_operation.items()} == dict.fromkeys(
        READS, COMMANDS
    )


def test_queries_are_of_words_of_one_text(pushed: list[str], commands: Commands) -> None:
    stops = stop_words()
    rows = [set(plain_words(text)) for text in pushed]
    for command in commands.by_operation[QUERY_3]:
        words = set(command.text.split())
        assert len(words) == 3 and not words & stops
        assert any(words <= row for row in rows)


@pytest.mark.parametrize("operation", [QUERY_TYPO, QUERY_MISS])
def test_what_is_in_no_text(pushed: list[str], commands: Commands, operation: str) -> None:
    known = {word for text in pushed for word in re.findall(r"\w+", text.lower())}
    assert not known & {command.text for command in commands.by_operation[operation]}


@pytest.mark.parametrize(
    ("answer", "items"),
    [
        ("PENDING abc\r\nEVENT QUERY abc a b\r\n", ["a", "b"]),
        ("PENDING abc\r\nEVENT QUERY abc \r\n", []),
        ("PENDING abc\r\nEVENT QUERY abd a\r\n", None),
        ("ERR query_error\r\n", None),
    ],
)
def test_answer_items(answer: str, items: list[str] | None) -> None:
    assert answer_items(answer) == items


@pytest.mark.parametrize(
    ("operation", "asked", "items", "right"),
    [
        (QUERY_1, "ubuntu", ["message:0"], True),
        (QUERY_1, "ubuntu", ["message:1"], False),
        (QUERY_1, "ubuntu", ["message:1", "message:0"], True),
        (QUERY_1, "ubuntu", [], False),
        (QUERY_1, "ubuntu", None, False),
        (QUERY_3, "fresh ubuntu ticket", ["message:1"], True),
        (QUERY_TYPO, "ubumtu", ["message:0"], True),
        (QUERY_TYPO, "ubumtu", ["message:1"], False),
        (QUERY_MISS, "qqqqqq", [], True),
        (QUERY_MISS, "qqqqqq", ["message:1"], True),
        (QUERY_MISS, "qqqqqq", None, False),
        (SUGGEST, "ubu", ["ubuntu"], True),
        (SUGGEST, "ubu", ["ticket"], False),
    ],
)
def test_is_right(operation: str, asked: str, items: list[str] | None, right: bool) -> None:
    assert is_right(operation, asked, items, ["Install Ubuntu", "a ticket"]) is right


def test_prefixes_to_suggest_for_are_new() -> None:
    found = prefixes(["alphabet gardens", "gardens of alphabetical order"], 3)
    assert len(set(found)) == len(found) == 3
    assert all(LETTERS_MIN <= len(prefix) <= LETTERS_MAX for prefix in found)
    with pytest.raises(ValueError, match="take more texts"):
        prefixes(["alphabet", "gardens"], 3)
