"""Print the size on disk of each table of a store.

    python -m benchmarks.tables [TEXTS]

The program pushes texts in process and commits as often as the server does, and prints the tables. Then it consolidates
and fills pages, as an idle server does, and prints the tables again. The file is larger than its tables, because the
last commits freed pages that later commits will use. `fill` is the part of the pages that rows take, in percent.
"""

import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.accounting import BLOCK_BYTES
from benchmarks.command_line import parse_count
from benchmarks.stages import BUCKET, COLLECTION
from sonicpy.index.index import Index
from sonicpy.server.jobs.committer import COMMIT_CHANGES
from sonicpy.store.disk.environment import DATA_FILE, Environment
from sonicpy.store.disk.table_numbers import TABLE_NAMES
from sonicpy.store.disk.transaction import Transaction
from tests.support.texts import messages, oid

MB = 1e6
MAP_BYTES = 1 << 30
NODE_BYTES = 8 + 2
"""The bytes that LMDB adds to a row: a header, and the offset of the row in the page."""


def main() -> None:
    count = parse_count("tables", __doc__, "TEXTS", 330_000)
    texts = messages(count)
    with tempfile.TemporaryDirectory() as folder:
        load(Path(folder), texts)
        print(f"{len(texts)} texts\n")
        print_tables(Path(folder))
        rest(Path(folder))
        print("\nconsolidated, pages filled")
        print_tables(Path(folder))


def load(folder: Path, texts: Sequence[str]) -> None:
    """Push texts into a new store."""
    with Index(folder, autocommit=False) as index:
        for number, text in enumerate(texts):
            index.push(COLLECTION, BUCKET, oid(number), text)
            if number % COMMIT_CHANGES == COMMIT_CHANGES - 1:
                index.engine.commit()
        index.engine.commit()
        index.engine.store.sync()


def rest(folder: Path) -> None:
    """Consolidate a store, and fill its pages."""
    with Index(folder) as index:
        index.consolidate()
        for sparse in index.maintainer.sparse_ranges():
            index.maintainer.rewrite(sparse)
        index.engine.commit()


def print_tables(folder: Path) -> None:
    """Print the sizes of the tables of a store, and of its data file."""
    environment = Environment(folder, MAP_BYTES, read_only=True)
    used = 0
    print("table           rows      MB  fill")
    try:
        with environment.reading() as transaction:
            for table, name in enumerate(TABLE_NAMES):
                size = transaction.size_bytes(table)
                used += size
                rows = row_bytes(transaction, table)
                fill = f"{100 * rows / size:5.1f}" if size else ""
                print(f"{name.decode():10} {transaction.count(table):9} {size / MB:7.2f} {fill}")
        print(f"{'all tables':20} {used / MB:7.2f}")
        print(f"{'pages of the file':20} {environment.used_bytes() / MB:7.2f}")
        print(f"{'blocks of the file':20} {(folder / DATA_FILE).stat().st_blocks * BLOCK_BYTES / MB:7.2f}")
    finally:
        environment.close()


def row_bytes(transaction: Transaction, table: int) -> int:
    """Return the number of bytes that the rows of a table take in its pages."""
    return sum(NODE_BYTES + len(key) + len(value) for key, value in transaction.rows(table, b""))


if __name__ == "__main__":
    main()
