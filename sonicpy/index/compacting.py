"""Compacting the folder of an index; see `store/care/compact.py`."""

from pathlib import Path

from sonicpy.files import ACCESSES
from sonicpy.index.given_settings import Settings, config_of
from sonicpy.index.index import Index
from sonicpy.store.care.compact import CompactedSizes, OnCopied, compact

RANGES_PER_COMMIT = 64
"""The number of ranges whose pages one transaction of LMDB keeps in memory: some 4 MB."""


def compact_folder(folder: Path, config: Settings = None, progress: OnCopied | None = None) -> CompactedSizes:
    """Open the index of a folder, which recovers it, fill its half-empty pages, close it, and compact it; return the
    sizes of its data file.

    Args:
        config: the settings; None: the defaults.
        progress: see `OnCopied`.

    Raises:
        StoreLocked: a process has it open.
        StoreError: it cannot be opened with these settings, or the copy could not be written; its rows are as before.
    """
    settings = config_of(config)
    with Index(folder, settings) as index:
        for number, sparse in enumerate(index.maintainer.sparse_ranges(), 1):
            index.maintainer.rewrite(sparse)
            if number % RANGES_PER_COMMIT == 0:
                index.commit()
    return compact(folder, ACCESSES[settings.store.kv.group_access], progress)
