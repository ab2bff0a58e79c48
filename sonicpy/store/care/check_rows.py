"""Reads a store whose pages may be damaged: first the pages without LMDB, then every row, in a child process."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from sonicpy.errors import StoreError
from sonicpy.store.care.verify_tables import table_faults
from sonicpy.store.disk.check_process import faults_in_child
from sonicpy.store.disk.environment import DATA_FILE, Environment
from sonicpy.store.disk.page_check import page_faults
from sonicpy.store.rows.meta import is_readable
from sonicpy.store.rows.table_checks import miscounted_tables


def first_fault(folder: Path, *, compare: bool) -> str | None:
    """Return the first fault of the rows of a store that no process writes, as part of a sentence; None: no fault.

    Args:
        compare: True: compare the tables with each other, as `verify` does, if they have the format of this version.
            False: count their rows.

    Raises:
        StoreError: the child was killed from outside.
    """
    return next(iter(faults_in_child(first_compared if compare else first_counted, folder)), None)


def first_counted(folder: Path) -> Iterator[str]:
    """Yield the first fault found by reading the pages and counting the rows."""
    yield from islice(faults(folder, compare=False), 1)


def first_compared(folder: Path) -> Iterator[str]:
    """Yield the first fault found by reading the pages, counting the rows and comparing the tables."""
    yield from islice(faults(folder, compare=True), 1)


def faults(folder: Path, *, compare: bool) -> Iterator[str]:
    """Yield the faults of the rows of a store; `compare` as in `first_fault`. A damaged page may crash the process, so
    call this in a child."""
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
