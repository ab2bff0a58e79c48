"""The work of the recorded process.

    python -m tests.power.workload SCENARIO FOLDER SEED FIRST COUNT

This makes the changes of a seed from number FIRST on. It writes to the standard output, and so to the recorder:

    reply begun N       the change number N may be there from now on
    reply synced N      the first N changes are promised to survive a loss of power
    reply backup N      the backup of the first N changes is promised to be complete
"""

import os
import random
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from unittest import mock

from sonicpy import Config
from sonicpy.cli.importing import job
from sonicpy.cli.importing.mapping import Entry
from sonicpy.cli.importing.sinks import FolderSink, RefusedEntry
from sonicpy.cli.main import main as cli
from sonicpy.index.index import Index
from sonicpy.store import store, syncing
from sonicpy.store.care import packing
from sonicpy.store.disk import boot_mark, checkpoint, environment, free_space
from tests.power.broken import WAYS
from tests.power.changes import COLLECTION, Change, changes, held, pictures

BOOT = "POWER_BOOT"
"""The environment variable with the id of the boot of the machine."""
BROKEN = "POWER_BROKEN"
"""The environment variable with the name of the part that is broken on purpose; see broken.py."""
ROWS = "rows.jsonl"
RESTARTS = 3
"""The number of processes of the scenario "restart", each of which is killed after its share of the changes."""
CONSOLIDATED_EVERY = 60
"""The number of changes after which a run consolidates, whatever its seed: the second time graphs are replaced."""


def reply(text: str) -> None:
    """Write a reply, which the recorder records before anyone can read it."""
    os.write(1, f"reply {text}\n".encode())


def config(durability: str) -> Config:
    """Return settings with a small map, which has to grow."""
    return Config.model_validate(
        {"store": {"kv": {"durability": durability, "map_size_mb": 1}}, "search": {"query_alternates_try": 0}}
    )


class Run:
    """Changes of an index as the server makes them: sealed in turns, committed now and then, synced in another
    thread.
    """

    def __init__(self, root: Path, made: list[Change], seed: int, durability: str) -> None:
        self._dice = random.Random(f"turns of {seed}")
        self._made = made
        self._backups = root / "backup"
        self._waits = durability == "commit"
        self._sync: threading.Thread | None = None
        self._committed = 0
        self.index = Index(root / "store", config(durability), autocommit=False)

    def go(self, first: int, last: int) -> None:
        """Make the changes from number `first` to `last`."""
        self._committed = first
        for number, change in enumerate(self._made[first:last], first + 1):
            reply(f"begun {number}")
            change.carry_out(self.index, self._backups)
            if change.kind == "backup":
                reply(f"backup {number}")
            if change.kind == "restore":
                reply(f"synced {number}")
            if number % CONSOLIDATED_EVERY == 0:
                self.index.maintainer.consolidate()
            if self._dice.random() < 0.4:
                self._end_turn(number)
        self._end_turn(last)
        self._join()

    def _end_turn(self, number: int) -> None:
        self.index.engine.store.seal()
        if self._waits:
            self.index.engine.store.sync_log()
            reply(f"synced {number}")
        chance = self._dice.random()
        if chance < 0.4:
            self.index.engine.commit()
            self._committed = number
        if 0.2 < chance < 0.4:
            self.index.engine.store.free_disk()
        if chance < 0.03:
            self.index.maintainer.consolidate()
        if 0.03 < chance < 0.13:
            self._pack()
        if chance < 0.1:
            self._join()
            self._sync = threading.Thread(target=self._wait_for_disk, args=(self._committed,))
            self._sync.start()
        if chance > 0.97:
            self.index.engine.sweep(20)

    def _pack(self) -> None:
        ranges = self.index.maintainer.sparse_ranges()
        for sparse in ranges:
            self.index.maintainer.rewrite(sparse)
        if ranges and self._dice.random() < 0.5:
            self.index.engine.commit()

    def _wait_for_disk(self, number: int) -> None:
        self.index.engine.store.sync()
        reply(f"synced {number}")

    def _join(self) -> None:
        if self._sync is not None:
            self._sync.join()


def import_rows(root: Path) -> None:
    """Import a file, and save the position after every few rows."""
    pushed = 0
    push, sync = FolderSink.push, FolderSink.sync

    def push_and_say(sink: FolderSink, entries: Sequence[Entry]) -> list[RefusedEntry]:
        nonlocal pushed
        pushed += len(entries)
        reply(f"begun {pushed}")
        return push(sink, entries)

    def sync_and_say(sink: FolderSink) -> None:
        sync(sink)
        reply(f"synced {pushed}")

    with (
        mock.patch.object(FolderSink, "push", push_and_say),
        mock.patch.object(FolderSink, "sync", sync_and_say),
        mock.patch.multiple(job, CHUNK_ROWS=10, SAVE_EVERY_S=-1.0),
    ):
        assert cli(import_arguments(root)) == 0


def import_arguments(root: Path) -> list[str]:
    """Return the arguments of `sonicpy` for the import."""
    return ["import", str(root / ROWS), "--data", str(root / "store"), "--collection", COLLECTION, "--quiet"]


def main() -> None:
    """Make the changes of the arguments."""
    scenario, root, seed, first, count = sys.argv[1], Path(sys.argv[2]), *map(int, sys.argv[3:6])
    boot_mark.boot_id = lambda: os.environ[BOOT]
    if os.environ.get(BROKEN):
        WAYS[os.environ[BROKEN]]()
    syncing.CHECKPOINT_BYTES = checkpoint.CHECKPOINT_BYTES = 512 << 10  # so that much happens in a short run
    store.SEGMENT_BYTES = 4 << 10
    free_space.WORTH_BYTES = 0
    packing.WORTH_SHARE, packing.WORTH_PAGES, packing.WORTH_STORE_SHARE = 0.01, 0, 0.0
    environment.GROW_WHEN_USED = 0.1
    if scenario == "import":
        import_rows(root)
        return
    made = changes(seed, count)
    run = Run(root, made, seed, "commit" if scenario == "commit" else "interval")
    if scenario == "restart":
        first = pictures(made).index(held(run.index))
        run.go(first, min(first + count // RESTARTS, count))
    else:
        run.go(first, count)
    if scenario in ("commit", "restart"):
        os._exit(0)  # as if it were killed
    run.index.close()


if __name__ == "__main__":
    main()
