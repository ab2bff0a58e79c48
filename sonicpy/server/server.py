"""The server from start to end: open the index, listen, serve until a signal, stop in order."""

import asyncio
import contextlib
import errno
import logging
import signal
import sys
import time
from collections.abc import Callable

from sonicpy.channel.session import Session
from sonicpy.channel.syntax import Limits
from sonicpy.config import Config, Loaded
from sonicpy.errors import SonicError
from sonicpy.index.index import Index
from sonicpy.server.connection import Connection
from sonicpy.server.service import Service
from sonicpy.server.tasker import Tasker
from sonicpy.version import VERSION

if sys.platform == "win32" or sys.implementation.name != "cpython":
    from asyncio import run as run_loop
else:
    from uvloop import run as run_loop

logger = logging.getLogger(__name__)

STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT)
DRAIN_S = 0.05
"""How long commands that were under way when the signal came may still arrive."""
STOP_S = 2.5
"""How long a stop may take to answer what has arrived, and the peers to read it."""
ANSWERS_S = 1.0
"""The part of it that is left for reading."""
CONSOLIDATE_S = 1.0
"""How long a stop may take to consolidate; what is left stays pending."""
NO_IPV6 = {errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT}
IPV4_LOOPBACK = "127.0.0.1"

LEVELS = {
    "off": logging.CRITICAL + 1,
    "error": logging.ERROR,
    "warn": logging.WARNING,
    "info": logging.INFO,
    "debug": logging.DEBUG,
    "trace": logging.DEBUG,
}


def serve(loaded: Loaded, announce: Callable[[str], None]) -> int:
    """Serve until SIGTERM, SIGINT or SIGQUIT; return the exit status.

    Args:
        announce: called with one line for the person at the terminal once connections are accepted.

    Raises:
        SonicError: the index cannot be opened or the address cannot be used.
    """
    logging.basicConfig(
        level=LEVELS[loaded.config.server.log_level], format="%(asctime)s %(levelname)s %(message)s", force=True
    )
    for warning in loaded.warnings:
        logger.warning("%s", warning)
    if loaded.ignored:
        logger.warning("these settings mean nothing here and are ignored: %s", ", ".join(loaded.ignored))
    run_loop(Server(loaded.config, announce).run())
    return 0


class Server:
    """One listening address and one index."""

    def __init__(self, config: Config, announce: Callable[[str], None]) -> None:
        self._config = config
        self._announce = announce
        search = config.search
        self._limits = Limits(
            query_default=search.query_limit_default,
            query_maximum=search.query_limit_maximum,
            suggest_default=search.suggest_limit_default,
            suggest_maximum=search.suggest_limit_maximum,
            list_default=search.list_limit_default,
            list_maximum=search.list_limit_maximum,
        )

    async def run(self) -> None:
        """Serve until a stop signal. Raises SonicError if it cannot start."""
        loop = asyncio.get_running_loop()
        stopped = asyncio.Event()
        for number in STOP_SIGNALS:
            loop.add_signal_handler(number, stopped.set)
        index = Index(config=self._config, autocommit=False)
        try:
            service = Service(index, self._config)
            listener = await self._listen(service)
            tasker = asyncio.create_task(Tasker(service).run())
            try:
                await stopped.wait()
            finally:
                await self._stop(service, listener, tasker)
        finally:
            index.close()
        logger.info("stopped")

    async def _listen(self, service: Service) -> asyncio.Server:
        host, port = self._config.channel.address
        try:
            try:
                listener = await self._bind(service, host, port)
            except OSError as fault:
                if not (self._config.channel.inet_is_default and fault.errno in NO_IPV6):
                    raise
                logger.warning("this machine has no IPv6: listening on %s instead of %s", IPV4_LOOPBACK, host)
                listener = await self._bind(service, IPV4_LOOPBACK, port)
        except OSError as fault:
            reason = fault.strerror or str(fault)
            raise SonicError(
                f"cannot listen on {self._config.channel.inet}: {reason}; set channel.inet or --inet to a free address"
            ) from fault
        host, port, *_ = listener.sockets[0].getsockname()
        address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        self._announce(f"sonicpy {VERSION} listens on {address}, its index is in {self._config.store.kv.path}")
        return listener

    async def _bind(self, service: Service, host: str, port: int) -> asyncio.Server:
        return await asyncio.get_running_loop().create_server(lambda: self._connection(service), host, port)

    def _connection(self, service: Service) -> Connection:
        compat = self._config.server.compat == "sonic"
        session = Session(VERSION, self._config.channel.auth_password, self._limits, compat)
        return Connection(service, session)

    async def _stop(self, service: Service, listener: asyncio.Server, tasker: "asyncio.Task[None]") -> None:
        """Stop accepting, answer what is under way, close the connections."""
        listener.close()
        tasker.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await tasker
        await asyncio.sleep(DRAIN_S)
        deadline = time.monotonic() + STOP_S  # the loop's own clock stands still while peers are answered
        for peer in list(service.peers):
            peer.shut_down(max(0.0, deadline - ANSWERS_S - time.monotonic()))
        while service.peers and time.monotonic() < deadline:
            await asyncio.sleep(0.01)
        for peer in list(service.peers):
            peer.abort()
        for stranger in list(service.turned_away):
            stranger.abort()
        service.workers.stop()
        service.consolidate_within(CONSOLIDATE_S)
