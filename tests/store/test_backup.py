"""A backup exists completely or not at all, and damage to it is detected."""

import fcntl
import os
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from sonicpy.errors import StoreDamaged, StoreError
from sonicpy.store.care.backup import BACKUP_FILE, SEAL, open_backup
from sonicpy.store.disk.environment import Environment
from sonicpy.store.disk.table_numbers import META
from sonicpy.store.disk.transaction import Transaction
from sonicpy.store.rows.meta import FORMAT_VERSION, read_position
from sonicpy.store.store import Store
from tests.store.shorthand import count_objects, open_store, push
from tests.support.patience import WAIT_S


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """A store with ten objects."""
    store = open_store(tmp_path / "store")
    push_some(store, 10)
    yield store
    store.close()


def push_some(store: Store, count: int, name: str = "o") -> None:
    for number in range(count):
        store.apply(push(f"{name}{number}", f"alpha word{number}"))
    store.commit()


def objects_in(folder: Path) -> int:
    with open_backup(folder) as environment, environment.reading() as transaction:
        return count_objects(transaction)


def test_a_backup_holds_the_last_commit(store: Store, tmp_path: Path) -> None:
    store.apply(push("later", "alpha"))
    path = store.backup(tmp_path / "some" / "folder")
    assert path == tmp_path / "some" / "folder" / BACKUP_FILE
    assert objects_in(path.parent) == 10
    assert os.listdir(path.parent) == [BACKUP_FILE]
    with open_backup(path.parent) as environment, environment.reading() as transaction:
        assert read_position(transaction) > 0
        assert transaction.get(META, b"format") == str(FORMAT_VERSION).encode()
    store.commit()
    store.backup(path.parent)
    assert objects_in(path.parent) == 11, "the second one has taken its place"


def test_a_folder_without_a_backup(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=f"there is no backup in .*: {BACKUP_FILE} is missing"), open_backup(tmp_path):
        pass


def test_a_file_in_the_place_of_the_folder(store: Store, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(StoreError, match="cannot write the backup"):
        store.backup(tmp_path / "file")
    assert (tmp_path / "file").read_text() == "mine"


def test_every_length_and_every_byte_of_a_backup_counts(store: Store, tmp_path: Path) -> None:
    path = store.backup(tmp_path)
    whole = path.read_bytes()
    places = [*range(0, len(whole), 997), *range(len(whole) - SEAL.size, len(whole))]
    for place in places:
        path.write_bytes(whole[:place] + bytes((whole[place] ^ 4,)) + whole[place + 1 :])
        with pytest.raises(StoreError), open_backup(tmp_path):
            pass
        path.write_bytes(whole[:place])
        with pytest.raises(StoreDamaged), open_backup(tmp_path):
            pass
    path.write_bytes(whole)
    assert objects_in(tmp_path) == 10


def test_a_backup_that_fails_leaves_the_one_before(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.backup(tmp_path)
    push_some(store, 5, "new")

    def copy_half(environment: Environment, descriptor: int) -> None:
        os.write(descriptor, b"half a copy")
        raise StoreError("the store cannot be copied: No space left on device")

    monkeypatch.setattr(Environment, "copy", copy_half)
    with pytest.raises(StoreError, match="No space left"):
        store.backup(tmp_path)
    assert sorted(os.listdir(tmp_path)) == [BACKUP_FILE, "store"]
    assert objects_in(tmp_path) == 10


def test_a_seal_that_is_not_taken_whole_is_no_backup(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.backup(tmp_path)
    push_some(store, 5, "new")
    with monkeypatch.context() as patched:
        patched.setattr(os, "write", lambda descriptor, data: len(data) - 1)
        with pytest.raises(StoreError, match="No space left"):
            store.backup(tmp_path)
    assert objects_in(tmp_path) == 10


def test_what_a_killed_backup_left_behind_does_not_matter(store: Store, tmp_path: Path) -> None:
    (tmp_path / f"{BACKUP_FILE}.new").write_bytes(b"x" * 1_000_000)
    store.backup(tmp_path)
    assert objects_in(tmp_path) == 10


def test_two_backups_into_one_folder_at_once(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, go_on = threading.Event(), threading.Event()
    copy = Environment.copy

    def slow_copy(environment: Environment, descriptor: int) -> None:
        begun.set()
        assert go_on.wait(WAIT_S)
        copy(environment, descriptor)

    monkeypatch.setattr(Environment, "copy", slow_copy)
    first = threading.Thread(target=store.backup, args=(tmp_path,))
    first.start()
    assert begun.wait(WAIT_S)
    with pytest.raises(StoreError, match="another backup is being written"):
        store.backup(tmp_path)
    go_on.set()
    first.join()
    assert objects_in(tmp_path) == 10


def test_a_backup_that_begins_between_two_steps_of_another_begin(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second one takes the new file of the first one, not locked yet, for the leftover of a killed process."""
    store.backup(tmp_path)
    push_some(store, 5, "new")
    begun, go_on = threading.Event(), threading.Event()
    copy, lock = Environment.copy, fcntl.flock
    second = threading.Thread(target=store.backup, args=(tmp_path,))

    def slow_copy(environment: Environment, descriptor: int) -> None:
        if threading.current_thread() is second:
            begun.set()
            assert go_on.wait(WAIT_S)
        copy(environment, descriptor)

    def lock_late(descriptor: int, operation: int) -> None:
        if second.ident is None:
            second.start()
            assert begun.wait(WAIT_S)
        lock(descriptor, operation)

    monkeypatch.setattr(Environment, "copy", slow_copy)
    monkeypatch.setattr(fcntl, "flock", lock_late)
    try:
        with pytest.raises(StoreError, match="another backup is being written"):
            store.backup(tmp_path)
        assert objects_in(tmp_path) == 10
    finally:
        go_on.set()
        second.join()
    assert objects_in(tmp_path) == 15


def test_a_map_that_is_nearly_full_grows_only_after_the_copy(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Growing waits for every reader of the map, and the server would wait, too."""
    environment = store._environment
    monkeypatch.setattr("sonicpy.store.disk.environment.GROW_WHEN_USED", 0.0)
    monkeypatch.setattr("sonicpy.store.disk.environment.Environment.grow", pytest.fail)
    reading = Environment.reading

    def reading_while_others_commit(self: Environment) -> AbstractContextManager[Transaction]:
        thread = threading.Thread(target=store.commit)
        thread.start()
        thread.join()
        return reading(self)

    with monkeypatch.context() as patched:
        patched.setattr(Environment, "reading", reading_while_others_commit)
        store.backup(tmp_path)
    assert environment.needs_room()
