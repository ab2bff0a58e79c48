"""The folders that this process has open: LMDB must not open one folder twice in a process.

claim      before a store is opened: refuses a folder that is open already, and names the line that opened it; it
           owns the environment, locks and log of the folder, and closes them
guard      of an index or a table: closes its claim once it is garbage, and when the interpreter ends
forked     in a child process: makes the folders of the parent unusable there
"""

import atexit
import os
import sys
import threading
import time
import weakref
from _thread import start_new_thread
from collections.abc import Callable
from math import inf
from pathlib import Path
from typing import ParamSpec, Protocol, TypeVar

from sonicpy._native.held import Held as Locked
from sonicpy._native.held import Kept, insist, keep_for_ever
from sonicpy.disk import fill_standard_descriptors
from sonicpy.errors import StoreLocked
from sonicpy.files import PRIVATE, Access
from sonicpy.store.disk.platform import make_folder

Args = ParamSpec("Args")

FolderId = tuple[int, int]
"""The device and inode of a folder, because two paths may lead to one folder."""

OURS = ("sonicpy", "contextlib")
"""The packages whose frames are skipped in the search for the line that opened a folder."""
AT_EXIT_S = 2.0
"""The time in seconds that the end of the interpreter allows for threads that use an index, and for each of their
reads."""

_lock = threading.Lock()
_opened: "dict[FolderId, weakref.ref[FolderClaim] | str]" = {}
"""Folder -> the claim on it; in a forked process, the end of the error message: the reason why the folder cannot be
opened."""


class OpenFolder(Protocol):
    """The environment, locks and log that keep a folder open."""

    @property
    def is_closed(self) -> bool: ...
    @property
    def is_worked_here(self) -> bool: ...
    def close(self, seconds: float = ..., /) -> object: ...
    def leave_to_parent(self) -> None: ...


HeldT = TypeVar("HeldT", bound=OpenFolder)


class Guarded(Protocol):
    """The methods of an open index or table that the guard calls."""

    def abandon(self, parent: int) -> OpenFolder | None: ...
    def end(self, seconds: float) -> None: ...


_guarded: weakref.WeakSet[Guarded] = weakref.WeakSet()


class FolderClaim:
    """The right of one index or table to open a folder in this process. It owns the opened objects until `close`.

    Args:
        path: the path of the folder.
        writes: whether the folder is opened for writing.
        temporary: delete the folder at the end.
        access: modes of the folder, if it is made.

    Raises:
        StoreLocked: this process has the folder open already.
    """

    def __init__(self, path: Path, *, writes: bool, temporary: bool = False, access: Access = PRIVATE) -> None:
        self._path = path
        self._temporary = temporary
        self._process = os.getpid()
        self._thread = threading.get_ident()
        self._folder: FolderId | None = None
        self._kept: Kept[OpenFolder] = Kept()
        self.is_open = False
        """Whether opening has completed; the owner sets it."""
        self.is_closed = False
        self.reason = (
            f"is already open for {'writing' if writes else 'reading'} by process {os.getpid()}, this one, "
            f"since {time.strftime('%H:%M:%S')} at {_caller()}: use that one, which any thread may, "
            "or close it first"
        )
        fill_standard_descriptors()
        try:
            if writes:
                make_folder(path, access)
            status = path.stat()
        except OSError:
            return  # opening the store raises a clear error
        folder = (status.st_dev, status.st_ino)
        with Locked(_lock):
            other = _owner_of(folder)
            if isinstance(other, FolderClaim) and other.is_left:
                other.close()
                other = None
            if other is not None:
                raise StoreLocked(f"the store {path} {other if isinstance(other, str) else other.reason}")
            self._folder = folder
            _opened[folder] = weakref.ref(self)

    @property
    def is_left(self) -> bool:
        """Whether this thread began to open the folder, and was interrupted before it could release it."""
        return not self.is_open and self._thread == threading.get_ident()

    def open(self, opening: Callable[Args, HeldT], *args: Args.args, **kwargs: Args.kwargs) -> HeldT:
        """Return the result of `opening`, which `close` will close."""
        return self._kept.open(opening, *args, **kwargs)

    @property
    def held(self) -> OpenFolder | None:
        """The objects that keep the folder open; None: they are closed."""
        return self._kept.held

    def close(self, seconds: float = inf) -> bool:
        """Close the open objects and release the folder; a second call finishes an interrupted one.

        Args:
            seconds: time limit for reads of other threads.

        Returns:
            Whether all is closed; False: other threads still read.
        """
        if self.is_closed or self._process != os.getpid():
            return True  # all of it belongs to the process that forked
        held = self._kept.held
        try:
            if held is not None:
                held.close(seconds)
        finally:
            if held is None or held.is_closed:
                insist(self._release)
        return self.is_closed

    def _release(self) -> None:
        if self._folder is not None and _owner_of(self._folder) is self:
            _opened.pop(self._folder, None)
        if self._temporary:
            import shutil  # noqa: PLC0415  loaded when it is needed

            shutil.rmtree(self._path, ignore_errors=True)
        self.is_closed = True


def _owner_of(folder: FolderId) -> FolderClaim | str | None:
    """Return the claim on a folder, or the reason why it cannot be opened; None: the folder is free."""
    found = _opened.get(folder)
    return found if found is None or isinstance(found, str) else found()


def guard(owner: Guarded, claim: FolderClaim) -> "weakref.finalize[..., Guarded]":
    """Return a finalizer that closes a claim once its owner is garbage, or when the interpreter ends."""
    _guarded.add(owner)
    finalizer = weakref.finalize(owner, _forget, claim)
    finalizer.atexit = False  # `_end` comes before, and takes care of threads
    return finalizer


def _forget(claim: FolderClaim) -> None:
    held = claim.held
    if sys.is_finalizing():  # a function of atexit has opened it: the threads for which closing would wait are gone
        keep_for_ever(claim)
    elif held is not None and held.is_worked_here:  # the collector ran on a thread for which closing would wait
        start_new_thread(insist, (claim.close,))
    else:
        insist(claim.close)


def _end() -> None:
    """Close everything at the end of the interpreter, when daemon threads may still run. Raises the first error, after
    everything is closed.

    Folders that these threads do not release in time stay as after a kill: the log has all acknowledged changes.
    Closing LMDB while a thread reads would crash this process.
    """
    errors: list[BaseException] = []
    for owner in list(_guarded):
        try:
            owner.end(AT_EXIT_S)
        except BaseException as error:  # noqa: BLE001 - raised below, once the others are closed
            errors.append(error)
    if errors:
        raise errors[0]


atexit.register(_end)


def _forked() -> None:
    global _lock
    _lock = threading.Lock()  # another thread of the parent may have held it
    parent = os.getppid()
    for owner in list(_guarded):
        held = owner.abandon(parent)
        if held is not None:
            # Freeing it would clear the parent's slots in LMDB's table of readers, which both processes share.
            keep_for_ever(held)
            held.leave_to_parent()
    _guarded.clear()
    for folder in _opened:
        _opened[folder] = (
            f"was open in process {parent} when this one was forked from it: "
            "open it only after the fork, or in processes that are started afresh (spawn)"
        )


os.register_at_fork(after_in_child=_forked)


def _caller() -> str:
    """Return the file and line of the program that called into this package."""
    frame = sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in OURS:
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"
