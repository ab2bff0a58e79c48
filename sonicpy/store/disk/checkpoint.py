"""The checkpoint: the commit to which a store goes back after a loss of power, and from which the log is replayed.

The environment is written without waiting for the disk, so after a loss of power its pages belong to several commits.
Only the commit of the checkpoint stays complete.

    take     note the meta page of the last commit, and open a reader that shows it: LMDB then reuses none of its pages
    sync     wait until the disk has the data file, and with it every page of that commit
    save     write its meta page into this file and wait for the disk; only then the previous reader may end
    go back  after a loss of power, before LMDB opens the store, write the saved page into both meta pages

    file     two slots of SLOT_BYTES, written in turn, so that one is complete after any loss of power
    slot     "SONICCHK" | format version u16 | page size u32 | number of the save u64 | store id, 16 bytes
             | meta page | BLAKE2b-256 of everything before it                                      (little-endian)
"""

import os
import struct
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple, Protocol

from sonicpy._native.held import Descriptor, Held
from sonicpy.disk import sync_file, sync_folder, write_whole
from sonicpy.errors import StoreError, StoreFull
from sonicpy.files import PRIVATE, Access, open_new, regular_bytes
from sonicpy.late_logger import LateLogger
from sonicpy.store.disk.blake import blake2b
from sonicpy.store.disk.boot_mark import note_lost_writes
from sonicpy.store.disk.data_file import (
    PAGE_BYTES_MAX,
    MetaPage,
    meta_page,
    newest_meta_page,
    replaced_pages,
    stamp,
    sync_data,
)
from sonicpy.store.disk.lasting_sync import LastingSync, SyncFailed

logger = LateLogger(__name__)

CHECKPOINT_FILE: Final = "sonicpy.checkpoint"
MAGIC: Final = b"SONICCHK"
FORMAT_VERSION: Final = 1
HEAD: Final = struct.Struct("<8sHIQ16s")
DIGEST_BYTES: Final = 32
SLOT_BYTES: Final = 2 * PAGE_BYTES_MAX

CHECKPOINT_BYTES: Final = 4 << 20
"""The number of bytes of replaced pages after which the next checkpoint is due. A smaller number means more syncs, a
larger one a larger data file."""
REPLACED_BYTES_MAX: Final = 16 * CHECKPOINT_BYTES
"""The number of bytes of replaced pages at which a commit waits for the sync under way: the disk is slower than the
changes."""


class Checkpoint(NamedTuple):
    """A saved checkpoint.

    Attributes:
        save: the number of checkpoints that were saved before this one.
        store: the id of the store.
        meta: the meta page of its commit.
    """

    save: int
    store: bytes
    meta: MetaPage


class Pin(Protocol):
    """A reader that keeps the pages of a commit from being reused."""

    def abort(self) -> None: ...


class Checkpoints:
    """Takes and saves the checkpoints of an open environment.

    Args:
        folder: the folder of the environment.
        data_file: its data file.
        pin: a function that begins a reader of the last commit.
        access: modes of new files.

    Raises:
        StoreError: the file of checkpoints cannot be written, or the disk failed.

    Attributes:
        saved: the number of the commit of the last saved checkpoint.
        committing: a lock, held during a commit.
        before_save: a function that syncs other files on which a checkpoint depends; it raises StoreError.
    """

    def __init__(
        self,
        folder: Path,
        data_file: Path,
        pin: Callable[[], Pin],
        access: Access = PRIVATE,
    ) -> None:
        self._pin = pin
        self._folder, self._access = folder, access
        self._data_syncs = LastingSync(f"the data file {data_file}")
        self._is_marked = False
        self._pinned: Pin | None = None
        self._passed: list[Pin] = []  # readers that are not needed any more
        self._saving = threading.Lock()
        self.committing = threading.Lock()
        self.saved = -1
        self.before_save: Callable[[], None] = _nothing
        self._replaced = 0
        self._data = Descriptor(os.open, data_file, os.O_RDWR | os.O_CLOEXEC)
        try:
            self._store = stamp(self._data.number)
            before = read_checkpoint(folder)
            self._save_number = 0 if before is None else before.save + 1
            self._file = _open_file(folder, newest_meta_page(self._data.number).page_bytes, access)
        except BaseException:
            self._data.close()
            raise

    def note_commit(self) -> None:
        """Count the pages that the last commit replaced; only the thread that commits calls this. Raises StoreError."""
        try:
            meta = newest_meta_page(self._data.number)
            self._replaced += replaced_pages(self._data.number, meta) * meta.page_bytes
        except OSError as error:
            raise StoreError(f"cannot read the data file of the store: {error.strerror}") from error

    @property
    def replaced_bytes(self) -> int:
        """The number of bytes of pages replaced since the last checkpoint was taken, which cannot be reused yet."""
        return self._replaced

    def save(self) -> None:
        """Take a checkpoint of the last commit and save it; any thread may call it.

        Raises:
            SyncFailed: the disk failed to write the data file, now or in an earlier call; the earlier checkpoint stays
                for good, and the next opening of the store goes back to it.
            StoreError: a file cannot be written; the earlier checkpoint stays valid.
        """
        with Held(self._saving):
            self._save()

    def unpinned(self, work: Callable[[], None]) -> None:
        """Save a checkpoint of the last commit, and call `work`, which must not commit, while no reader is open."""
        with Held(self._saving):
            self._save()
            pinned, self._pinned = self._pinned, None
            try:
                if pinned is not None:
                    pinned.abort()
                work()
            finally:
                self.keep_pinned()

    def keep_pinned(self) -> None:
        """Begin the reader again if an exception interrupted `unpinned`; called before a commit."""
        if self._pinned is None and self.saved >= 0:
            self._pinned = self._pin()

    def close(self) -> None:
        """End the reader and close the files; a second call finishes an interrupted one."""
        with Held(self._saving):
            pinned, self._pinned = self._pinned, None
            if pinned is not None:
                pinned.abort()
            self._end_passed()
            self._data.close()
            self._file.close()

    def _save(self) -> None:
        self._end_passed()
        pin: Pin | None = None
        replaced = 0
        try:
            with Held(self.committing):
                meta = newest_meta_page(self._data.number)
                if meta.number == self.saved:
                    return
                pin = self._pin()
                replaced, self._replaced = self._replaced, 0
            self.before_save()
            self._sync_data()
            self._write(meta)
            # No exception comes between these: a saved commit always has a reader. The one before is older, so it keeps
            # the pages of this commit, too, if this one has to end.
            if self._pinned is not None:
                self._passed = [self._pinned]
            self._pinned, self.saved, pin, replaced = pin, meta.number, None, 0
        finally:
            self._replaced += replaced
            if pin is not None:
                pin.abort()
        self._end_passed()

    def _sync_data(self) -> None:
        """Wait until the disk has the data file; if it failed, see to it that the next opening of the store goes back
        to the last checkpoint. Raises StoreError."""
        try:
            self._data_syncs.run(partial(sync_data, self._data.number))
        except SyncFailed:
            if not self._is_marked:
                try:
                    note_lost_writes(self._folder, self._access)
                    self._is_marked = True
                except StoreFull as error:  # the next sync, at the latest that of `close`, tries again
                    logger.error("%s", error)
            raise

    def _end_passed(self) -> None:
        for pin in self._passed:
            pin.abort()
        self._passed = []

    def _write(self, meta: MetaPage) -> None:
        slot = pack(Checkpoint(self._save_number, self._store, meta))
        try:
            write_whole(self._file.number, slot, self._save_number % 2 * SLOT_BYTES)
            sync_file(self._file.number)
        except OSError as error:
            raise StoreFull(f"cannot write {CHECKPOINT_FILE}: {error.strerror}") from error
        self._save_number += 1


