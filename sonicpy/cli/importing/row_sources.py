"""Source: the rows of a file or of the standard input, in JSON, JSONL, CSV, TSV or Parquet.

Rows are numbered from 1 on: the elements of a JSON array; the lines of a JSONL or TSV file, with blank lines but
without the header; the records of CSV; the rows of Parquet. A row that cannot be read becomes an UnreadableRow, and
reading continues behind it; a JSON array that is damaged ends the import.
"""

import codecs
import importlib
import io
import json
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any, cast

from sonicpy.api.tables import values_of_arrow
from sonicpy.cli.arguments import STDIN, standard_input
from sonicpy.cli.importing.content import GZIP, opened
from sonicpy.cli.importing.csv_records import BrokenRecord, CsvRecords
from sonicpy.cli.importing.json_array import BrokenArray, elements
from sonicpy.cli.importing.json_reasons import reason_of
from sonicpy.errors import ConfigError, SonicError

KINDS = ("json", "jsonl", "csv", "tsv", "parquet")
FORMATS = {
    ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "json", ".csv": "csv", ".tsv": "tsv", ".tab": "tsv",
    ".parquet": "parquet",
}  # fmt: skip
"""Extension of a file -> its format."""
COMMA = ","
UTF8 = "utf-8"

PARQUET_ROWS = 10_000  # decoded at a time
READ_BYTES = 1 << 18

UTF8_MARK = b"\xef\xbb\xbf"
LINE_ENDS = "it holds a carriage return; allowed is that lines end with a line feed, perhaps behind a carriage return"
_RETURN_ALONE = re.compile(r"\r(?!\n|\Z)")


@dataclass(frozen=True, slots=True)
class UnreadableRow:
    """A row that cannot be read: the reason, and its content."""

    reason: str
    content: object


SourceRow = Mapping[str, Any]
ReadRow = SourceRow | UnreadableRow | None
"""A row; None: a blank line, which has a number but is not a row."""


