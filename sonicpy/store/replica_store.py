"""The store of a replica: its content follows from the cluster's log, so it keeps no log of its own on the disk.

`apply_batch` carries out one entry of the cluster's log. Every commit notes, in the same transaction, the progress of
the replica up to the last entry (`LogProgress`). The records since the last commit stay in memory: after a failed
transaction they are applied again. After a crash the replica reads the cluster's log from the position of its last
commit.

A position is the number of an entry, beginning with 1; 0 is an empty replica.
"""

import dataclasses
from collections.abc import Iterator, Sequence
from math import inf
from pathlib import Path

from sonicpy.errors import StoreError
from sonicpy.files import Access
from sonicpy.store.changing.apply import apply_all
from sonicpy.store.changing.mutations import unpack_mutation
from sonicpy.store.disk.checkpoint import CHECKPOINT_BYTES
from sonicpy.store.disk.log import Records
from sonicpy.store.rows.log_progress import LogProgress
from sonicpy.store.rows.meta import POSITION, REPLICA
from sonicpy.store.store import Store
from sonicpy.store.views.write_view import WriteView


class RecordsInMemory:
    """Takes the place of a store's log: keeps the records since the last commit in memory, and has no file."""

    def __init__(self) -> None:
        self.position = 0
        self._records: list[tuple[int, bytes]] = []

    def replay(self, position: int) -> Iterator[tuple[int, bytes]]:
        """Yield the records behind `position`, each with the position of its entry."""
        return iter([(number, record) for number, record in self._records if number > position])

    def keep(self, position: int, records: Sequence[bytes]) -> None:
        """Add the records of the entry at `position`."""
        self._records += [(position, record) for record in records]
        self.position = position

    def retire(self, position: int) -> None:
        """Do nothing: `forget` removes records. A sync may call this from any thread."""

    def forget(self, position: int) -> None:
        """Forget the records up to `position`."""
        self._records = [(number, record) for number, record in self._records if number > position]

    def append(self, payloads: list[bytes]) -> int:
        """Raise StoreError: only `keep` adds records."""
        raise StoreError(f"{len(payloads)} changes are refused: a replica changes by the cluster's log alone")

    def start(self, position: int) -> list[Path]:
        """Set the position of the last record; return no damaged files."""
        self.position = position
        return []

    def rotate(self) -> None:
        """Do nothing: there are no segments."""

    def sync(self) -> int:
        """Do nothing, because the cluster's log is on the disks of its brokers; return the position."""
        return self.position

    @property
    def file(self) -> None:
        """None, because there is no file."""
        return None

    def bytes_in_segment(self) -> int:
        """Return 0: there are no segments."""
        return 0

    def size_bytes(self) -> int:
        """Return the number of bytes of the records in memory."""
        return sum(len(record) for _, record in self._records)

    def cut_rest(self) -> None:
        """Do nothing: nothing is written."""

    def close(self) -> None:
        """Do nothing: there is no file."""


class ReplicaStore(Store):
    """The store of one partition at a node.

    Arguments and errors are those of `Store`; StoreError is also raised for a folder that is no replica, or was changed
    outside of the cluster.
    """

    progress = LogProgress()
    _log: RecordsInMemory

    def apply_batch(self, records: Sequence[bytes], progress: LogProgress) -> list[int]:
        """Carry out the records of the next entry of the cluster's log; return the result of each.

        Args:
            progress: the progress after this entry; the next commit stores it.

        Raises:
            StoreError: nothing of the entry was carried out; everything before it is.
        """
        self._check_accepting()
        weight = max(1, len(records))
        self.uncommitted += weight  # from before it can be read: see readable_stamp
        try:
            mutations = [unpack_mutation(record) for record in records]
            answers = self._at_most_twice(apply_all, mutations)
        except BaseException:
            self.uncommitted -= weight
            raise
        self._log.keep(progress.position, records)  # an entry without changes is noted, too
        self.progress = progress
        self.is_torn = False
        return answers

    def note_position(self, position: int, epoch: str) -> None:
        """Store a position behind the last applied entry with the next commit: the entries in between are of other
        partitions.

        Args:
            epoch: the epoch of the log.

        Raises:
            StoreError: the store cannot be written.
        """
        if position > self.progress.position:
            self._check_accepting()
            self._writing()
            self._log.keep(position, ())
            self.progress = dataclasses.replace(self.progress, position=position, epoch=epoch)

    def adopt(self, position: int, epoch: str) -> None:
        """Continue from `position` of another log, and commit that; applied changes stay.

        Args:
            epoch: the epoch of that log.

        Raises:
            StoreError: the store cannot be written.
        """
        self.commit()
        self._check_accepting()
        self._writing()
        self._log.keep(position, ())
        self.progress = dataclasses.replace(self.progress, position=position, epoch=epoch)
        self.commit()

    def commit(self) -> None:
        """Make all applied changes visible to all readers; see `Store.commit`."""
        super().commit()
        self._log.forget(self._committed_position)

    def _make_log(self, folder: Path, access: Access) -> Records:
        return RecordsInMemory()

    def _open(self) -> None:
        super()._open()
        try:
            self._read_progress()
        except BaseException:
            self._finish(inf)  # as `close` would leave it
            raise

    def _sync_in_background(self) -> None:
        """Sync only if many replaced pages wait for it: the cluster's log has all unsynced changes."""
        if self._environment.replaced_bytes >= CHECKPOINT_BYTES:
            super()._sync_in_background()

    def _note_position(self, view: WriteView) -> None:
        super()._note_position(view)
        if self.progress.epoch:
            REPLICA.write(view.transaction, self.progress.facts())

    def _read_progress(self) -> None:
        with self._environment.reading() as transaction:
            position = POSITION.read(transaction) or 0
            facts = REPLICA.read(transaction)
        if facts is not None:
            self.progress = LogProgress.of(facts)
        if self.progress.position != position:
            raise StoreError(
                f"{self.folder} is no replica of this cluster, or was changed outside of it: "
                "give the node an empty folder"
            )
        self._log.position = position
