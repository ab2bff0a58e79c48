"""Print what each table of a store takes on the disk.

    python -m benchmarks.tables [TEXTS]

Texts are pushed in process and committed as often as the server commits. Pages that no table uses were freed by the
last commits: later ones fill them.
"""

import sys
import tempfile
from pathlib import Path

from benchmarks.data import messages
from benchmarks.stages import BUCKET, COLLECTION, oid
from sonicpy.index.index import Index
from sonicpy.server.service import COMMIT_CHANGES
from sonicpy.store.environment import TABLE_NAMES

MB = 1e6


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 330_000
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
