"""Pushes: many rows as lines, sent in groups, several groups in flight; a row is done when its last line is answered.

When the connection breaks, every row that is not done is sent again from its first line: to push a row twice has the
same effect as to push it once.
"""

from collections import deque
from collections.abc import Callable, Iterator

from sonicpy.api.rows import Progress, PushReport, Refused, Row
from sonicpy.arguments import language_of
from sonicpy.client.conversation import Answer, ServerInfo
from sonicpy.client.exchange import LINES_IN_FLIGHT_MAX
from sonicpy.client.lines import check_push, push_lines
from sonicpy.errors import CommandError, ConnectionLost, ShuttingDown, SonicError, TooLong
from sonicpy.ids import ObjectName, object_name

GROUPS_IN_FLIGHT_MAX = 8
GROUP_BYTES_MAX = 1 << 16
"""A group gets no further line once it has this many bytes."""
BATCH_ROWS = 512
"""A batch sends its pushes when it has collected this many, as a batch of Index does."""


class Pushes:
    """Rows on their way to a server.

    Args:
        rows: read one by one, when there is room for the next.
        on_done: called once for each row, with its position, the row, and why the server refused it (None: indexed).
    """

    def __init__(self, rows: Iterator[Row | Refused], on_done: "OnDone") -> None:
        self._rows = enumerate(rows)
        self._on_done = on_done
        self._again: deque[tuple[int, Row | Refused]] = deque()
        self._sent: deque[_Sent] = deque()
        self._lines: deque[str] = deque()
        self._error: Exception | None = None

    def take(self, server: ServerInfo) -> list[str]:
        """Return the next group of lines to send; an empty list if there are no more rows."""
        lines: list[str] = []
        size = 0
        while len(lines) < LINES_IN_FLIGHT_MAX and size < GROUP_BYTES_MAX:
            if not self._lines and not self._take_row(server):
                break
            line = self._lines.popleft()
            lines.append(line)
            size += len(line)
        return lines

    def take_answers(self, answers: list[Answer]) -> None:
        """Take the answers to the oldest group of lines that has none yet.

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
        """Send all rows again that are not done, because the connection is gone."""
        self._again.extendleft((sent.place, sent.row) for sent in reversed(self._sent))
        self._sent.clear()
        self._lines.clear()

    def finish(self) -> None:
        """Raise the error, if any, that ended the iterator of rows early; the rows before it are done."""
        if self._error is not None:
            raise self._error

    def _take_row(self, server: ServerInfo) -> bool:
        while True:
            try:
                place, row = self._again.popleft() if self._again else next(self._rows)
            except StopIteration:
                return False
            except Exception as error:  # noqa: BLE001 - of the caller's iterator; `finish` raises it
                self._error = error
                self._rows = enumerate(())
                return False
            if isinstance(row, Refused):
                self._on_done(place, row, None)
                continue
            try:
                lines = push_lines(server, row.collection, row.bucket, row.object, row.text, row.lang)
            except (CommandError, TooLong) as refusal:
                self._on_done(place, row, refusal)
            else:
                self._sent.append(_Sent(place, row, len(lines)))
                self._lines.extend(lines)
                return True


OnDone = Callable[[int, Row | Refused, SonicError | None], None]


class ReportBuilder:
    """Builds the PushReport of `push_many`.

    Args:
        progress: called from time to time with the number of rows that are done.
    """

    def __init__(self, progress: Progress | None) -> None:
        self._progress = progress
        self._report = PushReport()
        self._done = 0

    def note(self, place: int, row: Row | Refused, refusal: SonicError | None) -> None:
        """Count a row that is done; the arguments are those of OnDone."""
        if isinstance(row, Refused):
            self._report.refuse(row)
        elif refusal is not None:
            self._report.refuse(Refused(place, row.object, str(refusal)))
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
        return self._report

    def add_note_to(self, error: SonicError) -> None:
        """Add a note to the error that ended a push_many: how many rows it had indexed and refused."""
        error.add_note(f"{self._report.indexed} rows were indexed before, {self._report.refused_count} refused")


class WaitingPushes:
    """The pushes that a batch has collected and not sent yet."""

    def __init__(self) -> None:
        self._rows: list[Row] = []
        self._refusal: SonicError | None = None

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, collection: str, bucket: str, object: ObjectName, text: str, lang: str | None) -> bool:
        """Append a push; return whether it is time to send them."""
        check_push(collection, bucket, object, text, lang)
        self._rows.append(Row(collection, bucket, object_name(object), text, language_of(lang)))
        return len(self._rows) >= BATCH_ROWS

    def take(self) -> Pushes:
        """Return all of them as Pushes, and keep none."""
        rows, self._rows = self._rows, []
        return Pushes(iter(rows), self._on_done)

    def raise_refusal(self) -> None:
        """Raise the first refusal of a push that was sent."""
        refusal, self._refusal = self._refusal, None
        if refusal is not None:
            raise refusal

    def _on_done(self, place: int, row: Row | Refused, refusal: SonicError | None) -> None:
        self._refusal = self._refusal or refusal


class _Sent:
    """A row of which some lines are not answered yet."""

    __slots__ = ("left", "place", "refusal", "row")

    def __init__(self, place: int, row: Row, lines: int) -> None:
        self.place = place
        self.row = row
        self.left = lines
        self.refusal: SonicError | None = None
