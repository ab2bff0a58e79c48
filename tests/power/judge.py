"""Judges the states that a loss of power leaves; a process of its own opens each, as after a start of the machine."""

import json
import logging
import os
import traceback
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

from sonicpy.cli.main import main as cli
from sonicpy.index.index import Index
from sonicpy.index.maintenance.verify import graph_faults, verify_folder
from sonicpy.store.care import check_rows
from sonicpy.store.care.verify_tables import table_faults
from sonicpy.store.disk import boot_mark
from tests.power.changes import BUCKETS, COLLECTION, WORDS, Holds, held
from tests.power.workload import config, import_arguments

ALL = 100_000
"""A number above the number of results of any query."""
AGAIN_EVERY = 4
"""One in this many states is also changed, closed and opened again."""


class Promises:
    """The replies of a process before the power was lost.

    Args:
        replies: the replies; see workload.py.
        first: the number of changes that were on the disk before.
    """

    def __init__(self, replies: list[str], first: int) -> None:
        self.begun = self.synced = first
        self.backup = 0
        for reply in replies:
            _, kind, number = reply.split()
            setattr(self, kind, max(getattr(self, kind), int(number)))


def outcome(judge: Callable[[], None]) -> str | None:
    """Run `judge` in a forked process; return the fault, or None."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.close(reading)
            judge()
            status = 0
        except BaseException:  # noqa: BLE001  # whatever it is, the parent has to hear of it
            os.write(writing, traceback.format_exc()[-1200:].encode())
        finally:
            os._exit(status)
    os.close(writing)
    with open(reading, "rb") as pipe:
        said = pipe.read().decode()
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    return None if code == 0 else said or f"it ended with {code}"


def opened_after_a_start(boot: str) -> None:
    """Replace the id of the boot by `boot` in this process, and make the process read all rows itself."""
    boot_mark.boot_id = lambda: boot
    check_rows.first_fault = lambda folder, compare: next(check_rows.faults(folder, compare=compare), None)
    logging.disable(logging.CRITICAL)


def judge_changes(root: Path, promises: Promises, taken: list[Holds], turn: int) -> int:
    """Judge a store that was being changed, and its backup; return the number of changes that it holds."""
    opened_after_a_start(f"boot after {turn}")
    with Index(root / "store", config("interval"), autocommit=False) as index:
        number = _judge_index(index, promises, taken)
        if turn % AGAIN_EVERY == 0:
            index.push(COLLECTION, BUCKETS[0], "after", "afterwards berti", lang="none")
            index.consolidate()
    if turn % AGAIN_EVERY == 0:
        faults = verify_folder(root / "store")
        assert not faults, faults
        with Index(root / "store", config("interval"), autocommit=False) as index:
            assert held(index)[BUCKETS[0]].pop("after") == {"afterwards", "berti"}
            assert index.suggest(COLLECTION, BUCKETS[0], "afterwar") == ["afterwards"]
    if promises.backup:
        with Index(root / "restored", config("interval")) as index:
            index.restore(root / "backup")
            content = held(index)
            made = [number for number in range(promises.backup, promises.begun + 1) if taken[number] == content]
            assert made, f"the backup is none of those from {promises.backup} on"
    return number


def _judge_index(index: Index, promises: Promises, taken: list[Holds]) -> int:
    content = held(index)
    candidates = [number for number in range(promises.synced, promises.begun + 1) if taken[number] == content]
    if not candidates:
        raise AssertionError(f"between {promises.synced} and {promises.begun}: {_difference(content, taken, promises)}")
    _check(index)
    assert not index.engine.graphs.broken, "a graph that a commit names is missing or damaged"
    for bucket in BUCKETS:
        for word in WORDS[::5]:
            found = index.query(COLLECTION, bucket, word, limit=ALL).objects
            expected = {oid for oid, words in content[bucket].items() if word in words}
            assert expected == {*found} if expected else True, (bucket, word, expected ^ {*found})
    return candidates[-1]


def judge_import(root: Path, promises: Promises, taken: list[Holds], turn: int) -> int:
    """Judge the store of an import, and resume the import; return the number of rows that the store holds."""
    opened_after_a_start(f"boot after {turn}")
    (position,) = [*(root / "store" / "import").glob("*.json")] or [None]
    rows = 0 if position is None else json.loads(position.read_text())["rows"]
    with Index(root / "store") as index:
        content = {one.object: {*one.terms} for one in index.holdings()}
        assert max(rows, promises.synced) <= len(content) <= promises.begun, (rows, promises.synced, promises.begun)
        assert content == dict([*taken[-1][BUCKETS[0]].items()][: len(content)])
        _check(index)
    with open(os.devnull, "w", encoding="utf-8") as nowhere, redirect_stdout(nowhere), redirect_stderr(nowhere):
        assert cli([*import_arguments(root), "--resume"]) == 0
    with Index(root / "store") as index:
        assert {one.object: {*one.terms} for one in index.holdings()} == taken[-1][BUCKETS[0]]
    return len(content)


def _check(index: Index) -> None:
    """Check the tables and graphs in this process, because the child process of Index.verify would read the real boot
    id.
    """
    engine = index.engine
    with engine.store.snapshot() as view:
        faults = [*table_faults(view.transaction), *graph_faults(view, engine.graphs)]
    assert not faults, faults


def _difference(content: Holds, taken: list[Holds], promises: Promises) -> str:
    """Return the differences between the content and the most similar picture."""
    pictures = taken[promises.synced : promises.begun + 1]
    if not pictures:
        return "the promises contradict each other"
    shown = []
    nearest = min(pictures, key=lambda picture: sum(picture[bucket] != content[bucket] for bucket in BUCKETS))
    for bucket in BUCKETS:
        for oid in sorted(nearest[bucket].keys() | content[bucket].keys()):
            expected, got = nearest[bucket].get(oid), content[bucket].get(oid)
            if expected != got:
                shown.append(f"{bucket}/{oid}: {sorted(got or ())} instead of {sorted(expected or ())}")
    return f"{len(shown)} objects differ: {shown[:5]}"
