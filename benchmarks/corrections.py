"""Print the time that a word graph of 250,000 words takes to build, open, complete and correct.

    python -m benchmarks.corrections [ROUNDS] [--words WORDS]

The words come from the word lists, chat messages and languages in ../shared/data, the misspellings from people. Each
misspelling is corrected within the distance that its length allows. The time of a lookup is the best of ROUNDS (default
5) in this process, from bytes to the list of all matches.
"""

import argparse
import random
import re
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from rapidfuzz.distance import Levenshtein

from benchmarks.measure import percentile
from sonicpy.graph.builder import WORD_BYTES_MAX, WordGraphBuilder
from sonicpy.graph.word_graph import WordGraph
from tests.support.paths import SHARED
from tests.support.texts import SEED

WORDS = 250_000
MISSPELLINGS = 1_000


def distance_for(word: str) -> int:
    """Return the largest edit distance of a correction for the length of a word, as in Sonic."""
    return 0 if len(word) < 4 else 1 if len(word) < 7 else 2 if len(word) < 10 else 3


def words(count: int = WORDS) -> list[bytes]:
    """Return `count` words in byte order: real words, or invented words if the shared files are missing."""
    found: dict[bytes, None] = {}
    for word in real_words() if SHARED.exists() else invented_words():
        encoded = word.encode()
        if 0 < len(encoded) <= WORD_BYTES_MAX:
            found[encoded] = None
        if len(found) == count:
            break
    return sorted(found)


def real_words() -> Iterator[str]:
    """Yield words, some of them twice: English lists, right spellings, chat, then the words of languages by rank."""
    for name in ("words/en_freq_82765_symspell.tsv", "words/english_words_reindexer_bench.txt"):
        yield from (row[0].lower() for row in rows(name))
    yield from (word.lower() for row in rows("typos/typos.tsv") for word in row[1].split())
    for row in rows("messages/messages.tsv"):
        yield from re.findall(r"\w+", row[2].lower())
    by_language = rows("words/freq_top2500_by_language.tsv")
    yield from (row[1].lower() for rank in range(2500) for row in by_language[rank::2500])


def rows(name: str) -> list[list[str]]:
    """Return the rows of a shared file, split at tabs."""
    return [line.split("\t") for line in (SHARED / name).read_text(encoding="utf-8-sig").split("\n") if line]


def invented_words() -> Iterator[str]:
    """Yield random words of two to five syllables, without end."""
    chance = random.Random(SEED)
    syllables = [a + b + c for a in "bcdfghklmnprstvw" for b in ("a", "e", "i", "o", "u", "ea") for c in ("", "n", "r")]
    while True:
        yield "".join(chance.choices(syllables, k=chance.randint(2, 5)))


def misspellings(lexicon: list[bytes], count: int = MISSPELLINGS) -> list[str]:
    """Return at most `count` misspellings outside the lexicon, each within the correction distance of a word in it."""
    known = frozenset(lexicon)
    chance = random.Random(SEED)
    if SHARED.exists():
        pairs = [(row[0].lower(), row[1].lower()) for row in rows("typos/typos.tsv")]
    else:
        pairs = [
            (mistype(chance, word.decode()), word.decode())
            for word in chance.sample(lexicon, min(3 * count, len(lexicon)))
        ]
    usable = [
        wrong
        for wrong, right in pairs
        if right.encode() in known
        and wrong.encode() not in known
        and 0 < Levenshtein.distance(wrong, right) <= distance_for(wrong)
    ]
    return chance.sample(usable, min(count, len(usable)))


def mistype(chance: random.Random, word: str) -> str:
    """Return `word` with one random letter replaced."""
    at = chance.randrange(len(word))
    return word[:at] + chance.choice("etaoinshrdlu") + word[at + 1 :]


def build(lexicon: list[bytes]) -> bytes:
    """Return the content of the graph file."""
    builder = WordGraphBuilder()
    for word in lexicon:
        builder.add(word)
    return builder.finish(1, 1)


def times_us(lookups: list[Callable[[], object]], rounds: int) -> list[float]:
    """Return the best time of each lookup in microseconds, shortest first."""
    best = [float("inf")] * len(lookups)
    for _ in range(rounds):
        for number, lookup in enumerate(lookups):
            began = time.perf_counter_ns()
            lookup()
            best[number] = min(best[number], (time.perf_counter_ns() - began) / 1000)
    return sorted(best)


def print_row(name: str, times: list[float]) -> None:
    count = len(times)
    middle, late = percentile(times, 50), percentile(times, 99)
    print(f"{name:44}{count:6}{sum(times) / count:9.1f}{middle:9.1f}{late:9.1f}{times[-1]:9.1f}")


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.corrections", description=__doc__.splitlines()[0])
    parser.add_argument("rounds", nargs="?", type=int, default=5, help="rounds, of which the best counts (default 5)")
    parser.add_argument("--words", type=int, default=WORDS, help=f"words in the graph (default {WORDS:,})")
    arguments = parser.parse_args()
    rounds = arguments.rounds
    lexicon = words(arguments.words)
    content = build(lexicon)
    builds = times_us([lambda: build(lexicon)], rounds)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "1-1"
        path.write_bytes(content)
        openings = times_us([lambda: WordGraph(path)], rounds)
        graph = WordGraph(path)
    print(f"{len(lexicon)} words of {sum(map(len, lexicon))} bytes: a file of {len(content) / 1e6:.2f} MB")
    print(f"built in {builds[0] / 1000:.0f} ms, opened and verified in {openings[0] / 1000:.1f} ms\n")
    print(f"{'us a lookup':44}{'count':>6}{'mean':>9}{'p50':>9}{'p99':>9}{'max':>9}")
    wrong = misspellings(lexicon)
    for swaps, kind in ((False, "Levenshtein"), (True, "with transpositions")):
        everything: list[float] = []
        for distance in (1, 2, 3):
            chosen = [word.encode() for word in wrong if distance_for(word) == distance]
            lookups = [partial(graph.correct, word, distance, transpositions=swaps) for word in chosen]
            times = times_us(lookups, rounds)
            everything += times
            print_row(f"{kind}, distance {distance}", times)
        print_row(f"{kind}, all", sorted(everything))
    typed = [word[: len(word) // 2].encode() for word in wrong]
    print_row("complete, first 5", times_us([partial(graph.complete, prefix, 5) for prefix in typed], rounds))
    print_row("contains", times_us([partial(graph.contains, word) for word in lexicon[::250]], rounds))


if __name__ == "__main__":
    main()
