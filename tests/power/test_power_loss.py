"""Loss of power: in every state that a simulated disk may have after a recorded run, nothing synced is missing or
undone.
"""

import random
import shutil
import subprocess
import sys
from pathlib import Path
from unittest import mock

import pytest

from tests.power.__main__ import SCENARIOS, Laboratory
from tests.power.broken import WAYS
from tests.power.disk import HOLE, Disk
from tests.support.disk_recorder import Event, compiler

ROOT = Path(__file__).resolve().parents[2]
needs_recorder = pytest.mark.skipif(compiler() is None, reason="recording needs Linux and a C compiler")


def cut_power(*arguments: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.power", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count(", 0 wrong") >= 1


@needs_recorder
def test_some_states() -> None:
    cut_power("interval", "restart", "--states", "8")


@needs_recorder
@pytest.mark.full
@pytest.mark.timeout(1_200)
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_thousand_states(scenario: str) -> None:
    cut_power(scenario, "--states", "1000", "--seed", str(random.randrange(10**6)))


@needs_recorder
@pytest.mark.full
@pytest.mark.timeout(900)
@pytest.mark.parametrize("way", WAYS)
def test_what_is_broken_is_found(way: str) -> None:
    # 300 states may miss what is wrong in one of a hundred
    assert any(is_found(way, seed) for seed in range(20, 23)), f"no state was wrong although {way}"


def is_found(way: str, seed: int) -> bool:
    done = subprocess.run(
        [sys.executable, "-m", "tests.power", "interval", "commit", "--states=300", f"--seed={seed}", "--break", way],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert " states, " in done.stdout, done.stderr
    return done.returncode == 1


@needs_recorder
@pytest.mark.full
def test_a_run_replaces_graphs_whatever_its_seed(tmp_path: Path) -> None:
    laboratory = Laboratory(tmp_path, seed=22, keep=None, broken="")  # a seed that consolidates at no random moment
    laboratory.start()
    events = laboratory.record("interval").events
    assert any(event.kind == "u" and event.path.endswith(".graph") for event in events)


@pytest.mark.parametrize("way", WAYS)
def test_each_way_breaks_something_that_is_there(way: str) -> None:
    try:
        WAYS[way]()
    finally:
        mock.patch.stopall()


# -- the simulated disk ------------------------------------------------------------------------------------------------


def events(*calls: tuple[str, int, int, bytes]) -> list[Event]:
    return [Event(*call) for call in calls]


def left(tmp_path: Path, played: list[Event]) -> set[tuple[tuple[str, bytes], ...]]:
    """Return the possible states of a disk after some events, for 100 random seeds, as files with their content."""
    (tmp_path / "root").mkdir(parents=True, exist_ok=True)
    disk = Disk(tmp_path / "root")
    for at, event in enumerate(played):
        disk.play(at, event)
    seen = set()
    state = tmp_path / "state"
    for number in range(100):
        disk.leave(random.Random(number), state)
        seen.add(tuple(sorted((path.name, path.read_bytes()) for path in state.iterdir())))
        shutil.rmtree(state)
    return seen


def test_nothing_is_sure_without_syncs(tmp_path: Path) -> None:
    path = str(tmp_path / "root" / "f").encode()
    seen = left(tmp_path, events(("c", 7, 0, path), ("w", 7, 0, b"x" * 8192)))
    assert {(), (("f", b""),), (("f", b"x" * 8192),)} < seen
    assert (("f", bytes(4096) + b"x" * 4096),) in seen, "the second page alone"
    assert (("f", b"x" * 4096 + bytes(4096)),) in seen, "the first page alone"


def test_a_synced_file_with_a_synced_name_is_there(tmp_path: Path) -> None:
    root, path = str(tmp_path / "root").encode(), str(tmp_path / "root" / "f").encode()
    sync_file = [("s", 7, 1, b""), ("e", 7, 1, b"")]
    sync_names = [("s", 0, 2, root), ("e", 0, 2, b"")]
    played = events(("c", 7, 0, path), ("w", 7, 0, b"old"), *sync_file, *sync_names, ("w", 7, 0, b"new"))
    assert left(tmp_path, played) == {(("f", b"old"),), (("f", b"new"),)}


def test_a_sync_covers_what_was_written_before_it_began(tmp_path: Path) -> None:
    root, path = str(tmp_path / "root").encode(), str(tmp_path / "root" / "f").encode()
    names = [("s", 0, 2, root), ("e", 0, 2, b"")]
    played = events(
        ("c", 7, 0, path), *names, ("w", 7, 0, b"old"), ("s", 7, 1, b""), ("w", 7, 0, b"new"), ("e", 7, 1, b"")
    )
    assert left(tmp_path, played) == {(("f", b"old"),), (("f", b"new"),)}
    assert (("f", b""),) in left(tmp_path, played[:-1])


def test_a_rename_happens_as_a_whole(tmp_path: Path) -> None:
    root = tmp_path / "root"
    fresh, final = str(root / "f.new").encode(), str(root / "f").encode()
    sync = [("s", 7, 1, b""), ("e", 7, 1, b""), ("s", 0, 2, str(root).encode()), ("e", 0, 2, b"")]
    played = events(("c", 7, 0, fresh), ("w", 7, 0, b"x"), *sync, ("r", 0, 0, fresh + b"\0" + final))
    assert left(tmp_path, played) == {(("f.new", b"x"),), (("f", b"x"),)}


def test_a_hole_is_there_or_not_until_a_sync(tmp_path: Path) -> None:
    root, path = str(tmp_path / "root").encode(), str(tmp_path / "root" / "f").encode()
    sync = [("s", 7, 1, b""), ("e", 7, 1, b""), ("s", 0, 2, root), ("e", 0, 2, b"")]
    full, hole = ("w", 7, 0, b"x" * 8192), ("h", 7, 4096, HOLE.pack(512))
    without, punched = (("f", b"x" * 8192),), (("f", b"x" * 4096 + bytes(512) + b"x" * 3584),)
    played = events(("c", 7, 0, path), full, *sync, hole)
    assert left(tmp_path, played) == {without, punched}
    assert left(tmp_path, played + events(("s", 7, 3, b""), ("e", 7, 3, b""))) == {punched}
