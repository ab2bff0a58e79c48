"""Readers beside the writer: slots of dead readers are cleared, and a long copy delays no other process."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import sonicpy
from sonicpy.errors import StoreError
from sonicpy.store.store import Store
from tests.store.shorthand import MAP_BYTES, open_store, push
from tests.support.paths import ROOT
from tests.support.patience import WAIT_S

READER = f"""
import sys, time
from pathlib import Path
from sonicpy.store.disk.environment import Environment
environment = Environment(Path(sys.argv[1]), {MAP_BYTES}, read_only=True)
with environment.reading():
    print("reading", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """A store with more bytes than a pipe takes."""
    store = open_store(tmp_path)
    for number in range(2_000):
        store.apply(push(f"o{number}", f"alpha word{number} more{number} and{number}"))
    store.commit()
    yield store
    store.close()


def test_a_sync_clears_the_slots_of_readers_that_died(store: Store, tmp_path: Path) -> None:
    """Otherwise the pages that dead readers were reading would never be reused."""
    reader = subprocess.Popen([sys.executable, "-c", READER, str(tmp_path)], cwd=ROOT, stdout=subprocess.PIPE)
    with reader:
        assert reader.stdout is not None
        assert reader.stdout.readline() == b"reading\n"
        assert str(reader.pid) in store._environment._env.readers()
        reader.send_signal(signal.SIGKILL)
    assert str(reader.pid) in store._environment._env.readers()
    store.sync()
    assert str(reader.pid) not in store._environment._env.readers()


@pytest.mark.parametrize("room", [0.0, 1.0], ids=["in a map that should grow", "in a map with room"])
def test_commits_pass_beside_a_copy_that_waits_for_its_disk(
    store: Store, monkeypatch: pytest.MonkeyPatch, room: float
) -> None:
    monkeypatch.setattr("sonicpy.store.disk.environment.GROW_WHEN_USED", room)
    reading, writing = os.pipe()
    committed = threading.Event()

    def commit() -> None:
        store.apply(push("later", "beta"))
        store.commit()
        committed.set()

    def drain() -> None:
        while os.read(reading, 1 << 20):
            pass

    copy = threading.Thread(target=store._environment.copy, args=(writing,))
    others = [threading.Thread(target=commit), threading.Thread(target=drain)]
    copy.start()
    assert os.read(reading, 1), "it has begun, and a pipe holds far less than the copy"
    others[0].start()
    passed = committed.wait(WAIT_S)
    others[1].start()
    copy.join()
    os.close(writing)
    for thread in others:
        thread.join()
    os.close(reading)
    assert passed


def test_too_many_reads_at_once_are_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sonicpy.store.disk.environment.MAX_READERS", 8)  # LMDB takes no fewer
    with sonicpy.open(tmp_path / "store") as index:
        index.push("c", "b", "o1", "word")
        index.push("c", "b", "o2", "word")
        begun = []
        with pytest.raises(StoreError, match="^too many reads are open at once in all processes: end some, such as"):
            for _ in range(1_000):
                begun.append(index.holdings())
                next(begun[-1])
        index.push("c", "b", "o3", "word")
        assert index.query("c", "b", "word") == ["o3", "o2", "o1"]
        begun.clear()
        assert [held.object for held in index.holdings()] == ["o1", "o2", "o3"]
