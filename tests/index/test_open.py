"""Tests of sonicpy.open: folders and memory, a second opening, and the end in all its forms."""

import copy
import gc
import inspect
import multiprocessing
import os
import pickle
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import lmdb
import pytest

import sonicpy
import sonicpy.keyvalue
from sonicpy.errors import IndexClosed, StoreError, StoreLocked
from sonicpy.index.compacting import compact_folder
from sonicpy.store.disk import temporary
from tests.processes import environment
from tests.support.patience import WAIT_S


def line_here() -> int:
    frame = inspect.currentframe()
    assert frame is not None and frame.f_back is not None
    return frame.f_back.f_lineno


def run(program: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)],
        env=environment({}), capture_output=True, text=True, timeout=WAIT_S, check=False,
    )  # fmt: skip


def test_what_was_pushed_is_there_when_it_is_opened_again(tmp_path: Path) -> None:
    with sonicpy.open(tmp_path / "store") as index:
        index.push("messages", "default", "m1", "Hello from Nantes")
        assert index.query("messages", "default", "nantes") == ["m1"]
    with sonicpy.open(str(tmp_path / "store")) as index:
        assert index.query("messages", "default", "nantse") == ["m1"]
        assert (index.count("messages"), index.count("messages", "default")) == (1, 3)
        assert index.count("messages", "default", "m1") == 3
        assert index.flush("messages", "default", "m1") == 3
        assert index.flush("messages", "default") == 1
        assert index.flush("messages") == 1


def test_names_that_do_not_fit_together(tmp_path: Path) -> None:
    with sonicpy.open(tmp_path / "store") as index:
        calls: list[Callable[[], object]] = [
            lambda: index.count("c", object="o"),
            lambda: index.flush("c", object="o"),
            lambda: index.stats(bucket="b"),
        ]
        for call in calls:
            with pytest.raises(ValueError, match="is given without its"):
                call()


