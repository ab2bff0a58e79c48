"""Pushes: many rows as lines, sent in groups, several groups in flight; a row is done when its last line is answered.

When the connection breaks, every row that is not done is sent again from its first line: pushing a row twice has the
effect of pushing it once.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import count
from typing import Any

from sonicpy.api.rows import OnProgress, PushReport, Refused, Row
from sonicpy.arguments import call_of, language_of
from sonicpy.client.conversation import Answer, ServerInfo
from sonicpy.client.exchange import LINES_IN_FLIGHT_MAX
from sonicpy.client.lines import check_push, push_lines, tagging, upsert_lines
from sonicpy.errors import FAILED, CommandError, ConnectionLost, ShuttingDown, SonicError, TooLong
from sonicpy.ids import ObjectName, object_name, shown
from sonicpy.text_names import name_of_text
from sonicpy.vectors import Vector, bits_of

GROUPS_IN_FLIGHT_MAX = 8
GROUP_BYTES_MAX = 1 << 16
"""The number of bytes from which on a group gets no further line."""
BATCH_ROWS = 512
"""The number of pushes at which a batch sends them, as a batch of Index does."""
NAMES_SHOWN = 5
"""The most objects that a note about a batch names."""


class Pushes:
    """Rows on their way to a server.

    Args:
        rows: the rows, read one by one, each when there is room for it.
        on_done: called once for each row, with its position, the row, and the server's refusal (None: indexed).
        upsert: whether each text replaces the words of its object.

    Attributes:
        command: the first word of the lines.
        is_within_row: whether lines of a row are left of which the last group has others.
    """

    def __init__(self, rows: Iterator[Row | Refused], on_done: "OnDone", *, upsert: bool = False) -> None:
        self.is_within_row = False
        self.command = "UPSERT" if upsert else "PUSH"
        self._ends_groups = upsert
        self._make_lines = upsert_lines if upsert else push_lines
        self._rows = enumerate(rows)
        self._on_done = on_done
        self._again: deque[tuple[int, Row | Refused]] = deque()
        self._sent: deque[_Sent] = deque()
        self._lines: deque[str] = deque()
        self._error: Exception | None = None
        self._read = 0

    @property
    def first_open(self) -> int:
        """The position of the first row that is not done; valid after an interrupt, too."""
        if self._sent:
            return self._sent[0].place
        return self._again[0][0] if self._again else self._read

    def take(self, server: ServerInfo) -> list[str]:
        """Return the next group of lines to send; an empty list if there are no more rows.

        An UPSERT of several lines begins a group, so that the group before ends with a row, and other tasks that share
        the connection get a turn.
        """
        lines: list[str] = []
        size = 0
        while len(lines) < LINES_IN_FLIGHT_MAX and size < GROUP_BYTES_MAX:
            if not self._lines:
                if not self._take_row(server):
                    break
                if lines and self._ends_groups and len(self._lines) > 1:
                    self.is_within_row = False
                    return lines
            line = self._lines.popleft()
            lines.append(line)
            size += len(line)
        self.is_within_row = bool(self._lines)
        return lines

    def take_answers(self, answers: list[Answer]) -> None:
        """Take the answers to the oldest unanswered group of lines.

        Raises:
            ConnectionLost: the server is shutting down.
        """
        for answer in answers:
            if isinstance(answer, ShuttingDown):
                raise ConnectionLost(str(answer))
            sent = self._sent[0]
            sent.left -= 1
            if isinstance(answer, SonicError) and sent.refusal is None:
                sent.refusal = answer
            if not sent.left:
                self._sent.popleft()
                self._on_done(sent.place, sent.row, sent.refusal)

    def start_over(self) -> None:
        """Send all rows that are not done again, because the connection is gone."""
        self._again.extendleft((sent.place, sent.row) for sent in reversed(self._sent))
        self._sent.clear()
        self._lines.clear()

    def finish(self) -> None:
        """Raise the error that ended the iterator of rows early, if there was one; the rows before it are done."""
        if self._error is not None:
            raise self._error

    def _take_row(self, server: ServerInfo) -> bool:
        while True:
            # What comes again leaves its queue last: an interrupt in between must not make it count as done.
            comes_again = bool(self._again)
            try:
                place, row = self._again[0] if comes_again else next(self._rows)
            except StopIteration:
                return False
            except Exception as error:  # noqa: BLE001 - of the caller's iterator; `finish` raises it
                self._error = error
                self._rows = enumerate(())
                return False
            lines = self._lines_of(place, row, server)
            if comes_again:
                self._again.popleft()
            self._read = max(self._read, place + 1)
            if lines:
                self._lines.extend(lines)
                return True

    def _lines_of(self, place: int, row: Row | Refused, server: ServerInfo) -> list[str]:
        """Return the lines that push a row, and count it as sent; no lines if it is refused.

        Args:
            place: the number of the row among all.
        """
        if isinstance(row, Refused):
            self._on_done(place, row, None)
            return []
        try:
            options = {"lang": row.lang, "vector": row.vector, **tagging(row.tags, row.values)}
            lines = self._make_lines(server, row.collection, row.bucket, row.object, row.texts or row.text, options)
        except (CommandError, TooLong) as refusal:
            self._on_done(place, row, refusal)
            return []
        self._sent.append(_Sent(place, row, len(lines)))
        return lines


OnDone = Callable[[int, Row | Refused, SonicError | None], None]


class ReportBuilder:
    """Builds the PushReport of `push_many`.

    Args:
        progress: called from time to time with the number of rows that are done.
    """

    def __init__(self, progress: OnProgress | None) -> None:
        self._progress = call_of("progress", progress)
        self._report = PushReport()
        self._done = 0

    def note(self, place: int, row: Row | Refused, refusal: SonicError | None) -> None:
        """Count a row that is done; the arguments are those of OnDone."""
        if isinstance(row, Refused):
            self._report.refuse(row)
        elif refusal is not None:
            self._report.refuse(Refused(place, row.object, str(refusal)))
            self._report.failed_count += isinstance(refusal, CommandError) and refusal.code == FAILED
        else:
            self._report.indexed += 1
        self._done += 1
        if self._progress is not None and self._done % BATCH_ROWS == 0:
            self._progress(self._done)

    def finish(self) -> PushReport:
        """Return the report, with the refused rows in order."""
        if self._progress is not None and self._done % BATCH_ROWS:
            self._progress(self._done)
        self._report.refused.sort()
        self._report.rows = self._done
        return self._report

    def add_note_to(self, error: BaseException, first_open: int) -> None:
        """Add a note to the exception that ended a push_many: rows indexed and refused, and the row to continue with.

        Args:
            first_open: the position of the first row that is not done.
        """
        error.add_note(
            f"{self._report.indexed} rows were indexed before, {self._report.refused_count} refused; row {first_open}, "
            "counted from 0, is the first that is not done: go on there, because to push a row twice does no harm"
        )


class WaitingPushes:
    """The pushes of a batch that the server has not answered yet: collected, or sent.

    An interrupt at any moment leaves each push either among these or answered.
    """

    def __init__(self) -> None:
        self._rows: dict[int, Row] = {}
        self._numbers = count()
        self._refused: list[tuple[str, SonicError]] = []
        self.is_stuck = False
        """Whether the last attempt to send the pushes failed, so that another one at once may fail, too."""

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def rows(self) -> list[Row]:
        """All waiting pushes, in their order."""
        return list(self._rows.values())

    def add(
        self,
        collection: str,
        bucket: str,
        object: ObjectName,
        text: str,
        lang: str | None,
        vector: Vector = None,
        tags: Iterable[str] | None = None,
        values: Mapping[str, Any] | None = None,
        field: str | None = None,
    ) -> bool:
        """Append a push, with the arguments of `Client.push`; return whether it is time to send the batch."""
        check_push(collection, bucket, object, text, lang)
        names, bits = (collection, bucket, object_name(object)), bits_of("vector", vector)
        texts = None if field is None else {name_of_text(field): text}
        self._rows[next(self._numbers)] = Row(
            *names, text, language_of(lang), bits, **tagging(tags, values), texts=texts
        )
        return len(self._rows) >= BATCH_ROWS

    def pushes(self) -> Pushes:
        """Return all waiting pushes as Pushes; each also stays here until the server has answered it."""
        numbers = list(self._rows)

        def on_done(place: int, row: Row | Refused, refusal: SonicError | None) -> None:
            if refusal is not None:
                self._refused.append((row.object, refusal))
            self._rows.pop(numbers[place], None)

        self.is_stuck = True
        return Pushes(iter(self.rows), on_done)

    def end_try(self) -> None:
        """Note that all pushes were answered. Raises the first refusal, if any, with a note that names the objects."""
        self.is_stuck = False
        if not self._refused:
            return
        refusal = self._refused[0][1]
        refusal.add_note(f"refused for {_objects([name for name, _ in self._refused])}")
        try:
            raise refusal
        finally:
            self._refused.clear()  # last, so that an interrupt has the refusal as its context

    def add_note_to(self, error: BaseException) -> None:
        """Add a note about the remaining pushes to the exception that ended an attempt, unless it has one already."""
        if not self._rows:
            return
        objects = _objects([row.object for row in self.rows])
        note = f"not acknowledged, and so kept in the batch (`waiting`; `send` tries again): {objects}"
        if note not in getattr(error, "__notes__", ()):
            error.add_note(note)


def _objects(names: list[str]) -> str:
    """Return the number of pushes, and the names of the first objects, for a note."""
    first = ", ".join(map(shown, names[:NAMES_SHOWN]))
    plural = "es" if len(names) > 1 else ""
    return f"{len(names)} push{plural}, of {first}{', ...' if len(names) > NAMES_SHOWN else ''}"


class _Sent:
    """A row with unanswered lines."""

    __slots__ = ("left", "place", "refusal", "row")

    def __init__(self, place: int, row: Row, lines: int) -> None:
        self.place = place
        self.row = row
        self.left = lines
        self.refusal: SonicError | None = None
