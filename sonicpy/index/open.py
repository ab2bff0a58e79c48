"""sonicpy.open: an index in a folder, in memory, or in a folder that another process writes."""

import os
import shutil
from pathlib import Path

from sonicpy.config import Config
from sonicpy.errors import StoreError
from sonicpy.index.index import Index
from sonicpy.index.read_only import ReadOnlyIndex
from sonicpy.store.temporary import MEMORY, temporary_folder


def open_index(path: str | os.PathLike[str], config: Config | None = None, *, read_only: bool = False) -> Index:
    """Open an index. Any thread of this process may use it; close it at the end, best by `with`.

    Args:
        path: a folder, created if it is missing; or ":memory:", a temporary index that `close` deletes.
        config: the settings; None: the defaults.
        read_only: read a folder that another process writes; every call shows the last commit.

    Raises:
        StoreLocked: another process has the folder open for writing, or this process has it open already.
        StoreError: the folder cannot be opened as an index with these settings; the message says why.
    """
    if os.fspath(path) != MEMORY:
        return (ReadOnlyIndex if read_only else Index)(Path(path), config)
    if read_only:
        raise StoreError("an index in memory begins empty: open it without read_only")
    folder = temporary_folder()
    try:
        return Index(folder, config, temporary=True)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
