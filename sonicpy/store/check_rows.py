"""Read a store whose pages may be damaged, in a process of its own: LMDB ends a process that meets such a page.

    python -m sonicpy.store.check_rows FOLDER every|compare

reads every row, or also compares the tables; it prints the first fault and ends with status 1, or with 0.
"""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from sonicpy.errors import StoreError
from sonicpy.store.environment import DATA_FILE, Environment
from sonicpy.store.meta import FORMAT, FORMAT_VERSION
from sonicpy.store.tables import miscounted_tables
from sonicpy.store.verify import table_faults

EVERY, COMPARE = "every", "compare"
CHILD: Final = (
    "import json, sys; sys.path[:] = json.loads(sys.argv.pop(1)); from sonicpy.store import check_rows as m; m.main()"
)


def first_fault(folder: Path, *, compare: bool) -> str | None:
    """Return what is wrong with the rows of a store that no process writes, as a part of a sentence; None: nothing.

    Args:
        compare: also compare the tables with each other, as `verify` does, if they have the format of this version;
            else count their rows.
    """
    arguments = [json.dumps(sys.path), str(folder), COMPARE if compare else EVERY]
    done = subprocess.run([sys.executable, "-c", CHILD, *arguments], capture_output=True, text=True, check=False)
    if done.returncode < 0:
        return f"reading it ended a process by {signal.Signals(-done.returncode).name}"
    told = done.stdout.strip() or done.stderr.strip().rpartition("\n")[2]
    return told if done.returncode else None


def faults(folder: Path, *, compare: bool) -> Iterator[str]:
    """Yield what is wrong with the rows of a store; a damaged page may end this process."""
    try:
        environment = Environment(folder, (folder / DATA_FILE).stat().st_size, read_only=True)
        try:
            with environment.reading() as transaction:
                yield from miscounted_tables(transaction)
                if compare and FORMAT.read(transaction) == str(FORMAT_VERSION):
                    yield from table_faults(transaction)
        finally:
            environment.close()
    except StoreError as error:
        yield str(error)


def main() -> None:
    """Print the first fault of the store that the arguments name."""
    fault = next(faults(Path(sys.argv[1]), compare=sys.argv[2] == COMPARE), None)
    if fault is not None:
        sys.stdout.write(f"{fault}\n")
        sys.exit(1)


if __name__ == "__main__":
    main()
