"""ImportJob: rows from a source go into a sink; refused rows are set aside, and the position is saved."""

import json
import shlex
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path
from types import FrameType

from sonicpy.cli.importing.bad_rows import BadRows
from sonicpy.cli.importing.guess import guessed_command
from sonicpy.cli.importing.mapping import Entry, FieldMapping, InvalidRow
from sonicpy.cli.importing.position import FileHead, Position, remove_position, write_position
from sonicpy.cli.importing.progress import ProgressBar
from sonicpy.cli.importing.row_sources import ReadRow, Source, SourceRow, UnreadableRow
from sonicpy.cli.importing.sinks import Sink
from sonicpy.errors import ConfigError, SonicError
from sonicpy.index.ingest.exported import check_head, is_bucket, is_head, is_of_synonyms

CHUNK_ROWS = 1_000
SAVE_EVERY_S = 1.0
"""The interval in seconds of saving: a killed import repeats at most this much work."""
BAD_ROWS_SHOWN = 5
NESTED = "(the row is nested too deeply to be written here)"
"""The content of such a row in the file of refused rows."""
OF_NO_OBJECT = (is_head, is_bucket, is_of_synonyms)
"""Tell the rows of an export that lack the columns of objects."""
OTHER_DELIMITERS = {";": "';'", "\t": "tab", "|": "'|'"}
"""The delimiters of CSV files other than the comma, and their form on a command line."""


@dataclass(frozen=True, slots=True)
class RefusedRow:
    """A row that was not indexed: its number, the reason, and its content."""

    row: int
    reason: str
    content: object


