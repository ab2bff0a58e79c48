"""Many rows in one request: one JSON object per line, pushed as they arrive, so that memory stays bounded."""

import asyncio
from bisect import insort
from collections.abc import AsyncIterator
from json import JSONDecodeError
from operator import attrgetter

from sonicpy.arguments import text_of
from sonicpy.errors import CommandError, InvalidArgument, sentence_of
from sonicpy.http.backend import Backend, TextRow
from sonicpy.http.flat import UTF8_MARK, UTF16_MARKS, flat_json, not_utf8
from sonicpy.http.models import BulkJson, PushBody, RefusedJson

LINE_BYTES_MAX = 256 << 10
"""The most bytes of a line, as for a JSON body."""
ROWS_MAX = 500
"""The most rows that are handed to the backend at a time."""
WAITING_BYTES = 1 << 20
"""The number of bytes of lines at which their rows are handed to the backend, though they are few."""
LINES_A_TURN = 50
"""The most lines that are read between two turns: about 0.5 ms."""
NAMED_MAX = 100
"""The most refused rows that the answer names."""


class Rows:
    """The rows of a stream, and their outcome."""

    def __init__(self, backend: Backend, *, upsert: bool = False) -> None:
        self._backend = backend
        self._upsert = upsert
        self._waiting: list[TextRow] = []
        self._places: list[int] = []
        self._waiting_bytes = 0
        self._count = 0
        self._pushed = 0
        self._refused = 0
        self._named: list[RefusedJson] = []

    async def add(self, line: bytes) -> None:
        """Take a line, or more than LINE_BYTES_MAX bytes of one that is too long; push waiting rows once there are
        ROWS_MAX or WAITING_BYTES. Raises InvalidArgument if line 1 is UTF-16.
        """
        if not self._count and line.startswith(UTF16_MARKS):
            raise InvalidArgument("the body begins as UTF-16 does; allowed is UTF-8")
        is_whole = len(line) <= LINE_BYTES_MAX  # the rest of a line that was cut off may hold a row
        if is_whole and not line.strip().removeprefix(UTF8_MARK.encode()):
            return
        self._count += 1
        try:
            self._waiting.append(row_of(line))
            self._places.append(self._count)
            self._waiting_bytes += len(line)
        except CommandError as error:
            self._refuse(self._count, sentence_of(error))
        if len(self._waiting) >= ROWS_MAX or self._waiting_bytes >= WAITING_BYTES:
            await self.push()

    async def push(self) -> None:
        """Push the waiting rows. Raises SonicError if that fails; rows pushed before stay."""
        rows, places = self._waiting, self._places
        self._waiting, self._places, self._waiting_bytes = [], [], 0
        if not rows:
            return
        refused = await self._backend.push_rows(rows, upsert=self._upsert)
        self._pushed += len(rows) - len(refused)
        for place, reason in refused:
            self._refuse(places[place], reason)

    def _refuse(self, number: int, reason: str) -> None:
        self._refused += 1
        if len(self._named) < NAMED_MAX or number < self._named[-1].row:  # lines are refused before rows
            insort(self._named, RefusedJson(row=number, reason=reason), key=attrgetter("row"))
            del self._named[NAMED_MAX:]

    def report(self) -> BulkJson:
        """Return the outcome of the rows."""
        return BulkJson(pushed=self._pushed, refused=self._refused, first_refused=self._named)


async def push_stream(backend: Backend, parts: AsyncIterator[bytes], *, upsert: bool = False) -> BulkJson:
    """Push the rows of a body as its parts arrive; return the numbers of pushed and of refused ones.

    Args:
        upsert: whether each text replaces the words of its object.

    Raises:
        InvalidArgument: the body is UTF-16.
        SonicError: rows cannot be pushed; the rows before them are.
    """
    rows = Rows(backend, upsert=upsert)
    rest = bytearray()  # of a line whose end has not come; of a long line, only as much as shows that it is too long
    async for part in parts:
        first, *lines = part.split(b"\n")
        rest += first[: LINE_BYTES_MAX + 1 - len(rest)]
        if not lines:
            continue
        await rows.add(bytes(rest))
        for number, line in enumerate(lines[:-1], 1):
            await rows.add(line)
            if number % LINES_A_TURN == 0:
                await asyncio.sleep(0)
        rest = bytearray(lines[-1][: LINE_BYTES_MAX + 1])
    await rows.add(bytes(rest))
    await rows.push()
    return rows.report()


def row_of(line: bytes) -> TextRow:
    """Return the row in a line. Raises InvalidArgument if the line holds no row, or is too long."""
    if len(line) > LINE_BYTES_MAX:
        raise InvalidArgument(f"the line has more than {LINE_BYTES_MAX} bytes")
    try:
        held = flat_json(line)
        names = (held["collection"], held["bucket"], held["object"], held["text"])
        row = TextRow(*names, held.get("lang"), held.get("vector"), held.get("tags"), held.get("values"))
    except UnicodeDecodeError as error:
        raise InvalidArgument(f"the line {not_utf8(error)}") from error
    except JSONDecodeError as error:
        raise InvalidArgument(f"the line is no JSON object: {error.msg} at character {error.pos + 1}") from error
    except (KeyError, TypeError, AttributeError) as error:
        keys = ", ".join(key for key, field in PushBody.model_fields.items() if field.is_required())
        raise InvalidArgument(f"the line is no JSON object with {keys}") from error
    field = held.get("field")
    return row if field is None else row._replace(texts={text_of("field", field): row.text})
