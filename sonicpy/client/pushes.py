"""Pushes: many rows as lines, several tickets of them under way; a row is settled when its last line is answered.

When the connection breaks, every row that is not settled is sent again from its first line: pushed twice it is the
same as pushed once.
"""

from collections import deque
from collections.abc import Callable, Iterator
from typing import NamedTuple

from sonicpy.client.conversation import Answer, Facts
from sonicpy.client.exchange import LINES_UNDER_WAY
from sonicpy.client.plans import check_names, push_lines
from sonicpy.errors import CommandError, ConnectionLost, ShuttingDown, SonicError, TooLong

TICKETS_UNDER_WAY = 8
TICKET_BYTES = 1 << 16
"""Lines of more than that are not sent at once."""


class Row(NamedTuple):
    """A text on its way."""

    number: int
    """Its place among all rows."""
    collection: str
    bucket: str
    object: str
    text: str
    lang: str | None


class Pushes:
    """The way of some rows to a server.

    Args:
        rows: read when there is room for them.
        settled: called with each row once it is known to be indexed (None), or why it is not.
    """

    def __init__(self, rows: Iterator[Row], settled: Callable[[Row, SonicError | None], None]) -> None:
        self._rows = rows
        self._settled = settled
        self._again: deque[Row] = deque()
        self._sent: deque[_Sent] = deque()
        self._lines: deque[str] = deque()
        self._fault: Exception | None = None

    def take(self, facts: Facts) -> list[str]:
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

    def settle(self, answers: list[Answer]) -> None:
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
                self._settled(sent.row, sent.refusal)

    def start_over(self) -> None:
        """Take all rows again that are not settled: the connection is gone."""
        self._again.extendleft(sent.row for sent in reversed(self._sent))
        self._sent.clear()
        self._lines.clear()

    def finish(self) -> None:
        """Raise what ended the rows before their time; what came before is settled."""
        if self._fault is not None:
            raise self._fault

    def _take_row(self, facts: Facts) -> bool:
        while True:
            try:
                row = self._again.popleft() if self._again else next(self._rows, None)
            except Exception as fault:  # noqa: BLE001 - of whoever makes the rows, raised by `finish`
                self._fault = fault
                self._rows = iter(())
                return False
            if row is None:
                return False
            try:
                check_names(row.collection, row.bucket, row.object)
                lines = push_lines(facts, row.collection, row.bucket, row.object, row.text, row.lang)
            except (CommandError, TooLong) as refusal:
                self._settled(row, refusal)
            else:
                self._sent.append(_Sent(row, len(lines)))
                self._lines.extend(lines)
                return True


class _Sent:
    """A row under way."""

    __slots__ = ("left", "refusal", "row")

    def __init__(self, row: Row, lines: int) -> None:
        self.row = row
        self.left = lines
        self.refusal: SonicError | None = None
