"""Tests of keys and values: compared with a dict, with threads and processes beside them, closed, killed, backed up and
restored.
"""

import contextlib
import fcntl
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sonicpy
from sonicpy import keyvalue
from sonicpy.errors import IndexClosed, InvalidArgument, ReadOnly, StoreDamaged, StoreError, StoreFull, StoreLocked
from tests.conftest import NOBODY
from tests.interrupts.moments import Moments
from tests.processes import environment
from tests.support.examples import examples
from tests.support.patience import WAIT_S

T = TypeVar("T")
KEYS = st.binary(min_size=1, max_size=4)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("set"), KEYS, st.binary(max_size=20)),
        st.tuples(st.just("delete"), KEYS, st.just(b"")),
        st.tuples(st.just("incr"), KEYS, st.just(b"")),
    ),
    max_size=40,
)


@settings(max_examples=examples(40), deadline=None)
@given(batches=st.lists(STEPS, max_size=4))
def test_a_table_is_a_dict(batches: list[list[tuple[str, bytes, bytes]]]) -> None:
    model: dict[bytes, bytes] = {}
    with keyvalue.open(":memory:") as table:
        for steps in batches:
            with table.batch():
                for kind, key, value in steps:
                    if kind == "set":
                        table.set(key, value)
                        model[key] = value
                    elif kind == "delete":
                        assert table.delete(key) == (model.pop(key, None) is not None)
                    elif len(held := model.get(key, bytes(8))) == 8 and int.from_bytes(held) < 2**64 - 1:
                        model[key] = (int.from_bytes(held) + 1).to_bytes(8)
                        assert table.incr(key) == int.from_bytes(model[key])
                    else:
                        with pytest.raises(ValueError, match="counter"):
                            table.incr(key)
                    assert table.get(key) == model.get(key)
            assert len(table) == len(model)
        with table.snapshot() as snapshot:
            assert {key: snapshot.get(key) for key in model} == model
            assert snapshot.count() == len(model)


def test_it_is_there_after_closing_and_after_a_kill(tmp_path: Path) -> None:
    with keyvalue.open(tmp_path / "t") as table:
        table.set(b"a", b"1")
    program = f"""
import os, signal, sonicpy.keyvalue
table = sonicpy.keyvalue.open({str(tmp_path / "t")!r})
table.set(b"b", b"2")
os.kill(os.getpid(), signal.SIGKILL)
"""
    done = subprocess.run([sys.executable, "-c", program], check=False, env=environment({}))
    assert done.returncode == -signal.SIGKILL
    with keyvalue.open(tmp_path / "t") as table:
        assert (table.get(b"a"), table.get(b"b"), table.get(b"c"), b"a" in table, b"c" in table) == (
            b"1", b"2", None, True, False,
        )  # fmt: skip


def test_a_batch_that_raises_changes_nothing() -> None:
    with keyvalue.open(":memory:") as table:
        table.set(b"a", b"1")
        with pytest.raises(ZeroDivisionError), table.batch():
            table.set(b"a", b"2")
            table.delete(b"a")
            raise ZeroDivisionError
        assert table.get(b"a") == b"1"