class ImportJob:
    """One import.

    Args:
        source: yields the rows.
        fields: turns rows into entries.
        sink: takes the entries.
        strict: stop at the first refused row.
    """

    def __init__(self, source: Source, fields: FieldMapping, sink: Sink, *, strict: bool = False) -> None:
        self._source = source
        self._fields = fields
        self._sink = sink
        self._strict = strict
        self._interrupted = False
        self._position = Position()
        self._position_file: Path | None = None
        self._head: FileHead | None = None
        self._bad: BadRows | None = None
        self._objects: dict[str, int | None] = {}
        """Collection -> its number of objects before its first row."""
        self._pushed = 0

    def save_position(self, path: Path, position: Position) -> None:
        """Begin after `position`, and save the position of this import in the file `path`."""
        self._position = position
        self._position_file = path

    def run(self, bad: BadRows | None, progress: ProgressBar) -> Position:
        """Import all rows; return the counts at the end.

        Args:
            bad: gets the refused rows, one JSON object per line; None: they are not written.

        Raises:
            KeyboardInterrupt: it was interrupted; the position is saved.
            ConfigError: no row at the beginning has a column that is needed or was named; nothing is pushed.
            SonicError: reading or pushing failed, or a row was refused in strict mode.
        """
        self._bad = bad
        numbered = enumerate(self._source.rows(self._position.rows), self._position.rows + 1)
        saved_at = time.monotonic()
        has_begun = False
        with ExitStack() as stack:
            if self._position_file is not None:
                self._head = stack.enter_context(FileHead(Path(self._source.path)))
            stack.enter_context(_interrupts(self._interrupt))
            while chunk := list(islice(numbered, CHUNK_ROWS)):
                if not has_begun:
                    rows = [row for _, row in chunk if isinstance(row, Mapping)]
                    self._check_columns([row for row in rows if not any(is_kind(row) for is_kind in OF_NO_OBJECT)])
                    has_begun = True
                self._take(chunk, progress)
                progress.advance(self._source.done(self._position.rows), len(chunk))
                if self._interrupted or time.monotonic() - saved_at > SAVE_EVERY_S:
                    self._save()
                    saved_at = time.monotonic()
                if self._interrupted:
                    raise KeyboardInterrupt
        self._sink.sync()
        if self._position_file is not None:
            remove_position(self._position_file)
        return self._position

    def met(self) -> int:
        """Return how many rows were added to existing objects, made by an earlier row or an earlier import.

        The number is too small if other clients push at the same time, and 0 at servers that do not count objects.
        """
        made = 0
        for collection, before in self._objects.items():
            now = self._sink.objects(collection)
            if before is None or now is None:
                return 0
            made += now - before
        return max(self._pushed - made, 0)

    def _check_columns(self, rows: Sequence[SourceRow]) -> None:
        columns = list(dict.fromkeys(chain.from_iterable(rows)))
        exported = any(map(self._fields.is_exported, rows))
        missing = self._fields.missing(columns, exported=exported) if columns else None
        if missing is None:
            repeated = self._fields.first_read(rows[0], self._source.repeated) if columns else None
            if repeated is not None:
                raise ConfigError(f"{self._source.path} has several columns {repeated!r}; rename all but one.")
            return
        hint = self._hint(columns)
        found = ", ".join(map(repr, columns))
        raise ConfigError(f"{self._source.path} has {missing}; it has {found}{hint or '.'}")

    def _hint(self, columns: Sequence[str]) -> str:
        """Return the end of a sentence that suggests flags with which the file, which has these columns, can be
        read."""
        delimiter = next((each for each in OTHER_DELIMITERS if each in columns[0]), None)
        if self._source.kind == "csv" and len(columns) == 1 and delimiter is not None:
            return f"; --delimiter {OTHER_DELIMITERS[delimiter]} splits them."
        if self._fields.is_default:
            command = guessed_command(Path(self._source.path), columns, *self._source.flags)
            return "" if command is None else f"; perhaps: {command}"
        joined = next((names for text in self._fields.texts if set(names := text.split(",")) <= set(columns)), [])
        if len(joined) > 1:
            flags = shlex.join(chain.from_iterable(("--text", name) for name in joined))
            return f"; each column has its own flag: {flags}"
        return ""

    def _take(self, chunk: list[tuple[int, ReadRow]], progress: ProgressBar) -> None:
        numbered, refused = self._map(chunk)
        if self._strict and refused:
            numbered = [(number, entry) for number, entry in numbered if number < refused[0].row]
        for collection in {entry.collection for _, entry in numbered} - self._objects.keys():
            self._objects[collection] = self._sink.objects(collection)
        refusals = self._sink.push([entry for _, entry in numbered])
        refused_places = {place for place, _ in refusals}
        kept = [entry for place, (_, entry) in enumerate(numbered) if place not in refused_places]
        indexed = sum(entry.facts is None and entry.synonyms is None for entry in kept)
        self._pushed += indexed
        rows = dict(chunk)
        for place, reason in refusals:
            number = numbered[place][0]
            refused.append(RefusedRow(number, reason, rows[number]))
        refused.sort(key=lambda bad: bad.row)
        if self._strict:
            del refused[1:]  # the import stops at the first one
        self._set_aside(refused, progress)
        if self._strict and refused:
            raise SonicError(f"row {refused[0].row} of {self._source.path} is refused: {refused[0].reason}")
        self._position = replace(
            self._position,
            rows=chunk[-1][0],
            indexed=self._position.indexed + indexed,
            refused=self._position.refused + len(refused),
        )

    def _map(self, chunk: list[tuple[int, ReadRow]]) -> tuple[list[tuple[int, Entry]], list[RefusedRow]]:
        """Return the entries of rows, with the numbers of the rows; and the refused rows."""
        numbered: list[tuple[int, Entry]] = []
        refused: list[RefusedRow] = []
        for number, row in chunk:
            if row is None:
                continue
            if isinstance(row, UnreadableRow):
                refused.append(RefusedRow(number, row.reason, row.content))
                continue
            if is_head(row):
                check_head(row, self._source.path)
                continue
            try:
                numbered.append((number, self._fields.entry(row)))
            except InvalidRow as error:
                refused.append(RefusedRow(number, str(error), row))
        return numbered, refused

    def _set_aside(self, refused: Sequence[RefusedRow], progress: ProgressBar) -> None:
        """Show the first refused rows, and write all of them to the file."""
        for place, bad in enumerate(refused, self._position.refused):
            if not self._strict:  # else the error that ends the import names the row
                self._show(place, bad, progress)
            if self._bad is not None:
                self._bad.add(_line_of(bad))

    def _show(self, place: int, bad: RefusedRow, progress: ProgressBar) -> None:
        if place < BAD_ROWS_SHOWN:
            progress.note(f"sonicpy: row {bad.row} is refused: {bad.reason}")
        elif place == BAD_ROWS_SHOWN:
            progress.note("sonicpy: more rows are refused" + (", see --bad" if self._bad is None else ""))

    def _save(self) -> None:
        if self._position_file is None or self._head is None:
            return
        self._sink.sync()
        try:
            place = self._source.place
            self._position = replace(self._position, head=self._head.digest(place), head_bytes=place)
        except OSError as error:
            raise SonicError(f"{self._source.path} cannot be read: {error.strerror}") from error
        if self._bad is not None:
            self._position = replace(self._position, bad_bytes=self._bad.flush())
        write_position(self._position_file, self._position)

    def _interrupt(self) -> None:
        self._interrupted = True


def _line_of(bad: RefusedRow) -> str:
    """Return the line of a row for the file of refused rows."""
    line = {"row": bad.row, "reason": bad.reason, "content": bad.content}
    # ASCII, because a row may hold bytes that are not UTF-8; default=str for the dates of Parquet.
    try:
        return json.dumps(line, default=str) + "\n"
    except RecursionError:  # the line is nested more deeply than the row, which could just be read
        return json.dumps({**line, "content": NESTED}) + "\n"


@contextmanager
def _interrupts(note: Callable[[], None]) -> Iterator[None]:
    """Make Ctrl-C call `note`, so that a chunk is finished first; a second Ctrl-C interrupts at once.

    If Ctrl-C is ignored, as in a background job of a shell, it stays ignored.
    """
    is_ignored = signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    if is_ignored or threading.current_thread() is not threading.main_thread():
        yield
        return

    def handle(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, before)
        note()

    before = signal.signal(signal.SIGINT, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
