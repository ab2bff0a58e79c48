"""Single changes: each is done once the log has it, all threads see it at once, and many share a commit."""

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest

import sonicpy
from sonicpy.errors import StoreFull
from sonicpy.store.disk import late_commits
from sonicpy.store.disk.environment import Environment
from sonicpy.store.disk.log import Log
from sonicpy.store.shared_store import SharedStore
from tests.support.patience import WAIT_S, until

FULL = pytest.mark.full
C, B = "collection", "bucket"
PUSHING = """
import sys, sonicpy
index = sonicpy.open(sys.argv[1])
print("open", flush=True)
for line in sys.stdin:
    index.push("c", "b", line.strip(), f"text of {line.strip()}", "none")
    print(line.strip(), flush=True)
"""
"""A program that pushes an object for each line of its input, acknowledges it, and ends with the input, without
`close`.
"""
READING = """
import sys, sonicpy
with sonicpy.open(sys.argv[1], read_only=True) as index:
    print("open", flush=True)
    for line in sys.stdin:
        print(*index.objects("collection", "bucket", limit=None), flush=True)
"""


class Process:
    """A process that answers each line by a line."""

    def __init__(self, program: str, folder: Path) -> None:
        command = [sys.executable, "-c", program, str(folder)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.line() == "open"

    def line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def ask(self, line: str = "") -> str:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()
        return self.line()

    def end(self, how: int | None = None) -> None:
        if how is not None:
            self.process.send_signal(how)
        self.process.communicate(timeout=WAIT_S)


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Prevent the commits that are made only because some time has passed."""
    monkeypatch.setattr(late_commits, "SLICES", 10_000_000)


def commits(index: sonicpy.Index) -> int:
    return index.engine.store.last_commit()


def test_many_changes_share_a_commit_that_comes_by_itself(tmp_path: Path) -> None:
    with sonicpy.open(tmp_path) as index:
        before = commits(index)
        for number in range(50):
            index.push(C, B, f"o{number}", "shared")
            assert index.query(C, B, "shared", limit=100).objects[0] == f"o{number}", "it is seen at once"
        assert index.pop(C, B, "o0", "shared") == index.flush_object(C, B, "o1") == 1
        until(lambda: commits(index) > before, "the commit")
        until(lambda: index.engine.store.uncommitted == 0)
        assert commits(index) - before <= 3
        assert index.count_objects(C, B) == 48


@pytest.mark.usefixtures("slow")
def test_very_many_changes_are_committed_by_the_thread_that_makes_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sonicpy.store.shared_store.COMMIT_CHANGES", 20)
    with sonicpy.open(tmp_path) as index:
        before = commits(index)
        for number in range(45):
            index.push(C, B, f"o{number}", "word")
        assert commits(index) == before + 2
        monkeypatch.setattr("sonicpy.store.shared_store.COMMIT_BYTES", 1)
        index.push(C, B, "last", "word")
        assert commits(index) == before + 3


def test_idle_there_is_no_transaction_and_no_thread_that_wakes_up(tmp_path: Path) -> None:
    with sonicpy.open(tmp_path) as index:
        store: Any = index.engine.store
        index.push(C, B, "o", "word")
        until(lambda: store.late.is_idle and not store.late._threads, "the end of the thread that commits")
        assert store._environment.transactions.writer is None
        assert store._environment.unchanged().__enter__() is True
        before = commits(index)
        index.query(C, B, "word")
        assert (commits(index), store.late.is_idle) == (before, True), "a query changes nothing"


@pytest.mark.parametrize(
    ("count", "autocommit"),
    [(60, False), *(pytest.param(*each, marks=FULL) for each in ((3, False), (900, False), (3, True), (200, True)))],
)
def test_nothing_acknowledged_is_lost_by_a_kill(tmp_path: Path, count: int, autocommit: bool) -> None:
    program = PUSHING.replace("sys.argv[1]", f"sys.argv[1], autocommit={autocommit}")
    pushing = Process(program, tmp_path)
    acknowledged = [pushing.ask(f"o{number}") for number in range(count)]
    pushing.end(signal.SIGKILL)
    with sonicpy.open(tmp_path) as index:
        assert index.objects("c", "b", limit=None) == acknowledged
        assert len(index.query("c", "b", "text", limit=1_000)) == len(acknowledged)
        assert index.verify() == []


def test_a_program_that_ends_without_close_leaves_all_behind(tmp_path: Path) -> None:
    """A program that ends without close, while the thread that commits waits, loses nothing."""
    pushing = Process(PUSHING, tmp_path)
    for number in range(5):
        pushing.ask(f"o{number}")
    pushing.end()
    assert pushing.process.returncode == 0
    with sonicpy.open(tmp_path, read_only=True) as index:
        assert index.count_objects("c", "b") == 5, "it was closed in order"


def test_other_processes_see_a_change_soon(tmp_path: Path) -> None:
    with sonicpy.open(tmp_path) as index:
        index.push(C, B, "o1", "word")
        index.commit()
        reading = Process(READING, tmp_path)
        assert reading.ask() == "o1", "at once after commit"
        index.push(C, B, "o2", "word")
        until(lambda: reading.ask() == "o1 o2")
        began = time.monotonic()
        before, place = commits(index), 2
        while time.monotonic() - began < 0.5:  # a commit every 50 ms, not every second
            place += 1
            index.push(C, B, f"o{place}", "word")
            time.sleep(0.01)
        assert commits(index) - before >= 3
        reading.end()


def test_with_autocommit_other_processes_see_a_change_at_once(tmp_path: Path) -> None:
    with sonicpy.open(tmp_path, autocommit=True) as index:
        index.push(C, B, "o1", "word")
        reading = Process(READING, tmp_path)
        for number in range(2, 5):
            index.push(C, B, f"o{number}", "word")
            assert reading.ask() == " ".join(f"o{each}" for each in range(1, number + 1))
        index.pop(C, B, "o1", "word")
        assert reading.ask() == "o2 o3 o4"
        reading.end()


@pytest.mark.usefixtures("slow")
def test_another_thread_sees_a_change_at_once(tmp_path: Path) -> None:
    asked: SimpleQueue[str | None] = SimpleQueue()
    found: SimpleQueue[list[str]] = SimpleQueue()

    def answer(index: sonicpy.Index) -> None:
        while (word := asked.get()) is not None:
            found.put(index.query(C, B, word).objects)

    with sonicpy.open(tmp_path) as index:
        before = commits(index)
        thread = threading.Thread(target=answer, args=(index,))
        thread.start()
        for number in range(30):
            index.push(C, B, f"o{number}", f"anchor{number}", "none")
            asked.put(f"anchor{number}")
            assert found.get(timeout=WAIT_S)[0] == f"o{number}"
        asked.put(None)
        thread.join()
        assert commits(index) == before


@pytest.mark.usefixtures("slow")
def test_long_changes_of_a_thread_do_not_stop_the_reads_of_others(tmp_path: Path) -> None:
    """A batch may wait for another thread that reads; the changes before the batch can be found."""
    with sonicpy.open(tmp_path) as index:
        index.push(C, B, "before", "word")
        seen: list[list[str]] = []

        def read() -> None:
            seen.append(index.query(C, B, "word").objects + index.query_ids(C, B, "word"))

        with index.batch():
            index.push(C, B, "inside", "word")
            assert index.query(C, B, "word") == ["inside", "before"]
            thread = threading.Thread(target=read)
            thread.start()
            thread.join(WAIT_S)
            assert seen == [["before", "before"]]
        read()
        assert seen[1] == ["inside", "before"] * 2

        def rows() -> Iterator[tuple[str, str]]:
            yield "many", "word"
            read()

        index.push_many(rows(), collection=C, bucket=B)
        assert seen[2] == ["inside", "before"] * 2
        read()
        assert seen[3] == ["many", "inside", "before"] * 2


@pytest.mark.usefixtures("slow")
@pytest.mark.full
def test_a_snapshot_that_this_thread_reads_stops_no_growth_for_ever(tmp_path: Path) -> None:
    """The thread that commits needs a larger map, while the thread that pushes reads a snapshot, for which growing has
    to wait.
    """
    small = {"store.kv.map_size_mb": 1}
    with sonicpy.open(tmp_path, small) as index:
        index.push_many([(number, f"word{number} all") for number in range(50)], collection=C, bucket=B)
        held = index.holdings()
        next(held)
        store: Any = index.engine.store
        with pytest.raises(sonicpy.StoreError):
            for number in range(3_000):
                index.push(C, B, f"o{number}", " ".join(f"w{number}x{each}" for each in range(40)), "none")
                if number % 100 == 0:
                    store.late.begin()
                    store.late._waiting.put(None)
        held.close()  # type: ignore[attr-defined]
        until(lambda: not _fails(lambda: index.push(C, B, "later", "word")), "changes are taken again")
        assert "later" in index.query(C, B, "word")
        assert index.verify() == []


def _fails(work: Any) -> bool:
    try:
        work()
    except sonicpy.StoreError:
        return True
    return False


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_process_leaves_the_open_transaction_alone(tmp_path: Path) -> None:
    program = (
        "import os, sys, sonicpy\n"
        "from sonicpy.errors import IndexClosed\n"
        "index = sonicpy.open(sys.argv[1])\n"
        "index.push('c', 'b', 'o1', 'word')\n"
        "child = os.fork()\n"
        "if not child:\n"
        "    try: index.query('c', 'b', 'word')\n"
        "    except IndexClosed: sys.exit(7)\n"
        "assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7\n"
        "index.push('c', 'b', 'o2', 'word'); index.commit()\n"
        "print(*index.query('c', 'b', 'word'), len(index.verify()))\n"
    )
    command = [sys.executable, "-W", "ignore", "-c", program, str(tmp_path)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=WAIT_S, check=True)
    assert done.stdout == "o2 o1 0\n"


@pytest.mark.usefixtures("slow")
def test_durability_commit_waits_for_the_log_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    sync = Log.sync
    monkeypatch.setattr(Log, "sync", lambda log: synced.append(sync(log)) or synced[-1])
    with sonicpy.open(tmp_path, {"store.kv.durability": "commit"}) as index:
        before = commits(index)
        for number in range(5):
            index.push(C, B, f"o{number}", "word")
            assert synced[-1] == index.engine.store.log_position
        assert commits(index) == before


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=FULL) for seed in range(1, 8))])
def test_random_changes_answer_as_a_model_does(tmp_path: Path, seed: int) -> None:
    """Random changes with queries in between, commits at random moments, and a start from a copy of the folder as a
    kill leaves it.
    """
    chance = random.Random(seed)
    words = [f"{first}{last}" for first in ("ama", "ber", "cor", "dol") for last in ("ra", "tex", "um")]
    model: dict[str, set[str]] = {}

    def some() -> list[str]:
        return chance.sample(words, chance.randint(1, 4))

    def check(index: sonicpy.Index) -> None:
        for word in chance.sample(words, 2):
            holders = sorted(oid for oid, held in model.items() if word in held)
            assert sorted(index.query(C, B, word, limit=100, lang="none")[: len(holders)]) == holders
        assert index.count_objects(C, B) == len(model)
        assert index.count_words(C, B) == len(set().union(*model.values()))

    def change(index: sonicpy.Index) -> None:
        oid, texts = f"o{chance.randrange(12)}", some()
        match chance.randrange(9):
            case 0:
                gone = model.get(oid, set()) & set(texts)
                assert index.pop(C, B, oid, " ".join(texts)) == len(gone)
                model[oid] = model.get(oid, set()) - gone
            case 1:
                assert index.flush_object(C, B, oid) == len(model.pop(oid, set()))
            case 2:
                index.push_many([(oid, " ".join(texts))], collection=C, bucket=B, lang="none")
                model[oid] = model.get(oid, set()) | set(texts)
            case 3:
                with index.batch():
                    for word in texts:
                        index.push(C, B, oid, word, "none")
                        check_word = index.query(C, B, word, limit=100, lang="none").objects
                        assert oid in check_word
                model[oid] = model.get(oid, set()) | set(texts)
            case 4:
                chance.choice([index.commit, index.consolidate, lambda: index.flush("other"), lambda: None])()
            case _:
                index.push(C, B, oid, " ".join(texts), "none")
                model[oid] = model.get(oid, set()) | set(texts)
        if not model.get(oid, True):
            del model[oid]

    with sonicpy.open(tmp_path / "store") as index:
        for _ in range(150):
            change(index)
            check(index)
        with index.engine.changing():
            subprocess.run(["cp", "-r", str(tmp_path / "store"), str(tmp_path / "killed")], check=True)
        assert index.verify() == []
    for name in ("store", "killed"):
        with sonicpy.open(tmp_path / name) as index:
            check(index)


def test_an_interrupted_close_does_not_close_lmdb_under_the_thread_that_commits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    looks: SimpleQueue[None] = SimpleQueue()
    goes_on: SimpleQueue[None] = SimpleQueue()
    close = Environment._close

    def look(environment: Environment) -> bool:
        looks.put(None)
        goes_on.get(timeout=WAIT_S)
        told.append("looked")
        return False

    def interrupt(store: SharedStore, seconds: float) -> bool:
        threading.Timer(0.05, goes_on.put, (None,)).start()
        raise KeyboardInterrupt

    def close_and_tell(environment: Environment) -> None:
        told.append("closed")
        close(environment)

    monkeypatch.setattr(Environment, "is_read_elsewhere", property(look))
    monkeypatch.setattr(Environment, "_close", close_and_tell)
    monkeypatch.setattr(SharedStore, "_finish", interrupt)
    index = sonicpy.open(tmp_path)
    index.push(C, B, "o", "word")
    looks.get(timeout=WAIT_S)
    with pytest.raises(KeyboardInterrupt):
        index.close()
    assert told == ["looked", "closed"]
    monkeypatch.undo()
    with sonicpy.open(tmp_path) as index:
        assert index.query(C, B, "word") == ["o"]


def test_a_flush_is_done_once_the_log_has_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(environment: Environment, transaction: object) -> None:
        raise StoreFull("no room")

    with sonicpy.open(tmp_path) as index:
        for bucket in ("one", "two"):
            index.push(C, bucket, "o", "text")
        index.commit()
        with monkeypatch.context() as patched:
            patched.setattr(Environment, "commit", fail)
            assert index.flush(C, "one") == 1
            assert index.count_objects(C, "one") == 0
            with pytest.raises(StoreFull):
                index.flush(C, "two")  # no change is taken while commits fail
            assert index.count_objects(C, "two") == 1
        index.commit()
        assert index.buckets(C) == ["two"]
        assert index.verify() == []
    with sonicpy.open(tmp_path) as index:
        assert index.buckets(C) == ["two"]
