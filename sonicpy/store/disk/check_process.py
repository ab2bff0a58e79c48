"""Checks in a child process, because LMDB crashes a process that reads a damaged page.

The process prints one JSON object a line: {"fault": sentence} for each fault, and at the end {"error": class,
"message": sentence} if the check could not be made.
"""

import contextlib
import json
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Final

from sonicpy import errors
from sonicpy.errors import StoreError
from sonicpy.interpreter import modules_path, python_command

Check = Callable[[Path], Iterator[str]]
"""A function of a module that yields the faults of a folder. It raises StoreError if the check cannot be made."""

DAMAGE_SIGNALS: Final = {signal.SIGABRT, signal.SIGBUS, signal.SIGSEGV, signal.SIGFPE, signal.SIGILL}
"""The signals that end a process which reads a damaged or truncated file of LMDB."""
CHILD: Final = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from sonicpy.store.disk.check_process import main; main(*sys.argv[2:])"
)
PARENT_LOOKED_FOR_EVERY_S: Final = 1.0


def faults_in_child(check: Check, folder: Path) -> list[str]:
    """Return the faults of a folder that `check` yields in a child process.

    Raises:
        StoreError: the check raised it, or the child was killed from outside.
    """
    path = json.dumps(modules_path(sys.path))
    command = python_command("-c", CHILD, path, check.__module__, check.__name__, str(folder))
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    except OSError as error:
        raise StoreError(f"no process can be started that checks {folder}: {error.strerror}") from error
    told = [json.loads(line) for line in done.stdout.splitlines() if line.endswith(b"}")]
    faults = [one["fault"] for one in told if "fault" in one]
    for one in told:
        if "error" in one:
            raise _error(one["error"], one["message"])
    if done.returncode == 0:
        return faults
    said = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
    ended_by = signal.Signals(-done.returncode) if done.returncode < 0 else None
    if ended_by in DAMAGE_SIGNALS:
        what = f"reading it ended the check with {ended_by.name}" + (f" ({said})" if said else "")
        return [*faults, f"a page of the tables of {folder} is damaged or missing: {what}"]
    how = f"status {done.returncode}" if ended_by is None else ended_by.name
    raise StoreError(f"the check of {folder} ended with {how} before it was done: {said or 'it printed nothing'}")


def _error(name: str, message: str) -> StoreError:
    kind = getattr(errors, name, StoreError)
    known = isinstance(kind, type) and issubclass(kind, StoreError)
    return kind(message) if known else StoreError(message)


def main(module: str, check: str, folder: str) -> None:
    """Print the faults of a folder that the function `check` of `module` yields: the main function of the child."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    try:
        for fault in getattr(import_module(module), check)(Path(folder)):
            _tell({"fault": fault})
    except StoreError as error:
        _tell({"error": type(error).__name__, "message": str(error)})


def _tell(line: dict[str, str]) -> None:
    with contextlib.suppress(BrokenPipeError):
        sys.stdout.write(json.dumps(line) + "\n")
        sys.stdout.flush()  # the next page may end the process


def _end_with(parent: int) -> None:
    """End this process once its parent, which waits for the answer, is gone."""
    while os.getppid() == parent:
        time.sleep(PARENT_LOOKED_FOR_EVERY_S)
    os._exit(1)
