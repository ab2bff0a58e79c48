"""One Index in eight threads at once: in any order of changes, the result is that of a plain model."""

import random
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from sonicpy import Index
from sonicpy.index.engine import BATCH_COMMIT
from tests.index.shorthand import B, C, contents, open_index
from tests.support.examples import examples
from tests.support.patience import WAIT_S

THREADS = 8
CHANGES = examples(500)
WORDS = [
    "anker", "birne", "dampf", "eiche", "feder", "grube", "häuser", "İzmir", "straße", "ﬁnden", "ёлка", "東京", "naïve",
    "cafe\u0301s", "e-mail@example.org", "10.0.0.1",
]  # fmt: skip


@pytest.fixture(autouse=True)
def busy_switching() -> Iterator[None]:
    """Make Python switch threads as often as possible."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@dataclass
class Worker:
    """A thread with its objects, in the bucket that all threads share, and the words of these at the end."""

    number: int
    index: Index
    held: dict[str, set[str]] = field(default_factory=dict)
    failure: BaseException | None = None

    def run(self) -> None:
        chance = random.Random(self.number)
        try:
            for _ in range(CHANGES):
                self._change(chance)
                self._ask(chance)
        except BaseException as failure:  # noqa: BLE001 - handed to the test, which raises it
            self.failure = failure

    def _change(self, chance: random.Random) -> None:
        oid = f"o{self.number}-{chance.randrange(12)}"
        words = chance.sample(WORDS, chance.randint(1, 6))
        held = self.held.setdefault(oid, set())
        match chance.randrange(10):
            case 0:
                self.index.flush_object(C, B, oid)
                held.clear()
            case 1 | 2:
                self.index.pop(C, B, oid, " ".join(words))
                held -= set(words)
            case 3:
                with self.index.batch():
                    for word in words:
                        self.index.push(C, B, oid, word, "deu")
                        assert oid in self.index.query(C, B, word, limit=1_000, lang="deu"), "a batch sees itself"
                held |= set(words)
            case 4 if self.number == 0:
                self.index.consolidate()
            case _:
                self.index.push(C, B, oid, " ".join(words), "deu")
                held |= set(words)
        if not held:
            del self.held[oid]

    def _ask(self, chance: random.Random) -> None:
        word = chance.choice(WORDS)
        found = self.index.query(C, B, word, limit=1_000, lang="deu")
        mine = {oid for oid in found if oid.startswith(f"o{self.number}-")}
        assert mine == {oid for oid, held in self.held.items() if word in held}, "each thread sees what it has done"
        self.index.suggest(C, B, "f")
        self.index.words(C, B, limit=5)
        self.index.count_objects(C, B)


@pytest.mark.full
@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("folding", [False, True])
def test_eight_threads(tmp_path: Path, folding: bool, late: bool) -> None:
    with open_index(tmp_path, commits_late=late, normalization__diacritic_folding_enabled=folding) as index:
        workers = [Worker(number, index) for number in range(THREADS)]
        threads = [threading.Thread(target=worker.run) for worker in workers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for worker in workers:
            if worker.failure is not None:
                raise worker.failure
        finds = contents(index)
    expected = {oid: held for worker in workers for oid, held in worker.held.items()}
    with open_index(tmp_path / "serial", normalization__diacritic_folding_enabled=folding) as serial:
        for oid, held in expected.items():
            serial.push(C, B, oid, " ".join(sorted(held)), "deu")
        assert finds == contents(serial)
    with open_index(tmp_path, normalization__diacritic_folding_enabled=folding) as index:
        assert contents(index) == finds, "the same after a restart"


def test_another_thread_writes_after_graphs_were_built(tmp_path: Path) -> None:
    """push_many with thousands of words builds a graph, and leaves no transaction open on its thread."""
    rows = [(number, f"word{number}") for number in range(6_000)]
    failed: list[BaseException] = []

    def write() -> None:
        try:
            index.push_many([("other", "thread")], collection="c", bucket="b")
            index.backup(tmp_path / "copy")
            index.restore(tmp_path / "copy")
        except BaseException as error:  # noqa: BLE001 - shown by the assertion
            failed.append(error)

    with Index(tmp_path / "store") as index:
        index.push_many(rows, collection="c", bucket="b")
        for _ in range(2):
            other = threading.Thread(target=write)
            other.start()
            other.join()
        index.push("c", "b", "last", "word")
        assert failed == []
        assert index.count_objects("c", "b") == 6_002


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("count", [1, BATCH_COMMIT + 1])
def test_a_batch_ends_on_another_thread(tmp_path: Path, late: bool, count: int) -> None:
    """A generator that is freed elsewhere ends its block there, as a dependency of a web framework does."""

    def begin(word: str) -> AbstractContextManager[Index]:
        batch = index.batch()
        batch.__enter__()
        for number in range(count):
            index.push(C, B, f"{word}{number}", word)
        return batch

    def objects(word: str) -> int:
        return len(index.query(C, B, word, limit=count + 9))

    with (
        ThreadPoolExecutor(1) as first,
        ThreadPoolExecutor(1) as other,
        open_index(tmp_path, commits_late=late) as index,
    ):
        for end, word in enumerate(["anker", "birne"]):
            batch = first.submit(begin, word).result(WAIT_S)
            error = KeyError() if end else None  # after which the changes are committed, too
            other.submit(batch.__exit__, type(error), error, None).result(WAIT_S)
            for pool in (first, other):
                assert pool.submit(objects, word).result(WAIT_S) == objects(word) == count
                pool.submit(index.push, C, B, f"after-{word}", "dampf").result(WAIT_S)
        first.submit(begin, "eiche").result(WAIT_S)  # the batch is freed here
        other.submit(index.push, C, B, "last", "dampf").result(WAIT_S)
        found = contents(index)
        assert objects("dampf") == 3
    with open_index(tmp_path) as index:
        assert contents(index) == found
