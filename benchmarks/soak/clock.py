"""A clock that jumps: servers started inside `with Clock(...)` can have a time of day of their own."""

import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Self
from unittest import mock

SOURCE = Path(__file__).with_suffix(".c")


class Clock:
    """The time of day of servers.

    Args:
        folder: the folder for the library, and for the file with the offset of the clock.

    Attributes:
        missing: the reason why this machine does not support it; "" if it does.
    """

    def __init__(self, folder: Path) -> None:
        self._file = folder / "clock"
        self._library = folder / "clock.so"
        compiler = shutil.which("gcc") or shutil.which("cc")
        self.missing = ""
        if sys.platform != "linux":
            self.missing = "needs LD_PRELOAD"
        elif compiler is None:
            self.missing = "needs a C compiler"
        else:
            self.shift(0.0)
            command = [compiler, "-shared", "-fPIC", "-O1", "-o", str(self._library), str(SOURCE), "-ldl"]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                self.missing = f"{SOURCE.name} does not compile: {done.stderr.strip()}"
        given = {} if self.missing else {"LD_PRELOAD": str(self._library), "SOAK_CLOCK": str(self._file)}
        self._environment = mock.patch.dict(os.environ, given)

    def shift(self, seconds: float) -> None:
        """Set the offset of the clock in seconds; a negative one is in the past."""
        with open(self._file, "r+b" if self._file.exists() else "wb") as file:
            file.write(struct.pack("d", seconds))

    def __enter__(self) -> Self:
        self._environment.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._environment.stop()
