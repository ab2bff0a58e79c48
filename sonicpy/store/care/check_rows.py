"""Read a store whose pages may be damaged: first the pages without LMDB, then every row, in a process of its own."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from sonicpy.errors import StoreError
from sonicpy.store.care.verify import table_faults
from sonicpy.store.disk.check_process import faults_in_child
from sonicpy.store.disk.environment import DATA_FILE, Environment
from sonicpy.store.disk.page_check import page_faults
from sonicpy.store.rows.meta import is_readable
from sonicpy.store.rows.tables import miscounted_tables


def first_fault(folder: Path, *, compare: bool) -> str | None:
    """Return what is wrong with the rows of a store that no process writes, as a part of a sentence; None: nothing.

    Args:
        compare: also compare the tables with each other, as `verify` does, if they have the format of this version;
            else count their rows.

    Raises:
        StoreError: the check was ended from outside.
    """
    return next(iter(faults_in_child(first_compared if compare else first_counted, folder)), None)


def first_counted(folder: Path) -> Iterator[str]:
    """Yield the first fault of the pages, or of the number of rows."""
    yield from islice(faults(folder, compare=False), 1)


def first_compared(folder: Path) -> Iterator[str]:
    """Yield the first fault of the pages, of the number of rows, or of what they say."""
    yield from islice(faults(folder, compare=True), 1)


def faults(folder: Path, *, compare: bool) -> Iterator[str]:
    """Yield what is wrong with the rows of a store; a damaged page may end this process."""
    damaged_page = next(page_faults(folder / DATA_FILE), None)
    if damaged_page is not None:  # LMDB may walk for ever where a page refers to one above it
        yield damaged_page
        return
    try:
        environment = Environment(folder, (folder / DATA_FILE).stat().st_size, read_only=True)
        try:
            with environment.reading() as transaction:
                yield from miscounted_tables(transaction)
                if compare and is_readable(transaction):
                    yield from table_faults(transaction)
        finally:
            environment.close()
    except StoreError as error:
        yield str(error)
