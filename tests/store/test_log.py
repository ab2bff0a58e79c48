"""The log: an appended record is read back completely or not at all, whatever happens to the files."""

import contextlib
import errno
import os
import struct
import sys
import threading
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sonicpy.errors import StoreDamaged, StoreError, StoreFull
from sonicpy.store.disk.log import HEADER, RECORD, RECORD_MAX_BYTES, Log, log_faults
from tests.support.examples import examples

PAYLOADS = [b"one", b"two-two", b"\0" * 20, b"four", bytes(range(256))]


@pytest.fixture
def log(tmp_path: Path) -> Log:
    log = Log(tmp_path)
    log.start(0)
    return log


def replayed(folder: Path, position: int = 0) -> list[bytes]:
    return [payload for _, payload in Log(folder).replay(position)]


def only_segment(folder: Path) -> Path:
    (path,) = folder.glob("*.log")
    return path


def open_descriptors(folder: Path) -> int:
    """Return the number of this process's descriptors for files in `folder`; skip the test on systems without /proc.

    Descriptors of other files change, because earlier tests left objects to the garbage collector.
    """
    try:
        descriptors = os.listdir("/proc/self/fd")
    except OSError:
        pytest.skip("needs /proc to count the open files of a process")
    leads = 0
    for descriptor in descriptors:
        with contextlib.suppress(FileNotFoundError):  # that of the listing itself is closed by now
            leads += Path(os.readlink(f"/proc/self/fd/{descriptor}")).is_relative_to(folder)
    return leads


def framed(payload: bytes) -> int:
    return RECORD.size + len(payload)


# -- as it should be ------------------------------------------------------------------------------------------------


def test_records_come_back_in_order_with_the_positions_behind_them(log: Log, tmp_path: Path) -> None:
    first = log.append(PAYLOADS[:2])
    second = log.append(PAYLOADS[2:])
    log.close()
    positions = [position for position, _ in Log(tmp_path).replay(0)]
    assert replayed(tmp_path) == PAYLOADS
    assert positions == sorted(positions)
    assert (first, second) == (positions[1], positions[-1])
    assert replayed(tmp_path, first) == PAYLOADS[2:]
    assert replayed(tmp_path, second) == []


def test_the_layout_is_the_documented_one(log: Log, tmp_path: Path) -> None:
    log.append([b"payload"])
    held = only_segment(tmp_path).read_bytes()
    assert only_segment(tmp_path).name == "0000000000000000.log"
    assert held[:18] == b"SONICLOG" + struct.pack("<HQ", 1, 0)
    assert held[18:] == struct.pack("<II", 7, zlib.crc32(b"payload")) + b"payload"
    log.close()


def test_an_empty_folder_replays_nothing(tmp_path: Path) -> None:
    assert replayed(tmp_path / "new") == []
    assert replayed(tmp_path / "new", 1000) == [], "a restored backup has a position and no log"


STEPS = st.sampled_from(["append", "append", "append", "rotate", "retire", "restart"])


@settings(deadline=None, max_examples=examples(60))
@given(st.lists(st.tuples(STEPS, st.binary(min_size=1, max_size=40)), max_size=25))
def test_any_run_of_calls_replays_from_the_last_covered_position(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, bytes]]
) -> None:
    folder = tmp_path_factory.mktemp("log")
    log = Log(folder)
    log.start(0)
    held: list[tuple[int, bytes]] = []
    covered = 0
    for step, payload in steps:
        match step:
            case "rotate":
                log.rotate()
            case "retire":
                covered = log.position
                log.retire(covered)
            case "restart":
                log.close()
                log = Log(folder)
                end = max([position for position, _ in log.replay(covered)], default=covered)
                assert log.start(end) == []
            case _:
                held.append((log.append([payload, b"second"]), payload))
        assert [payload for _, payload in log.replay(covered)] == [
            part for position, payload in held if position > covered for part in (payload, b"second")
        ]
    assert log.sync() == log.position
    log.close()


def test_retire_keeps_what_is_not_covered(log: Log, tmp_path: Path) -> None:
    ends = []
    for payload in PAYLOADS:
        ends.append(log.append([payload]))
        log.rotate()
    log.retire(ends[1])
    assert replayed(tmp_path, ends[1]) == PAYLOADS[2:]
    log.retire(ends[1] + 1)
    assert replayed(tmp_path, ends[1]) == PAYLOADS[2:]
    log.retire(log.position)
    assert len(list(tmp_path.glob("*.log"))) == 1, "the current segment always stays"
    log.append([b"more"])
    assert replayed(tmp_path, ends[-1]) == [b"more"]
    log.close()


