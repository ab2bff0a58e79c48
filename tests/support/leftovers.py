"""The processes that a run of the tests has left behind; only on Linux.

Each process that a test starts, directly or not, inherits a variable that names the run. The name of a run that a test
starts begins with the name of the outer run, which so finds the processes that the inner one left.
"""

import os
import uuid

from tests.support import proc

VARIABLE = "PYTEST_OF_SONICPY"
TRACKER = "multiprocessing.resource_tracker"
"""A helper of Python, which ends with the process that first used shared memory."""


def mark_run() -> None:
    """Set the variable that marks every process of this run of the tests; the workers of the run inherit it."""
    os.environ[VARIABLE] = f"{os.environ.get(VARIABLE, '')}/{uuid.uuid4().hex}"


def left_behind() -> list[str]:
    """Return the id and the command line of each process that this run has started and that still exists."""
    mark = f"{VARIABLE}={os.environ[VARIABLE]}".encode()
    found = []
    own = proc.children(os.getpid())
    for process in proc.processes():
        command = proc.read(process, "cmdline").replace(b"\0", b" ").decode(errors="replace")
        if process == os.getpid() or (TRACKER in command and process in own):
            continue
        if command and any(entry.startswith(mark) for entry in proc.read(process, "environ").split(b"\0")):
            found.append(f"{process}: {command}")
    return found
