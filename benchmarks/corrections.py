"""Print what building, opening, completing and correcting cost over a graph of 250,000 words.

    python -m benchmarks.corrections [ROUNDS]

The words are real ones of the word lists, chat messages and languages beside the project, the misspellings those of
people, each looked up within the distance that its length allows. The time of a lookup is the best of ROUNDS (5), in
this process, from bytes to a list, every match returned.
"""

import random
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from rapidfuzz.distance import Levenshtein

from benchmarks.data import SEED
from sonicpy.graph.builder import WORD_BYTES_MAX, WordGraphBuilder
from sonicpy.graph.word_graph import WordGraph

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
WORDS = 250_000
MISSPELLINGS = 1_000


def distance_for(word: str) -> int:
    """Return within which distance a word is corrected: by its length, as Sonic does."""
    return 0 if len(word) < 4 else 1 if len(word) < 7 else 2 if len(word) < 10 else 3


def words(count: int = WORDS) -> list[bytes]:
    """Return `count` words in byte order: real ones, or made-up ones with a fixed seed where those are missing."""
    found: dict[bytes, None] = {}
    for word in real_words() if SHARED.exists() else made_up_words():
        encoded = word.encode()
        if 0 < len(encoded) <= WORD_BYTES_MAX:
            found[encoded] = None
        if len(found) == count:
            break
    return sorted(found)


def real_words() -> Iterator[str]:
    """Yield words, some of them more than once: English lists, right spellings, chat, then languages by rank."""
    for name in ("words/en_freq_82765_symspell.tsv", "words/english_words_reindexer_bench.txt"):
        yield from (row[0].lower() for row in rows(name))
    yield from (word.lower() for row in rows("typos/typos.tsv") for word in row[1].split())
    for row in rows("messages/messages.tsv"):
        yield from re.findall(r"\w+", row[2].lower())
    by_language = rows("words/freq_top2500_by_language.tsv")
    yield from (row[1].lower() for rank in range(2500) for row in by_language[rank::2500])


def rows(name: str) -> list[list[str]]:
    """Return the rows of a file of the shared data, cut at tabs."""
    return [line.split("\t") for line in (SHARED / name).read_text(encoding="utf-8-sig").split("\n") if line]


def made_up_words() -> Iterator[str]:
    """Yield words of syllables without end."""
    chance = random.Random(SEED)
    syllables = [a + b + c for a in "bcdfghklmnprstvw" for b in ("a", "e", "i", "o", "u", "ea") for c in ("", "n", "r")]
    while True:
        yield "".join(chance.choices(syllables, k=chance.randint(2, 5)))


def misspellings(lexicon: list[bytes], count: int = MISSPELLINGS) -> list[str]:
    """Return `count` misspellings of words of the lexicon that are no words of it and can be repaired."""
    known = frozenset(lexicon)
    chance = random.Random(SEED)
    if SHARED.exists():
        pairs = [(row[0].lower(), row[1].lower()) for row in rows("typos/typos.tsv")]
    else:
        pairs = [(mistype(chance, word.decode()), word.decode()) for word in chance.sample(lexicon, 3 * count)]
    usable = [
        wrong
        for wrong, right in pairs
        if right.encode() in known
        and wrong.encode() not in known
        and 0 < Levenshtein.distance(wrong, right) <= distance_for(wrong)
    ]
    return chance.sample(usable, count)


def mistype(chance: random.Random, word: str) -> str:
    """Return `word` with one letter replaced."""
    at = chance.randrange(len(word))
    return word[:at] + chance.choice("etaoinshrdlu") + word[at + 1 :]


def build(lexicon: list[bytes]) -> bytes:
    """Return the content of the graph file."""
    builder = WordGraphBuilder()
    for word in lexicon:
        builder.add(word)
    return builder.finish(1, 1)


def times_us(lookups: list[Callable[[], object]], rounds: int) -> list[float]:
    """Return the best time of each lookup in microseconds, in rising order."""
    best = [float("inf")] * len(lookups)
    for _ in range(rounds):
        for number, lookup in enumerate(lookups):
            began = time.perf_counter_ns()
            lookup()
            best[number] = min(best[number], (time.perf_counter_ns() - began) / 1000)
    return sorted(best)


def print_row(name: str, times: list[float]) -> None:
    count = len(times)
    middle, late = times[count // 2], times[count * 99 // 100]
    print(f"{name:44}{count:6}{sum(times) / count:9.1f}{middle:9.1f}{late:9.1f}{times[-1]:9.1f}")


def main() -> None:
    """Print the tables."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    lexicon = words()
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
