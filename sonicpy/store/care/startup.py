"""The start of a store before LMDB opens it: after a loss of power or of writes, the store goes back to its checkpoint.

    no data file                     LMDB makes it
    closed cleanly, or killed        LMDB opens the last commit
    the machine stopped              the checkpoint becomes the last commit, every row is read, the log is replayed
    the disk lost writes             the same

A store without a checkpoint, such as one that an older version wrote, is not changed: its tables are compared, and it
is refused if there is a fault.
"""

import os
from functools import partial
from pathlib import Path

from sonicpy._native.held import Opened
from sonicpy.disk import sync_file
from sonicpy.errors import StoreDamaged, StoreError
from sonicpy.files import PRIVATE, Access
from sonicpy.late_logger import LateLogger
from sonicpy.store.disk.boot_mark import VERSION, note_boot, read_mark
from sonicpy.store.disk.checkpoint import Checkpoint, read_checkpoint
from sonicpy.store.disk.data_file import (
    META_PAGES,
    PAGE_BYTES_MAX,
    USUAL_PAGE_BYTES,
    file_faults,
    is_begun,
    meta_pages,
    store_id,
    write_meta_pages,
)
from sonicpy.store.disk.environment import DATA_FILE, LOCK_FILE, Environment
from sonicpy.store.disk.table_numbers import META, TABLE_NAMES

logger = LateLogger(__name__)

READ_MAP_BYTES = 1 << 20
"""The size of the map to read the names of tables; LMDB enlarges it to that of the data file."""


def prepare(folder: Path, *, is_new: bool, access: Access = PRIVATE) -> None:
    """Make sure that LMDB can open the store in a folder for writing, and mark it as being written.

    Args:
        is_new: whether the data file is new and empty.
        access: modes of new files.

    Raises:
        StoreDamaged: the store is damaged and cannot be recovered.
        StoreError: a file cannot be read or written, a newer version wrote it, or the data file is no store.
    """
    mark = read_mark(folder)
    if not is_new and not _forget_unfinished(folder, is_own=mark is not None):
        if mark is None:  # as in a folder that no index has been in
            refuse_damaged_file(folder)
            _refuse_other_data(folder)
        if mark is None or mark.may_have_lost_power:
            _recover(folder, keeps_checkpoints=mark is not None and mark.version >= VERSION)
        else:
            refuse_damaged_file(folder)
    note_boot(folder, clean=False, access=access)


def refuse_damaged_file(folder: Path) -> None:
    """Read every row if the data file looks damaged. Raises StoreDamaged if a row cannot be read."""
    descriptor = os.open(folder / DATA_FILE, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fault = next(file_faults(descriptor), None)
    finally:
        os.close(descriptor)
    if fault is not None:  # it may be harmless: LMDB does not write a page that is free again before its first commit
        from sonicpy.store.care import check_rows  # noqa: PLC0415  loaded when it is needed

        fault = check_rows.first_fault(folder, compare=False)
    if fault is not None:
        raise StoreDamaged(f"the store {folder} is damaged ({fault}): restore a backup into it")


def _refuse_other_data(folder: Path) -> None:
    """Raise StoreError if another program, or `sonicpy.keyvalue`, made the data file: a store would add its tables."""
    with Opened(partial(Environment, folder, READ_MAP_BYTES, read_only=True)) as environment:
        refuse_other_tables(folder, environment)


def refuse_other_tables(folder: Path, environment: Environment) -> None:
    """Raise StoreError if an environment has tables, but not those of a store."""
    with environment.reading() as transaction:
        tables = transaction.table_names()
    if tables and TABLE_NAMES[META] not in tables:
        raise StoreError(f"{folder} holds no index, but other data in {DATA_FILE}: choose another folder")


def _forget_unfinished(folder: Path, *, is_own: bool) -> bool:
    """Empty a data file whose creation was interrupted: LMDB refuses it, and without a checkpoint it has no table.

    The file is not deleted, because this process has locked it.

    Args:
        is_own: whether an index has been in the folder; if not, a file that another program made is left as it is.

    Returns:
        Whether the creation was interrupted.
    """
    data = folder / DATA_FILE
    try:
        if data.stat().st_size > META_PAGES * PAGE_BYTES_MAX or read_checkpoint(folder) is not None:
            return False
        content, page_bytes = data.read_bytes(), _page_bytes(data)
        if len(content) > META_PAGES * page_bytes or (not is_own and not is_begun(content, page_bytes)):
            return False
        os.truncate(data, 0)
        (folder / LOCK_FILE).unlink(missing_ok=True)
        return True
    except OSError as error:
        raise StoreError(f"cannot use {folder} as a store: {error.strerror}") from error


def _page_bytes(data: Path) -> int:
    """Return the size of the pages of a data file, which a machine with other pages may have made."""
    descriptor = os.open(data, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return next((meta.page_bytes for meta in meta_pages(descriptor)), USUAL_PAGE_BYTES)
    finally:
        os.close(descriptor)


def _recover(folder: Path, *, keeps_checkpoints: bool) -> None:
    data = folder / DATA_FILE
    try:
        checkpoint = read_checkpoint(folder)
        logger.warning("the machine stopped, or may have stopped, or the disk failed while %s was open", folder)
        went_back = keeps_checkpoints and checkpoint is not None and _go_back(data, checkpoint)
    except OSError as error:
        raise StoreError(f"cannot recover the store {folder}: {error.strerror}") from error
    logger.warning("checking every row of %s", folder)
    from sonicpy.store.care import check_rows  # noqa: PLC0415  loaded when it is needed

    fault = check_rows.first_fault(folder, compare=not went_back)
    if fault is not None:
        raise StoreDamaged(
            f"the store {folder} was damaged when the machine stopped ({fault}): restore a backup into it"
        )
    logger.warning("every row of %s can be read", folder)


def _go_back(data: Path, checkpoint: Checkpoint) -> bool:
    """Make the commit of a checkpoint the last one; return False if the checkpoint belongs to another data file."""
    descriptor = os.open(data, os.O_RDWR | os.O_CLOEXEC)
    try:
        found = meta_pages(descriptor)
        is_own = all(store_id(meta) == checkpoint.store for meta in found)
        if not is_own or all(meta.number < checkpoint.meta.number for meta in found):
            logger.warning("%s is not the file of the checkpoint beside it", data)
            return False
        write_meta_pages(descriptor, checkpoint.meta)
        sync_file(descriptor)
    finally:
        os.close(descriptor)
    logger.warning("%s goes back to commit %d; the log is replayed from there", data, checkpoint.meta.number)
    return True
