"""Print the size on disk of each table of a store.

    python -m benchmarks.tables [TEXTS]

The program pushes texts in process and commits as often as the server does. The file is larger than its tables: the
last commits freed pages that later commits will use.
"""

import tempfile
from pathlib import Path

from benchmarks.command_line import parse_count
from benchmarks.stages import BUCKET, COLLECTION
from sonicpy.index.index import Index
from sonicpy.server.committer import COMMIT_CHANGES
from sonicpy.store.environment import TABLE_NAMES
from tests.support.texts import messages, oid

MB = 1e6


def main() -> None:
    count = parse_count("tables", __doc__, "TEXTS", 330_000)
    texts = messages(count)
    with tempfile.TemporaryDirectory() as folder, Index(Path(folder), autocommit=False) as index:
        for number, text in enumerate(texts):
            index.push(COLLECTION, BUCKET, oid(number), text)
            if number % COMMIT_CHANGES == COMMIT_CHANGES - 1:
                index.maintainer.commit()
        index.maintainer.commit()
        index.maintainer.sync()
        used = 0
        print(f"{len(texts)} texts\n\ntable           rows      MB")
        with index.maintainer.engine.store.snapshot() as view:
            for table, name in enumerate(TABLE_NAMES):
                size = view.transaction.size_bytes(table)
                used += size
                print(f"{name.decode():10} {view.transaction.count(table):9} {size / MB:7.2f}")
        print(f"{'all tables':20} {used / MB:7.2f}")
        print(f"{'the file':20} {index.maintainer.used_bytes() / MB:7.2f}")
        print(f"{'the log':20} {index.maintainer.log_bytes() / MB:7.2f}")


if __name__ == "__main__":
    main()