class Source:
    """The rows of one file, read once.

    Args:
        path: a file, or "-" for the standard input.
        kind: one of KINDS; None: by the extension of the file, jsonl for the standard input. A file of the kind json
            that holds no array is read as jsonl.
        header: the first row of CSV and TSV names the columns; False: their names are 1, 2, 3.
        delimiter: the character between the fields of CSV.
        encoding: the encoding of the text, for all kinds but Parquet.

    Attributes:
        size: the number of bytes of the file, or of rows in Parquet; None: unknown.
        repeated: the names that several columns have, known after the first row; rows hold the last column with a name.
        is_blank: whether the file lacks even the header or the array that its format demands; known at its end.

    Raises:
        ConfigError: the format is unknown, or cannot be read from the standard input or compressed.
        SonicError: the file cannot be read, or pyarrow is missing for Parquet.
    """

    def __init__(
        self,
        path: str,
        kind: str | None = None,
        *,
        header: bool = True,
        delimiter: str = COMMA,
        encoding: str = UTF8,
    ) -> None:
        self.path = path
        self.kind = kind or kind_of(path)
        self.header = header
        self.delimiter = delimiter
        self.encoding = encoding
        self.size: int | None = None
        self.repeated: frozenset[str] = frozenset()
        self.is_blank = False
        self._stored: IO[bytes] | None = None
        self._file: IO[bytes] | None = None
        self._text: io.TextIOWrapper | None = None
        if self.kind == "parquet":
            self._table = _open_parquet(path)
            self.size = self._table.metadata.num_rows
        elif path == STDIN:
            self._file = standard_input()
        else:
            self._stored = self._file = _open(path)
            self.size = Path(path).stat().st_size or None

    @property
    def is_lasting(self) -> bool:
        """Whether the source is a regular file, which can be opened again; a pipe would lose rows, or wait."""
        return self.path != STDIN and Path(self.path).is_file()

    @property
    def unit(self) -> str:
        """The unit of `size` and `done`: "B" or "rows"."""
        return "B" if self.kind != "parquet" and self.size is not None else "rows"

    def done(self, rows: int) -> int:
        """Return how much of `size` has been read after `rows` rows."""
        return self._stored.tell() if self._stored is not None and self.size is not None else rows

    @property
    def place(self) -> int:
        """The number of bytes at the beginning of the file that hold the rows read so far; of Parquet, all bytes."""
        return Path(self.path).stat().st_size if self._stored is None else self._stored.tell()

    def rows(self, skip: int = 0) -> Iterator[ReadRow]:
        """Yield the rows after the first `skip`. Raises SonicError if reading fails."""
        readers: dict[str, Callable[[int], Iterator[ReadRow]]] = {
            "json": self._json, "jsonl": self._jsonl, "csv": self._csv, "tsv": self._tsv, "parquet": self._parquet
        }  # fmt: skip
        try:
            yield from readers[self.kind](skip)
        except OSError as error:
            raise SonicError(f"{self.path} cannot be read: {error.strerror or error}") from error
        except (EOFError, zlib.error) as error:
            raise SonicError(f"{self.path} cannot be read: its compressed content is damaged ({error})") from error
        except UnicodeError as error:
            raise SonicError(f"{self.path} is not {self.encoding}: {error}; --encoding names another") from error

    @property
    def flags(self) -> list[str]:
        """The flags of the command line with which the source is read: those whose value is not the default."""
        given = (("--delimiter", self.delimiter, COMMA), ("--encoding", self.encoding, UTF8))
        named = [word for flag, value, default in given if value != default for word in (flag, value)]
        return named if self.kind == _format(self.path) else ["--format", self.kind, *named]

    def close(self) -> None:
        """Close the file."""
        if self._text is not None:
            self._text.detach()  # it would close the standard input, too
            self._text = None
        if self._stored is not None:
            self._stored.close()

    def _lines(self, most: int = -1) -> Iterator[bytes]:
        """Yield the lines as UTF-8; bytes that cannot be decoded stay unchanged.

        Args:
            most: the most bytes at a time, or characters in another encoding: longer lines come in parts; -1: all of a
                line.
        """
        assert self._file is not None
        content = opened(self._file, self.path, is_utf8=self.encoding == UTF8)
        if self.encoding != UTF8:
            # Lines end at \n alone, as those of bytes do.
            file = cast(io.BufferedReader, content)
            self._text = io.TextIOWrapper(file, self.encoding, "surrogateescape", newline="\n")
            text = self._text if most < 0 else iter(partial(self._text.readline, most), "")
            lines = (line.encode(UTF8, "surrogateescape") for line in text)
            return chain([next(lines, b"").removeprefix(UTF8_MARK)], lines)
        first = content.readline(most)
        rest = content if most < 0 else iter(partial(content.readline, most), b"")
        return chain([first.removeprefix(UTF8_MARK)], rest) if first else iter(())

    def _json(self, skip: int) -> Iterator[ReadRow]:
        lines = self._lines(READ_BYTES)  # an array may be one line
        blank = 0
        first = b""
        for first in lines:
            if not first.isspace():
                break
            blank += first.endswith(b"\n")
        if not first.strip():
            self.is_blank = True
            return
        everything = chain([b"\n"] * blank, [first], lines)
        if not first.lstrip().startswith(b"["):
            yield from self._json_lines(_whole_lines(everything), skip)
            return
        try:
            for row in islice(elements(codecs.iterdecode(everything, UTF8, "surrogateescape")), skip, None):
                yield _json_row(row)
        except BrokenArray as error:
            raise SonicError(f"{self.path} is not an array of JSON: {error}") from error

    def _jsonl(self, skip: int) -> Iterator[ReadRow]:
        return self._json_lines(self._lines(), skip)

    def _json_lines(self, lines: Iterator[bytes], skip: int) -> Iterator[ReadRow]:
        for line in islice(lines, skip, None):
            if line.isspace():
                yield None
                continue
            try:
                row = json.loads(line)
            except UnicodeDecodeError as error:
                yield UnreadableRow(
                    f"it is not JSON in UTF-8: byte {error.start + 1} (--encoding names another)", _readable(line)
                )
                continue
            except (ValueError, RecursionError) as error:
                yield UnreadableRow(f"it is not JSON: {reason_of(error)}", _readable(line))
                continue
            yield _json_row(row)

    def _tsv(self, skip: int) -> Iterator[ReadRow]:
        # As registered with IANA (text/tab-separated-values): no quotes, one record a line.
        lines = self._lines()
        first = next((line for line in lines if line.strip(b"\r\n")), b"") if self.header else b""
        if b"\r" in first.rstrip(b"\r\n"):
            raise SonicError(f"the header of {self.path} is not {self.kind.upper()}: {LINE_ENDS}")
        names = self._header(_fields(first)) if self.header else None
        for line in islice(lines, skip, None):
            yield _named(names, _fields(line)) if line.strip(b"\r\n") else None

    def _csv(self, skip: int) -> Iterator[ReadRow]:
        records = CsvRecords((line.decode(UTF8, "surrogateescape") for line in self._lines()), self.delimiter)
        reading = iter(records)
        # Lines without any field before the header are no header without columns.
        names = self._header_of_csv(next((record for record in reading if record), [])) if self.header else None
        for record in islice(reading, skip, None):
            yield _record(names, record, records)

    def _header_of_csv(self, record: list[str] | BrokenRecord) -> list[str]:
        if isinstance(record, BrokenRecord) and _RETURN_ALONE.search(record.text):
            raise SonicError(f"the header of {self.path} is not {self.kind.upper()}: {LINE_ENDS}")
        if isinstance(record, BrokenRecord):
            raise SonicError(f"the header of {self.path} is not CSV: {record.reason}")
        return self._header(record)

    def _header(self, names: list[str]) -> list[str]:
        self.is_blank = not any(names)
        self.repeated = frozenset(name for name, times in Counter(names).items() if times > 1)
        return names

    def _parquet(self, skip: int) -> Iterator[ReadRow]:
        with _explained_parquet(self.path):
            self._header(self._table.schema_arrow.names)
            left = skip
            for group in range(self._table.num_row_groups):
                rows = self._table.metadata.row_group(group).num_rows
                if left >= rows:
                    left -= rows
                    continue
                for batch in self._table.iter_batches(PARQUET_ROWS, row_groups=[group]):
                    part = batch.slice(min(left, batch.num_rows))
                    columns = dict(zip(part.schema.names, map(values_of_arrow, part.columns), strict=True))
                    yield from ({name: values[row] for name, values in columns.items()} for row in range(part.num_rows))
                    left -= min(left, batch.num_rows)