def test_a_segment_that_somebody_deleted_is_retired_too(log: Log, tmp_path: Path) -> None:
    log.append([b"covered"])
    log.rotate()
    min(tmp_path.iterdir()).unlink()
    log.retire(log.position)
    assert log.size_bytes() == 0
    log.close()


def test_a_second_rotation_in_a_row_begins_no_segment(log: Log, tmp_path: Path) -> None:
    log.append([b"x"])
    log.rotate()
    log.rotate()
    assert len(list(tmp_path.glob("*.log"))) == 2
    assert log.bytes_in_segment() == 0
    log.close()


def test_size_bytes_are_those_of_all_segments(log: Log) -> None:
    first = log.append([b"x" * 100])
    log.rotate()
    end = log.append([b"y" * 10])
    assert (log.size_bytes(), log.bytes_in_segment()) == (end, end - first)
    log.retire(first)
    assert log.size_bytes() == end - first
    log.close()


def test_files_of_others_are_left_alone(tmp_path: Path) -> None:
    """Only hexadecimal words of exactly sixteen digits are names of segments."""
    others = {name: b"mine" for name in ("notes.txt", "syslog.log", "cafe.log", "-1.log", "0x10.log", "1_0.log")}
    for name, content in others.items():
        (tmp_path / name).write_bytes(content)
    log = Log(tmp_path)
    assert list(log.replay(0)) == []
    assert log.start(0) == []
    end = log.append([b"payload"])
    log.rotate()
    log.retire(end)
    log.close()
    assert {name: (tmp_path / name).read_bytes() for name in others if (tmp_path / name).exists()} == others


# -- damage ---------------------------------------------------------------------------------------------------------


def test_every_prefix_replays_to_whole_records_only(log: Log, tmp_path: Path) -> None:
    log.append(PAYLOADS)
    log.close()
    path = only_segment(tmp_path)
    held = path.read_bytes()
    ends = [HEADER.size]
    for payload in PAYLOADS:
        ends.append(ends[-1] + framed(payload))
    for size in range(len(held) + 1):
        path.write_bytes(held[:size])
        whole = sum(end <= size for end in ends[1:])
        assert replayed(tmp_path) == PAYLOADS[:whole], size


