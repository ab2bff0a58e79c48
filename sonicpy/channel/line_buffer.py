"""LineBuffer: takes bytes as they arrive, and returns whole lines.

It reads and copies each byte a fixed number of times, however the input is cut. It gives up a line as soon as it is too
long, complete or not.
"""

from sonicpy._native.lines import LineReader

LINE_MAX_BYTES = 20_000
"""The most bytes of a line without its terminator; STARTED announces this number."""


class LineBuffer(LineReader):
    """Cuts a stream at its line feeds. It sets `overflowed` when it reaches a line that is too long.

    It cuts a line when the caller takes it: tiny lines, all cut on arrival, would need ten times their size.
    """

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(LINE_MAX_BYTES)
