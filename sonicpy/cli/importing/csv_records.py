"""Records of CSV, as spreadsheets write them; a quote that is not closed does not swallow the following records.

A quoted field may have several lines. If such a field turns out to be wrong, because a quote inside it is not doubled
or the file ends, its first line is refused and reading continues in the next line: most likely, the quote at its
beginning has no partner. The lines of a record wait in memory until it is complete.
"""

import csv
import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

from sonicpy.api.columns import FIELD_CHARACTERS_MAX

RECORD_CHARACTERS_MAX = 1 << 24
"""The most characters of a record of several lines. Without it, an unmatched quote would take the rest of the file into
memory."""

END_OF_DATA = "unexpected end of data"
"""The message of csv if the last line ends inside a quoted field."""


@dataclass(frozen=True, slots=True)
class BrokenRecord:
    """Lines that do not form a record: the reason, as half a sentence, and their text."""

    reason: str
    text: str


class CsvRecords:
    """The records of lines, read once.

    Args:
        lines: the lines of the file, with their newlines.
        delimiter: the character between fields.

    Attributes:
        first_line, last_line: the numbers, from 1 on, of the first and the last line of the record read last.
    """

    def __init__(self, lines: Iterator[str], delimiter: str) -> None:
        csv.field_size_limit(FIELD_CHARACTERS_MAX)
        self.first_line = self.last_line = 0
        self._lines = _HeldLines(lines)
        self._records = csv.reader(self._lines, strict=True, delimiter=delimiter)
        other = rf"[^{re.escape(delimiter)}\r\n]*+"
        self._field = re.compile(rf'(?:"[^"]*+(?:""[^"]*+)*+"|(?!"){other})(?:{re.escape(delimiter)}|\r?\n|\Z)')

    def __iter__(self) -> Iterator[list[str] | BrokenRecord]:
        while True:
            self.first_line = self.last_line + 1
            self._lines.begin()
            try:
                record: list[str] | BrokenRecord = next(self._records)
            except StopIteration:
                return
            except csv.Error as error:
                record = self._broken(error)
            self.last_line = self.first_line + len(self._lines.held) - 1
            yield record

    def _broken(self, error: csv.Error) -> BrokenRecord:
        """Return the lines up to the one in which the broken field begins, with the reason; the lines behind that one
        are read again.
        """
        held = self._lines.held
        said = f"{str(error).partition(' - ')[0]} (line {self.first_line + len(held) - 1})"
        begins_in = self._line_of_broken_field("".join(held))
        if begins_in is None:
            return BrokenRecord(said, "".join(held))
        if len(held) - 1 > begins_in or str(error) == END_OF_DATA:
            said += f"; the quote in line {self.first_line + begins_in} begins a field that does not end"
        self._lines.read_again(begins_in + 1)
        return BrokenRecord(said, "".join(held))

    def _line_of_broken_field(self, text: str) -> int | None:
        """Return the number of the line, from 0 on, where the first broken field begins; None: no field is broken."""
        place = 0
        while (field := self._field.match(text, place)) is not None:
            if field.end() == place or field.end() == len(text):
                return None
            place = field.end()
        return text.count("\n", 0, place)


class _HeldLines:
    """Lines of a file; those of the current record are held until the next record begins.

    Attributes:
        held: the lines of the record that is being read.
    """

    def __init__(self, lines: Iterator[str]) -> None:
        self.held: list[str] = []
        self._size = 0
        self._new = lines
        self._again: deque[str] = deque()

    def begin(self) -> None:
        """Begin a record."""
        self.held = []
        self._size = 0

    def read_again(self, start: int) -> None:
        """Put the held lines from `start` on back: they are read next."""
        self._again.extendleft(reversed(self.held[start:]))
        del self.held[start:]

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> str:
        if self._size > RECORD_CHARACTERS_MAX:
            raise csv.Error(f"a record of several lines has more than {RECORD_CHARACTERS_MAX} characters")
        line = self._again.popleft() if self._again else next(self._new)
        self.held.append(line)
        self._size += len(line)
        return line
