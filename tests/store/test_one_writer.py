"""Only one process writes a store, even if files are deleted; processes of other pid namespaces read it, or are
refused.
"""

import errno
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import sonicpy
import sonicpy.keyvalue
from sonicpy.errors import StoreLocked
from tests.processes import Server
from tests.server.peer import Peer
from tests.support.patience import until

FULL = pytest.mark.full
NOTICED_S = 0.3
"""The time in seconds within which a writer notices that the file with the name is no longer its own."""
REFUSED = "takes no more changes from this process"
OPEN = """
import sys, sonicpy
from sonicpy.errors import SonicError
try:
    with sonicpy.open(sys.argv[1], read_only=sys.argv[2] == "read") as index:
        print("open", flush=True)
        for line in sys.stdin:
            if line == "readers\\n":
                print(*(reader.commit for reader in index.engine.store.readers()), "end", flush=True)
            elif line == "push\\n":
                index.push("c", "b", "o", "found")
                print("pushed", flush=True)
            else:
                print(len(index.query("c", "b", "found", limit=100)), flush=True)
except SonicError as error:
    print(f"{type(error).__name__}: {error}", flush=True)
"""
"""A program that opens a folder and, for each line of its input, queries or pushes; it ends with the input."""


class Opener:
    """A process with an open folder, whose lines are read one by one."""

    def __init__(self, folder: Path, how: str, *, namespace: bool = False) -> None:
        command = [sys.executable, "-c", OPEN, str(folder), how]
        if namespace:
            command = ["unshare", "--pid", "--fork", "--mount-proc", *command]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.said = self._line()

    def ask(self, line: str = "query") -> str:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()
        return self._line()

    def end(self) -> None:
        self._process.communicate()

    def _line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()


@contextmanager
def opener(folder: Path, how: str, *, namespace: bool = False) -> Iterator[Opener]:
    opened = Opener(folder, how, namespace=namespace)
    try:
        yield opened
    finally:
        opened.end()


def delete(path: Path) -> None:
    path.unlink()


def replace(path: Path) -> None:
    other = path.with_name("other")
    shutil.copy(path, other)
    other.replace(path)


@pytest.mark.parametrize("change", [delete, pytest.param(replace, marks=FULL)])
def test_no_second_writer_beside_a_lock_file_that_is_not_the_named_one(
    tmp_path: Path, change: Callable[[Path], None]
) -> None:
    with opener(tmp_path, "write") as first:
        assert first.ask("push") == "pushed"
        change(tmp_path / "sonicpy.lock")
        with pytest.raises(StoreLocked, match="already open for writing by process "):
            sonicpy.open(tmp_path)
        with pytest.raises(StoreLocked, match="already open for writing by process "):
            sonicpy.keyvalue.open(tmp_path)
        time.sleep(NOTICED_S)
        assert REFUSED in first.ask("push")
    with sonicpy.open(tmp_path) as index:
        assert index.query("c", "b", "found") == ["o"]


@pytest.mark.parametrize("name", ["sonicpy.lock", "data.mdb", "lock.mdb", "log"])
def test_a_writer_stops_whose_files_are_not_the_named_ones(tmp_path: Path, name: str) -> None:
    with sonicpy.open(tmp_path) as index:
        index.push("c", "b", "o1", "found")
        path = tmp_path / name
        replace(path if path.is_file() else next(path.iterdir()))
        time.sleep(NOTICED_S)
        for _ in range(3):
            with pytest.raises(StoreLocked, match=REFUSED):
                index.push("c", "b", "o2", "found")
        assert index.query("c", "b", "found") == ["o1"], "what was committed is still read"
    with sonicpy.open(tmp_path) as index:
        assert "o1" in index.query("c", "b", "found")