def test_a_second_open_names_the_first(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    index, line = sonicpy.open(folder), line_here()
    (tmp_path / "link").symlink_to(folder)
    openings: list[Callable[[], object]] = [
        lambda: sonicpy.open(folder),
        lambda: sonicpy.open(tmp_path / "link"),
        lambda: sonicpy.open(folder, read_only=True),
        lambda: sonicpy.Index(folder),
    ]
    for opening_again in openings:
        with pytest.raises(StoreLocked, match=rf"this one, since \d\d:\d\d:\d\d at .*test_open.py:{line}: use that"):
            opening_again()
    index.push("c", "b", "o", "still works")
    index.close()
    with sonicpy.open(folder) as again:
        assert again.query("c", "b", "works") == ["o"]


def test_an_open_that_failed_leaves_the_folder_free(tmp_path: Path) -> None:
    sonicpy.open(tmp_path / "store").close()
    other = sonicpy.Config.model_validate({"normalization": {"diacritic_folding_enabled": True}})
    with pytest.raises(StoreError, match="diacritic_folding_enabled"):
        sonicpy.open(tmp_path / "store", other)
    with pytest.raises(StoreError, match="there is no store in"):
        sonicpy.open(tmp_path / "none", read_only=True)
    assert not (tmp_path / "none").exists()
    sonicpy.open(tmp_path / "store").close()
    sonicpy.open(tmp_path / "none").close()


def write_keys(folder: Path) -> None:
    with sonicpy.keyvalue.open(folder) as table:
        table.set(b"key", b"value")


def read_keys(folder: Path) -> bytes | None:
    with sonicpy.keyvalue.open(folder) as table:
        return table.get(b"key")


def write_foreign(folder: Path) -> None:
    with lmdb.open(str(folder)) as environment, environment.begin(write=True) as transaction:
        transaction.put(b"key", b"value")


def read_foreign(folder: Path) -> bytes | None:
    with lmdb.open(str(folder)) as environment, environment.begin() as transaction:
        assert list(transaction.cursor().iternext(values=False)) == [b"key"]
        return bytes(transaction.get(b"key") or b"")


@pytest.mark.parametrize(("write", "read"), [(write_keys, read_keys), (write_foreign, read_foreign)])
def test_a_folder_with_other_data_is_refused_and_keeps_it(
    tmp_path: Path, write: Callable[[Path], None], read: Callable[[Path], bytes | None]
) -> None:
    """An index would add its tables to theirs, and such a table of keys could not be opened any more."""
    write(tmp_path)
    for read_only in (False, True):
        with pytest.raises(StoreError, match=r"holds no index, but other data in data.mdb: choose another folder"):
            sonicpy.open(tmp_path, read_only=read_only)
    with pytest.raises(StoreError, match="holds no index"):
        compact_folder(tmp_path)
    assert not (tmp_path / "sonicpy.boot").exists()
    assert read(tmp_path) == b"value"


def test_an_index_of_the_other_mode_names_the_setting(tmp_path: Path) -> None:
    compat = {"server.compat": "sonic", "normalization.diacritic_folding_enabled": True}
    sonicpy.open(tmp_path / "compat", compat).close()
    for read_only in (False, True):
        with pytest.raises(StoreError, match=r"was made with server\.compat = sonic, not none: new texts"):
            sonicpy.open(tmp_path / "compat", read_only=read_only)


def test_every_method_of_a_closed_index_says_that_it_is_closed(tmp_path: Path) -> None:
    index = sonicpy.open(tmp_path / "store")
    index.push("c", "b", "o", "hello")
    assert index.suggest("c", "b", "hel") == ["hello"]
    index.close()
    index.close()
    bucket = index.bucket("c", "b")
    calls: list[Callable[[], object]] = [
        lambda: index.push("c", "b", "o", "hello"), lambda: index.push_many([("o", "x")], collection="c", bucket="b"),
        lambda: index.pop("c", "b", "o", "hello"), lambda: index.query("c", "b", "hello"),
        lambda: index.suggest("c", "b", "hel"), lambda: index.words("c", "b"), lambda: index.count("c"),
        lambda: index.flush("c"), index.stats, index.verify, index.consolidate,
        lambda: index.backup(tmp_path / "backup"), lambda: bucket.query("hello"),
    ]  # fmt: skip
    for call in calls:
        with pytest.raises(IndexClosed, match=r"store was closed: open it again"):
            call()
    assert "closed" in repr(index)
    assert "closed" in bucket._repr_html_()


def test_close_waits_for_readers_and_refuses_those_who_come_later(tmp_path: Path) -> None:
    index = sonicpy.open(tmp_path / "store")
    index.push_many(((f"o{n}", "shared words here") for n in range(2_000)), collection="c", bucket="b")
    faults: list[str] = []

    def ask() -> None:
        while True:
            try:
                assert len(index.query("c", "b", "shared words")) == 10
            except IndexClosed:
                return
            except BaseException as fault:
                faults.append(repr(fault))
                raise

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    time.sleep(0.1)
    index.close()
    for thread in threads:
        thread.join(timeout=WAIT_S)
        assert not thread.is_alive()
    assert faults == []
    with sonicpy.open(tmp_path / "store") as again:
        assert again.verify() == []


def test_a_forgotten_index_lets_go_of_its_folder(tmp_path: Path) -> None:
    index = sonicpy.open(tmp_path / "store")
    index.push("c", "b", "o", "hello")
    del index
    gc.collect()
    with sonicpy.open(tmp_path / "store") as again:
        assert again.query("c", "b", "hello") == ["o"]


def test_memory_is_gone_on_close_and_when_forgotten() -> None:
    folders = []
    for ends in (lambda index: index.close(), lambda index: None):
        index = sonicpy.open(":memory:")
        folders.append(index.engine.store.folder)
        index.push("c", "b", "o", "hello")
        index.consolidate()
        assert index.query("c", "b", "helo") == ["o"]
        ends(index)
        del index
        gc.collect()
    assert not any(folder.exists() for folder in folders)
    with sonicpy.open(":memory:") as one, sonicpy.open(":memory:") as other:
        one.push("c", "b", "o", "hello")
        assert other.query("c", "b", "hello") == []


def test_memory_is_gone_with_the_interpreter() -> None:
    done = run("import sonicpy; index = sonicpy.open(':memory:'); index.push('c', 'b', 'o', 'x'); "
               "print(index.engine.store.folder)")  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert not Path(done.stdout.strip()).exists()
    assert done.stderr == ""


def test_memory_goes_to_disk_where_shared_memory_is_small(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(temporary, "SHARED_MEMORY_FREE", 1 << 60)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with sonicpy.open(":memory:") as index:
        assert index.engine.store.folder.parent == tmp_path
        index.push("c", "b", "o", "hello")
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_process_left_in_memory_goes_with_the_next(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(temporary, "SHARED_MEMORY", tmp_path)
    monkeypatch.setattr(temporary, "SHARED_MEMORY_FREE", 0)
    done = run("print(__import__('os').getpid())")  # the number of a process that is gone
    with sonicpy.open(":memory:") as living:
        abandoned = tmp_path / f"{temporary.PREFIX}{done.stdout.strip()}-dead"
        sonicpy.open(abandoned).close()
        unlocked = tmp_path / f"{temporary.PREFIX}{done.stdout.strip()}-new"
        unlocked.mkdir()
        stranger = tmp_path / f"{temporary.PREFIX}{done.stdout.strip()}-of-another-machine"
        with sonicpy.open(stranger), sonicpy.open(":memory:"):
            assert not abandoned.exists()
            assert {living.folder, unlocked, stranger} <= set(tmp_path.iterdir())
        living.push("c", "b", "o", "x")


def test_no_link_of_another_user_is_followed_in_memory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Other users may make folders with the names of temporary ones, whose lock file would be emptied and locked."""
    monkeypatch.setattr(temporary, "SHARED_MEMORY", tmp_path / "shm")
    monkeypatch.setattr(temporary, "SHARED_MEMORY_FREE", 0)
    mine, elsewhere = tmp_path / "thesis.txt", tmp_path / "elsewhere"
    mine.write_text("ten years of work\n")
    done = run("print(__import__('os').getpid())")  # the number of a process that is gone
    made = tmp_path / "shm" / f"{temporary.PREFIX}{done.stdout.strip()}-x"
    for folder in (made, elsewhere):
        folder.mkdir(parents=True)
        (folder / "sonicpy.lock").symlink_to(mine)
        (folder / "data.mdb").touch()
    user = os.geteuid()
    with monkeypatch.context() as patch:
        patch.setattr("os.geteuid", lambda: user + 1)  # so that another user has made the folder
        with sonicpy.open(":memory:"):
            pass
    assert made.exists()
    shutil.rmtree(made)
    made.symlink_to(elsewhere)  # which this user has made
    with sonicpy.open(":memory:"):
        pass
    assert mine.read_text() == "ten years of work\n"
    assert (elsewhere / "data.mdb").exists()


def test_what_another_user_has_in_memory_is_left_alone(monkeypatch: pytest.MonkeyPatch, hidden: Path) -> None:
    monkeypatch.setattr(temporary, "PREFIX", hidden.name)
    temporary._sweep(hidden.parent)
    assert hidden.exists()


def test_memory_cannot_be_read_only() -> None:
    with pytest.raises(StoreError, match="begins empty"):
        sonicpy.open(":memory:", read_only=True)


FORKING = """
import os, sys, sonicpy
index = sonicpy.open(sys.argv[1])
index.push("c", "b", "o", "hello world")
assert index.query("c", "b", "hello") == ["o"]
process = os.fork()
if process == 0:
    for call in (lambda: index.query("c", "b", "hello"), lambda: index.push("c", "b", "p", "hello"),
                 lambda: sonicpy.open(sys.argv[1]), lambda: sonicpy.open(sys.argv[1], read_only=True)):
        try:
            call()
        except sonicpy.SonicError as fault:
            print(type(fault).__name__, fault)
    index.close()
    with sonicpy.open(":memory:") as other:
        other.push("c", "b", "o", "hello")
        print(other.query("c", "b", "hello").objects)
    sys.stdout.flush()
    sys.exit(0)
assert os.waitpid(process, 0)[1] == 0
for number in range(300):
    index.push("c", "b", f"o{number}", f"hello world{number}")
    assert len(index.query("c", "b", "hello")) == min(10, number + 2)
assert index.verify() == []
index.close()
with sonicpy.open(sys.argv[1]) as index:
    assert index.count_objects("c", "b") == 301
"""


def test_a_forked_process_is_told_and_does_the_parent_no_harm(tmp_path: Path) -> None:
    done = run(FORKING, tmp_path / "store")
    assert done.returncode == 0, done.stderr
    used, pushed, opened, read, own = done.stdout.splitlines()
    assert used.startswith("IndexClosed the index in ") and "which this one was forked from" in used
    assert pushed == used
    for line in (opened, read):
        assert line.startswith("StoreLocked the store ") and "started afresh (spawn)" in line
    assert own == "['o']"


@pytest.mark.parametrize("kind", ["index", "keyvalue"])
def test_what_a_library_in_c_writes_to_a_closed_standard_error_ends_in_no_file_of_the_store(
    tmp_path: Path, kind: str
) -> None:
    program = (
        "import ctypes, sys, sonicpy, sonicpy.keyvalue\n"
        "opened = {'index': sonicpy.open, 'keyvalue': sonicpy.keyvalue.open}[sys.argv[2]](sys.argv[1])\n"
        "for _ in range(50):\n"
        "    ctypes.CDLL(None).write(2, b'a warning' * 99, 891)\n"
        "    ctypes.CDLL(None).write(1, b'a warning' * 99, 891)\n"
        "opened.push('c', 'b', 'o', 'word') if sys.argv[2] == 'index' else opened.set(b'a', b'b')\n"
        "opened.close()\n"
    )
    command = ["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", sys.executable, "-c", program, str(tmp_path / "store"), kind]
    subprocess.run(command, env=environment({}), timeout=WAIT_S, check=True)
    if kind == "index":
        with sonicpy.open(tmp_path / "store") as index:
            assert index.query("c", "b", "word") == ["o"]
    else:
        with sonicpy.keyvalue.open(tmp_path / "store") as table:
            assert table.get(b"a") == b"b"


@pytest.mark.parametrize("before", ["", "sonicpy.open(sys.argv[1]).close()"])
def test_an_index_that_a_function_of_atexit_opens_and_leaves_open_does_not_hang(tmp_path: Path, before: str) -> None:
    done = run(
        "import atexit, sys, sonicpy\n"
        "@atexit.register\n"
        "def last():\n"
        "    global index\n"
        "    index = sonicpy.open(sys.argv[1])\n"
        "    index.push('c', 'b', 'o', 'word')\n" + before,
        tmp_path / "store",
    )
    assert (done.returncode, done.stderr) == (0, "")
    with sonicpy.open(tmp_path / "store") as index:
        assert index.query("c", "b", "word") == ["o"]


def test_a_function_of_atexit_that_comes_too_late_is_told_so(tmp_path: Path) -> None:
    done = run(
        "import atexit, sys, sonicpy\n"
        "atexit.register(lambda: index.push('c', 'b', 'late', 'word'))\n"
        "index = sonicpy.open(sys.argv[1])\n"
        "atexit.register(lambda: index.push('c', 'b', 'o', 'word'))\n",
        tmp_path / "store",
    )
    assert done.stderr.endswith(": register functions of atexit that use an index after it is opened\n")
    with sonicpy.open(tmp_path / "store") as index:
        assert index.objects("c", "b") == ["o"]


def test_an_iteration_that_outlives_its_index_is_told(tmp_path: Path) -> None:
    index = sonicpy.open(tmp_path / "store")
    index.bucket("c", "b").push_many([(number, "hello") for number in range(2000)])
    iterations = [index.holdings(), index.term_stats("c", "b"), index.object_stats("c", "b")]
    for iteration in iterations:
        next(iteration)
    index.close()
    for iteration in iterations[::2]:
        with pytest.raises(IndexClosed, match="was closed"):
            list(iteration)


def test_an_index_is_not_pickled_and_not_copied(tmp_path: Path) -> None:
    with sonicpy.open(tmp_path / "store") as index:
        for what in (index, index.bucket("c", "b")):
            for way in (pickle.dumps, copy.deepcopy):
                with pytest.raises(TypeError, match="belongs to its process: open it with read_only=True"):
                    way(what)
        with pytest.raises(TypeError, match="belongs to its process"):
            copy.copy(index)


def push_from_another_process(folder: str) -> str:
    try:
        sonicpy.open(folder)
    except StoreLocked as fault:
        return str(fault)
    return "opened"


def test_a_second_writer_in_another_process_is_refused_with_the_number_of_the_first(tmp_path: Path) -> None:
    with sonicpy.open(tmp_path / "store"), multiprocessing.get_context("spawn").Pool(1) as pool:
        told = pool.apply(push_from_another_process, (str(tmp_path / "store"),))
    assert f"already open for writing by process {os.getpid()}: stop that process, open the folder with " in told
    assert "read_only=True" in told