def _nothing() -> None:
    """Do nothing: the default of `before_save`."""


def pack(checkpoint: Checkpoint) -> bytes:
    """Return the content of a slot."""
    meta = checkpoint.meta
    head = HEAD.pack(MAGIC, FORMAT_VERSION, meta.page_bytes, checkpoint.save, checkpoint.store)
    return head + meta.content + blake2b(head + meta.content, digest_size=DIGEST_BYTES).digest()


def unpack(slot: bytes) -> Checkpoint | None:
    """Return the checkpoint in a slot; None: the slot holds no complete one.

    Raises:
        StoreError: the checkpoint has another format version.
    """
    if len(slot) < HEAD.size:
        return None
    magic, version, page_bytes, save, store = HEAD.unpack_from(slot)
    if magic != MAGIC:
        return None
    if version != FORMAT_VERSION:
        raise StoreError(
            f"{CHECKPOINT_FILE} has format version {version}, this sonicpy reads {FORMAT_VERSION}: "
            "open the store once with the version that wrote it, then upgrade"
        )
    end = HEAD.size + page_bytes
    if blake2b(slot[:end], digest_size=DIGEST_BYTES).digest() != slot[end : end + DIGEST_BYTES]:
        return None
    meta = meta_page(slot[HEAD.size : end])
    return None if meta is None else Checkpoint(save, store, meta)


def read_checkpoint(folder: Path) -> Checkpoint | None:
    """Return the last saved checkpoint of a store; None: the store has none.

    Raises:
        StoreError: the checkpoint cannot be read, or has another format version.
    """
    try:
        with regular_bytes(folder / CHECKPOINT_FILE) as file:
            content = file.read(2 * SLOT_BYTES)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StoreError(f"cannot read {folder / CHECKPOINT_FILE}: {error.strerror}") from error
    found = [unpack(content[:SLOT_BYTES]), unpack(content[SLOT_BYTES:])]
    return max(filter(None, found), key=lambda checkpoint: checkpoint.save, default=None)


def _open_file(folder: Path, page_bytes: int, access: Access) -> Descriptor:
    """Open the file of checkpoints and return it; create it with room for both slots, so that a save does not change
    its size. Raises StoreFull if it cannot be written.

    The folder is synced, too, even for an existing file of checkpoints, because the data file may be new.
    """
    path = folder / CHECKPOINT_FILE
    try:
        descriptor = Descriptor(open_new, path, os.O_RDWR, access)
        size = HEAD.size + page_bytes + DIGEST_BYTES
        if os.fstat(descriptor.number).st_size < SLOT_BYTES + size:
            for slot in (0, 1):
                write_whole(descriptor.number, bytes(size), slot * SLOT_BYTES)
            sync_file(descriptor.number)
        sync_folder(folder)
    except OSError as error:
        raise StoreFull(f"cannot write {path}: {error.strerror}") from error
    return descriptor