def test_a_flipped_bit_ends_the_log_at_its_record(log: Log, tmp_path: Path) -> None:
    log.append(PAYLOADS[:4])
    log.close()
    path = only_segment(tmp_path)
    held = path.read_bytes()
    ends = [HEADER.size]
    for payload in PAYLOADS[:4]:
        ends.append(ends[-1] + framed(payload))
    for bit in range(8 * len(held)):
        damaged = bytearray(held)
        damaged[bit // 8] ^= 1 << bit % 8
        path.write_bytes(damaged)
        before = sum(end <= bit // 8 for end in ends[1:])
        if 8 <= bit // 8 < 10:
            with pytest.raises(StoreError, match="format version"):
                replayed(tmp_path)
        elif bit // 8 < HEADER.size:
            assert replayed(tmp_path) == []
        else:
            assert replayed(tmp_path) == PAYLOADS[:before], bit


def test_zeros_and_garbage_behind_the_end_do_not_count(log: Log, tmp_path: Path) -> None:
    end = log.append(PAYLOADS)
    log.close()
    path = only_segment(tmp_path)
    held = path.read_bytes()
    for tail in (b"\0" * 4096, b"\xff" * 100, held[:40], RECORD.pack(0, 0), RECORD.pack(RECORD_MAX_BYTES + 1, 0)):
        path.write_bytes(held + tail)
        again = Log(tmp_path)
        assert [position for position, _ in again.replay(0)][-1] == end
        assert [payload for _, payload in again.replay(0)] == PAYLOADS


def test_an_unknown_format_version_is_refused_in_one_sentence(log: Log, tmp_path: Path) -> None:
    log.append(PAYLOADS)
    log.close()
    path = only_segment(tmp_path)
    held = bytearray(path.read_bytes())
    held[8:10] = struct.pack("<H", 2)
    path.write_bytes(held)
    with pytest.raises(StoreError, match=r"format version 2, this sonicpy reads 1: open the store once with"):
        replayed(tmp_path)
    assert path.read_bytes() == held, "refused, not changed"


def test_a_log_that_begins_too_late_is_damage(log: Log, tmp_path: Path) -> None:
    end = log.append([b"first"])
    log.rotate()
    log.append([b"second"])
    log.retire(end)
    log.close()
    with pytest.raises(StoreDamaged, match=f"begins at {end}, but the store needs it from 0 on"):
        replayed(tmp_path, 0)


def test_a_damaged_middle_segment_sets_the_later_ones_aside(log: Log, tmp_path: Path) -> None:
    for payload in PAYLOADS[:4]:
        log.append([payload])
        log.rotate()
    log.close()
    segments = sorted(tmp_path.glob("*.log"))
    with segments[1].open("r+b") as file:
        file.seek(HEADER.size + RECORD.size)
        file.write(b"X")
    again = Log(tmp_path)
    replay = list(again.replay(0))
    assert [payload for _, payload in replay] == PAYLOADS[:1]
    end = replay[-1][0]
    aside = again.start(end)
    assert [path.suffix for path in aside] == [".damaged"] * 3, "the segment at `end` and those behind it"
    again.append([b"new"])
    again.close()
    assert replayed(tmp_path) == [PAYLOADS[0], b"new"]
    kept = b"".join(path.read_bytes() for path in tmp_path.glob("*.damaged"))
    assert PAYLOADS[2] in kept and PAYLOADS[3] in kept, "set aside, not deleted"


def test_a_damaged_record_in_the_middle_of_a_segment_is_never_appended_behind(log: Log, tmp_path: Path) -> None:
    log.append([b"good"])
    end = log.position
    log.append([b"bad!", b"lost"])
    log.close()
    path = only_segment(tmp_path)
    path.write_bytes(path.read_bytes().replace(b"bad!", b"bad?"))
    again = Log(tmp_path)
    assert [position for position, _ in again.replay(0)] == [end]
    (aside,) = again.start(end)
    assert aside.suffix == ".damaged" and b"lost" in aside.read_bytes(), "set aside, not deleted"
    again.append([b"new"])
    again.rotate()
    again.append([b"newer"])
    again.retire(end)
    again.close()
    assert replayed(tmp_path, end) == [b"new", b"newer"]
    assert aside.exists()


def damaged_at(path: Path, place: int) -> bytes:
    """Change a byte of a file; return its content before."""
    held = path.read_bytes()
    path.write_bytes(held[:place] + bytes((held[place] ^ 0x5A,)) + held[place + 1 :])
    return held


def test_no_damage_of_the_last_record_is_taken_for_a_write_that_was_cut_short(log: Log, tmp_path: Path) -> None:
    end = log.append([b"good"])
    log.append([b"the last record"])
    log.close()
    path = only_segment(tmp_path)
    first = HEADER.size + end
    for place in range(first, path.stat().st_size):
        held = damaged_at(path, place)
        again = Log(tmp_path)
        assert [payload for _, payload in again.replay(0)] == [b"good"]
        assert len(list(log_faults(tmp_path, 0))) == 1, place
        (aside,) = again.start(end)
        again.close()
        only_segment(tmp_path).unlink()
        aside.rename(path)
        path.write_bytes(held)


@pytest.mark.parametrize("rest", [b"\0" * 5000, b"\7", b"\7\0\0\0\1\2\3\4halt"])
def test_what_a_write_that_was_cut_short_leaves_is_no_damage(log: Log, tmp_path: Path, rest: bytes) -> None:
    end = log.append([b"good"])
    log.close()
    path = only_segment(tmp_path)
    path.write_bytes(path.read_bytes() + rest)
    assert list(log_faults(tmp_path, 0)) == []
    again = Log(tmp_path)
    assert [position for position, _ in again.replay(0)] == [end]
    assert again.start(end) == []
    again.close()


def test_damage_before_the_position_of_a_replay_hides_no_record_behind_it(log: Log, tmp_path: Path) -> None:
    covered = log.append([b"committed"])
    log.append([b"needed", b"too"])
    log.close()
    for place in range(HEADER.size, HEADER.size + covered):
        held = damaged_at(only_segment(tmp_path), place)
        assert replayed(tmp_path, covered) == [b"needed", b"too"]
        assert list(log_faults(tmp_path, covered)) == []
        only_segment(tmp_path).write_bytes(held)


# -- failing system calls -------------------------------------------------------------------------------------------


def failing_once(name: str, monkeypatch: pytest.MonkeyPatch, taken: int | None = None) -> None:
    """Make the next call of os.`name` fail; with `taken`, a write takes that many bytes and returns their number."""
    original: Callable[..., Any] = getattr(os, name)
    failed = []

    def call(*args: Any, **named: Any) -> Any:
        if failed:
            return original(*args, **named)
        failed.append(True)
        if taken is not None:
            return original(args[0], args[1][:taken])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, name, call)


@pytest.mark.parametrize("taken", [None, 0, 1, 7, 8, 11, 12, 25])
def test_a_failed_or_short_write_leaves_the_log_at_its_last_whole_record(
    log: Log, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, taken: int | None
) -> None:
    """The short writes end in the frame, in the payload, and between the two records of one write."""
    log.append([b"earlier"])
    log.rotate()
    before = log.append([b"before"])
    failing_once("write", monkeypatch, taken)
    with pytest.raises(StoreFull, match="cannot write the log"):
        log.append([b"lost", b"lost too"])
    assert log.position == before
    assert replayed(tmp_path) == [b"earlier", b"before"]
    log.append([b"after"])
    log.close()
    assert replayed(tmp_path) == [b"earlier", b"before", b"after"]


@pytest.mark.parametrize("taken", [1, 8, 11])
def test_nothing_is_acknowledged_behind_half_a_record(
    log: Log, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, taken: int
) -> None:
    """A write is short, and cutting the partial record off fails, too: later changes are refused, or are read back."""
    log.append([b"before"])
    failing_once("ftruncate", monkeypatch)
    failing_once("write", monkeypatch, taken)
    with pytest.raises(StoreFull):
        log.append([b"lost"])
    acknowledged = [b"before"]
    for payload in (b"after", b"later"):
        try:
            log.append([payload])
            acknowledged.append(payload)
        except StoreFull:
            continue
    log.close()
    assert replayed(tmp_path) == acknowledged


@pytest.mark.parametrize("taken", [None, 0, 5, 17])
def test_a_segment_without_a_whole_header_takes_no_record(
    log: Log, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, taken: int | None
) -> None:
    """The disk becomes full in the middle of a rotation: all changes acknowledged afterwards are read back."""
    acknowledged = [b"before"]
    log.append(acknowledged)
    failing_once("write", monkeypatch, taken)
    with contextlib.suppress(StoreFull):  # or it stays in the old segment without a word
        log.rotate()
    log.append([b"after"])
    log.rotate()
    log.append([b"later"])
    log.close()
    assert replayed(tmp_path) == [b"before", b"after", b"later"]


def test_a_failed_rotation_lets_no_later_record_be_retired(
    log: Log, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    covered = log.append([b"covered"])
    failing_once("write", monkeypatch)
    with contextlib.suppress(StoreFull):
        log.rotate()
    log.append([b"acknowledged"])
    log.retire(covered)
    log.close()
    assert replayed(tmp_path, covered) == [b"acknowledged"]


def test_a_record_too_large_to_be_read_is_not_taken(log: Log, tmp_path: Path) -> None:
    """`replay` treats records above RECORD_MAX_BYTES as damage, so acknowledging such a record would lose it."""
    payload = b"x" * (RECORD_MAX_BYTES + 1)
    try:
        log.append([payload])
    except StoreError:
        payload = b""
    log.append([b"after"])
    log.close()
    assert replayed(tmp_path) == ([payload] if payload else []) + [b"after"]


def test_a_record_as_large_as_allowed_comes_back(log: Log, tmp_path: Path) -> None:
    log.append([b"x" * RECORD_MAX_BYTES])
    log.close()
    assert [len(payload) for payload in replayed(tmp_path)] == [RECORD_MAX_BYTES]


@pytest.mark.parametrize(("call", "taken"), [("open", None), ("write", None), ("write", 3)])
def test_a_failed_rotation_leaves_nothing_behind(
    log: Log, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, taken: int | None
) -> None:
    log.append([b"before"])
    files, open_files = sorted(tmp_path.iterdir()), open_descriptors(tmp_path)
    failing_once(call, monkeypatch, taken)
    with pytest.raises(StoreFull, match="cannot begin the log file .*0000000000000e.log: "):
        log.rotate()
    assert sorted(tmp_path.iterdir()) == files
    assert open_descriptors(tmp_path) == open_files
    log.rotate()
    for _ in range(2):
        log.close()
        assert open_descriptors(tmp_path) == open_files - 1


def test_only_what_a_failed_write_left_is_cut_off(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    cut: list[int] = []
    monkeypatch.setattr(os, "ftruncate", lambda descriptor, size: cut.append(size))
    for _ in range(2):
        log.append([b"x"])
        log.append([b"y"])
        log.rotate()
    assert cut == []
    log.close()


def test_the_folder_is_synced_for_a_new_segment_alone(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[Path] = []
    monkeypatch.setattr("sonicpy.store.disk.log.sync_folder", synced.append)
    for _ in range(2):
        log.append([b"x"])
        log.sync()
    assert synced == []
    log.rotate()
    log.sync()
    log.sync()
    assert len(synced) == 1
    log.close()


@pytest.mark.parametrize("call", ["fdatasync", "fsync", "dup"])
def test_a_failed_sync_is_not_counted_as_done(log: Log, monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    log.append([b"x"])
    log.rotate()
    synced: list[int] = []
    failing_once(call, monkeypatch)
    with pytest.raises(StoreError, match="cannot sync the log"):
        log.sync()
    original = os.fdatasync

    def note(descriptor: int) -> None:
        synced.append(os.fstat(descriptor).st_ino)
        original(descriptor)

    monkeypatch.setattr(os, "fdatasync", note)
    assert log.sync() == log.position
    assert len(set(synced)) == 2, "both segments are synced again"
    log.close()


def test_a_sync_covers_a_segment_that_is_rotated_away_under_it(
    log: Log, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another thread rotates between any two steps of `sync`; the promised position is still on the disk."""
    promised = log.append([b"x"])
    old = only_segment(tmp_path).stat().st_ino
    synced = set()
    real_dup, real_sync = os.dup, os.fdatasync

    def dup(descriptor: int) -> int:
        log.rotate()
        return real_dup(descriptor)

    def fdatasync(descriptor: int) -> None:
        synced.add(os.fstat(descriptor).st_ino)
        real_sync(descriptor)

    monkeypatch.setattr(os, "dup", dup)
    monkeypatch.setattr(os, "fdatasync", fdatasync)
    assert log.sync() >= promised
    assert old in synced
    log.close()


@pytest.fixture
def often_switched(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Make threads switch after a few instructions, and never wait for the disk."""
    for name in ("fdatasync", "fsync"):
        monkeypatch.setattr(os, name, lambda descriptor: os.fstat(descriptor))
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


def test_many_threads_sync_beside_rotations(log: Log, tmp_path: Path, often_switched: None) -> None:
    """As with durability = "commit", each sync waits for the same older segments as concurrent ones."""
    faults: list[BaseException] = []
    is_over = threading.Event()

    def sync() -> None:
        try:
            while not is_over.is_set():
                log.sync()
        except (StoreError, OSError, ValueError) as fault:
            faults.append(fault)

    open_files = open_descriptors(tmp_path)
    threads = [threading.Thread(target=sync) for _ in range(4)]
    for thread in threads:
        thread.start()
    for number in range(400):
        log.append([b"x" * number])
        log.rotate()
        log.retire(log.position - 1000)
    is_over.set()
    for thread in threads:
        thread.join()
    assert faults == []
    log.sync()
    assert open_descriptors(tmp_path) == open_files
    log.close()


def test_syncs_run_beside_appends_and_rotations(log: Log, tmp_path: Path) -> None:
    stop = threading.Event()
    failures: list[BaseException] = []

    def keep_syncing() -> None:
        try:
            while not stop.is_set():
                before = log.position
                assert log.sync() >= before
        except (StoreError, AssertionError, ValueError) as fault:
            failures.append(fault)

    thread = threading.Thread(target=keep_syncing)
    thread.start()
    covered = 0
    for number in range(300):
        log.append([b"%d" % number])
        if number % 10 == 0:
            covered = log.position
            log.rotate()
            log.retire(covered)
    stop.set()
    thread.join()
    log.close()
    assert not failures
    assert replayed(tmp_path, covered) == [b"%d" % number for number in range(291, 300)]


def test_a_folder_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot use .* for the log"):
        Log(tmp_path / "file")


def test_a_segment_that_cannot_be_deleted_is_retired_later(
    log: Log, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path, missing_ok: bool = False) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    log.append([b"covered"])
    log.rotate()
    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", refuse)
        with pytest.raises(StoreError, match=r"cannot delete the log file .*\.log: Permission denied"):
            log.retire(log.position)
    assert len(list(tmp_path.glob("*.log"))) == 2
    log.retire(log.position)
    assert len(list(tmp_path.glob("*.log"))) == 1
    log.close()


def test_a_segment_that_cannot_be_read_is_no_end_of_the_log(log: Log, tmp_path: Path) -> None:
    log.append([b"one"])
    log.close()
    path = only_segment(tmp_path)
    path.rename(tmp_path / "aside")
    path.mkdir()  # root may read any file
    with pytest.raises(StoreError, match=r"cannot read the log file .*\.log: Is a directory"):
        replayed(tmp_path)
