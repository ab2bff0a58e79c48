"""The server from start to end: open the index, listen, serve until a signal, stop in order."""

import asyncio
import contextlib
import gc
import importlib
import logging
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable
from types import ModuleType

from sonicpy.channel.session import Session
from sonicpy.channel.syntax import Limits
from sonicpy.config import Config, Loaded
from sonicpy.errors import ConfigError
from sonicpy.index.index import Index
from sonicpy.server import logs
from sonicpy.server.connection import Connection
from sonicpy.server.listeners import Listeners, tls_context
from sonicpy.server.notify import READY, STOPPING, notify
from sonicpy.server.service import Service
from sonicpy.server.tasks import PeriodicTasks
from sonicpy.version import VERSION

if sys.platform == "win32" or sys.implementation.name != "cpython":
    from asyncio import run as run_loop
else:
    from uvloop import run as run_loop

logger = logging.getLogger(__name__)

STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT)
DRAIN_S = 0.05
"""Time for commands to arrive that clients had sent before the signal came."""
STOP_S = 2.5
"""Longest time of a stop for answering what has arrived, and for peers to read the answers."""
ANSWERS_S = 1.0
"""The part of STOP_S that is kept for reading."""
GARBAGE_OBJECTS = 10_000
"""New Python objects between two collections: a few hundred commands; a collection takes about 0.1 ms."""
CONSOLIDATE_S = 1.0
"""Longest time of a stop for consolidating; other words stay pending."""


def serve(loaded: Loaded, announce: Callable[[str], None]) -> int:
    """Serve until SIGTERM, SIGINT or SIGQUIT; return the exit status.

    Args:
        announce: called with one line for the terminal once the server accepts connections.

    Raises:
        SonicError: the index cannot be opened or an address cannot be used.
    """
    logs.set_up(loaded.config.server.log_level)
    for remark in loaded.remarks:
        logger.warning("%s", remark)
    run_loop(Server(loaded.config, announce).run())
    return 0


class Server:
    """One index, and the addresses it is served on."""

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
        tls = tls_context(self._config.channel)
        metrics = None if self._config.metrics.address is None else load_metrics()
        http = None if self._config.http.address is None else load_http()
        index = Index(config=self._config, autocommit=False)
        try:
            index.maintainer.prepare()
            service = Service(index, self._config)
            listeners = Listeners(self._config.channel, tls)
            async with self._watched(service, metrics) as watched_on, self._over_http(service, http) as http_on:
                await listeners.start(lambda: self._connection(service))
                index.maintainer.note_server(listeners.url)
                self._announce(
                    f"sonicpy {VERSION} listens on {', '.join(listeners.names)}, {http_on}{watched_on}"
                    f"its index is in {self._config.store.kv.path}"
                )
                service.unready = None
                # Objects that exist now stay. Later collections look only at those of commands, which have few cycles.
                gc.collect()
                gc.freeze()
                gc.set_threshold(GARBAGE_OBJECTS)
                notify(READY)
                tasks = asyncio.create_task(PeriodicTasks(service).run())
                try:
                    await stopped.wait()
                finally:
                    service.unready = "the server is stopping"
                    notify(STOPPING)
                    await self._stop(service, listeners, tasks)
        finally:
            index.close()
        logger.info("stopped")

    @contextlib.asynccontextmanager
    async def _watched(self, service: Service, metrics: ModuleType | None) -> AsyncIterator[str]:
        """Serve metrics inside a `with` block, if the settings ask for them; yield their part of the announcement."""
        address = self._config.metrics.address
        if metrics is None or address is None:
            yield ""
            return
        watched = metrics.MetricsServer(service, *address)
        watched.start()
        try:
            yield f"metrics on {watched.name}, "
        finally:
            await watched.stop()

    @contextlib.asynccontextmanager
    async def _over_http(self, service: Service, http: ModuleType | None) -> AsyncIterator[str]:
        """Serve HTTP inside a `with` block, if the settings ask for it; yield its part of the announcement."""
        if http is None:
            yield ""
            return
        async with http.open_http(service, self._config.http) as name:
            yield f"HTTP on {name}, "

    def _connection(self, service: Service) -> Connection:
        compat = self._config.server.compat == "sonic"
        session = Session(VERSION, self._config.channel.auth_password, self._limits, compat)
        return Connection(service, session)

    async def _stop(self, service: Service, listeners: Listeners, tasks: "asyncio.Task[None]") -> None:
        """Stop to accept connections, answer what has arrived, close the connections, and end the maintenance."""
        listeners.close()
        tasks.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await tasks
        await asyncio.sleep(DRAIN_S)
        deadline = time.monotonic() + STOP_S  # loop.time() would stand still while peers are answered
        for peer in list(service.peers):
            peer.shut_down(max(0.0, deadline - ANSWERS_S - time.monotonic()))
        while service.peers and time.monotonic() < deadline:
            await asyncio.sleep(0.01)
        for peer in list(service.peers):
            peer.abort()
        for rejected in list(service.rejected):
            rejected.abort()
        await service.maintenance.stop()
        service.maintenance.consolidate_within(CONSOLIDATE_S)


def load_http() -> ModuleType:
    """Return sonicpy.server.http. It is loaded only here, because it needs packages and 40 MB of memory.

    Raises:
        ConfigError: a package is not installed.
    """
    try:
        return importlib.import_module("sonicpy.server.http")
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] == "sonicpy":
            raise
        raise ConfigError(
            f"http.inet is set, but the package {error.name} is not installed: run pip install 'sonicpy-search[http]'."
        ) from error


def load_metrics() -> ModuleType:
    """Return sonicpy.server.metrics. It is loaded only here, because it needs a package and 2.5 MB of memory.

    Raises:
        ConfigError: the package is not installed.
    """
    try:
        return importlib.import_module("sonicpy.server.metrics")
    except ModuleNotFoundError as error:
        if error.name != "prometheus_client":
            raise
        raise ConfigError(
            "metrics.inet is set, but the package prometheus-client is not installed: "
            "run pip install 'sonicpy-search[metrics]'."
        ) from error