def _format(path: str) -> str | None:
    return FORMATS.get(Path(path.lower().removesuffix(GZIP)).suffix)


def kind_of(path: str) -> str:
    """Return the format of a file by its extension, or by the one before .gz. Raises ConfigError if unknown."""
    if path == STDIN:
        return "jsonl"
    kind = _format(path)
    if kind is None:
        raise ConfigError(
            f"{path} does not end in {', '.join(FORMATS)}, or one of these and {GZIP}; --format names the format."
        )
    return kind


def _open(path: str) -> IO[bytes]:
    try:
        return open(path, "rb", buffering=READ_BYTES)
    except OSError as error:
        raise SonicError(f"{path} cannot be read: {error.strerror}") from error


def _open_parquet(path: str) -> Any:
    if path == STDIN or path.lower().endswith(GZIP):
        how = "from the standard input" if path == STDIN else f"from {GZIP}"
        raise ConfigError(f"Parquet cannot be read {how}; allowed are json, jsonl, csv and tsv.")
    try:
        parquet = importlib.import_module("pyarrow.parquet")
    except ImportError as missing:
        raise SonicError("Parquet needs pyarrow: pip install 'sonicpy-search[parquet]'") from missing
    with _explained_parquet(path):
        return parquet.ParquetFile(path)


@contextmanager
def _explained_parquet(path: str) -> Iterator[None]:
    """Raise SonicError for the errors with which pyarrow reads a damaged file; each kind of damage has its own."""
    arrow = importlib.import_module("pyarrow")
    try:
        yield
    except (OSError, ValueError, LookupError, arrow.ArrowException) as error:
        reason = " ".join(str(error).split())
        raise SonicError(f"{path} cannot be read as Parquet: {reason}") from error


def _whole_lines(parts: Iterator[bytes]) -> Iterator[bytes]:
    """Yield lines, from their parts."""
    begun: list[bytes] = []
    for part in parts:
        begun.append(part)
        if part.endswith(b"\n"):
            yield b"".join(begun)
            begun.clear()
    if begun:
        yield b"".join(begun)


def _json_row(row: object) -> SourceRow | UnreadableRow:
    return row if isinstance(row, dict) else UnreadableRow("it is JSON, but not an object", row)


def _fields(line: bytes) -> list[str]:
    return line.rstrip(b"\r\n").decode(UTF8, "surrogateescape").split("\t")


def _record(names: list[str] | None, record: list[str] | BrokenRecord, records: CsvRecords) -> ReadRow:
    if isinstance(record, BrokenRecord):
        return UnreadableRow(f"it is not CSV: {record.reason}", record.text.rstrip("\r\n"))
    row = _named(names, record) if record else None
    if isinstance(row, UnreadableRow) and records.last_line > records.first_line:
        return UnreadableRow(f"{row.reason} (lines {records.first_line} to {records.last_line})", row.content)
    return row


def _named(names: list[str] | None, fields: list[str]) -> SourceRow | UnreadableRow:
    if names is None:
        return {str(number): field for number, field in enumerate(fields, 1)}
    if len(fields) != len(names):
        return UnreadableRow(f"it has {len(fields)} fields, and the header {len(names)}", fields)
    return dict(zip(names, fields, strict=True))


def _readable(line: bytes) -> str:
    return line.rstrip(b"\r\n").decode(UTF8, "surrogateescape")
