"""The server from start to end: open the index, listen, serve until a signal, stop cleanly."""

import asyncio
import contextlib
import importlib
import logging
import signal
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from dataclasses import dataclass
from functools import partial
from types import ModuleType
from typing import TYPE_CHECKING, Any

from sonicpy.channel.pieces import RoomForPieces
from sonicpy.channel.session import Session
from sonicpy.config import Config, Loaded
from sonicpy.errors import ConfigError, SonicError
from sonicpy.index.index import Index
from sonicpy.late import import_now
from sonicpy.server.connections.connection import Connection
from sonicpy.server.connections.descriptors import raise_limit
from sonicpy.server.connections.listeners import Listeners, check_channel, tls_context
from sonicpy.server.connections.permits import admitting, keys_of
from sonicpy.server.connections.serving import end_connections, limits_of
from sonicpy.server.jobs.tasks import ServiceTasks
from sonicpy.server.process.heap import bound_heap
from sonicpy.server.process.loop import run_loop, settle_garbage
from sonicpy.server.process.notify import READY, STOPPING, notify
from sonicpy.server.process.stop_signals import stop_signals
from sonicpy.server.service import BaseService, Service
from sonicpy.server.watching import logs
from sonicpy.version import VERSION

if TYPE_CHECKING:
    from sonicpy.server.searching.search_processes import SearchProcesses

logger = logging.getLogger(__name__)

PeriodicWork = Callable[[], Coroutine[Any, Any, None]]
"""A coroutine that runs beside the connections until it is cancelled. If it raises a SonicError, the server stops and
raises that error.
"""

DRAIN_S = 0.05
"""The time in seconds for commands to arrive that clients sent before the signal."""
STOP_S = 2.5
"""The longest time of a stop in seconds: for answering commands that have arrived, and for peers to read the
answers.
"""
ANSWERS_S = 1.0
"""The part of STOP_S in seconds for peers to read."""
PUMPS_S = 0.5
"""The longest time in seconds for sending the last answers of search processes to clients with TLS."""
CONSOLIDATE_S = 1.0
"""The longest time of a consolidation during a stop in seconds; the remaining words stay pending."""


@dataclass(frozen=True, slots=True)
class Announcement:
    """The addresses of a server that accepts connections; `str` makes the line for the terminal.

    Attributes:
        channel: each address of the channel.
        http: the address of HTTP; None: it is not served.
        metrics: the address of the figures for Prometheus; None: they are not served.
        where: a description of the place of the index, such as its folder.
    """

    channel: tuple[str, ...]
    http: str | None
    metrics: str | None
    where: str

    def __str__(self) -> str:
        addresses = [", ".join(self.channel)]
        if self.http is not None:
            addresses.append(f"HTTP on {self.http}")
        if self.metrics is not None:
            addresses.append(f"metrics on {self.metrics}")
        return f"sonicpy {VERSION} listens on {', '.join(addresses)}, its index is in {self.where}"


Announce = Callable[[Announcement], None]


def serve(loaded: Loaded, announce: Announce) -> int:
    """Serve until a stop signal; return the exit status.

    Args:
        announce: called once the server accepts connections.

    Raises:
        SonicError: the index cannot be opened or an address cannot be used.
    """
    return run(Server(loaded.config, announce), loaded)


def check_settings(config: Config) -> None:
    """Make the checks of `serve` that need more than the settings, such as files, and no address and no index.

    Raises:
        SonicError: the server would not start.
    """
    tls_context(config.channel)
    check_channel(config.channel)
    keys_of(config)
    if config.metrics.address is not None:
        load_metrics()
    if config.http.address is not None:
        load_http()
        importlib.import_module("sonicpy.server.web.http_checks").check_http(config)


def run(server: "Server", loaded: Loaded) -> int:
    """Set up the log, and run a server until a stop signal; return the exit status. Raises SonicError like `serve`."""
    logs.set_up(loaded.config.server.log_level)
    raise_limit()
    bound_heap()
    for remark in loaded.remarks:
        logger.warning("%s", remark)
    import_now()
    run_loop(server.run())
    return 0


class StoppedBefore(Exception):
    """A stop signal came before everything was open."""


