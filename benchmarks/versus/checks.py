"""Checks of answers: a rate counts only if the server answers correctly."""

import re
from collections.abc import Sequence

from rapidfuzz.distance import Levenshtein

from benchmarks.client import Lane
from benchmarks.peers.servers import Server, ask
from benchmarks.versus.workload import (
    PING,
    POP,
    PUSH,
    QUERIES,
    QUERY_MISS,
    QUERY_TYPO,
    SET,
    SUGGEST,
    Command,
    oid_number,
)

RIGHT_SHARE = 0.9
"""The lowest share of correct answers that is accepted. Servers guess languages and stop words, so their answers may
differ a little.
"""
EDITS_MAX = 3
SIGNS = {
    PING: b"PONG\r\n",
    PUSH: b"OK\r\n",
    POP: b"RESULT ",
    SET: b"+OK\r\n",
    SUGGEST: b"\nEVENT SUGGEST ",
    **dict.fromkeys(QUERIES, b"\nEVENT QUERY "),
}
"""Operation -> bytes that occur exactly once in each correct reply, and in no other reply."""


class WrongAnswers(Exception):
    """A server gave wrong answers."""


def check_replies(server: Server, operation: str, lane: Lane) -> None:
    """Raise WrongAnswers unless every command of a run got its reply and none got an error."""
    answered, expected = b"".join(lane.received).count(SIGNS[operation]), len(lane.latencies_s)
    if answered != expected:
        raise WrongAnswers(f"{server.name}: {answered} of {expected} replies to {operation} are right")


def right_share(server: Server, operation: str, commands: Sequence[Command], texts: Sequence[str]) -> float:
    """Send the commands; return the share of correct answers.

    Args:
        texts: the texts of the objects, by number.

    Raises:
        WrongAnswers: the share is less than RIGHT_SHARE.
    """
    with server.connect("search") as connection:
        answers = [answer_items(ask(connection, command.line, 2)) for command in commands]
    right = sum(
        is_right(operation, command.text, items, texts) for command, items in zip(commands, answers, strict=True)
    )
    if right < RIGHT_SHARE * len(commands):
        raise WrongAnswers(f"{server.name}: {right} of {len(commands)} answers to {operation} are right")
    return right / len(commands)


def answer_items(answer: str) -> list[str] | None:
    """Return the items of a PENDING line and its EVENT line, or None for any other answer."""
    found = re.fullmatch(r"PENDING (\w+)\r\nEVENT (?:QUERY|SUGGEST) (\w+) (.*)\r\n", answer)
    return found[3].split() if found and found[1] == found[2] else None


def is_right(operation: str, asked: str, items: list[str] | None, texts: Sequence[str]) -> bool:
    """Return whether an answer is correct: an object in it holds a word of the query, or a suggestion has the prefix.

    The correct item need not be the first, because Sonic puts rare corrections before exact words. For QUERY_MISS an
    answer is correct unless an object in it holds the word.
    """
    if items is None:
        return False
    if operation == SUGGEST:
        return any(item.startswith(asked) for item in items)
    if operation == QUERY_MISS:
        return all(asked not in texts[oid_number(item)].lower() for item in items)
    found = [texts[oid_number(item)].lower() for item in items]
    if operation == QUERY_TYPO:
        words = (word for text in found for word in re.findall(r"\w+", text))
        return any(Levenshtein.distance(asked, word) <= EDITS_MAX for word in words)
    return any(word in text for text in found for word in asked.split())
