"""Processes that die or meet a full disk: no acknowledged change is missing afterwards."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sonicpy.store.views.bucket_reader import BucketReader
from tests.store.consistency import check_consistent
from tests.store.shorthand import found, open_store
from tests.support.patience import WAIT_S

ROOT = Path(__file__).resolve().parents[2]
ROUNDS = 3


def kill_a_pusher(folder: Path, first: int, after_s: float) -> int:
    """Run a pusher for a while and kill it; return the last number that it has acknowledged."""
    command = [sys.executable, "-m", "tests.store.endless_pusher", str(folder), str(first)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None and process.stderr is not None
    with process:
        assert process.stdout.readline() == b"%d\n" % first, process.stderr.read().decode()
        time.sleep(after_s)
        os.kill(process.pid, signal.SIGKILL)
        lines = process.stdout.read().split(b"\n")
    assert process.returncode == -signal.SIGKILL
    whole = [int(line) for line in lines[:-1]]  # the last line may be cut off
    assert whole == list(range(first + 1, first + 1 + len(whole)))
    return whole[-1] if whole else first


def test_a_killed_process_loses_nothing_it_acknowledged(tmp_path: Path) -> None:
    seed = 7_001
    dice = random.Random(seed)
    first = 0
    for round_number in range(ROUNDS):
        last = kill_a_pusher(tmp_path, first, dice.uniform(0.02, 0.15))
        store = open_store(tmp_path)
        check_consistent(store)
        with store.reading() as view:
            state = view.bucket("c", "b")
            assert state is not None
            rows = BucketReader(view, state).words([b"number%d" % number for number in range(last + 1)])
        missing = [number for number, row in enumerate(rows) if row is None or row.df != 1]
        assert not missing, f"seed {seed}, round {round_number}"
        newest = found(store, "all")
        assert len(newest) == state.objects
        assert int(newest[0][1:]) >= last
        store.close()
        first = state.objects
    assert first > 20


@pytest.mark.parametrize("victim", ["env", "log"])
def test_a_full_disk_loses_nothing_and_passes(tmp_path: Path, victim: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.store.full_disk", str(tmp_path), victim],
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=WAIT_S,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert ("log" in told["refused"]) == (victim == "log"), told["refused"]
    store = open_store(tmp_path)
    held = found(store, "common")
    assert [oid for oid in held if oid != "refused"] == [oid for oid in told["acknowledged"][::-1] if oid != "refused"]
    assert ("refused" in held) == ("refused" in told["acknowledged"])
    check_consistent(store)
    store.close()
