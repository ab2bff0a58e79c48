"""Which folders this process has open: LMDB must not open one folder twice in a process.

claim      before a store is opened: refuses a folder that is open already, and names the line that opened it
guard      once an index or a table is open: closes it when it is garbage, at the latest when the interpreter ends
forked     in a child process: makes what the parent has open unusable there
"""

import importlib
import os
import shutil
import sys
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from sonicpy.errors import StoreLocked
from sonicpy.files import PRIVATE, Access
from sonicpy.store.platform import make_folder

Folder = tuple[int, int]
"""Device and inode of a folder: two paths may lead to one folder."""

OURS = ("sonicpy", "contextlib")
"""Packages whose frames are skipped in search of the line that opened a folder."""

_lock = threading.Lock()
_opened: dict[Folder, str] = {}
"""The reason why each folder cannot be opened again: the end of an error message."""


class Held(Protocol):
    """What keeps a folder open."""

    def close(self) -> None: ...
    def leave_to_parent(self) -> None: ...


class Guarded(Protocol):
    """What the guard needs of an open index or table."""

    def abandon(self, parent: int) -> Held | None: ...


_guarded: weakref.WeakSet[Guarded] = weakref.WeakSet()


class Claim:
    """The right of one index or table to open a folder in this process; held until `release`.

    Raises:
        StoreLocked: this process has it open already.
    """

    def __init__(self, path: Path, writes: bool, access: Access = PRIVATE) -> None:
        self._folder: Folder | None = None
        try:
            if writes:
                make_folder(path, access)
            status = path.stat()
        except OSError:
            return  # opening the store raises the error that says what is wrong
        folder = (status.st_dev, status.st_ino)
        with _lock:
            if folder in _opened:
                raise StoreLocked(f"the store {path} {_opened[folder]}")
            _opened[folder] = (
                f"is already open for {'writing' if writes else 'reading'} by process {os.getpid()}, this one, "
                f"since {time.strftime('%H:%M:%S')} at {_caller()}: use that one, which any thread may, "
                "or close it first"
            )
        self._folder = folder

    def release(self) -> None:
        """Allow the folder to be opened again."""
        with _lock:
            if self._folder is not None:
                _opened.pop(self._folder, None)
            self._folder = None


@contextmanager
def claimed(path: Path, *, writes: bool, access: Access = PRIVATE) -> Iterator[Claim]:
    """Yield a claim for a `with` block that opens a store; the claim is released if the block raises.

    Args:
        access: modes of the folder, if it is made.

    Raises:
        StoreLocked: this process has the folder open already.
    """
    claim = Claim(path, writes, access)
    try:
        yield claim
    except BaseException:
        claim.release()
        raise


def guard(owner: Guarded, held: Held, claim: Claim, temporary: Path | None) -> "weakref.finalize[..., Guarded]":
    """Return what closes what an owner holds: its `close` calls it, else the interpreter once the owner is forgotten.

    Args:
        temporary: a folder that is deleted with it.
    """
    _guarded.add(owner)
    return weakref.finalize(owner, _let_go, held, claim, temporary, os.getpid())


def _let_go(held: Held, claim: Claim, temporary: Path | None, process: int) -> None:
    if os.getpid() != process:
        return  # all of it belongs to the process that forked
    try:
        held.close()
    finally:
        claim.release()
        if temporary is not None:
            shutil.rmtree(temporary, ignore_errors=True)


def _forked() -> None:
    global _lock
    _lock = threading.Lock()  # another thread of the parent may have held it
    parent = os.getppid()
    for owner in list(_guarded):
        held = owner.abandon(parent)
        if held is not None:
            _keep_for_ever(held)
            held.leave_to_parent()
    _guarded.clear()
    for folder in _opened:
        _opened[folder] = (
            f"was open in process {parent} when this one was forked from it: "
            "open it behind the fork alone, or in processes that are started afresh (spawn)"
        )


def _keep_for_ever(held: Held) -> None:
    """Keep what the parent holds from being freed here, even when the interpreter ends.

    Freeing it would clear the parent's slots in LMDB's table of readers, which both processes share, and release its
    locks.
    """
    ctypes = importlib.import_module("ctypes")  # needed here alone
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(held))


os.register_at_fork(after_in_child=_forked)


def _caller() -> str:
    """Return the place in the program, outside of this package, that called."""
    frame = sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in OURS:
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"
