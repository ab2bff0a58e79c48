"""A connection that was handed over by another process of the server."""

import asyncio
import logging
import socket
from typing import TYPE_CHECKING, cast

from sonicpy.channel.commands import Mode
from sonicpy.channel.session import Session
from sonicpy.server.connections.connection import Connection
from sonicpy.server.connections.serving import limits_of
from sonicpy.server.searching.handover import NONE
from sonicpy.server.searching.search_messages import Handover
from sonicpy.version import VERSION

if TYPE_CHECKING:
    from sonicpy.server.connections.serving import Serving

logger = logging.getLogger(__name__)


class HandedConnection(Connection):
    """A connection in mode search, between two turns.

    Args:
        unsent: the bytes of replies to send first.
        peer: the address of the client.
    """

    def __init__(self, service: "Serving", session: Session, unsent: bytes, peer: object) -> None:
        super().__init__(service, session)
        self._unsent = unsent
        self._runner.known_peer = peer

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Continue where the other process stopped."""
        self._begin(cast(asyncio.Transport, transport))
        self._write([self._unsent])
        self._check_time()
        self._go_on()


async def go_on_with(service: "Serving", handover: Handover, descriptor: int) -> bool:
    """Serve a connection from now on; return whether that is possible.

    Args:
        descriptor: the descriptor of its socket, which the connection then owns; NONE: the system dropped the
            descriptor, and the connection is closed.
    """
    if descriptor == NONE:
        logger.error("a connection that was handed over is closed: this process may not open more files (ulimit -n)")
        return False
    session = Session(VERSION, None, limits_of(service.config), compat=False)
    session.resume(Mode.SEARCH, handover.rest)
    if handover.held is not None:
        session.permit = service.keys.go_on(handover.held)
    connection = HandedConnection(service, session, handover.unsent, handover.peer)
    handed = socket.socket(fileno=descriptor)
    try:
        await asyncio.get_running_loop().connect_accepted_socket(lambda: connection, handed)
    except OSError as error:
        logger.warning("a connection that was handed over cannot be served: %s", error)
        handed.close()
        return False
    return True
