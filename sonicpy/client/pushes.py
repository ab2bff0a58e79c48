"""Pushes: many rows as lines, several tickets of them under way; a row is settled when its last line is answered.

When the connection breaks, every row that is not settled is sent again from its first line: pushed twice it is the
same as pushed once.
"""

from collections import deque
from collections.abc import Callable, Iterator

from sonicpy.api.rows import Progress, PushReport, Refused, Row
from sonicpy.client.conversation import Answer, ServerInfo
from sonicpy.client.exchange import LINES_UNDER_WAY
from sonicpy.client.lines import check_names, check_push, push_lines
from sonicpy.errors import CommandError, ConnectionLost, ShuttingDown, SonicError, TooLong

TICKETS_UNDER_WAY = 8
TICKET_BYTES = 1 << 16
"""Lines of more than that are not sent at once."""
BATCH_ROWS = 512
"""So many pushes of a batch are sent when they have come together, as in a batch of Index."""


class Pushes:
    """The way of some rows to a server.

    Args:
        rows: read when there is room for them.
        settled: called with each row and its place once it is known to be indexed (None), or why it is not.
    """

    def __init__(self, rows: Iterator[Row | Refused], settled: "Settled") -> None:
        self._rows = enumerate(rows)
        self._settled = settled
        self._again: deque[tuple[int, Row | Refused]] = deque()
        self._sent: deque[_Sent] = deque()
        self._lines: deque[str] = deque()
        self._fault: Exception | None = None

    def take(self, facts: ServerInfo) -> list[str]:
        """Return some lines to send; none are left when there are none."""
        lines: list[str] = []
        size = 0
        while len(lines) < LINES_UNDER_WAY and size < TICKET_BYTES:
            if not self._lines and not self._take_row(facts):
                break
            line = self._lines.popleft()
            lines.append(line)
            size += len(line)
        return lines

    def take_answers(self, answers: list[Answer]) -> None:
        """Note the answers to the lines that were taken first.

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
                self._settled(sent.place, sent.row, sent.refusal)

    def start_over(self) -> None:
        """Take all rows again that are not settled: the connection is gone."""
        self._again.extendleft((sent.place, sent.row) for sent in reversed(self._sent))
        self._sent.clear()
        self._lines.clear()

    def finish(self) -> None:
        """Raise what ended the rows before their time; what came before is settled."""
        if self._fault is not None:
            raise self._fault

    def _take_row(self, facts: ServerInfo) -> bool:
        while True:
            try:
                place, row = self._again.popleft() if self._again else next(self._rows)
            except StopIteration:
                return False
            except Exception as error:  # noqa: BLE001 - of whoever makes the rows, raised by `finish`
                self._fault = error
                self._rows = enumerate(())
                return False
            if isinstance(row, Refused):
                self._settled(place, row, None)
                continue
            try:
                check_names(row.collection, row.bucket, row.object)
                lines = push_lines(facts, row.collection, row.bucket, row.object, row.text, row.lang)
            except (CommandError, TooLong) as refusal:
                self._settled(place, row, refusal)
            else:
                self._sent.append(_Sent(place, row, len(lines)))
                self._lines.extend(lines)
                return True


Settled = Callable[[int, Row | Refused, SonicError | None], None]


class Report:
    """What becomes of rows, as `push_many` tells it.

    Args:
        progress: told now and then how many rows are done.
    """

    def __init__(self, progress: Progress | None) -> None:
        self._progress = progress
        self._report = PushReport()
        self._done = 0

    def settled(self, place: int, row: Row | Refused, refusal: SonicError | None) -> None:
        """Note what became of a row."""
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
        """Return the report, refused rows in their order."""
        if self._progress is not None and self._done % BATCH_ROWS:
            self._progress(self._done)
        self._report.refused.sort()
        return self._report

    def note_on(self, trouble: SonicError) -> None:
        """Say in a note of what ended it how far it had come."""
        trouble.add_note(f"{self._report.indexed} rows were indexed before, {self._report.refused_count} refused")


class Waiting:
    """Pushes that wait."""

    def __init__(self) -> None:
        self._rows: list[Row] = []
        self._refusal: SonicError | None = None

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, collection: str, bucket: str, object: str, text: str, lang: str | None) -> bool:
        """Append a push; return whether there are enough now."""
        check_push(collection, bucket, object, text, lang)
        self._rows.append(Row(collection, bucket, object, text, lang))
        return len(self._rows) >= BATCH_ROWS

    def take(self) -> Pushes:
        """Return the way of all of them to a server; none is left."""
        rows, self._rows = self._rows, []
        return Pushes(iter(rows), self._settled)

    def raise_refusal(self) -> None:
        """Raise the first refusal of what was sent."""
        refusal, self._refusal = self._refusal, None
        if refusal is not None:
            raise refusal

    def _settled(self, place: int, row: Row | Refused, refusal: SonicError | None) -> None:
        self._refusal = self._refusal or refusal


class _Sent:
    """A row under way."""

    __slots__ = ("left", "place", "refusal", "row")

    def __init__(self, place: int, row: Row, lines: int) -> None:
        self.place = place
        self.row = row
        self.left = lines
        self.refusal: SonicError | None = None
