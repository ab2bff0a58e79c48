"""Print the time of a query for ten objects on an index whose words have the postings of all of their objects.

    python -m benchmarks.complete_lists [TEXTS]

Texts are chat messages in passes, each pass but the first with its number as a word. Queries are neighbouring words of
random messages, or words of different messages (apart); long questions are several messages together. sonicpy runs with
its default settings, and with only the newest 1,000 objects of each word read; tantivy, if it is installed, searches
for any of the words, first ten, in one thread. Times are CPU times of the process for 3,000 queries after a warm-up of
3,000, and for 100 long questions, or queries of words apart, after a warm-up of 100.
"""

import gc
import random
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import quantiles

import sonicpy
from benchmarks.command_line import parse_count
from benchmarks.corpora import chat_messages
from benchmarks.peers import tantivy
from tests.support.texts import SEED, oid, queries

TEXTS = 1_000_000
QUERIES = 3_000
QUESTIONS = 100
QUESTION_WORDS = (10, 20, 50)
APART_WORDS = (3, 6)
WINDOW = 1_000
C, B = "messages", "default"


def main() -> None:
    count = parse_count("complete_lists", __doc__, "TEXTS", TEXTS)
    texts = chat_messages(count)
    rows = [(oid(number), text) for number, text in enumerate(texts)]
    print(f"{count} texts of {sum(map(len, texts)) / count:.0f} characters")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        began = time.process_time()
        with sonicpy.open(folder / "ours") as index:
            index.push_many(rows, collection=C, bucket=B)
            index.consolidate()
        print(f"  push_many: {(time.process_time() - began) / count * 1e6:.1f} us a text")
        gc.freeze()  # else a collection that looks at a million rows falls into a query
        for title, settings in (
            ("complete lists", {}),
            (f"newest {WINDOW} of a word", {"store": {"kv": {"retain_word_objects": WINDOW}}}),
        ):
            with sonicpy.open(folder / "ours", sonicpy.Config.model_validate(settings)) as index:
                ask_all(title, lambda text, index=index: index.query(C, B, text), texts)  # type: ignore[misc]
        if not tantivy.is_installed():
            print("  tantivy is not installed")
            return
        theirs = tantivy.Tantivy(folder / "tantivy", counts=True)
        theirs.add(rows)

        def search(text: str) -> object:
            return theirs.hits("".join(c if c.isalnum() else " " for c in text.lower()).split())

        ask_all("tantivy", search, texts)


def ask_all(title: str, ask: Callable[[str], object], texts: list[str]) -> None:
    """Print the times of queries of one to three words, and of long questions.

    Args:
        title: the beginning of each line.
        ask: answers a query.
        texts: the texts from which the queries are made.
    """
    asked_by_words = {f"{words:2} words": queries(texts, words, 2 * QUERIES) for words in (1, 2, 3)}
    asked_by_words |= {f"{words:2} words": questions(texts, words, 2 * QUESTIONS) for words in QUESTION_WORDS}
    asked_by_words |= {f"{words:2} apart": words_apart(texts, words, 2 * QUESTIONS) for words in APART_WORDS}
    for words, asked in asked_by_words.items():
        half = len(asked) // 2
        for text in asked[half:]:
            ask(text)
        took = []
        for text in asked[:half]:
            began = time.thread_time_ns()
            ask(text)
            took.append((time.thread_time_ns() - began) / 1000)
        cuts = quantiles(took, n=100)
        print(f"  {title:24} {words}: mean {sum(took) / len(took):7.1f} us, p50 {cuts[49]:7.1f}, "
              f"p99 {cuts[98]:8.1f}", flush=True)  # fmt: skip


def words_apart(texts: Sequence[str], words: int, count: int) -> list[str]:
    """Return `count` texts of `words` words, each word from another random message."""
    chance = random.Random(SEED)
    return [" ".join(chance.choice(chance.choice(texts).split()) for _ in range(words)) for _ in range(count)]


def questions(texts: Sequence[str], words: int, count: int) -> list[str]:
    """Return `count` texts of `words` words each, from as many random messages as necessary."""
    chance = random.Random(SEED)
    found = []
    while len(found) < count:
        some: list[str] = []
        while len(some) < words:
            some += chance.choice(texts).split()
        found.append(" ".join(some[:words]))
    return found


if __name__ == "__main__":
    main()
