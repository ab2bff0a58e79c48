"""The commands that the harness sends: equal for every server, from a fixed seed."""

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle

from sonicpy.langcodes import LANG_CODES
from sonicpy.lexer.stopwords import StopWords
from tests.support.texts import SEED, oid, quoted

COLLECTION = "messages"
BUCKET = "default"
COMMANDS = 2_000
"""The number of different commands of each kind; a longer run repeats them."""
LIMITS = cycle(range(10, 20))
"""The limits of queries, one after the other over the whole run: a limit is used again only long after the server has
dropped its cached answers.
"""
PLAIN_WORD = re.compile(r"(?<!\S)[A-Za-z]{3,20}(?=[.,!?]?(?!\S))")
LETTERS = "abcdefghijklmnopqrstuvwxyz"

PING = "PING"
PUSH = "PUSH"
POP = "POP"
SET = "SET"
QUERY_1, QUERY_2, QUERY_3 = "QUERY 1 word", "QUERY 2 words", "QUERY 3 words"
QUERY_TYPO, QUERY_MISS = "QUERY with a typo", "QUERY of no text"
SUGGEST = "SUGGEST"
QUERIES = (QUERY_1, QUERY_2, QUERY_3, QUERY_TYPO, QUERY_MISS)
READS = (*QUERIES, SUGGEST)
OPERATIONS = (PING, PUSH, *READS)


@dataclass(frozen=True, slots=True)
class Mode:
    """The number of connections, and of commands in flight on each of them."""

    name: str
    connections: int
    in_flight: int


ONE = Mode("1 connection", 1, 1)
EIGHT = Mode("8 connections", 8, 1)
SIXTEEN = Mode("16 in flight", 1, 16)
MODES = (ONE, EIGHT, SIXTEEN)


@dataclass(frozen=True, slots=True)
class Command:
    """A line to send, and its text, by which the answer is checked."""

    line: bytes
    text: str


def push_line(number: int, text: str) -> bytes:
    """Return the PUSH line of object `number` with a text."""
    return f"PUSH {COLLECTION} {BUCKET} {oid(number)} {quoted(text)}\n".encode()


def pop_line(number: int, text: str) -> bytes:
    """Return the POP line of object `number` with a text."""
    return f"POP {COLLECTION} {BUCKET} {oid(number)} {quoted(text)}\n".encode()


def oid_number(name: str) -> int:
    """Return the number of a text, given the name of its object."""
    return int(name.removeprefix("message:"))


def set_lines() -> Iterator[bytes]:
    """Yield SET commands for Redis, without end."""
    return cycle([f"SET {oid(number)} {'x' * 60}\n".encode() for number in range(COMMANDS)])


def plain_words(text: str) -> list[str]:
    """Return, in lower case, the words of a text that consist of letters and have blanks on both sides."""
    return [word.lower() for word in PLAIN_WORD.findall(text)]


def stop_words() -> frozenset[str]:
    """Return the stop words of all languages, because servers guess languages differently."""
    lists = StopWords()
    return frozenset().union(*(lists.words(code) for code in LANG_CODES))


class Commands:
    """The commands of every operation that reads, made from the pushed texts."""

    def __init__(self, pushed: Sequence[str]) -> None:
        stops = stop_words()
        self._rows = [[word for word in dict.fromkeys(plain_words(text)) if word not in stops] for text in pushed]
        self._known = {word for text in pushed for word in re.findall(r"\w+", text.lower())}
        self.by_operation = {
            QUERY_1: self._queries(1),
            QUERY_2: self._queries(2),
            QUERY_3: self._queries(3),
            QUERY_TYPO: self._typos(),
            QUERY_MISS: self._misses(),
            SUGGEST: self._prefixes(),
        }

    def lines(self, operation: str, start: float = 0.0) -> Iterator[bytes]:
        """Yield the lines of an operation, without end and always in the same order.

        Each pass over the lines of QUERY has another limit, so that no server answers from a cache of answers.

        Args:
            start: the share of the lines to skip first, so that a slow server gets other lines in each run.
        """
        if operation == PING:
            return cycle([b"PING\n"])
        found = self.by_operation[operation]
        first = int(start * len(found))
        lines = [command.line for command in found[first:] + found[:first]]
        return with_new_limits(lines) if operation in QUERIES else cycle(lines)

    def _queries(self, words: int) -> list[Command]:
        chance = random.Random(SEED + words)
        rows = [row for row in self._rows if len(row) >= words]
        return [query(" ".join(chance.sample(chance.choice(rows), words))) for _ in range(COMMANDS)]

    def _typos(self) -> list[Command]:
        chance = random.Random(SEED + 4)
        words = [word for row in self._rows for word in row if len(word) >= 5]
        found: list[Command] = []
        while len(found) < COMMANDS:
            word = chance.choice(words)
            at = chance.randrange(1, len(word))
            typed = word[:at] + chance.choice(LETTERS) + word[at + 1 :]
            if typed not in self._known:
                found.append(query(typed))
        return found

    def _misses(self) -> list[Command]:
        chance = random.Random(SEED + 5)
        made = ("".join(chance.choices(LETTERS, k=chance.randint(5, 10))) for _ in range(2 * COMMANDS))
        return [query(word) for word in made if word not in self._known][:COMMANDS]

    def _prefixes(self) -> list[Command]:
        chance = random.Random(SEED + 6)
        words = [word for row in self._rows for word in row if len(word) >= 6]
        typed = [chance.choice(words)[: chance.randint(3, 5)] for _ in range(COMMANDS)]
        return [Command(f'SUGGEST {COLLECTION} {BUCKET} "{prefix}"\n'.encode(), prefix) for prefix in typed]


def with_new_limits(lines: Sequence[bytes]) -> Iterator[bytes]:
    """Yield lines without end, each pass with the next of LIMITS."""
    for number in LIMITS:
        for line in lines:
            yield line.replace(b"\n", b" LIMIT(%d)\n" % number)


def query(text: str) -> Command:
    """Return the QUERY command of a text."""
    return Command(f"QUERY {COLLECTION} {BUCKET} {quoted(text)}\n".encode(), text)


def reply_lines(operation: str) -> int:
    """Return the number of lines in a reply: two for PENDING and EVENT, else one."""
    return 2 if operation in READS else 1
