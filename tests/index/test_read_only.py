"""Readers beside a writer: the content that they see, the time when they see it, and their refusals."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import sonicpy
from sonicpy.errors import ReadOnly, StoreError, StoreLocked
from sonicpy.index.read_only_index import ReadOnlyIndex
from sonicpy.store.disk.change_board import ChangeBoard
from tests.processes import Server, environment
from tests.server.peer import Peer
from tests.support.patience import WAIT_S, until


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A store with two messages and a word graph."""
    with sonicpy.open(tmp_path / "store") as index:
        index.push("c", "b", "m1", "hello world", "none")
        index.push("c", "b", "m2", "hello again", "none")
        index.consolidate()
    return tmp_path / "store"


def test_every_question_is_answered_and_every_change_refused(in_tables: None, folder: Path, tmp_path: Path) -> None:
    before = sorted((path.relative_to(folder), path.stat().st_size) for path in folder.rglob("*") if path.is_file())
    with sonicpy.open(folder, read_only=True) as index:
        assert index.query("c", "b", "hello", total=True).total == 2
        assert index.query("c", "b", "wrold") == ["m1"]
        assert index.suggest("c", "b", "aga") == index.suggest("c", "b", "agian") == ["again"]
        assert index.words("c", "b") == ["again", "hello", "world"]
        assert (index.count("c"), index.count("c", "b"), index.count("c", "b", "m1")) == (1, 3, 2)
        assert index.verify() == []
        assert index.stats()["read_only"] is True
        assert index.stats("c", "b")["graph"]["words"] == 3
        assert index.backup(tmp_path / "backup").exists()
        changes: list[Callable[[], object]] = [
            lambda: index.push("c", "b", "o", "x"), lambda: index.pop("c", "b", "m1", "hello"),
            lambda: index.flush("c"), lambda: index.push_many([("o", "x")], collection="c", bucket="b"),
            index.consolidate, lambda: index.restore(tmp_path / "backup"), index.engine.commit,
        ]  # fmt: skip
        for change in changes:
            with pytest.raises(ReadOnly, match="is open for reading only"):
                change()
        assert index.count("c", "b") == 3
    after = sorted((path.relative_to(folder), path.stat().st_size) for path in folder.rglob("*") if path.is_file())
    assert before == after


def test_a_reader_beside_a_server_sees_what_was_committed(server: Server, tmp_path: Path) -> None:
    with Peer(server, "ingest") as ingest, Peer(server, "control") as control:
        assert ingest.ask('PUSH c b m1 "hello world" LANG(none)') == "OK"
        until(lambda: (tmp_path / "store" / "data.mdb").exists())
        with sonicpy.open(tmp_path / "store", read_only=True) as index:
            for number in range(5):
                assert ingest.ask(f'PUSH c b n{number} "hello number{number}" LANG(none)') == "OK"
                assert control.ask("TRIGGER consolidate") == "OK"  # commits
                assert index.count_objects("c", "b") == index.query("c", "b", "hello", total=True).total
                assert index.suggest("c", "b", f"numbre{number}")[0] == f"number{number}"
            with pytest.raises(StoreLocked, match="already open for reading by process"):
                sonicpy.open(tmp_path / "store")
            server.stop()
            assert index.query("c", "b", "world") == ["m1"]
            assert index.count("c", "b") == 7
            server.start()
            with Peer(server, "ingest") as again:
                assert again.ask("FLUSHC c") == "RESULT 1"
                until(lambda: not index.count("c", "b"))
            assert index.query("c", "b", "world") == []


@pytest.mark.full
def test_readers_never_stumble_over_a_writer_that_swaps_graphs(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.index.writer", str(tmp_path / "store")]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment({}), text=True
    ) as writer:
        assert writer.stdout is not None and writer.stdin is not None
        assert writer.stdout.readline() == "ready\n"
        seen = set()
        with sonicpy.open(tmp_path / "store", read_only=True) as index:
            deadline = time.monotonic() + 0.8
            while time.monotonic() < deadline or len(seen) < 6:  # graphs that it swapped meanwhile
                assert index.query("c", "b", "anchroed") == ["anchor"], "found by a correction alone"
                assert index.suggest("c", "b", "foreevr") == ["forever"]
                found = index.query("c", "b", "shared", limit=100, total=True)
                assert found.total in (*range(20), 20)
                seen.add(index.stats("c", "b")["graph"]["version"])
            assert index.verify() == []
            writer.stdin.close()
            assert writer.wait(timeout=WAIT_S) == 0
            assert index.verify() == []


