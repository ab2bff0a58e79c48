"""Source: the rows of a file or of the standard input, in JSONL, CSV, TSV or Parquet.

Rows are numbered from 1 on: the lines of a JSONL or TSV file, with blank lines but without the header; the records of
CSV; the rows of Parquet. A row that cannot be read becomes an UnreadableRow, and reading continues behind it.
"""

import csv
import importlib
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any

from sonicpy.cli.arguments import STDIN
from sonicpy.errors import ConfigError, SonicError

FORMATS = {
    ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl", ".csv": "csv", ".tsv": "tsv", ".tab": "tsv",
    ".parquet": "parquet",
}  # fmt: skip
"""From the extension of a file to its format."""

PARQUET_ROWS = 10_000  # decoded at a time
CSV_FIELD_BYTES = 1 << 30  # csv refuses fields of 128 KB otherwise

UTF8_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class UnreadableRow:
    """A row that cannot be read: why, and its content."""

    reason: str
    content: object


Row = Mapping[str, Any]
ReadRow = Row | UnreadableRow | None
"""None: a blank line, which has a number but is not a row."""


class Source:
    """The rows of one file, read once.

    Args:
        path: a file, or "-" for the standard input.
        kind: jsonl, csv, tsv or parquet; None: by the extension of the file, jsonl for the standard input.
        header: the first row of CSV and TSV names the fields; False: their names are 1, 2, 3.

    Attributes:
        size: bytes of the file, or rows of Parquet; None: unknown.

    Raises:
        ConfigError: the format is unknown, or cannot be read from the standard input.
        SonicError: the file cannot be read, or pyarrow is missing for Parquet.
    """

    def __init__(self, path: str, kind: str | None = None, *, header: bool = True) -> None:
        self.path = path
        self.kind = kind or kind_of(path)
        self.header = header
        self.size: int | None = None
        self._file: IO[bytes] | None = None
        if self.kind == "parquet":
            self._table = _open_parquet(path)
            self.size = self._table.metadata.num_rows
        elif path == STDIN:
            self._file = sys.stdin.buffer
        else:
            self._file = _open(path)
            self.size = Path(path).stat().st_size or None

    @property
    def unit(self) -> str:
        """Return what `size` and `done` count: "B" or "rows"."""
        return "B" if self.kind != "parquet" and self.size is not None else "rows"

    def done(self, rows: int) -> int:
        """Return how much of `size` has been read after `rows` rows."""
        return self._file.tell() if self._file is not None and self.size is not None else rows

    def rows(self, skip: int = 0) -> Iterator[ReadRow]:
        """Yield the rows behind the first `skip`. Raises SonicError if reading fails."""
        readers: dict[str, Callable[[int], Iterator[ReadRow]]] = {
            "jsonl": self._jsonl, "csv": self._csv, "tsv": self._tsv, "parquet": self._parquet
        }  # fmt: skip
        try:
            yield from readers[self.kind](skip)
        except OSError as error:
            raise SonicError(f"{self.path} cannot be read: {error.strerror or error}") from error

    def close(self) -> None:
        """Close the file."""
        if self._file is not None and self.path != STDIN:
            self._file.close()

    def _lines(self) -> Iterator[bytes]:
        assert self._file is not None
        first = self._file.readline()
        return chain([first.removeprefix(UTF8_MARK)], self._file) if first else iter(())

    def _jsonl(self, skip: int) -> Iterator[ReadRow]:
        for line in islice(self._lines(), skip, None):
            try:
                row = json.loads(line) if not line.isspace() else None
            except (ValueError, RecursionError) as error:
                yield UnreadableRow(f"it is not JSON: {error}", _readable(line))
                continue
            yield row if row is None or isinstance(row, dict) else UnreadableRow("it is JSON, but not an object", row)

    def _tsv(self, skip: int) -> Iterator[ReadRow]:
        # As registered with IANA (text/tab-separated-values): no quotes, one record a line.
        lines = self._lines()
        names = _fields(next(lines, b"")) if self.header else None
        for line in islice(lines, skip, None):
            yield _named(names, _fields(line)) if line.strip(b"\r\n") else None

    def _csv(self, skip: int) -> Iterator[ReadRow]:
        csv.field_size_limit(CSV_FIELD_BYTES)
        records = csv.reader((line.decode("utf-8", "surrogateescape") for line in self._lines()), strict=True)
        names = next(records, []) if self.header else None
        for number in range(1, sys.maxsize):
            try:
                record = next(records)
            except StopIteration:
                return
            except csv.Error as error:
                if number > skip:
                    yield UnreadableRow(f"it is not CSV: {error} (line {records.line_num})", None)
                continue
            if number > skip:
                yield _named(names, record) if record else None

    def _parquet(self, skip: int) -> Iterator[ReadRow]:
        left = skip
        for group in range(self._table.num_row_groups):
            rows = self._table.metadata.row_group(group).num_rows
            if left >= rows:
                left -= rows
                continue
            for batch in self._table.iter_batches(PARQUET_ROWS, row_groups=[group]):
                yield from batch.slice(min(left, batch.num_rows)).to_pylist()
                left -= min(left, batch.num_rows)


def kind_of(path: str) -> str:
    """Return the format of a file by its extension. Raises ConfigError for an unknown one."""
    if path == STDIN:
        return "jsonl"
    kind = FORMATS.get(Path(path).suffix.lower())
    if kind is None:
        raise ConfigError(f"{path} does not end in {', '.join(FORMATS)}; --format says what it is.")
    return kind


def _open(path: str) -> IO[bytes]:
    try:
        return open(path, "rb", buffering=1 << 18)
    except OSError as error:
        raise SonicError(f"{path} cannot be read: {error.strerror}") from error


def _open_parquet(path: str) -> Any:
    if path == STDIN:
        raise ConfigError("Parquet cannot be read from the standard input; allowed are jsonl, csv and tsv.")
    try:
        parquet = importlib.import_module("pyarrow.parquet")
        arrow = importlib.import_module("pyarrow")
    except ImportError as missing:
        raise SonicError("Parquet needs pyarrow: pip install 'sonicpy-search[parquet]'") from missing
    try:
        return parquet.ParquetFile(path)
    except (OSError, arrow.ArrowException) as error:
        raise SonicError(f"{path} cannot be read as Parquet: {error}") from error


def _fields(line: bytes) -> list[str]:
    return line.rstrip(b"\r\n").decode("utf-8", "surrogateescape").split("\t")


def _named(names: list[str] | None, fields: list[str]) -> Row | UnreadableRow:
    if names is None:
        return {str(number): field for number, field in enumerate(fields, 1)}
    if len(fields) != len(names):
        return UnreadableRow(f"it has {len(fields)} fields, and the header {len(names)}", fields)
    return dict(zip(names, fields, strict=True))


def _readable(line: bytes) -> str:
    return line.rstrip(b"\r\n").decode("utf-8", "surrogateescape")
