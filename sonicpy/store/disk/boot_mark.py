"""The boot mark of a store: whether it was closed cleanly, else the boot of the machine in which it was last written.

    sonicpy.boot   {"version": 2, "boot": id of the boot, "clean": closed cleanly}

The mark is on the disk before the first write of a process, and "clean" is true only after the last sync. Version 2
means that the writing process kept a checkpoint; older processes, whose marks have no version, did not. After a failure
of the disk, the id of the boot is empty, so that the next opening goes back to the checkpoint.
"""

import json
from pathlib import Path
from typing import Final, NamedTuple

from sonicpy.errors import StoreError, StoreFull
from sonicpy.files import PRIVATE, Access, regular_bytes
from sonicpy.store.disk.platform import boot_id, replace_file

BOOT_FILE: Final = "sonicpy.boot"
VERSION: Final = 2


class BootMark(NamedTuple):
    """The content of the file.

    Attributes:
        version: 2: the writing process kept a checkpoint. 1: it kept none. 0: the file cannot be read.
        boot: id of the boot; empty if the system has none.
        is_clean: the store was closed cleanly.
    """

    version: int
    boot: str
    is_clean: bool

    @property
    def may_have_lost_power(self) -> bool:
        """Whether the machine may have stopped while the store was open, so that the disk may have lost writes."""
        return not self.is_clean and (not self.boot or self.boot != boot_id())


UNREADABLE: Final = BootMark(0, "", False)


def read_mark(folder: Path) -> BootMark | None:
    """Return the boot mark of a store; None: the store has none.

    Raises:
        StoreError: the mark cannot be read, or a newer sonicpy wrote it.
    """
    path = folder / BOOT_FILE
    try:
        with regular_bytes(path) as file:
            held = json.loads(file.read())
    except FileNotFoundError:
        return None
    except (ValueError, RecursionError):
        return UNREADABLE
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error.strerror}") from error
    if not isinstance(held, dict):
        return UNREADABLE
    version, boot, clean = held.get("version", 1), held.get("boot"), held.get("clean")
    if type(version) is not int or not isinstance(boot, str) or not isinstance(clean, bool):
        return UNREADABLE
    if version > VERSION:
        raise StoreError(
            f"{path} has version {version}, this sonicpy reads {VERSION}: open the store with the version that wrote it"
        )
    return BootMark(version, boot, clean)


def note_boot(folder: Path, *, clean: bool, access: Access = PRIVATE) -> None:
    """Write the boot mark to the disk: the present boot, and whether the store was closed cleanly.

    Args:
        clean: whether the store was closed cleanly.
        access: modes of new files.

    Raises:
        StoreFull: the mark cannot be written.
    """
    _write_mark(folder, boot_id(), clean, access)


def note_lost_writes(folder: Path, access: Access = PRIVATE) -> None:
    """Write to the disk that it may lack writes of an open store: the next opening does as after a loss of power.

    Raises:
        StoreFull: the mark cannot be written.
    """
    _write_mark(folder, "", False, access)


def _write_mark(folder: Path, boot: str, clean: bool, access: Access) -> None:
    try:
        mark = {"version": VERSION, "boot": boot, "clean": clean}
        replace_file(folder / BOOT_FILE, json.dumps(mark).encode(), access)
    except OSError as error:
        raise StoreFull(f"cannot write the store folder {folder}: {error.strerror}") from error
