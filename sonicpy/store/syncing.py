"""A store that waits for the disk: soon after a change, or when a caller asks for it.

After a sync has failed, other than for lack of room, the disk may lack bytes for good, and no later sync can tell: see
`lasting_sync.py`. The store then takes no more changes and deletes no more of the log. If the data file could not be
synced, its last checkpoint stays, too, and the next opening goes back to it and replays the log.
"""

import threading
from typing import TYPE_CHECKING

from sonicpy._native.held import Held
from sonicpy.late_logger import LateLogger
from sonicpy.store.disk.background_sync import BackgroundSync
from sonicpy.store.disk.checkpoint import CHECKPOINT_BYTES, REPLACED_BYTES_MAX
from sonicpy.store.disk.free_space import FreeSpace
from sonicpy.store.disk.lasting_sync import SyncFailed
from sonicpy.store.refused_changes import Refusals

if TYPE_CHECKING:
    from sonicpy.store.recovery import RecoveringStore
else:
    RecoveringStore = object  # a base of the class that takes these methods

logger = LateLogger(__name__)

HOLES_S = 0.001  # so long a change may wait for them


class SyncingStore(RecoveringStore):
    """A store that syncs its log and its environment, also in the background."""

    _refusals: Refusals
    _syncing: threading.Lock
    _free_space: FreeSpace
    _background: BackgroundSync

    def sync_log(self) -> int:
        """Wait until the log is on the disk; return the position up to which it is there. Any thread may call this.

        Raises:
            StoreError: the disk failed; after an error other than a full disk the store takes no more changes.
        """
        try:
            return self._log.sync()
        except SyncFailed as error:
            self._refusals.note_failed_disk(error)
            raise

    def sync(self) -> None:
        """Wait until the log and the environment are on the disk, then delete segments of the log that are not needed.

        Any thread may call it. Afterwards a loss of power cannot undo the commits before the call.

        Raises:
            StoreError: the disk failed; nothing counts as synced. After an error other than a full disk the store takes
                no more changes.
        """
        try:
            with Held(self._syncing):
                covered = self._committed_position  # taken before the sync begins
                try:
                    self._log.sync()
                except SyncFailed:
                    self._environment.sync()  # what is committed needs no log: it is not to be lost, too
                    raise
                self._environment.sync()
                if self._refusals.replaced() is None:  # else it would delete by name what may be of another process
                    self._log.retire(covered)
        except SyncFailed as error:
            self._refusals.note_failed_disk(error)
            raise

    def free_disk(self) -> bool:
        """Give some unused pages back to the file system, unless the store is being changed; return whether there may
        be more. Any thread may call it. Raises StoreError if the disk failed."""
        return self._refusals.failed_disk is None and self._free_space.give_back(HOLES_S)

    def has_much_free(self) -> bool:
        """Return whether `free_disk` would give back much; for any thread. Raises StoreError if the file is lost."""
        return self._refusals.failed_disk is None and self._free_space.is_much()

    def _sync_behind_changes(self) -> None:
        """Sync as `sync` does; a failure after which no sync counts is not raised: it is logged once, and no later call
        can succeed."""
        try:
            self.sync()
        except SyncFailed as error:
            logger.debug("%s", error)

    def _sync_in_background(self) -> None:
        replaced = self._environment.replaced_bytes
        self._background.note_change(is_urgent=replaced >= CHECKPOINT_BYTES)
        if replaced >= REPLACED_BYTES_MAX:
            with Held(self._syncing):
                pass
