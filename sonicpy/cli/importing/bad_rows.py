"""The file of the refused rows of an import."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

from sonicpy.errors import SonicError


class BadRows:
    """The file of the refused rows of an import, for the length of a `with` block; all lines are in it at the end.

    Args:
        path: the file, which is created if it is missing.
        size: the bytes that an interrupted import left; the rest of the file is cut off.

    Raises:
        SonicError: the file cannot be written; so does each method.
    """

    def __init__(self, path: Path, size: int) -> None:
        self._path = path
        with self._writing():
            self._file = open(path, "a", encoding="utf-8")  # noqa: SIM115  closed by __exit__
        try:
            with self._writing():
                if path.is_file():  # not a pipe or /dev/null
                    self._file.truncate(min(size, os.fstat(self._file.fileno()).st_size))
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._writing():
            self._file.close()

    def add(self, line: str) -> None:
        """Write a line, which ends with a newline."""
        with self._writing():
            self._file.write(line)

    def flush(self) -> int:
        """Give all lines to the system; return the size of the file."""
        with self._writing():
            self._file.flush()
            return os.fstat(self._file.fileno()).st_size

    @contextmanager
    def _writing(self) -> Iterator[None]:
        # Not around the whole import: a server that is lost raises an OSError, too.
        try:
            yield
        except OSError as error:
            raise SonicError(f"cannot write {self._path}: {error.strerror}") from error
