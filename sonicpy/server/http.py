"""HTTP and JSON in the server's own process and loop: the same index, the same log, the same wrong passwords.

The server imports this file only if `http.inet` is set. It serves the application of sonicpy/http with uvicorn, whose
signal handlers stay off: signals are the server's.
"""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Any

import uvicorn

from sonicpy.config import HttpConfig
from sonicpy.errors import CommandError, ConfigError, ShuttingDown
from sonicpy.http import app
from sonicpy.http.backend import TURN_S, Refusal, Row
from sonicpy.server.figures import not_ready
from sonicpy.server.listeners import bind_tcp, explaining, name_of
from sonicpy.server.passwords import DelayedRefusal, network_of

if TYPE_CHECKING:
    from sonicpy.server.service import Service

logger = logging.getLogger(__name__)

CHANGES = frozenset({"push", "pop", "flush"})
KEEP_ALIVE_S = 75
CONNECTIONS_MAX = 1000
BACKLOG = 100
STOP_S = 2


class ServerBackend:
    """The index of a server, on the loop's thread: it sees what waits to be committed, as connections do."""

    def __init__(self, service: "Service") -> None:
        self._service = service

    async def call(self, method: str, *args: Any, **options: Any) -> Any:
        """Return what a method of the index returns; a change has reached the log when it does."""
        if self._service.unready is not None:
            raise ShuttingDown(self._service.unready)
        long = self._long(method, *args)
        if long is not None:
            return await long
        began = time.perf_counter()
        found = getattr(self._service.index, method)(*args, **options)
        self._service.statistics.note_http(method, time.perf_counter() - began)
        if method in CHANGES:
            await self._seal()
        else:
            self._service.committer.note_turn_without_changes()
        return found

    def _long(self, method: str, *args: Any) -> Any:
        """Return what to wait for, for a method that takes longer than a turn; None for others."""
        service = self._service
        match method:
            case "stats":
                service.committer.commit()  # if that fails, the figures are those of the commit before
                return asyncio.to_thread(service.index.stats, *args)
            case "verify":
                return service.maintenance.verify()
            case "consolidate":
                return service.maintenance.consolidate()
            case "backup":
                return service.maintenance.backup(Path(*args))
            case "restore":
                return service.maintenance.restore(Path(*args))
        return None

    async def _seal(self) -> None:
        """Put changes into the log. Raises StoreError if it cannot be written: the changes are undone."""
        synced = self._service.committer.seal(self)
        if synced is not None:
            await asyncio.shield(synced)

    async def push_rows(self, rows: Sequence[Row]) -> list[Refusal]:
        """Push rows in turns, between which connections are served."""
        refused: list[Refusal] = []
        index = self._service.index
        place = 0
        while place < len(rows):
            deadline = time.perf_counter() + TURN_S
            while place < len(rows) and time.perf_counter() < deadline:
                try:
                    index.push(*rows[place])
                except CommandError as error:
                    refused.append((place, str(error)))
                place += 1
            await self._seal()
            await asyncio.sleep(0)
        return refused

    async def figures(self) -> dict[str, Any]:
        """Return the figures of the server and its index."""
        service = self._service
        statistics = service.statistics
        return {
            "connections": len(service.peers),
            "received_bytes": statistics.received_bytes,
            "sent_bytes": statistics.sent_bytes,
            "consolidations": statistics.consolidations,
            "verbs": {
                tally.verb: {"count": tally.count, "mean_us": tally.seconds / tally.count * 1e6}
                for tally in statistics.all_tallies()
                if tally.count
            },
            "slow": list(statistics.slow),
            "index": await self.call("stats"),
        }

    async def unready(self) -> str | None:
        """Return why the server should get no requests, or None."""
        return not_ready(self._service)


class HttpServer:
    """HTTP on one address. To be made while the loop runs.

    Args:
        service: whose index it serves.
        config: the section [http] with an address.

    Raises:
        ConfigError: the address is not this machine alone, and there is no password.
        SonicError: the address cannot be used.
    """

    def __init__(self, service: "Service", config: HttpConfig) -> None:
        address = config.address
        assert address is not None
        password = service.config.channel.auth_password
        check_exposure(address[0], password, config)
        self._service = service
        with explaining(str(config.inet), "http.inet"):
            self._socket = bind_tcp(*address)
        self.name = name_of(self._socket)
        """The address, as host:port."""
        application = app(
            ServerBackend(service),
            password=password,
            read_only=config.read_only,
            origins=config.origins,
            page=config.page,
            refuse=self._refuse,
        )
        self._server = QuietServer(
            uvicorn.Config(
                application, lifespan="off", log_config=None, access_log=False, server_header=False, ws="none",
                http="httptools", timeout_keep_alive=KEEP_ALIVE_S, limit_concurrency=CONNECTIONS_MAX,
                timeout_graceful_shutdown=STOP_S, backlog=BACKLOG, h11_max_incomplete_event_size=1 << 16,
            )
        )  # fmt: skip
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Listen. Raises SonicError if that fails."""
        with explaining(self.name, "http.inet"):
            self._socket.listen(BACKLOG)
        self._task = asyncio.create_task(self._server.serve([self._socket]))
        while not self._server.started and not self._task.done():
            await asyncio.sleep(0.001)
        if self._task.done():
            await self._task

    async def stop(self) -> None:
        """Answer the requests under way, for at most STOP_S, and close the connections."""
        self._server.should_exit = True
        if self._task is not None:
            await self._task
        self._socket.close()

    async def _refuse(self, peer: Any) -> bool:
        """Wait as wrong passwords of the channel do; return False if too many wait already."""
        passwords, network = self._service.wrong_passwords, network_of(peer)
        loop = asyncio.get_running_loop()
        delay_s = passwords.delay_s(network, loop.time())
        if delay_s is None:
            return False
        if delay_s:
            waited = asyncio.Event()
            refusal = DelayedRefusal(passwords, network, delay_s, waited.set)
            try:
                await waited.wait()
            finally:
                refusal.end()
        return True


class QuietServer(uvicorn.Server):
    """A server of uvicorn that leaves signals alone."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none."""
        yield


def check_exposure(host: str, password: str | None, config: HttpConfig) -> None:
    """Raise ConfigError if an address that others reach would be served without a password."""
    if password is None and not config.without_password and not ip_address(host).is_loopback:
        raise ConfigError(
            f"http.inet is {config.inet}, which other machines reach, and channel.auth_password is not set; "
            "allowed are an address of this machine alone, a password, or http.without_password = true."
        )


@asynccontextmanager
async def open_http(service: "Service", config: HttpConfig) -> AsyncIterator[str]:
    """Serve HTTP for the length of a `with` block; yield the address. Raises SonicError if that cannot begin."""
    server = HttpServer(service, config)
    await server.start()
    try:
        yield server.name
    finally:
        await server.stop()
