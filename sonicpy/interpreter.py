"""Makes command lines for Python processes that import nothing from their working folder.

With `-c` and with `-m`, Python looks for modules in the working folder first, and would run a file `json.py` there.
`-P` leaves that folder out; PYTHONPATH still counts.
"""

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = str(Path(__file__).resolve().parent.parent)
"""The folder that contains this package, so that another process can import it even if it is not installed."""
SAFE_PATH = "PYTHONSAFEPATH"
"""The environment variable with the effect of `-P`, also in the children of a new process."""
RUN = "import sys; sys.path.append(sys.argv.pop(1)); from sonicpy.cli.main import main; sys.exit(main())"


def python_command(*arguments: str) -> list[str]:
    """Return a command line that runs Python with these arguments."""
    return [sys.executable, "-P", *arguments]


def sonicpy_command(*arguments: str) -> list[str]:
    """Return a command line that runs `sonicpy`, in this version, with these arguments."""
    return python_command("-c", RUN, ROOT, *arguments)


def modules_path(path: Iterable[str]) -> list[str]:
    """Return the entries of `path` for another process: without the working folder, and with the folder of this
    package."""
    return [*(entry for entry in path if entry), ROOT]


@contextmanager
def safe_path() -> Iterator[None]:
    """Keep processes started inside a `with` block, and their children, from importing from their working folder."""
    before = os.environ.get(SAFE_PATH)
    os.environ[SAFE_PATH] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[SAFE_PATH]
        else:
            os.environ[SAFE_PATH] = before