def test_a_writer_that_may_no_longer_look_at_its_folder_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A daemon opens the folder as one user, and goes on as another one."""
    looks: list[object] = []
    stat = os.stat

    def refuse(path: object, **how: Any) -> os.stat_result:
        if str(path).startswith(str(tmp_path)):
            looks.append(path)
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return stat(path, **how)  # type: ignore[call-overload,no-any-return]

    with sonicpy.open(tmp_path) as index:
        with monkeypatch.context() as patch:
            patch.setattr("os.stat", refuse)
            time.sleep(NOTICED_S)
            index.push("c", "b", "o1", "found")
        assert looks
        index.push("c", "b", "o2", "found")
        assert index.query("c", "b", "found") == ["o2", "o1"]


def test_a_writer_that_stopped_changes_nothing_in_the_folder(tmp_path: Path) -> None:
    """Everything was deleted, and another process has made a new store there."""
    first = sonicpy.open(tmp_path / "store")
    first.push("c", "b", "o", "found")
    shutil.rmtree(tmp_path / "store")
    with opener(tmp_path / "store", "write") as second:
        assert second.ask("push") == "pushed"
        before = {path: path.read_bytes() for path in (tmp_path / "store").rglob("*") if path.is_file()}
        time.sleep(NOTICED_S)
        with pytest.raises(StoreLocked, match=REFUSED):
            first.push("c", "b", "o2", "found")
        first.close()
        assert {path: path.read_bytes() for path in before} == before
        assert second.ask() == "1"


def test_a_table_of_keys_stops_too(tmp_path: Path) -> None:
    with sonicpy.keyvalue.open(tmp_path) as table:
        table.set(b"key", b"value")
        (tmp_path / "sonicpy.lock").unlink()
        time.sleep(NOTICED_S)
        with pytest.raises(StoreLocked, match=REFUSED):
            table.set(b"key", b"other")
        assert table.get(b"key") == b"value"


@pytest.mark.full
def test_a_server_stops_to_take_changes_and_says_it_once(tmp_path: Path) -> None:
    with Server(tmp_path) as running, Peer(running, "ingest") as peer:
        assert peer.ask('PUSH c b o "found"') == "OK"
        (tmp_path / "store" / "sonicpy.lock").unlink()
        until(lambda: REFUSED in running.log())
        assert running.log().count(REFUSED) == 1
        assert peer.ask('PUSH c b o2 "found"').startswith("ERR")
        with Peer(running, "search") as search:
            assert search.results('QUERY c b "found"') == ["o"]
    with sonicpy.open(tmp_path / "store") as index:
        assert index.query("c", "b", "found") == ["o"]


# -- pid namespaces --------------------------------------------------------------------------------------------------


def can_unshare() -> bool:
    if shutil.which("unshare") is None:
        return False
    tried = subprocess.run(["unshare", "--pid", "--fork", "--mount-proc", "true"], capture_output=True, check=False)
    return tried.returncode == 0


needs_namespaces = pytest.mark.skipif(not can_unshare(), reason="this user may not make pid namespaces")


@needs_namespaces
@pytest.mark.parametrize(
    "how", [("write", "read"), pytest.param(("read", "write"), marks=FULL), pytest.param(("read", "read"), marks=FULL)]
)
def test_two_namespaces_with_the_same_process_id(tmp_path: Path, how: tuple[str, str]) -> None:
    """The second process gets the reason; neither its work nor its end changes the answers of the first process."""
    filled(tmp_path)
    with opener(tmp_path, how[0], namespace=True) as first:
        assert first.said == "open"
        with opener(tmp_path, how[1], namespace=True) as second:
            assert second.said.startswith("StoreLocked: "), second.said
            assert "pid namespace" in second.said
            assert "--pid=container:" in second.said
        assert first.ask() == "20"
        with opener(tmp_path, "read") as other:  # of this namespace, with another id
            assert other.ask() == "20"
        assert first.ask() == "20"
    with opener(tmp_path, how[1], namespace=True) as second:
        assert second.said == "open", "once the first one has ended"
        assert second.ask() == "20"


@needs_namespaces
@FULL
def test_a_namespace_reads_while_another_one_closes(tmp_path: Path) -> None:
    """With different process ids, as `sh -c` makes them in a container, both processes work."""
    filled(tmp_path)
    with opener(tmp_path, "write") as writer, opener(tmp_path, "read", namespace=True) as reader:
        assert writer.said == reader.said == "open"
        with opener(tmp_path, "read") as other:
            assert other.ask() == "20"
        for _ in range(3):
            assert writer.ask("push") == "pushed"
            until(lambda: reader.ask() == "21")


@needs_namespaces
@FULL
def test_what_a_killed_process_with_the_same_id_read_is_forgotten(tmp_path: Path) -> None:
    """A container that is started again gives its server the same process id as before."""
    filled(tmp_path)
    killed = "import lmdb, os, sys; environment = lmdb.open(sys.argv[1]); kept = environment.begin(); os.abort()"
    command = ["unshare", "--pid", "--fork", "--mount-proc", sys.executable, "-c", killed, str(tmp_path)]
    with opener(tmp_path, "read"):  # which keeps LMDB from making its table of readers anew
        subprocess.run(command, capture_output=True, check=False)
        with opener(tmp_path, "write", namespace=True) as server:
            assert server.ask("readers") == "end"


def filled(folder: Path) -> None:
    with sonicpy.open(folder) as index, index.batch():
        for number in range(20):
            index.push("c", "b", f"o{number}", "found")


@FULL
def test_the_file_that_a_reader_without_locks_needs_is_kept_from_writers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reader that may not write LMDB's lock file locks the data file, so that a deleted lock file lets no writer
    in.
    """
    filled(tmp_path)
    (tmp_path / "lock.mdb").unlink()
    (tmp_path / "lock.mdb").mkdir()  # no user can write it, not even root
    with sonicpy.open(tmp_path, read_only=True):
        (tmp_path / "sonicpy.lock").unlink()
        with opener(tmp_path, "write") as writer:
            assert "is read by a process that may not write lock.mdb" in writer.said
    (tmp_path / "lock.mdb").rmdir()
    (tmp_path / "sonicpy.lock").unlink(missing_ok=True)
    with opener(tmp_path, "write") as writer:
        assert writer.said == "open"
