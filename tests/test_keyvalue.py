"""Keys and values: against a dict, with threads and processes beside them, closed, killed, backed up and restored."""

import multiprocessing
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sonicpy
from sonicpy import keyvalue
from sonicpy.errors import IndexClosed, ReadOnly, StoreDamaged, StoreError, StoreLocked
from tests.processes import environment

KEYS = st.binary(min_size=1, max_size=4)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("set"), KEYS, st.binary(max_size=20)),
        st.tuples(st.just("delete"), KEYS, st.just(b"")),
        st.tuples(st.just("incr"), KEYS, st.just(b"")),
    ),
    max_size=40,
)


@settings(max_examples=40, deadline=None)
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
        reader.join(20)
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
