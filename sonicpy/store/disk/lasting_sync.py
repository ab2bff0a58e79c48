"""Waits for the disk that count no more after one of them has failed.

Linux reports a write that the disk refused to one sync of the file, and takes the pages for written: the next sync
succeeds, although the disk lacks them. So after such a failure no later sync of the same files can be believed.
"""

import errno
import threading
from collections.abc import Callable
from typing import Final

from sonicpy._native.held import Held
from sonicpy.errors import StoreError

NO_ROOM: Final = frozenset({errno.ENOSPC, errno.EDQUOT})
"""The errors of a sync behind which syncs go on: the disk has no room."""
NOT_OPENED: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.EACCES, errno.ENOENT, errno.ENOTDIR})
"""The errors of opening a folder for its sync, which no sync itself returns."""
PASSING: Final = NO_ROOM | NOT_OPENED


class SyncFailed(StoreError):
    """The disk failed to write, so that it may lack bytes of a file for good; no later sync of the file counts."""


class LastingSync:
    """Runs the syncs of some files one at a time, and none any more after one has failed.

    Args:
        name: the files, as sentences name them.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._turn = threading.RLock()  # a sync that began behind a failure must not end before it is noted
        self._failed: str | None = None

    def run(self, sync: Callable[[], None]) -> None:
        """Call `sync`, which waits for the disk and raises OSError if that failed.

        Raises:
            SyncFailed: the disk failed, now or in an earlier call.
            StoreError: the disk has no room, or no file can be opened; a later call may succeed.
        """
        with Held(self._turn):
            if self._failed is not None:
                raise SyncFailed(f"cannot sync {self._name} any more: an earlier sync failed ({self._failed})")
            kind: type[StoreError] = StoreError
            try:
                sync()
            except OSError as error:
                # No exception comes between these. That of a signal handler has no number.
                if error.errno is not None and error.errno not in PASSING:
                    self._failed, kind = error.strerror, SyncFailed
                raise kind(f"cannot sync {self._name}: {error.strerror}") from error
