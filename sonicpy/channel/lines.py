"""LineBuffer: bytes in as they arrive, whole lines out.

Each byte is looked at and copied a fixed number of times, however the input is cut, and a line that is too long is
given up as soon as that is certain, whether it is complete or not.
"""

from sonicpy._native.channel import LineReader

LINE_MAX_BYTES = 20_000
"""Longest line without its terminator, as announced in STARTED."""


class LineBuffer(LineReader):
    """Cuts a stream at its line feeds. `overflowed` is set when the first line that is too long is reached.

    Lines are cut when they are taken: a piece of tiny lines, cut at once, would take ten times its size.
    """

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(LINE_MAX_BYTES)
