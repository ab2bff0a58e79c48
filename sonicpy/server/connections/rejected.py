"""A connection that arrives while the server is full: it gets one line with the reason and is closed."""

import asyncio

LINGER_S = 1.0
"""The time in seconds for the peer to read the line: closing at once would lose the line if the peer has sent something
already.
"""
LINGERING_MAX = 16
"""The most rejected connections that may linger at a time; others are closed at once."""


class RejectedConnection(asyncio.BufferedProtocol):
    """Takes over the transport of a connection that is rejected.

    Args:
        reason: the line that the peer gets.
        others: the set of rejected connections that linger; the connection removes itself when it is closed.
        sink: a buffer for the bytes of the peer, which are ignored.
    """

    def __init__(
        self, transport: asyncio.Transport, reason: bytes, others: "set[RejectedConnection]", sink: memoryview
    ) -> None:
        self._transport = transport
        self._others = others
        self._sink = sink
        self._timer: asyncio.TimerHandle | None = None
        transport.set_protocol(self)
        transport.write(reason)
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
        """Close the transport: the peer has closed its side."""

    def connection_lost(self, error: Exception | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._others.discard(self)

    def abort(self) -> None:
        """Close at once."""
        self._transport.abort()
