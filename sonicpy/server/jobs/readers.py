"""Watches the readers of the store: LMDB reuses no page that a snapshot shows, so a read that never ends makes the file
grow.

a reader older than OLD_S while the store grows by WARN_BYTES     a warning that names its process; again at twice
                                                                  the growth
growth of `store.kv.reader_limit_mb`                              a worker of the server is killed, and its job repeated
the disk is nearly full                                           changes are refused until the reader ends
"""

import logging
import os
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sonicpy.errors import StoreError

if TYPE_CHECKING:
    from sonicpy.index.engine import Engine, ReaderSlot
    from sonicpy.server.jobs.maintenance import Maintenance

logger = logging.getLogger(__name__)

OLD_S = 10.0
"""The age in seconds from which a reader counts as old; every short read has ended by then."""
WARN_BYTES = 16 << 20
RESERVE_BYTES = 64 << 20
"""The number of bytes of the disk that an old reader must leave free: a commit, the log and a worker's graphs need
some.
"""
MIB = 1 << 20


@dataclass(slots=True)
class Watched:
    """A reader's figures since it was first seen."""

    since_s: float
    used_bytes: int
    """The bytes that the store used when the reader was first seen."""


def free_bytes_of(folder: Path) -> int:
    """Return the free bytes of the disk of a folder. Raises StoreError."""
    try:
        return shutil.disk_usage(folder).free
    except OSError as error:
        raise StoreError(f"cannot ask for the free room of the disk of {folder}: {error.strerror}") from error


class ReaderWatch:
    """Checks the readers of the store once a second, on the loop's thread.

    Args:
        limit_bytes: the growth of the store at which a worker of this server is killed; 0: no limit.
        free_bytes: returns the free bytes of the disk of a folder.

    Attributes:
        age_s: age of the oldest reader in seconds; 0.0: no reader is old enough to count.
        pinned_bytes: the growth of the store in bytes since that reader began.
    """

    def __init__(
        self,
        engine: "Engine",
        maintenance: "Maintenance",
        limit_bytes: int,
        free_bytes: Callable[[Path], int] = free_bytes_of,
    ) -> None:
        self.age_s = 0.0
        self.pinned_bytes = 0
        self._engine = engine
        self._maintenance = maintenance
        self._limit_bytes = limit_bytes
        self._free_bytes = free_bytes
        self._watched: dict[ReaderSlot, Watched] = {}
        self._warn_at_bytes = WARN_BYTES
        self._is_refusing = False

    def check(self) -> None:
        """Check all readers, and act on the oldest.

        Raises:
            StoreError: the store cannot be read, or its disk cannot be asked.
        """
        now = time.monotonic()
        used = self._engine.store.size_bytes()
        readers = self._engine.store.readers()
        self._watched = {reader: self._watched.get(reader, Watched(now, used)) for reader in readers}
        newest = self._engine.store.last_commit()  # a reader of the newest commit keeps no page from being used
        outdated = [reader for reader in readers if reader.commit < newest]
        oldest = min(outdated, key=lambda reader: self._watched[reader].since_s, default=None)
        if oldest is None or now - self._watched[oldest].since_s < OLD_S:
            self.age_s, self.pinned_bytes, self._warn_at_bytes = 0.0, 0, WARN_BYTES
        else:
            self.age_s = now - self._watched[oldest].since_s
            self.pinned_bytes = max(used - self._watched[oldest].used_bytes, 0)
            self._act_on(oldest)
        self._refuse_if_nearly_full(oldest)

    def _act_on(self, oldest: "ReaderSlot") -> None:
        if self.pinned_bytes >= self._warn_at_bytes:
            self._warn_at_bytes = 2 * self.pinned_bytes
            logger.warning(
                "%s has been reading one snapshot for %.0f s; meanwhile the store has grown by %d MiB, because the "
                "pages that the snapshot shows cannot be used again",
                self._name(oldest),
                self.age_s,
                self.pinned_bytes // MIB,
            )
        if self._limit_bytes and self.pinned_bytes >= self._limit_bytes:
            self._maintenance.kill_worker(
                oldest.process,
                f"was killed, because the store grew by {self.pinned_bytes // MIB} MiB while it read one snapshot",
            )

    def _refuse_if_nearly_full(self, oldest: "ReaderSlot | None") -> None:
        free = self._free_bytes(self._engine.store.folder) if self._is_refusing or self.pinned_bytes else 0
        if oldest is not None and self.pinned_bytes and free < RESERVE_BYTES:
            why = (
                f"changes are refused, because {free // MIB} MiB of the disk are left and {self._name(oldest)} has "
                f"read one snapshot for {self.age_s:.0f} s, beside which the store grew by {self.pinned_bytes // MIB} "
                "MiB: end it"
            )
            if not self._is_refusing:
                logger.error("%s", why)
            self._is_refusing = True
            self._engine.store.refuse(why)
        elif self._is_refusing:
            self._is_refusing = False
            self._engine.store.refuse(None)
            logger.warning("changes are accepted again")

    def _name(self, reader: "ReaderSlot") -> str:
        if reader.process == os.getpid():
            return "a thread of this server"
        if reader.process in self._maintenance.worker_processes():
            return f"the worker process {reader.process} of this server"
        return f"process {reader.process}"
