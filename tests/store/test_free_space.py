"""Free pages become holes: their choice and time; pages that readers still use are kept."""

import errno
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from sonicpy import Index
from sonicpy.errors import StoreError
from sonicpy.store.disk import background_sync, free_space
from sonicpy.store.disk.background_sync import BackgroundSync
from sonicpy.store.disk.data_file import newest_meta_page, write_meta_pages
from sonicpy.store.disk.environment import DATA_FILE, Environment
from sonicpy.store.disk.free_space import FreeSpace
from sonicpy.store.disk.page_tree import PageTrees
from sonicpy.store.disk.platform import punch_hole
from sonicpy.store.disk.table_numbers import POSTINGS
from tests.store.shorthand import found, open_store, push
from tests.support import proc
from tests.support.patience import WAIT_S, until

ROWS = {b"%04d" % number: b"%d" % number * 500 for number in range(1_000)}
MANY_S = 60.0


def makes_holes(folder: Path) -> bool:
    """Return whether the file system of a folder supports holes of 4 KiB."""
    path = folder / "hole"
    path.write_bytes(b"x" * 65536)
    descriptor = os.open(path, os.O_RDWR)
    try:
        os.fsync(descriptor)
        free_space.punch_hole(descriptor, 0, 32768)
        os.fsync(descriptor)
        return os.fstat(descriptor).st_blocks * 512 <= 32768
    except OSError:
        return False
    finally:
        os.close(descriptor)
        path.unlink()


@pytest.fixture
def environment(tmp_path: Path) -> Iterator[Environment]:
    if not makes_holes(tmp_path):
        pytest.skip("needs a file system that makes holes")
    held = Environment(tmp_path, 1 << 26)
    yield held
    held.close()


def fill(environment: Environment) -> None:
    transaction = environment.begin()
    transaction.put_many(POSTINGS, list(ROWS.items()))
    environment.commit(transaction)


def delete(environment: Environment, keys: list[bytes]) -> None:
    transaction = environment.begin()
    for key in keys:
        transaction.delete(POSTINGS, key)
    environment.commit(transaction)


def free_disk(environment: Environment, seconds: float) -> bool:
    space = FreeSpace(environment)
    try:
        return space.give_back(seconds)
    finally:
        space.close()


def taken_bytes(environment: Environment) -> int:
    return environment.data_file.stat().st_blocks * 512


def rows(environment: Environment) -> dict[bytes, bytes]:
    with environment.reading() as transaction:
        return dict(transaction.rows(POSTINGS, b""))


def test_what_is_free_takes_no_disk(environment: Environment) -> None:
    fill(environment)
    delete(environment, list(ROWS)[50:])
    environment.sync()
    before = taken_bytes(environment)
    assert not free_disk(environment, MANY_S), "nothing is left"
    assert before > 1_500_000 > 300_000 > taken_bytes(environment)
    assert rows(environment) == dict(list(ROWS.items())[:50])
    fill(environment)
    assert rows(environment) == ROWS, "holes are used again"


def test_pages_of_the_checkpoint_stay(environment: Environment) -> None:
    """Pages of the checkpoint are kept, because the store goes back to it after a loss of power."""
    fill(environment)
    environment.sync()
    descriptor = os.open(environment.data_file, os.O_RDONLY)
    held = newest_meta_page(descriptor)
    os.close(descriptor)
    delete(environment, list(ROWS))
    free_disk(environment, MANY_S)
    copy = environment.data_file.parent / "copy"
    copy.mkdir()
    (copy / DATA_FILE).write_bytes(environment.data_file.read_bytes())
    descriptor = os.open(copy / DATA_FILE, os.O_RDWR)
    write_meta_pages(descriptor, held)
    os.close(descriptor)
    reader = Environment(copy, 1 << 26, read_only=True)
    assert rows(reader) == ROWS
    reader.close()


