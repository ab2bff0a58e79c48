"""A connection with TLS that another process serves: its encryption stays here, its plain bytes are forwarded.

    client <-TLS-> outside | inside <-pair of sockets-> the connection as the other process sees it

Each side sends the bytes that the other side receives, and stops reading while the other side has much to send. When
one side ends, the other one ends, too, after sending the rest.
"""

import asyncio
import logging
import socket
from collections.abc import Callable
from typing import cast

from sonicpy.server.connections.connection import WRITE_HIGH_BYTES

logger = logging.getLogger(__name__)


class Side(asyncio.Protocol):
    """One of the two connections of a pump: that of the client, or that of the other process."""

    def __init__(self, on_end: Callable[[], None]) -> None:
        self.other = self
        self._on_end = on_end
        self._transport: asyncio.Transport | None = None
        self._is_over = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport = cast(asyncio.Transport, transport)
        transport.set_write_buffer_limits(high=WRITE_HIGH_BYTES)
        if self._is_over:  # meanwhile
            transport.close()

    def data_received(self, data: bytes) -> None:
        if self.other._transport is not None:
            self.other._transport.write(data)

    def pause_writing(self) -> None:
        if self.other._transport is not None:
            self.other._transport.pause_reading()

    def resume_writing(self) -> None:
        if self.other._transport is not None and not self.other._transport.is_closing():
            self.other._transport.resume_reading()

    def connection_lost(self, error: Exception | None) -> None:
        self._is_over = True
        self.other.close()
        self._on_end()

    def close(self) -> None:
        """Send unsent bytes, then close."""
        self._is_over = True
        if self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        """Close at once."""
        self._is_over = True
        if self._transport is not None:
            self._transport.abort()


class Pump:
    """Forwards bytes between a client and the process that serves it. Create it while the loop runs.

    Args:
        outside: the transport of the client, which does not read.
        inside: the end of the pair of sockets that this process keeps; it belongs to the pump.
        on_end: called once, when the client is gone.
    """

    def __init__(self, outside: asyncio.Transport, inside: socket.socket, on_end: "Callable[[Pump], None]") -> None:
        self._outside, self._inside = Side(lambda: on_end(self)), Side(lambda: None)
        self._outside.other, self._inside.other = self._inside, self._outside
        outside.set_protocol(self._outside)
        self._outside.connection_made(outside)
        self._beginning = asyncio.get_running_loop().create_task(self._begin(outside, inside))

    async def _begin(self, outside: asyncio.Transport, inside: socket.socket) -> None:
        try:
            await asyncio.get_running_loop().connect_accepted_socket(lambda: self._inside, inside)
        except OSError as error:
            logger.warning("a connection with TLS that was handed over cannot be served: %s", error)
            inside.close()
            outside.abort()
            return
        if not outside.is_closing():
            outside.resume_reading()

    def abort(self) -> None:
        """Close both sides at once."""
        self._outside.abort()
        self._inside.abort()
