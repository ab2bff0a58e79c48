"""LineBuffer: bytes in as they arrive, whole lines out.

Each byte is looked at and copied a fixed number of times, however the input is cut, and a line that is too long is
given up as soon as that is certain, whether it is complete or not.
"""

from collections import deque

LINE_MAX_BYTES = 20_000
"""Longest line without its terminator, as announced in STARTED."""

_CR = 0x0D


class LineBuffer:
    """Cuts a stream at its line feeds. `overflowed` is set when the first line that is too long is reached.

    Lines are cut when they are taken: a piece of tiny lines, cut at once, would take ten times its size.
    """

    __slots__ = ("_at", "_choked", "_partial", "_piece", "_pieces", "overflowed")

    def __init__(self) -> None:
        self.overflowed = False
        self._piece = b""  # whole lines; those before _at have been taken
        self._at = 0
        self._pieces: deque[bytes] = deque()  # more of them
        self._partial = bytearray()  # what came behind the last line feed
        self._choked = False  # that is too long: nothing behind it will ever be read

    def feed(self, data: bytes) -> None:
        """Append what arrived; behind a line that is too long it is dropped."""
        if self._choked:
            return
        end = data.rfind(b"\n") + 1
        if end:
            whole = data[:end]
            if self._partial:
                whole = bytes(self._partial) + whole
                self._partial.clear()
            self._pieces.append(whole)
            data = data[end:]
        if data:
            self._partial += data
            if _is_too_long(self._partial):
                self._choked = True
                self._partial.clear()

    def take_line(self) -> bytes | None:
        """Return the next line without its line feed, or None: not yet complete, or `overflowed`."""
        if self._at == len(self._piece):
            self._at = 0
            if not self._pieces:
                self._piece = b""
                self.overflowed = self._choked
                return None
            self._piece = self._pieces.popleft()
        end = self._piece.find(b"\n", self._at)
        line = self._piece[self._at : end]
        self._at = end + 1
        if len(line) > LINE_MAX_BYTES and _is_too_long(line):
            self.clear()
            self._choked = self.overflowed = True
            return None
        return line

    def clear(self) -> None:
        """Drop every line that has not been taken."""
        self._piece = b""
        self._at = 0
        self._pieces.clear()
        self._partial.clear()


def _is_too_long(line: bytes | bytearray) -> bool:
    # The carriage return of a CR LF belongs to the terminator and does not count.
    excess = len(line) - LINE_MAX_BYTES
    return excess > 1 or (excess == 1 and line[-1] != _CR)
