"""Messages on a connection between two nodes: frames, each with the number of the question that it belongs to.

    frame     size u32 of the bytes after the head | number u32 | bytes     (little-endian)

The first frame of a connection holds the secret of the node that is asked; every other frame is a question or an
answer. Answers may come in any order.
"""

import asyncio
import struct
from abc import ABC, abstractmethod
from typing import cast

HEAD = struct.Struct("<II")
FRAME_BYTES_MAX = 64 << 20


class Frames(asyncio.Protocol, ABC):
    """One end of a connection that reads and writes frames; `take` gets each frame."""

    def __init__(self) -> None:
        self.transport: asyncio.Transport | None = None
        self._rest = b""
        self._parts: list[bytes] = []
        self._missing = 0  # bytes of a long frame that have not arrived

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)  # that of uvloop only behaves as one

    def data_received(self, data: bytes) -> None:
        if self._missing > len(data):
            self._parts.append(data)  # joined once, however many parts there are
            self._missing -= len(data)
            return
        data = b"".join([self._rest, *self._parts, data]) if self._rest else data
        self._parts.clear()
        place, end = 0, len(data)
        self._missing = 0
        while end - place >= HEAD.size:
            size, number = HEAD.unpack_from(data, place)
            if size > FRAME_BYTES_MAX:
                self.abort()
                return
            begin = place + HEAD.size
            if begin + size > end:
                self._missing = begin + size - end
                break
            place = begin + size
            self.take(number, data[begin:place])
        self._rest = data[place:]

    @abstractmethod
    def take(self, number: int, body: bytes) -> None:
        """Take a frame: the number of its question, and its bytes."""

    def send(self, number: int, body: bytes) -> None:
        """Send a frame with the number of a question and `body`, if the connection is open."""
        if self.transport is not None:
            self.transport.write(HEAD.pack(len(body), number) + body)

    def abort(self) -> None:
        """Close the connection at once."""
        if self.transport is not None:
            self.transport.abort()