def test_no_answer_outlives_a_commit_that_the_change_board_notes_late(tmp_path: Path) -> None:
    program = (
        "import sys, sonicpy\n"
        "with sonicpy.open(sys.argv[1]) as index:\n"
        "    for number, _ in enumerate(sys.stdin):\n"
        "        index.push('c', 'b', f'o{number}', 'hello'); index.commit()\n"
        "        print(index.engine.store.last_commit(), flush=True)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path / "store")], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        env=environment({}), text=True, bufsize=1,
    ) as writer:  # fmt: skip
        assert writer.stdout is not None and writer.stdin is not None
        stdin, stdout = writer.stdin, writer.stdout

        def committed() -> int:
            stdin.write("\n")
            return int(stdout.readline())

        board = ChangeBoard.create()
        board.note_commit(committed())
        with sonicpy.open(tmp_path / "store", read_only=True) as index:
            index.maintainer.watch_changes(os.dup(board.descriptor))
            assert index.query_ids("c", "b", "hello") == ["o0"]
            number = committed()
            assert index.query_ids("c", "b", "hello")[-1] == "o0", "it may see the commit, which nothing acknowledged"
            board.note_commit(number)
            assert index.query_ids("c", "b", "hello") == ["o1", "o0"]
        board.close()
        stdin.close()
        assert writer.wait(timeout=WAIT_S) == 0


@pytest.mark.full
def test_a_reader_follows_a_map_that_has_grown(tmp_path: Path) -> None:
    small = sonicpy.Config.model_validate({"store": {"kv": {"map_size_mb": 1}}})
    program = (
        "import sys, sonicpy\n"
        "config = sonicpy.Config.model_validate({'store': {'kv': {'map_size_mb': 1}}})\n"
        "with sonicpy.open(sys.argv[1], config) as index:\n"
        "    index.push('c', 'b', 'o', 'hello'); index.commit()\n"
        "    print('ready', flush=True); sys.stdin.readline()\n"
        "    rows = [(f'o{n}', f'word{n} and{n} more{n}') for n in range(20_000)]\n"
        "    index.push_many(rows, collection='c', bucket='b')\n"
        "    print('grown', flush=True); sys.stdin.readline()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path / "store")],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment({}), text=True,
    ) as writer:  # fmt: skip
        assert writer.stdout is not None and writer.stdin is not None
        assert writer.stdout.readline() == "ready\n"
        with sonicpy.open(tmp_path / "store", small, read_only=True) as index:
            assert index.query("c", "b", "hello") == ["o"]
            writer.stdin.write("\n")
            writer.stdin.flush()
            assert writer.stdout.readline() == "grown\n"
            assert index.query("c", "b", "word19999") == ["o19999"]
            assert index.stats()["map_bytes"] > 1 << 20
        writer.stdin.close()
        assert writer.wait(timeout=WAIT_S) == 0


