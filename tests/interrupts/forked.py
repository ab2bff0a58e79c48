"""Calls of every public method in a forked process: python -m tests.interrupts.forked FOLDER

While the process forks, another thread holds every lock of the index or the table, as any thread might. Each call in
the child has to raise its error at once, and must start no thread there, which would work on the files of the parent.
The program writes a line for each fault.
"""

import gc
import os
import signal
import sys
import threading
import types
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import sonicpy
from sonicpy.errors import SonicError
from tests.interrupts.model import Call, IndexScene, TableScene, index_calls, table_calls
from tests.support.patience import SLOWNESS, until

CALL_S = 5 * SLOWNESS
SENTENCE = "forked from"
HANGS = "hangs"
LOCKS = (type(threading.Lock()), type(threading.RLock()))
OURS = "sonicpy"
INSIDE = (dict, list, tuple, set, types.MethodType, types.BuiltinMethodType, partial)
"""The types of foreign objects that are searched for locks; other types would lead to locks of the interpreter."""


class ReadOnlyScene(IndexScene):
    """An index that is open for reading."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.close()
        self.index = sonicpy.open(self.folder, read_only=True)


SCENES: list[tuple[Callable[[Path], Any], Callable[[Any], list[Call]]]] = [
    (IndexScene, index_calls),
    (ReadOnlyScene, index_calls),
    (TableScene, table_calls),
]


def locks_of(first: object) -> Iterator[Any]:
    """Yield the locks that can be reached from an object."""
    found: dict[int, object] = {id(first): first}
    left = [first]
    while left:
        for other in gc.get_referents(left.pop()):
            if id(other) in found:
                continue
            found[id(other)] = other
            if isinstance(other, LOCKS):
                yield other
            elif isinstance(other, INSIDE) or type(other).__module__.startswith(OURS):
                left.append(other)


class Holder:
    """Holds locks in another thread inside a `with` block."""

    def __init__(self, locks: list[Any]) -> None:
        self._locks = locks
        self._holds, self._is_over = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._hold)

    def __enter__(self) -> None:
        self._thread.start()
        self._holds.wait()

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()

    def _hold(self) -> None:
        held = [lock for lock in self._locks if lock.acquire(blocking=False)]
        self._holds.set()
        self._is_over.wait()
        for lock in held:
            lock.release()


class Hangs(BaseException):
    """Raised by the signal handler that ends a call after a time."""


def hang(number: int, frame: object) -> None:
    raise Hangs


def faults(scene: Any, calls: list[Call]) -> Iterator[str]:
    """Yield, in the child, the calls that return, hang, start a thread or raise another error."""
    signal.signal(signal.SIGALRM, hang)
    for call in calls:
        said = "passes"
        try:
            signal.setitimer(signal.ITIMER_REAL, CALL_S)
            call.run(scene, 1)
        except SonicError as error:
            said = str(error)
        except Hangs:
            said = HANGS
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
        if SENTENCE not in said:
            yield f"{call.names[0]}: {said}"
        if said == HANGS:
            return
        if len(os.listdir("/proc/self/task")) > 1:
            yield f"{call.names[0]} begins a thread"
            return


def in_child(scene: Any, calls: list[Call]) -> None:
    """Write the faults, and end the child."""
    try:
        for fault in faults(scene, calls):
            os.write(1, f"{type(scene).__name__}: {fault}\n".encode())
        os._exit(0)
    finally:
        os._exit(1)


def main(folder: Path) -> int:
    """Fork with each kind of index and table; return the exit status."""
    for number, (scene_of, calls_of) in enumerate(SCENES):
        place = folder / str(number)
        place.mkdir()
        scene = scene_of(place)
        calls = calls_of(scene)
        first = getattr(scene, "index", None) or scene.table
        if scene_of is IndexScene:
            late = scene.index.engine.store.late
            until(partial(getattr, late, "is_idle"), "the late commit")
        locks = list(locks_of(first))
        assert len(locks) > 1, f"only {len(locks)} locks"
        with Holder(locks):
            if not (child := os.fork()):
                in_child(scene, calls)
            _, status = os.waitpid(child, 0)
        if status:
            print(f"{scene_of.__name__}: the child ended with {os.waitstatus_to_exitcode(status)}")
        scene.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
