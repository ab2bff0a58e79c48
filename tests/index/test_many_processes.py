"""Readers in many processes, as pools, servers with workers and data loaders start them, beside a process that
writes.
"""

import multiprocessing
import subprocess
import sys
from pathlib import Path

import pytest

from tests.processes import environment
from tests.support.examples import some
from tests.support.patience import WAIT_S

PROGRAM = """
import multiprocessing, os, sys, time
import sonicpy

FOLDER, METHOD, WAIT = sys.argv[1:]
WAIT_S = float(WAIT)
ROUNDS, READERS = 40, 3
index = everybody = None

def open_index(barrier):
    global index, everybody
    index, everybody = sonicpy.open(FOLDER, read_only=True), barrier

def follow(reader):
    '''Read until the last object is there; return what was wrong.'''
    everybody.wait()
    seen, deadline = 0, time.monotonic() + WAIT_S
    while seen < ROUNDS and time.monotonic() < deadline:
        found = sorted(map(int, index.query("c", "b", "amber", limit=ROUNDS).objects))
        if found != list(range(len(found))) or len(found) < seen:
            return f"after {seen} objects: {found}"
        for number in found:
            if index.query("c", "b", f"word{number}", complete=False).objects != [str(number)]:
                return f"object {number} is not found by its own word"
        seen = len(found)
    return f"{seen} objects in process {os.getpid()}"

def write(barrier):
    with sonicpy.open(FOLDER) as written:
        barrier.wait()
        for number in range(ROUNDS):
            written.push("c", "b", str(number), f"amber word{number}")
            time.sleep(0.005)

if __name__ == "__main__":
    sonicpy.open(FOLDER).close()
    start = multiprocessing.get_context(METHOD)
    barrier = start.Barrier(READERS + 1, timeout=WAIT_S)
    with start.Pool(READERS, open_index, [barrier]) as pool:
        following = pool.map_async(follow, range(READERS), chunksize=1)
        write(barrier)  # opened behind the fork
        said = following.get(WAIT_S)
    print(len(set(said)), *said, sep="\\n")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="this system starts every process afresh")
@pytest.mark.parametrize("method", some(["fork", "forkserver", "spawn"], 3))
def test_workers_that_open_the_index_themselves_see_every_commit(tmp_path: Path, method: str) -> None:
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"this system has no {method}")
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, program, tmp_path / "store", method, str(WAIT_S)],
        env=environment({}), capture_output=True, text=True, timeout=WAIT_S, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    processes, *said = done.stdout.splitlines()
    assert [line.partition(" in process ")[0] for line in said] == ["40 objects"] * 3
    assert processes == "3", "each reader was a process of its own"