def test_a_missing_graph_costs_corrections_only(
    in_tables: None, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    shutil.rmtree(folder / "graph")
    with sonicpy.open(folder, read_only=True) as index:
        assert index.query("c", "b", "hello world") == ["m1", "m2"]
        assert index.query("c", "b", "wrold") == []
        assert index.suggest("c", "b", "wor") == ["world"]
    assert [record.message for record in caplog.records if "is missing" in record.message]


def test_no_call_stumbles_over_a_missing_graph(in_tables: None, tmp_path: Path) -> None:
    texts = [f"painting paints painted {'jumping' if number % 3 else 'jumps'} word{number}" for number in range(12)]
    with sonicpy.open(tmp_path / "store") as index:
        for bucket in ("b", "b2"):
            index.push_many(
                [(f"o{number}", text) for number, text in enumerate(texts)], collection="c", bucket=bucket, lang="eng"
            )
        index.consolidate()
    shutil.rmtree(tmp_path / "store" / "graph")
    calls: dict[str, Callable[[sonicpy.Index], object]] = {
        "count": lambda index: index.count("c", "b") and index.count("c", ["b", "b2"]),
        "explain": lambda index: index.explain("c", "b", "jump word1"),
        "facets": lambda index: index.facets("c", "b", "jump").total,
        "holdings": lambda index: list(index.holdings()),
        "object_stats": lambda index: list(index.object_stats("c", "b")),
        "query": lambda index: index.query("c", "b", "jump word1"),
        "query of several": lambda index: index.query("c", ["b", "b2"], "jump word1"),
        "query_ids": lambda index: index.query_ids("c", "b", "jump word1"),
        "similar": lambda index: index.similar("c", "b", "o1"),
        "similar of a bucket": lambda index: index.bucket("c", "b").similar("o1"),
        "stats": lambda index: index.stats("c", "b"),
        "suggest": lambda index: index.suggest("c", "b", "word"),
        "term_stats": lambda index: list(index.term_stats("c", "b")),
        "words": lambda index: index.words("c", "b", prefix="word") and index.words("c", ["b", "b2"]),
    }
    for name, call in calls.items():
        with sonicpy.open(tmp_path / "store", read_only=True) as index:  # which has not found yet what is missing
            assert call(index), name


@pytest.mark.parametrize("damage", ["empty", "folder", "half made"])
def test_what_is_no_store(tmp_path: Path, damage: str) -> None:
    folder = tmp_path / "store"
    if damage == "empty":
        folder.mkdir()
    if damage == "half made":
        folder.mkdir()
        (folder / "data.mdb").write_bytes(b"")
    with pytest.raises(StoreError):
        sonicpy.open(folder, read_only=True)


UNPRIVILEGED = """
import contextlib, importlib, os, sys, sonicpy
for name in ("fugashi", "unidic_lite"):  # whether they are installed can be seen for as long
    with contextlib.suppress(ImportError):
        importlib.import_module(name)
with sonicpy.open(":memory:") as index:  # the interpreter itself may be out of reach afterwards
    index.push("c", "b", "o", "hello")
    index.query("c", "b", "hello")
os.setgroups([]); os.setgid(65534); os.setuid(65534)
try:
    with sonicpy.open(sys.argv[1], read_only=True) as index:
        print(sorted(index.query("c", "b", "hello").objects), flush=True)
        sys.stdin.readline()
except sonicpy.SonicError as fault:
    print(type(fault).__name__, fault)
"""


def everybody_may_read(path: Path) -> bool:
    return all(folder.stat().st_mode & 0o005 == 0o005 for folder in path.parents)


@pytest.mark.skipif(os.getuid() != 0, reason="only root can take on another user's rights")
@pytest.mark.skipif(not everybody_may_read(Path(sonicpy.__file__)), reason="other users may not read the package")
def test_a_user_who_may_not_write_the_folder(folder: Path) -> None:
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    for path in folder.parents:
        if path.stat().st_mode & 0o077 == 0:  # pytest's own folders
            path.chmod(0o755)

    def reader() -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [sys.executable, "-c", UNPRIVILEGED, str(folder)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment({}), text=True,
        )  # fmt: skip

    with reader() as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "['m1', 'm2']\n"
        with pytest.raises(StoreLocked, match=r"is read by a process that may not write lock\.mdb"):
            sonicpy.open(folder)
        process.communicate("\n", timeout=WAIT_S)
    with sonicpy.open(folder), reader() as process:
        told, _ = process.communicate("\n", timeout=WAIT_S)
        assert told.startswith("StoreLocked the store ") and f"is written by process {os.getpid()}" in told


def test_it_is_an_index(folder: Path) -> None:
    with sonicpy.open(folder, read_only=True) as index:
        assert isinstance(index, sonicpy.Index) and isinstance(index, ReadOnlyIndex)
        assert "ReadOnlyIndex" in repr(index)
