"""An import: rows from a source, as entries into a sink; refused ones aside, and the position kept."""

import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from types import FrameType
from typing import IO

from sonicpy.cli.fields import BadRow, Entry, Fields
from sonicpy.cli.position import Position, forget_position, head_of, write_position
from sonicpy.cli.progress import Progress
from sonicpy.cli.sinks import Sink
from sonicpy.cli.sources import Faulty, Read, Source
from sonicpy.errors import SonicError

CHUNK_ROWS = 1_000
KEEP_EVERY_S = 1.0
"""How much work an interrupted import does again, at the most."""
BAD_ROWS_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Bad:
    """A row that was refused."""

    row: int
    reason: str
    content: object


class Import:
    """One run.

    Args:
        source: the rows.
        fields: what they mean.
        sink: where they go.
        strict: stop at the first row that is refused.
    """

    def __init__(self, source: Source, fields: Fields, sink: Sink, *, strict: bool = False) -> None:
        self._source = source
        self._fields = fields
        self._sink = sink
        self._strict = strict
        self._interrupted = False
        self._position = Position()
        self._position_file: Path | None = None
        self._bad: IO[str] | None = None

    def keep_position(self, path: Path, position: Position) -> None:
        """Go on behind `position`, and keep in a file how far this one has come."""
        head, size = head_of(Path(self._source.path))
        self._position = replace(position, head=head, head_bytes=size)
        self._position_file = path

    def run(self, bad: IO[str] | None, progress: Progress) -> Position:
        """Import everything; return how much that was.

        Args:
            bad: where refused rows are written, one JSON object a line.

        Raises:
            KeyboardInterrupt: it was interrupted; the position is kept.
            SonicError: the file cannot be read on, the index takes no more, or a row was refused in strict mode.
        """
        self._bad = bad
        numbered = enumerate(self._source.rows(self._position.rows), self._position.rows + 1)
        kept_at = time.monotonic()
        with _interrupts(self._interrupt):
            while chunk := list(islice(numbered, CHUNK_ROWS)):
                self._take(chunk, progress)
                progress.advance(self._source.done(self._position.rows), len(chunk))
                if self._interrupted or time.monotonic() - kept_at > KEEP_EVERY_S:
                    self._keep()
                    kept_at = time.monotonic()
                if self._interrupted:
                    raise KeyboardInterrupt
        self._sink.flush()
        if self._position_file is not None:
            forget_position(self._position_file)
        return self._position

    def _take(self, chunk: list[tuple[int, Read]], progress: Progress) -> None:
        numbered, refused = self._understand(chunk)
        if self._strict and refused:
            numbered = [(number, entry) for number, entry in numbered if number < refused[0].row]
        refusals = self._sink.push([entry for _, entry in numbered])
        rows = dict(chunk)
        for place, reason in refusals:
            number = numbered[place][0]
            refused.append(Bad(number, reason, rows[number]))
        refused.sort(key=lambda bad: bad.row)
        self._set_aside(refused, progress)
        if self._strict and refused:
            raise SonicError(f"row {refused[0].row} of {self._source.path} is refused: {refused[0].reason}")
        self._position = replace(
            self._position,
            rows=chunk[-1][0],
            indexed=self._position.indexed + len(numbered) - len(refusals),
            refused=self._position.refused + len(refused),
        )

    def _understand(self, chunk: list[tuple[int, Read]]) -> tuple[list[tuple[int, Entry]], list[Bad]]:
        """Return the entries of rows, with their numbers, and the rows that make none."""
        numbered: list[tuple[int, Entry]] = []
        refused: list[Bad] = []
        for number, row in chunk:
            if row is None:
                continue
            if isinstance(row, Faulty):
                refused.append(Bad(number, row.reason, row.content))
                continue
            try:
                numbered.append((number, self._fields.entry(row)))
            except BadRow as error:
                refused.append(Bad(number, str(error), row))
        return numbered, refused

    def _set_aside(self, refused: Sequence[Bad], progress: Progress) -> None:
        """Show the first refused rows, and write all to the file."""
        before = self._position.refused
        for place, bad in enumerate(refused, before):
            if place < BAD_ROWS_SHOWN:
                progress.note(f"sonicpy: row {bad.row} is refused: {bad.reason}")
            if place == BAD_ROWS_SHOWN:
                progress.note("sonicpy: more rows are refused" + (", see --bad" if self._bad is None else ""))
            if self._bad is not None:
                line = {"row": bad.row, "reason": bad.reason, "content": bad.content}
                # Escaped, because what is no UTF-8 cannot be written otherwise; of Parquet there may be dates.
                self._bad.write(json.dumps(line, default=str) + "\n")

    def _keep(self) -> None:
        if self._position_file is None:
            return
        self._sink.flush()
        if self._bad is not None:
            self._bad.flush()
            self._position = replace(self._position, bad_bytes=os.fstat(self._bad.fileno()).st_size)
        write_position(self._position_file, self._position)

    def _interrupt(self) -> None:
        self._interrupted = True


@contextmanager
def _interrupts(note: Callable[[], None]) -> Iterator[None]:
    """Let Ctrl-C wait for the end of a chunk; a second one does not."""
    if threading.current_thread() is not threading.main_thread():
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