def test_pages_that_a_reader_shows_stay(environment: Environment) -> None:
    fill(environment)
    with environment.reading() as transaction:
        delete(environment, list(ROWS))
        for _ in range(2):
            environment.sync()
            free_disk(environment, MANY_S)
        assert dict(transaction.rows(POSTINGS, b"")) == ROWS
    environment.sync()
    free_disk(environment, MANY_S)
    assert taken_bytes(environment) < 500_000


def test_nothing_is_given_back_while_somebody_writes(environment: Environment) -> None:
    fill(environment)
    delete(environment, list(ROWS))
    environment.sync()
    transaction = environment.begin()
    before = taken_bytes(environment)
    assert not free_disk(environment, MANY_S)
    assert taken_bytes(environment) == before
    environment.abort(transaction)
    free_disk(environment, MANY_S)
    assert taken_bytes(environment) < before


def test_a_change_of_a_moment_does_not_end_it(environment: Environment, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(environment)
    delete(environment, list(ROWS))
    environment.sync()
    before = taken_bytes(environment)
    changing = [environment.begin()]
    monkeypatch.setattr("time.sleep", lambda _: changing and environment.abort(changing.pop()))
    free_disk(environment, MANY_S)
    assert not changing and taken_bytes(environment) < before / 2


def test_holes_are_made_in_parts(environment: Environment) -> None:
    fill(environment)
    delete(environment, list(ROWS)[::2])
    for number in range(1, 60, 2):
        delete(environment, list(ROWS)[number * 10 : number * 10 + 10])
        environment.sync()
    space = FreeSpace(environment)
    calls = 1
    while space.give_back(0.0):
        calls += 1
    assert calls > 5
    space.close()


@pytest.mark.usefixtures("environment")
def test_a_little_stays_for_the_next_commits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(free_space, "WORTH_BYTES", 1 << 18)
    environment = Environment(tmp_path / "small", 1 << 26)
    fill(environment)
    delete(environment, list(ROWS)[:40])  # of about a page each
    environment.sync()
    before = taken_bytes(environment)
    free_disk(environment, MANY_S)
    assert taken_bytes(environment) == before
    environment.close()


def test_holes_join_and_are_made_once(environment: Environment, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neighbouring pages that different commits freed become one hole; existing holes are left alone."""
    fill(environment)
    for keys in (list(ROWS)[0:600:2], list(ROWS)[1:600:2]):
        delete(environment, keys)
        environment.sync()
    made: list[int] = []

    def note(descriptor: int, start: int, size: int) -> None:
        made.append(size // 4096)
        punch_hole(descriptor, start, size)

    monkeypatch.setattr(free_space, "punch_hole", note)
    free_disk(environment, MANY_S)
    assert sum(made) > 200 and len(made) < 40, "they lie beside each other"
    made.clear()
    monkeypatch.setattr(free_space, "WORTH_BYTES", -(1 << 30))
    free_disk(environment, MANY_S)
    assert made == []


def test_much_is_free_before_the_next_sync(environment: Environment, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(free_space, "MUCH_BYTES", 1 << 20)
    fill(environment)
    space = FreeSpace(environment)
    assert not space.is_much()
    delete(environment, list(ROWS)[600:])
    assert space.is_much()
    monkeypatch.setattr(free_space, "MUCH_SHARE", 0.9)
    assert not space.is_much()
    monkeypatch.undo()
    assert not space.is_much()
    space.close()
    assert not space.is_much()


def test_a_consolidation_gives_much_back_at_once(
    tmp_path: Path, environment: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(free_space, "MUCH_BYTES", 1 << 18)
    with Index(tmp_path / "index") as index:
        path = tmp_path / "index" / DATA_FILE
        for number in range(400):
            index.push("c", f"b{number % 40}", f"o{number}", f"alpha word{number} more{number}", "none")
        index.engine.commit()
        before = path.stat().st_blocks
        index.consolidate()
        assert path.stat().st_blocks < 0.6 * before
        assert index.query_ids("c", "b3", "word43") == ["o43"]
        assert index.verify() == []


@pytest.mark.parametrize("code", [errno.EOPNOTSUPP, errno.EIO])
def test_a_disk_that_makes_no_holes(environment: Environment, monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    fill(environment)
    delete(environment, list(ROWS)[10:])
    environment.sync()
    space = FreeSpace(environment)
    calls = 0

    def fail(*_: int) -> None:
        nonlocal calls
        calls += 1
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(free_space, "punch_hole", fail)
    for key in list(ROWS)[:2]:
        if code == errno.EIO:
            message = "free pages cannot be given back to the disk: Input/output error"
            with pytest.raises(StoreError, match=message):
                space.give_back(MANY_S)
        assert not space.give_back(MANY_S), "not again before the next commit"
        delete(environment, [key])
        environment.sync()
    assert calls == (2 if code == errno.EIO else 1), "a system that makes no holes is not asked again"
    space.close()


def test_free_pages_are_those_that_no_tree_has(environment: Environment) -> None:
    fill(environment)
    for number in range(100):
        delete(environment, [b"%04d" % (number * 7)])
        if number % 10 == 0:
            environment.sync()
    descriptor = os.open(environment.data_file, os.O_RDONLY)
    meta = newest_meta_page(descriptor)
    free = [page for pages in PageTrees(descriptor, meta).free_pages(meta.number) for page in pages]
    os.close(descriptor)
    assert len(set(free)) == len(free) > 100
    with environment.reading() as transaction:
        used = sum(transaction.size_bytes(table) for table in range(14)) // meta.page_bytes
    assert meta.pages - len(free) - used in range(2, 8), "and two meta pages, and the roots of both lists"


def test_a_store_at_rest_gives_back_and_still_answers(
    tmp_path: Path, environment: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(background_sync, "REST_AFTER_S", 0.05)
    monkeypatch.setattr(background_sync, "SYNC_AFTER_S", 0.05)
    monkeypatch.setattr(free_space, "WORTH_BYTES", 0)
    store = open_store(tmp_path / "store")
    for number in range(300):
        store.apply(push(f"o{number}", f"alpha word{number} more{number}"))
        if number % 10 == 0:
            store.commit()
    store.commit()
    path = tmp_path / "store" / DATA_FILE
    until(lambda: path.stat().st_blocks * 512 <= path.stat().st_size * 0.7)
    assert path.stat().st_blocks * 512 <= path.stat().st_size * 0.7
    store.apply(push("last", "alpha"))
    store.commit()
    assert len(found(store, "alpha")) == 301
    store.close()
    reopened = open_store(tmp_path / "store")
    assert len(found(reopened, "alpha")) == 301
    reopened.close()


def test_a_store_that_is_closed_gives_back(tmp_path: Path, environment: Environment) -> None:
    store = open_store(tmp_path / "store")
    for number in range(2_000):
        store.apply(push(f"o{number}", f"alpha word{number} more{number}"))
        if number % 20 == 0:
            store.commit()
    store.commit()
    path = tmp_path / "store" / DATA_FILE
    before = path.stat().st_blocks
    store.close()
    assert path.stat().st_blocks < 0.7 * before
    held = proc.descriptors(os.getpid()).values()
    assert not [name for name in held if name.startswith(str(tmp_path / "store"))], "no file stays open"


def test_a_change_ends_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background_sync, "SYNC_AFTER_S", 0.0)
    monkeypatch.setattr(background_sync, "REST_AFTER_S", 30.0)
    synced, rested = threading.Semaphore(0), []
    background = BackgroundSync(synced.release, lambda: bool(rested.append(1)))
    for _ in range(3):
        background.note_change(is_urgent=True)
        assert synced.acquire(timeout=WAIT_S)
    background.close()
    assert not rested, "closing did not wait for it"