class Server:
    """Serves one index on its addresses."""

    def __init__(self, config: Config, announce: Announce) -> None:
        self._config = config
        self._announce = announce
        self._limits = limits_of(config)
        self._pieces_room = RoomForPieces()
        self._stopped = asyncio.Event()

    async def run(self) -> None:
        """Serve until a stop signal. Raises SonicError if the server cannot start, or must not go on."""
        with contextlib.suppress(StoppedBefore):
            await self._run()
        logger.info("stopped")

    async def _run(self) -> None:
        """Serve until a stop signal. Raises as `run`, and StoppedBefore."""
        loop, stopped = asyncio.get_running_loop(), self._stopped
        for number in stop_signals():
            loop.add_signal_handler(number, stopped.set)
        tls = tls_context(self._config.channel)
        metrics = None if self._config.metrics.address is None else load_metrics()
        http = None if self._config.http.address is None else load_http()
        async with self._opened() as (service, run_tasks):
            listeners = Listeners(self._config.channel, tls, service.room)
            async with self._watched(service, metrics) as watched_on, self._over_http(service, http) as http_on:
                await listeners.start(lambda: self._connection(service))
                service.note_url(listeners.url)
                self._announce(Announcement(tuple(listeners.names), http_on, watched_on, str(service.where)))
                service.unready = None
                settle_garbage()
                notify(READY)
                tasks = asyncio.create_task(run_tasks())
                tasks.add_done_callback(partial(_note_end, stopped))
                try:
                    await stopped.wait()
                finally:
                    service.unready = "the server is stopping"
                    notify(STOPPING)
                    await self._stop(service, listeners, tasks)
        if (refusal := _refusal(tasks)) is not None:
            raise refusal

    @contextlib.asynccontextmanager
    async def _opened(self) -> AsyncIterator[tuple[BaseService, PeriodicWork]]:
        """Open the service inside a `with` block; yield it, and its periodic work."""
        with self._stopping_at_once():
            index = Index(config=self._config, autocommit=False)
        try:
            warn_of_modes(index)
            index.engine.lexer.prepare()
            service = Service(index, self._config)
            service.search = find_search_processes(service)
            try:
                yield service, partial(run_tasks_of, service)
            finally:
                if service.search is not None:  # however the server ends: what is left would be waited for
                    service.search.close()
        finally:
            index.close()

    @contextlib.contextmanager
    def _stopping_at_once(self) -> Iterator[None]:
        """Raise StoppedBefore at a stop signal inside a `with` block, in which the loop does not run: opening an index
        may take minutes, and may end at any moment.
        """

        def stop(number: int, frame: object) -> None:
            self._stopped.set()  # in case that the exception is taken for another one
            raise StoppedBefore

        before = [(number, signal.signal(number, stop)) for number in stop_signals()]
        try:
            yield
        finally:
            for number, handler in before:
                signal.signal(number, handler)

    @contextlib.asynccontextmanager
    async def _watched(self, service: BaseService, metrics: ModuleType | None) -> AsyncIterator[str | None]:
        """Serve metrics inside a `with` block, if the settings ask for them; yield their address, else None."""
        address = self._config.metrics.address
        if metrics is None or address is None:
            yield None
            return
        watched = metrics.MetricsServer(service, *address)
        watched.start()
        try:
            yield watched.name
        finally:
            await watched.stop()

    @contextlib.asynccontextmanager
    async def _over_http(self, service: BaseService, http: ModuleType | None) -> AsyncIterator[str | None]:
        """Serve HTTP inside a `with` block, if the settings ask for it; yield its address, else None."""
        if http is None:
            yield None
            return
        async with http.open_http(service, self._config.http) as name:
            yield name

    def _connection(self, service: BaseService) -> Connection:
        compat = self._config.server.compat == "sonic"
        admit = admitting(service.keys)
        session = Session(VERSION, self._config.channel.auth_password, self._limits, compat, admit, self._pieces_room)
        return Connection(service, session)

    async def _stop(self, service: BaseService, listeners: Listeners, tasks: "asyncio.Task[None]") -> None:
        """Stop accepting connections, answer received commands, close the connections, and end the maintenance."""
        await listeners.close()
        tasks.cancel()
        await asyncio.wait([tasks])  # an error was noted when it came
        await asyncio.sleep(DRAIN_S)
        if service.search is None:
            await end_connections(service, STOP_S - ANSWERS_S, STOP_S)
        else:
            elsewhere = asyncio.create_task(service.search.stop(STOP_S - ANSWERS_S, STOP_S))
            await asyncio.sleep(0)  # so that they begin at the same time
            await end_connections(service, STOP_S - ANSWERS_S, STOP_S)
            await elsewhere
            service.search.close()
            await service.end_pumps(PUMPS_S)
        for rejected in list(service.rejected):
            rejected.abort()
        await service.finish(CONSOLIDATE_S)


def _note_end(stopped: asyncio.Event, tasks: "asyncio.Task[None]") -> None:
    """Stop the server after a SonicError of the periodic work; log any other error and go on."""
    if _refusal(tasks) is not None:
        stopped.set()
    elif not tasks.cancelled() and (error := tasks.exception()) is not None:
        logger.error("an unexpected error has ended the periodic work", exc_info=error)


def _refusal(tasks: "asyncio.Task[None]") -> SonicError | None:
    """Return the error with which the periodic work ended the server; None: it did not end the server."""
    error = tasks.exception() if tasks.done() and not tasks.cancelled() else None
    return error if isinstance(error, SonicError) else None


def warn_of_modes(index: Index) -> None:
    """Log a warning if more users may use the files of an index than may use new ones."""
    remark = index.maintainer.wide_files()
    if remark is not None:
        logger.warning("%s", remark)


async def run_tasks_of(service: Service) -> None:
    """Run the periodic tasks, and the search processes if the settings allow them, until cancelled."""
    tasks = ServiceTasks(service).run()
    if service.search is None:
        await tasks
    else:
        await asyncio.gather(tasks, service.search.run())


def find_search_processes(service: Service) -> "SearchProcesses | None":
    """Return the search processes for the settings; None: there are none."""
    server = service.config.server
    if server.search_processes == 0 or server.compat == "sonic":
        return None
    module = importlib.import_module("sonicpy.server.searching.search_processes")  # few servers need it
    found: SearchProcesses | None = module.search_processes_of(service.index, service.committer, service)
    return found


def load_http() -> ModuleType:
    """Return sonicpy.server.web.http. It is loaded only on demand, because it needs packages and 40 MB of memory.

    Raises:
        ConfigError: a package is not installed.
    """
    try:
        return importlib.import_module("sonicpy.server.web.http")
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] == "sonicpy":
            raise
        raise ConfigError(
            f"http.inet is set, but the package {error.name} is not installed: run pip install 'sonicpy-search[http]'."
        ) from error


def load_metrics() -> ModuleType:
    """Return sonicpy.server.web.metrics. It is loaded only on demand, because it needs a package and 2.5 MB of memory.

    Raises:
        ConfigError: the package is not installed.
    """
    try:
        return importlib.import_module("sonicpy.server.web.metrics")
    except ModuleNotFoundError as error:
        if error.name != "prometheus_client":
            raise
        raise ConfigError(
            "metrics.inet is set, but the package prometheus-client is not installed: "
            "run pip install 'sonicpy-search[metrics]'."
        ) from error
