"""Print the CPU time of phrases of common words.

    python -m benchmarks.phrases [TEXTS]

A bucket that keeps the order of words holds TEXTS chat messages: the real ones, then each half of one joined to half of
another. Every pair of two of the hundred commonest words that is drawn is asked for once, as a server does: in turns.
Then a server answers further pairs, with PINGs beside them.
"""

import asyncio
import random
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import sonicpy
from benchmarks.command_line import parse_count
from benchmarks.corpora import chat_messages
from benchmarks.pings import print_pings
from benchmarks.stages import BUCKET, COLLECTION
from sonicpy.server.connections.phrase_turns import PhraseTurns
from tests.support.texts import SEED, messages, oid

TEXTS = 1_000_000
REAL = 330_000
COMMON = 100
ASKED = 400
SETTINGS = {"store.order": True}
QUESTIONS = {"first page": {}, "total": {"total": True}}
"""Kind of question -> its options."""


def main() -> None:
    """Fill an index, ask, and print the figures."""
    count = parse_count("phrases", __doc__, "TEXTS", TEXTS)
    words = common_words(chat_messages(min(count, REAL)))
    pairs = [(one, other) for one in words for other in words if one != other]
    random.Random(SEED).shuffle(pairs)
    with tempfile.TemporaryDirectory() as folder:
        measure(Path(folder) / "store", count, words, pairs[:ASKED])
        further = [partial(asked, pair, {}) for pair in pairs[ASKED : 2 * ASKED]]
        print_pings(Path(folder), {"phrases": further}, SETTINGS)


def measure(folder: Path, count: int, words: Sequence[str], pairs: Sequence[tuple[str, str]]) -> None:
    """Fill an index with `count` texts, ask for the pairs of words, and print the figures."""
    with sonicpy.open(folder, config=SETTINGS) as index:
        rows = ((oid(number), text) for number, text in enumerate(texts(count)))
        index.push_many(rows, collection=COLLECTION, bucket=BUCKET)
        index.consolidate()
        for word in words:
            index.query(COLLECTION, BUCKET, f"{word} {words[0]}", limit=1)
        print(f"{count} texts, {len(pairs)} pairs of words; CPU ms")
        for kind, options in QUESTIONS.items():
            found = [asyncio.run(in_turns(index, partial(asked, pair, options))) for pair in pairs]
            print(
                f"{kind:12} {summary([ms for _, ms, _ in found])}; a turn at most {max(turn for *_, turn in found):.1f}"
            )
            none = [ms for hits, ms, _ in found if not hits]
            print(f"{'none held':12} {summary(none) if none else 'no such pair'}")


def common_words(given: Sequence[str]) -> list[str]:
    """Return the commonest words of texts."""
    held = Counter(word for text in given for word in {*text.lower().split()} if word.isalpha())
    return [word for word, _ in held.most_common(COMMON)]


def texts(count: int) -> Iterator[str]:
    """Yield `count` texts."""
    real = messages(min(count, REAL))
    yield from real
    chance = random.Random(SEED)
    for _ in range(count - len(real)):
        one, other = chance.choice(real).split(), chance.choice(real).split()
        yield " ".join([*one[: chance.randint(1, len(one) or 1)], *other[chance.randint(0, len(other)) :]]) or "empty"


def asked(pair: tuple[str, str], options: dict[str, Any], answers: Any) -> Any:
    """Return the hits of a phrase."""
    return answers.query(COLLECTION, BUCKET, f'"{" ".join(pair)}"', syntax="web", **options)


async def in_turns(index: sonicpy.Index, ask: Callable[[Any], Any]) -> tuple[int, float, float]:
    """Return the number of hits, the CPU time of an answer, and that of its longest turn, in milliseconds."""
    turns, began = [], time.process_time()
    answering = asyncio.create_task(PhraseTurns().ask(index, ask))
    while not answering.done():
        before = time.process_time()
        await asyncio.sleep(0)
        turns.append(time.process_time() - before)
    return len(answering.result()), 1e3 * (time.process_time() - began), 1e3 * max(turns)


def summary(times: list[float]) -> str:
    """Return the median, the 99th percentile and the maximum of some times."""
    ranked = sorted(times)
    return f"median {ranked[len(ranked) // 2]:.1f}, p99 {ranked[len(ranked) * 99 // 100]:.1f}, max {ranked[-1]:.1f}"


if __name__ == "__main__":
    main()
