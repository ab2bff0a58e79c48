"""LineBuffer: bytes in as they arrive, whole lines out.

Each byte is looked at and copied a fixed number of times, however the input is cut, and a line that is too long is
given up as soon as that is certain, whether it is complete or not.
"""

from collections import deque

LINE_MAX_BYTES = 20_000
"""Longest line without its terminator, as announced in STARTED."""

_CR = 0x0D


class LineBuffer:
    """Cuts a stream at its line feeds. `overflowed` is set when the first line that is too long is reached."""

    __slots__ = ("_choked", "_partial", "_ready", "overflowed")

    def __init__(self) -> None:
        self.overflowed = False
        self._ready: deque[bytes] = deque()
        self._partial = bytearray()  # what came behind the last line feed
        self._choked = False  # _partial is too long: nothing behind it will ever be read

    def feed(self, data: bytes) -> None:
        """Append what arrived; behind a line that is too long it is dropped."""
        if self._choked:
            return
        lines = data.split(b"\n")
        rest = lines.pop()
        if lines:
            if self._partial:
                lines[0] = bytes(self._partial) + lines[0]
                self._partial.clear()
            self._ready.extend(lines)
        if rest:
            self._partial += rest
            self._choked = _is_too_long(self._partial)

    def take_line(self) -> bytes | None:
        """Return the next line without its line feed, or None: not yet complete, or `overflowed`."""
        if not self._ready:
            self.overflowed = self._choked
            return None
        line = self._ready.popleft()
        if len(line) > LINE_MAX_BYTES and _is_too_long(line):
            self.clear()
            self._choked = self.overflowed = True
            return None
        return line

    def clear(self) -> None:
        """Drop every line that has not been taken."""
        self._ready.clear()
        self._partial.clear()


def _is_too_long(line: bytes | bytearray) -> bool:
    # The carriage return of a CR LF belongs to the terminator and does not count.
    excess = len(line) - LINE_MAX_BYTES
    return excess > 1 or (excess == 1 and line[-1] != _CR)
