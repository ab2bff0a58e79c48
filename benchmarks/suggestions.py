"""Print the CPU time of a SUGGEST of a new prefix, and of a PING.

    python -m benchmarks.suggestions [TEXTS]

A server holds the first TEXTS chat messages, consolidated. One connection sends a command, waits for the reply, and
sends the next: in each round some PINGs, then some SUGGESTs of new prefixes (the first three to five letters of random
words of the messages), then these SUGGESTs again. Times are CPU times of the server, the median of all rounds but the
first. `python -m benchmarks.instructions whole_suggest` counts the instructions of a SUGGEST without the connection.
"""

import random
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median

import sonicpy
from benchmarks.client import Lane
from benchmarks.command_line import parse_count
from benchmarks.corpora import chat_messages
from benchmarks.measure import run
from benchmarks.peers.servers import Sonicpy
from benchmarks.versus.workload import BUCKET, COLLECTION, plain_words
from tests.support.texts import SEED, oid

TEXTS = 100_000
ROUNDS = 11
COMMANDS = 500
"""The number of commands of each kind in a round."""
LETTERS_MIN, LETTERS_MAX = 3, 5
WORD_MIN = 6
"""The fewest letters of a word whose prefixes are used."""
PING, FIRST, AGAIN = "PING", "SUGGEST", "SUGGEST again"


def main() -> None:
    """Fill a server, send the commands, and print the figures."""
    count = parse_count("suggestions", __doc__, "TEXTS", TEXTS)
    given = chat_messages(count)
    asked = prefixes(given, ROUNDS * COMMANDS)
    with tempfile.TemporaryDirectory() as folder:
        with sonicpy.open(Path(folder, "ours", "store")) as index:
            index.push_many([(oid(n), text) for n, text in enumerate(given)], collection=COLLECTION, bucket=BUCKET)
            index.consolidate()
        with Sonicpy("ours", Path(folder, "ours")) as server:
            rounds = measure(server, asked)
    print(f"{count} texts, {len(asked)} prefixes; CPU us of the server per command")
    print(f"  {PING:16}{median([found[PING] for found in rounds]):6.1f}")
    for kind in (FIRST, AGAIN):
        above = median([found[kind] - found[PING] for found in rounds])
        print(f"  {kind:16}{median([found[kind] for found in rounds]):6.1f}  above a PING {above:6.1f}")


def prefixes(given: Sequence[str], count: int) -> list[str]:
    """Return `count` different prefixes of words of texts; prefixes of frequent words tend to come first.

    Raises:
        ValueError: the texts have fewer prefixes.
    """
    chance = random.Random(SEED)
    words = [word for text in given for word in dict.fromkeys(plain_words(text)) if len(word) >= WORD_MIN]
    chance.shuffle(words)
    found = list(dict.fromkeys(word[: chance.randint(LETTERS_MIN, LETTERS_MAX)] for word in words))[:count]
    if len(found) < count:
        raise ValueError(f"the texts have {len(found)} prefixes, fewer than {count}; take more texts")
    return found


def measure(server: Sonicpy, asked: Sequence[str]) -> list[dict[str, float]]:
    """Return the CPU microseconds of each kind of command in each round but the first."""
    rounds = []
    with server.connect("search") as connection:
        for first in range(0, len(asked), COMMANDS):
            lines = [f'SUGGEST {COLLECTION} {BUCKET} "{prefix}"\n'.encode() for prefix in asked[first:][:COMMANDS]]
            found = {PING: cpu_us(server, Lane(connection, [b"PING\n"] * len(lines)))}
            for kind in (FIRST, AGAIN):
                found[kind] = cpu_us(server, Lane(connection, lines, reply_lines=2))
            rounds.append(found)
    return rounds[1:]


def cpu_us(server: Sonicpy, lane: Lane) -> float:
    """Return the CPU microseconds of the server per command of a lane."""
    return run(server, [lane]).cpu_us


if __name__ == "__main__":
    main()
