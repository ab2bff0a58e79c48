"""Compacting the folder of an index; see `store/care/compact.py`."""

from pathlib import Path

from sonicpy.files import ACCESSES
from sonicpy.index.given_settings import Settings, config_of
from sonicpy.index.index import Index
from sonicpy.store.care.compact import CompactedSizes, OnCopied, compact


def compact_folder(folder: Path, config: Settings = None, progress: OnCopied | None = None) -> CompactedSizes:
    """Open the index of a folder, which recovers it, close it, and compact it; return the sizes of its data file.

    Raises:
        StoreLocked: a process has it open.
        StoreError: it cannot be opened with these settings, or the copy could not be written; it is as before.
    """
    settings = config_of(config)
    Index(folder, settings).close()
    return compact(folder, ACCESSES[settings.store.kv.group_access], progress)
