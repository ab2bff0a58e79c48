"""A connection that finds the server full: it is told so in one line and closed."""

import asyncio

LINGER_S = 1.0
"""For the peer to read that line: closing at once would lose it where the peer has sent something already."""
LINGERING_MAX = 64
"""So many may do so at a time; the others are closed at once."""


class RejectedConnection(asyncio.BufferedProtocol):
    """Takes a connection over from the protocol it was made with.

    Args:
        others: those that are being turned away, this one included until it is gone.
        sink: what the peer sends is read into it and forgotten.
    """

    def __init__(
        self, transport: asyncio.Transport, farewell: bytes, others: "set[RejectedConnection]", sink: memoryview
    ) -> None:
        self._transport = transport
        self._others = others
        self._sink = sink
        self._timer: asyncio.TimerHandle | None = None
        transport.set_protocol(self)
        transport.write(farewell)
        if len(others) >= LINGERING_MAX or not transport.can_write_eof():
            transport.close()
            return
        others.add(self)
        transport.write_eof()
        self._timer = asyncio.get_running_loop().call_later(LINGER_S, transport.abort)

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._sink

    def buffer_updated(self, nbytes: int) -> None:
        pass

    def eof_received(self) -> None:
        """Let the transport close: the peer has seen the end."""

    def connection_lost(self, error: Exception | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._others.discard(self)

    def abort(self) -> None:
        """Close at once."""
        self._transport.abort()
