"""Compacting the folder of an index; see `store/care/compact.py`."""

import os
import shutil
from pathlib import Path

from sonicpy.files import ACCESSES
from sonicpy.index.given_settings import Settings, config_of
from sonicpy.index.index import Index
from sonicpy.store.care.compact import CompactedSizes, OnCopied, compact
from sonicpy.store.disk.environment import DATA_FILE
from sonicpy.store.disk.free_space import BLOCK_BYTES

RANGES_PER_COMMIT = 64
"""The most ranges whose pages a transaction of LMDB keeps in memory: about 4 MB."""


def compact_folder(folder: Path, config: Settings = None, progress: OnCopied | None = None) -> CompactedSizes:
    """Open the index of a folder, which recovers it, fill its half-empty pages if the disk has room for them
    and no other process is reading, close it, and compact it; return the sizes of its data file.

    Args:
        config: the settings; None: the defaults.
        progress: see `OnCopied`.

    Raises:
        StoreLocked: a process has it open.
        StoreError: it cannot be opened with these settings, or the copy could not be written; its rows are as before.
    """
    settings = config_of(config)
    access = ACCESSES[settings.store.kv.group_access]
    with Index(folder, settings, autocommit=False) as index:
        if _has_room(folder) and all(reader.process == os.getpid() for reader in index.engine.store.readers()):
            for number, sparse in enumerate(index.maintainer.sparse_ranges(), 1):
                index.maintainer.rewrite(sparse)
                if number % RANGES_PER_COMMIT == 0:
                    index.commit()
    return compact(folder, access, progress)


def _has_room(folder: Path) -> bool:
    """Return whether a disk has room for two copies of the data file of a store: filled pages are new ones until the
    checkpoint has gone on, and the compact copy follows.
    """
    return shutil.disk_usage(folder).free > 2 * (folder / DATA_FILE).stat().st_blocks * BLOCK_BYTES
