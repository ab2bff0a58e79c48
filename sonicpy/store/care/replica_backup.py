"""The backup of a replica: its position in the cluster's log, and how it becomes a store again."""

import os
import shutil
from pathlib import Path

from sonicpy.disk import sync_file, sync_folder
from sonicpy.errors import StoreError
from sonicpy.files import PRIVATE, Access, make_all, regular_bytes
from sonicpy.store.care.backup import BACKUP_FILE, SEAL, check_seal, open_backup
from sonicpy.store.disk.boot_mark import note_boot
from sonicpy.store.disk.environment import DATA_FILE
from sonicpy.store.rows.log_progress import LogProgress
from sonicpy.store.rows.meta import REPLICA


def progress_of_backup(folder: Path) -> LogProgress:
    """Return the progress of the replica whose backup is in a folder.

    Raises:
        StoreError: there is no complete backup, or the backup is not of a replica.
    """
    with open_backup(folder) as environment, environment.reading() as transaction:
        facts = REPLICA.read(transaction)
    if facts is None:
        raise StoreError(f"the backup in {folder} is not one of a replica")
    return LogProgress.of(facts)


def install_backup(source: Path, folder: Path, access: Access = PRIVATE) -> None:
    """Replace the store in a folder by the backup in another one; the old files are deleted.

    Args:
        source: a folder on the same file system; the backup in it is moved.
        folder: no process may have it open.
        access: modes of new files.

    Raises:
        StoreError: the backup is not complete, or cannot be moved; the store is unchanged, or deleted.
    """
    path = source / BACKUP_FILE
    size = check_seal(path) - SEAL.size
    try:
        os.truncate(path, size)
        with regular_bytes(path) as file:
            sync_file(file.fileno())  # before the boot mark says that the store was closed cleanly
        shutil.rmtree(folder, ignore_errors=True)
        make_all(folder, access)
        os.replace(path, folder / DATA_FILE)
        note_boot(folder, clean=True, access=access)
        sync_folder(folder)
    except OSError as error:
        raise StoreError(f"cannot make {path} the store in {folder}: {error.strerror}") from error
