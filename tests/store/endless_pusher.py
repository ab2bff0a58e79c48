"""A process to be killed: it pushes objects for ever and prints the number of each once it is acknowledged.

python -m tests.store.endless_pusher FOLDER FIRST_NUMBER
"""

import sys
from pathlib import Path

from tests.store.shorthand import open_store, push

COMMIT_EVERY = 7
SYNC_EVERY = 23


def main(folder: Path, number: int) -> None:
    """Push objects for ever; every third seal holds two objects, and some pushes also change an older object."""
    store = open_store(folder, map_bytes=1 << 20)
    while True:
        store.apply(push(f"o{number}", f"all number{number} common{number % 5}"))
        if number % 3 == 0:
            store.apply(push(f"o{number // 2}", f"again{number % 11} common1*3"))
        store.seal()
        print(number, flush=True)
        number += 1
        if number % COMMIT_EVERY == 0:
            store.commit()
        if number % SYNC_EVERY == 0:
            store.sync()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
