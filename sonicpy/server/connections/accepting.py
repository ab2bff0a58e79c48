"""Accepts connections with TLS: if there is no room for a connection, it is closed before its handshake, which may take
long.

asyncio reports a connection only after its handshake, so clients that never begin one could take all descriptors.
"""

import asyncio
import contextlib
import errno
import logging
import socket
import ssl
from collections.abc import Callable, Iterable

from sonicpy.server.connections.descriptors import Room

logger = logging.getLogger(__name__)

ACCEPTED_AT_ONCE = 16
"""The most connections that are accepted in one pass of the loop."""
HANDSHAKE_S = 10.0
"""The longest time of a handshake in seconds, as for START. A connection is counted only after its handshake."""
RETRY_S = 1.0
"""The time in seconds for which no connection is accepted after an error, such as one for lack of memory."""
GONE = {errno.EAGAIN, errno.EINTR, errno.ECONNABORTED, errno.EPROTO}
"""Errors of accept(2) for a connection that no longer exists."""


async def stop_accepting(listening: Iterable[socket.socket]) -> None:
    """Accept no more connections on some sockets, and begin to serve those accepted in this pass of the loop.

    asyncio's server serves a connection in the pass after its accept. If it closes in between, the connection is never
    served.
    """
    loop = asyncio.get_running_loop()
    for each in listening:
        with contextlib.suppress(NotImplementedError):  # Windows waits for connections in another way
            loop.remove_reader(each.fileno())
    await asyncio.sleep(0)


class TlsServer:
    """Accepts the connections of a bound socket. Create it while the loop runs.

    Args:
        bound: the socket, which the server then owns.
        factory: makes the protocol of each connection.
        room: decides which connections may begin their handshake.
    """

    def __init__(
        self, bound: socket.socket, factory: Callable[[], asyncio.BaseProtocol], tls: ssl.SSLContext, room: Room
    ) -> None:
        self._bound = bound
        self._factory = factory
        self._tls = tls
        self._room = room
        self._loop = asyncio.get_running_loop()
        self._handshakes: set[asyncio.Task[None]] = set()
        self._retry: asyncio.TimerHandle | None = None

    def start(self, backlog: int) -> None:
        """Begin to accept connections; at most `backlog` may wait to be accepted. Raises OSError."""
        self._bound.setblocking(False)
        self._bound.listen(backlog)
        self._go_on()

    @property
    def sockets(self) -> tuple[socket.socket, ...]:
        """The listening socket, alone in a tuple."""
        return (self._bound,)

    def close(self) -> None:
        """Stop accepting connections, and close the listening socket."""
        if self._retry is not None:
            self._retry.cancel()
        self._loop.remove_reader(self._bound)
        for handshake in self._handshakes:
            handshake.cancel()
        self._bound.close()

    def _go_on(self) -> None:
        self._retry = None
        self._loop.add_reader(self._bound, self._accept)

    def _accept(self) -> None:
        for _ in range(ACCEPTED_AT_ONCE):
            try:
                accepted, _ = self._bound.accept()
            except OSError as error:
                if error.errno not in GONE:
                    logger.error("no connection can be accepted: %s", error.strerror)
                    self._loop.remove_reader(self._bound)
                    self._retry = self._loop.call_later(RETRY_S, self._go_on)
                return
            if not self._room.has(accepted.fileno()):
                accepted.close()
                continue
            handshake = self._loop.create_task(self._shake_hands(accepted))
            self._handshakes.add(handshake)
            handshake.add_done_callback(self._handshakes.discard)

    async def _shake_hands(self, accepted: socket.socket) -> None:
        accepted.setblocking(False)
        with contextlib.suppress(OSError):  # not TCP
            accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            await self._loop.connect_accepted_socket(
                self._factory, accepted, ssl=self._tls, ssl_handshake_timeout=HANDSHAKE_S
            )
        except OSError as error:  # the client has left, took too long, or speaks no TLS
            logger.debug("a connection ended before its handshake did: %s", error)
            accepted.close()
        except BaseException:
            accepted.close()
            raise