def test_counters_of_many_threads_are_exact() -> None:
    with keyvalue.open(":memory:") as table:

        def count() -> None:
            for number in range(200):
                table.incr(b"%d" % (number % 5))
                table.decr(b"down") if table.get(b"down") else table.incr(b"up")

        threads = [threading.Thread(target=count) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [table.incr(b"%d" % number, 0) for number in range(5)] == [320] * 5
        assert table.incr(b"up", 0) == 1600
        with pytest.raises(ValueError, match="would be -1"):
            table.decr(b"new")
        with pytest.raises(ValueError, match="would be 18446744073709551616"):
            table.incr(b"new", 2**64)
        assert table.get(b"new") is None


def read_elsewhere(folder: str, pipe: "multiprocessing.connection.Connection") -> None:
    with keyvalue.open(folder, read_only=True) as table:
        while (key := pipe.recv()) is not None:
            pipe.send(table.get(key))


def test_another_process_reads_what_was_committed(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    with keyvalue.open(tmp_path / "t") as table:
        here, there = context.Pipe()
        reader = context.Process(target=read_elsewhere, args=(str(tmp_path / "t"), there))
        reader.start()
        for number in range(20):
            table.set(b"key", b"%d" % number)
            here.send(b"key")
            assert here.recv() == b"%d" % number
        here.send(None)
        reader.join(WAIT_S)
        assert reader.exitcode == 0


def test_a_backup_restores_everything(tmp_path: Path) -> None:
    with keyvalue.open(tmp_path / "t") as table:
        with table.batch():
            for number in range(25_000):
                table.set(b"k%d" % number, b"v" * (number % 50))
        file = table.backup(tmp_path / "backup")
        with table.batch():
            for number in range(0, 25_000, 2):
                table.delete(b"k%d" % number)
            table.set(b"new", b"1")
        assert table.restore(tmp_path / "backup") == 25_000
        assert table.get(b"new") is None
        with table.snapshot() as snapshot:
            assert all(snapshot.get(b"k%d" % number) == b"v" * (number % 50) for number in range(25_000))
        content = bytearray(file.read_bytes())
        content[5000] ^= 1
        file.write_bytes(content)
        with pytest.raises(StoreDamaged):
            table.restore(tmp_path / "backup")
        assert len(table) == 25_000
    with keyvalue.open(":memory:") as other, pytest.raises(StoreError, match="there is no backup"):
        other.restore(tmp_path / "nothing")


def test_space_is_used_again(tmp_path: Path) -> None:
    with keyvalue.open(tmp_path / "t") as table:
        sizes = []
        for turn in range(24):
            with table.batch():
                for number in range(2000):
                    table.set(b"%d" % number, bytes(20 + (number * 7 + turn * 131) % 1980))
            sizes.append(table.file_size())
        assert sizes[-1] <= 1.1 * sizes[11]


def test_what_cannot_be_is_said(tmp_path: Path) -> None:
    with keyvalue.open(tmp_path / "t") as table:
        for key in (b"", b"x" * 512):
            with pytest.raises(ValueError, match="1 to 511 bytes"):
                table.set(key, b"")
        with pytest.raises(TypeError, match="a key is bytes, not str"):
            table.get("a")  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="a value is bytes, not int"):
            table.set(b"a", 1)  # type: ignore[arg-type]
        table.set(b"a", b"text")
        with pytest.raises(ValueError, match="has 4 bytes: a counter has 8"):
            table.incr(b"a")
        with pytest.raises(StoreLocked):
            keyvalue.open(tmp_path / "t")
    with pytest.raises(IndexClosed):
        table.get(b"a")
    table.close()
    with keyvalue.open(tmp_path / "t", read_only=True) as reader, pytest.raises(ReadOnly):
        reader.set(b"a", b"1")
    with pytest.raises(StoreError, match="there is no table"):
        keyvalue.open(tmp_path / "missing", read_only=True)
    assert not (tmp_path / "missing").exists()
    with keyvalue.open(tmp_path / "small", size_max=1 << 20) as small, pytest.raises(StoreError, match="full"):
        small.set(b"a", bytes(2 << 20))


FORKED = """
import os, sys, sonicpy.keyvalue
from tests.support.examples import examples
table, temporary = sonicpy.keyvalue.open(sys.argv[1]), sonicpy.keyvalue.open(":memory:")
table.set(b"a", b"1")
temporary.set(b"a", b"1")
if (child := os.fork()) == 0:
    for use in (lambda: table.get(b"a"), lambda: table.set(b"a", b"2"), temporary.count, table.snapshot):
        try:
            use()
        except sonicpy.errors.IndexClosed as error:
            print(str(error).partition(",")[0])
    try:
        sonicpy.keyvalue.open(sys.argv[1])
    except sonicpy.errors.StoreLocked:
        print("locked")
    temporary.close()
    sys.exit()
os.waitpid(child, 0)
with table.batch():
    if (child := os.fork()) == 0:
        try:
            table.set(b"a", b"3")  # it waits for no block of the parent
        except sonicpy.errors.IndexClosed:
            os._exit(0)
        os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    table.incr(b"n")
print(table.get(b"a"), table.count(), temporary.get(b"a"))
"""


def test_a_forked_process_does_not_touch_the_table_of_its_parent(tmp_path: Path) -> None:
    command = [sys.executable, "-c", FORKED, str(tmp_path / "t")]
    done = subprocess.run(command, check=True, env=environment({}), capture_output=True, text=True, timeout=WAIT_S)
    lines = done.stdout.splitlines()
    assert all(line.startswith("the table in ") and " belongs to process " in line for line in lines[:4])
    assert lines[4:] == ["locked", "b'1' 2 b'1'"]
    with keyvalue.open(tmp_path / "t") as table:
        assert table.get(b"a") == b"1"


def test_one_process_opens_a_folder_once(tmp_path: Path) -> None:
    with keyvalue.open(tmp_path / "t"):
        for read_only in (False, True):
            with pytest.raises(StoreLocked, match=r"this one, since .* at .*test_keyvalue\.py:\d+: use that one"):
                keyvalue.open(tmp_path / "t" / ".." / "t", read_only=read_only)
        with pytest.raises(StoreLocked, match="this one"):
            sonicpy.open(tmp_path / "t")
    with keyvalue.open(tmp_path / "t", read_only=True) as table, pytest.raises(ReadOnly):
        table.sync()


def test_a_user_who_may_not_write_reads(tmp_path: Path) -> None:
    folder, user = tmp_path / "t", os.geteuid()
    with keyvalue.open(folder) as table:
        table.set(b"a", b"1")
    for path in folder.iterdir():
        path.chmod(0o444)
    folder.chmod(0o555)
    for path in folder.parents:
        if path.stat().st_mode & 0o077 == 0:  # pytest's own folders
            path.chmod(0o755)
    if user == 0:
        os.seteuid(NOBODY)
    try:
        with keyvalue.open(folder, read_only=True) as table:
            assert table.get(b"a") == b"1"
    finally:
        os.seteuid(user)
        folder.chmod(0o755)


def test_a_forgotten_table_is_closed(tmp_path: Path) -> None:
    table = keyvalue.open(tmp_path / "t")
    table.set(b"a", b"1")
    del table
    with keyvalue.open(tmp_path / "t") as again:
        assert again.get(b"a") == b"1"
    temporary = keyvalue.open(":memory:")
    folder = Path(repr(temporary).split()[-1].rstrip(">"))
    del temporary
    assert not folder.exists()


def test_a_table_is_closed_inside_a_batch_and_a_snapshot() -> None:
    table = keyvalue.open(":memory:")
    with pytest.raises(IndexClosed), table.batch():
        table.set(b"a", b"1")
        table.close()
    table = keyvalue.open(":memory:")
    with table.snapshot() as snapshot:
        table.close()
        with pytest.raises(IndexClosed):
            snapshot.get(b"a")
    with pytest.raises(IndexClosed):
        table.file_size()


def test_a_batch_ends_on_another_thread() -> None:
    """A generator that is freed elsewhere ends its block there, as a dependency of a web framework does."""
    with keyvalue.open(":memory:") as table:
        batch = table.batch()
        batch.__enter__()
        table.set(b"a", b"1")
        assert elsewhere(partial(table.get, b"a")) is None
        assert table.get(b"a") == b"1"
        elsewhere(partial(batch.__exit__, None, None, None))
        assert table.get(b"a") == elsewhere(partial(table.get, b"a")) == b"1"
        elsewhere(partial(begun, table)).__exit__(KeyError, KeyError(), None)
        table.incr(b"n")
        assert (table.get(b"b"), table.count()) == (None, 2)
        elsewhere(partial(begun, table))  # which is freed here
        elsewhere(partial(table.incr, b"n"))
        assert (table.get(b"b"), table.get(b"n")) == (None, (2).to_bytes(8))


def begun(table: keyvalue.KeyValue) -> AbstractContextManager[None]:
    """Return a batch that has begun, with a change."""
    batch = table.batch()
    batch.__enter__()
    table.set(b"b", b"2")
    return batch


def elsewhere(work: Callable[[], T]) -> T:
    """Return the result of `work`, called on another thread, which has ended then."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(work).result(WAIT_S)


def full_table(folder: Path) -> keyvalue.KeyValue:
    """Return a table that takes no further key."""
    table = keyvalue.open(folder, size_max=1 << 20)
    number, size = 0, 1000
    while size:
        try:
            with table.batch():
                for key in range(number, number + size):
                    table.set(b"%d" % key, bytes(900))
            number += size
        except StoreFull:
            size //= 2
    return table


def test_keys_are_deleted_from_a_full_table(tmp_path: Path) -> None:
    with full_table(tmp_path / "t") as table:
        count = table.count()
        for number in range(count):
            assert table.delete(b"%d" % number)
        assert table.count() == 0
        assert table.file_size() < (1 << 20) + keyvalue.ROOM_BYTES
        table.set(b"a", bytes(900))
        with pytest.raises(StoreFull), table.batch():
            for number in range(2 * count):
                table.set(b"%d" % number, bytes(900))
    with keyvalue.open(tmp_path / "t", size_max=1 << 20) as table:
        assert (table.count(), table.get(b"a")) == (1, bytes(900))
        table.set(b"b", bytes(900))


def test_a_batch_is_lost_whose_block_catches_that_the_table_is_full(tmp_path: Path) -> None:
    full = r"the table in .* is full: its file would exceed 1048576 bytes \(size_max\)"
    with keyvalue.open(tmp_path / "t", size_max=1 << 20) as table:
        with pytest.raises(StoreFull, match=full), table.batch():
            table.set(b"a", b"1")
            for _ in range(2):
                with pytest.raises(StoreFull, match=full), table.batch():
                    table.set(b"large", bytes(2 << 20))
        assert table.count() == 0
        with table.batch():
            table.set(b"b", b"2")
        table.set(b"c", b"3")
        assert (table.get(b"a"), table.get(b"b"), table.get(b"c")) == (None, b"2", b"3")


def test_a_snapshot_that_lasts_is_named_as_the_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with keyvalue.open(tmp_path / "t", size_max=1 << 20) as table:
        table.set(b"a", bytes(1 << 18))
        with table.snapshot(), pytest.raises(StoreFull, match="while an older snapshot is being read: end its block"):
            for _ in range(9):
                table.set(b"a", bytes(1 << 18))
        table.set(b"a", bytes(1 << 18))
    with full_table(tmp_path / "full") as table:
        table.delete(b"0")
        with table.snapshot(), pytest.raises(StoreFull, match="the thread that changes it also reads a snapshot"):
            for number in range(table.count()):
                table.delete(b"%d" % number)
        table.delete(b"1")
    monkeypatch.setattr(keyvalue, "PATIENCE_S", 0.01)
    with full_table(tmp_path / "other") as table:
        snapshot = table.snapshot()
        elsewhere(snapshot.__enter__)
        with pytest.raises(StoreFull, match="other threads read snapshots of it for long"):
            for number in range(table.count()):
                table.delete(b"%d" % number)
        snapshot.__exit__(None, None, None)
        assert table.delete(b"700")


def test_wrong_arguments_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for path in ("", b"x", 5, None):
        with pytest.raises(InvalidArgument, match="path is .*; allowed is the path of a folder"):
            keyvalue.open(path)  # type: ignore[arg-type]
    for size in (-1, 0, "1", True, 1 << 63):
        with pytest.raises(InvalidArgument, match="size_max is"):
            keyvalue.open("t", size_max=size)  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())
    with keyvalue.open("t") as table:
        (tmp_path / "other").mkdir()
        monkeypatch.chdir(tmp_path / "other")
        assert table.file_size() > 0
        for by in (1.5, "1", None, True):
            with pytest.raises(TypeError, match="by is a whole number, not"):
                table.incr(b"n", by)  # type: ignore[arg-type]
            with pytest.raises(TypeError, match="by is a whole number, not"):
                table.decr(b"n", by)  # type: ignore[arg-type]
        for folder in (1.5, b"x", "\0", "\ud800", ""):
            for call in (table.backup, table.restore):
                with pytest.raises(InvalidArgument, match="folder is "):
                    call(folder)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="belongs to its process"):
            pickle.dumps(table)
    with keyvalue.open(tmp_path / "s", size_max=1 << 20) as small, pytest.raises(StoreFull, match="size_max"):
        small.set(b"a", bytes(2 << 20))


def test_an_index_is_no_table_of_keys_and_values(tmp_path: Path) -> None:
    with sonicpy.open(tmp_path / "index") as index:
        index.push("c", "b", "o", "text")
        index.backup(tmp_path / "backup")
    for read_only in (True, False):
        with pytest.raises(StoreError, match="no table of keys and values"):
            keyvalue.open(tmp_path / "index", read_only=read_only)
    with sonicpy.open(tmp_path / "index") as index:
        assert index.query("c", "b", "text") == ["o"]
    with keyvalue.open(":memory:") as table:
        with pytest.raises(StoreError, match="no table of keys and values"):
            table.restore(tmp_path / "backup")
        folder = Path(repr(table).split()[-1].rstrip(">"))
        assert folder.exists()
    assert not folder.exists()


def test_an_interrupted_inner_batch_leaves_the_outer_one_whole(tmp_path: Path) -> None:
    moments = Moments(KeyboardInterrupt)
    with keyvalue.open(tmp_path) as table:

        def inner() -> None:
            with table.batch():
                pass

        assert moments.run(inner, []) is None
        for number in range(moments.passed):
            with table.batch():
                table.set(b"%d" % number, b"outer")
                moments.run(inner, [number])
            assert table.get(b"%d" % number) == b"outer", f"interrupted at {number} of {moments.passed}"


@pytest.mark.skipif(sys.platform != "linux", reason="needs the list of open files of Linux")
def test_a_disk_that_fails_at_the_last_step_of_a_commit(tmp_path: Path) -> None:
    """LMDB writes the page that makes a commit the last one through a file of its own, and calls it fatal if that
    fails.
    """
    with keyvalue.open(tmp_path, sync=True) as table:
        table.set(b"before", b"1")
        reading = os.open(tmp_path / "data.mdb", os.O_RDONLY)
        for number in map(int, os.listdir("/proc/self/fd")):
            with contextlib.suppress(OSError):  # the descriptor of the list is closed
                is_data = os.fstat(number).st_ino == os.fstat(reading).st_ino
                if is_data and fcntl.fcntl(number, fcntl.F_GETFL) & os.O_DSYNC:
                    os.dup2(reading, number)
        os.close(reading)
        with pytest.raises(StoreError):
            table.set(b"refused", b"2")
        for call in (lambda: table.set(b"refused", b"3"), lambda: table.get(b"before")):
            with pytest.raises(StoreError, match="close what is open and open it again, or restart the server"):
                call()
    with keyvalue.open(tmp_path) as table:
        assert (table.get(b"before"), table.get(b"refused")) == (b"1", None)
