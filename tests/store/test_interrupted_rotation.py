"""An exception comes at any moment while a segment of the log is begun: no acknowledged change is lost."""

import shutil
from itertools import count
from pathlib import Path

import pytest

from sonicpy.store.disk.log import Log, log_faults
from sonicpy.store.store import Store
from tests.interrupts.moments import Moments
from tests.store.shorthand import found, open_store, push
from tests.store.trouble import roll_back

EVERY = 7
"""A store is opened for one in this many moments; the log alone is tried at all of them."""


def add(store: Store, oid: str) -> None:
    store.apply(push(oid, "amber"))
    store.seal()


def replayed(folder: Path, position: int) -> list[bytes]:
    return [payload for _, payload in Log(folder).replay(position)]


def test_the_log_gives_back_every_record(tmp_path: Path) -> None:
    moments = Moments(KeyboardInterrupt)
    for moment in count():
        folder = tmp_path / str(moment)
        log = Log(folder)
        log.start(0)
        at = log.append([b"before"])
        error = moments.run(log.rotate, [moment])
        log.append([b"after"])
        assert replayed(folder, at) == [b"after"]
        behind = log.append([b"later"])
        assert list(log_faults(folder, at)) == []
        moments.run(log.rotate, [moment])  # of another position, or of the same one
        moments.run(log.rotate, [moment])
        log.append([b"last"])
        assert replayed(folder, at) == [b"after", b"later", b"last"]
        assert replayed(folder, behind) == [b"last"]
        assert list(log_faults(folder, 0)) == list(log_faults(folder, at)) == []
        log.close()
        started = Log(folder)
        end = max(position for position, _ in started.replay(at))
        assert started.start(end) == []
        started.append([b"next"])
        started.retire(end)
        assert replayed(folder, end) == [b"next"] and len(list(folder.glob("*.log"))) == 1
        started.close()
        if error is None:
            break
        assert isinstance(error, KeyboardInterrupt)
    assert moment > 20


def test_damage_beside_a_segment_without_records_is_found(tmp_path: Path) -> None:
    log = Log(tmp_path)
    log.start(0)
    at = log.append([b"before"])
    (tmp_path / f"{at:016x}.log").touch()  # as an interrupt at the wrong moment leaves it
    damaged = log.append([b"after"])
    behind = log.append([b"later"])
    log.append([b"last"])
    log.close()
    path = tmp_path / f"{0:016x}.log"
    content = path.read_bytes()
    path.write_bytes(content.replace(b"later", b"xxxxx"))
    assert replayed(tmp_path, at) == [b"after"]
    assert replayed(tmp_path, behind) == [b"last"], "the tables hold what is damaged"
    (fault,) = log_faults(tmp_path, at)
    assert f"is damaged at position {damaged}" in fault
    started = Log(tmp_path)
    (aside,) = started.start(damaged)
    assert aside == path.with_suffix(".damaged")
    started.close()


def test_a_store_has_every_change_after_a_kill_and_after_a_recovery(tmp_path: Path) -> None:
    moments = Moments(KeyboardInterrupt)
    for moment in count(0, EVERY):
        store = open_store(tmp_path / "store")
        add(store, "o1")
        store.commit()
        error = moments.run(store.shorten_log, [moment])
        add(store, "o2")
        add(store, "o3")
        names = ["o3", "o2", "o1"]
        shutil.copytree(store.folder, tmp_path / "killed")
        killed = open_store(tmp_path / "killed")
        assert found(killed, "amber") == names
        killed.close()
        roll_back(store)
        assert found(store, "amber") == names
        store.commit()
        store.sync()  # which deletes the old segment
        store._lock.next_look_s = 0.0
        add(store, "o4")
        store.close()
        store = open_store(tmp_path / "store")
        assert found(store, "amber") == ["o4", *names]
        store.close()
        shutil.rmtree(tmp_path / "store")
        shutil.rmtree(tmp_path / "killed")
        if error is None:
            return


@pytest.mark.parametrize("has_header", [False, True])
def test_a_segment_left_by_an_earlier_version_hides_no_change(tmp_path: Path, has_header: bool) -> None:
    """A process that dies right after it made the segment leaves it, too."""
    store = open_store(tmp_path / "store")
    add(store, "o1")
    store.commit()
    log = store.folder / "log"
    (segment,) = log.glob("*.log")
    stray = log / f"{store.log_position:016x}.log"
    header = segment.read_bytes()[:10] + store.log_position.to_bytes(8, "little")
    stray.write_bytes(header if has_header else b"")
    add(store, "o2")
    roll_back(store)
    assert found(store, "amber") == ["o2", "o1"]
    shutil.copytree(store.folder, tmp_path / "killed")
    store.close()
    killed = open_store(tmp_path / "killed")
    assert found(killed, "amber") == ["o2", "o1"]
    killed.close()
