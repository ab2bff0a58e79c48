"""HTTP and JSON in the process and the event loop of the server, with its index, its log and its count of wrong
passwords.

The server imports this file only if `http.inet` is set. It serves the application of sonicpy/http with uvicorn, whose
signal handlers stay off: the server handles signals.
"""

import asyncio
import logging
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from sonicpy.arguments import bucket_of_filter
from sonicpy.channel.quoting import cut
from sonicpy.config import HttpConfig
from sonicpy.config.problems import naming
from sonicpy.errors import CommandError, ShuttingDown, sentence_of
from sonicpy.filters.grammar import filter_text
from sonicpy.http import app
from sonicpy.http.backend import (
    TURN_S,
    RefusedPlace,
    TextRow,
    WholeStats,
    names_of,
    push_row,
    text_and_others,
    upsert_row,
)
from sonicpy.http.over_channel import ChannelBackend
from sonicpy.index.report.stats import memory_bytes
from sonicpy.server.connections.accepting import ACCEPTED_AT_ONCE, stop_accepting
from sonicpy.server.connections.listeners import bind_tcp, explaining, name_of
from sonicpy.server.connections.passwords import DelayedRefusal, network_of
from sonicpy.server.connections.phrase_turns import METHODS
from sonicpy.server.service import BaseService, Service
from sonicpy.server.watching.figures import VerbFigures
from sonicpy.server.watching.server_statistics import BOUNDS_S
from sonicpy.server.web.http_checks import host_of
from sonicpy.server.web.http_protocol import KEEP_ALIVE_S, Connections, LimitedProtocol, Pace
from sonicpy.server.web.server_figures import not_ready, server_figures

logger = logging.getLogger(__name__)

Value = TypeVar("Value")

CHANGES = frozenset({"push", "tag", "pop", "flush", "upsert", "set_synonyms"})
TEXTUAL = frozenset({"push", "pop"})
TEXT_PLACES = {"push": 3, "upsert": 3, "query": 2, "explain": 2}
"""Method whose text may get a vector -> the place of the text among its arguments."""
OBJECTS_AT_ONCE = 8
"""The number of objects whose words are read between two looks at the clock."""
PIECE_CHARACTERS = 10_000
"""The most characters of a piece of a text that is pushed at once, which takes about 2 ms."""
BACKLOG = 1024
STOP_S = 1
"""The longest time in seconds for requests under way when the server stops."""
RECEIVE_BUFFER_BYTES = 1 << 16
"""The size of the system's receive buffer of a connection, which bounds the bytes that wait for their turn."""


class ServerBackend:
    """The index of a server, on the loop's thread: reads include uncommitted changes, as those of connections do.

    Args:
        pace: decides when requests that have waited go on.
    """

    def __init__(self, service: Service, pace: Pace) -> None:
        self._service = service
        self._pace = pace
        self._whole = WholeStats(self._read_stats)

    async def call(self, method: str, *args: Any, **options: Any) -> Any:
        """Return the result of a method of the index; if it changes something, once the change has reached the log.
        Raises the errors of the method, ShuttingDown, or the error that undid the change.
        """
        self._check_ready()
        args, options = await self._with_vector(method, args, options)
        return await self._carry_out(method, *args, **options)

    def _check_ready(self) -> None:
        if self._service.unready is not None:
            raise ShuttingDown(self._service.unready)

    async def _carry_out(self, method: str, *args: Any, **options: Any) -> Any:
        """Return the result of `call`; the server makes no vector. Raises as `call`."""
        self._check_ready()
        long = self._long(method, *args, **options)
        if long is not None:
            return await long
        began = time.perf_counter()
        if method in TEXTUAL and len(args[3]) > PIECE_CHARACTERS:
            return await self._in_pieces(method, *args, **options)
        found = await self._found(method, *args, **options)
        self._service.statistics.note_http(method, time.perf_counter() - began)
        if method in CHANGES:
            await self._seal()
            if method == "flush" and self._service.index.engine.store.has_removals:
                await self._waited(self._service.committer.remove())
        elif (undone := self._service.committer.note_turn_without_changes()) is not None:
            raise undone
        return found

    async def _found(self, method: str, *args: Any, **options: Any) -> Any:
        """Return the result of a method, computed in steps if many objects have to be checked for its phrases."""
        index, phrases = self._service.index, self._service.phrases
        if phrases is None or method not in METHODS:
            return getattr(index, method)(*args, **options)
        return await phrases.ask(index, lambda answers: getattr(answers, method)(*args, **options))

    async def _in_pieces(
        self, method: str, collection: str, bucket: str, oid: Any, text: str, *more: Any, **options: Any
    ) -> Any:
        """Push or pop a long text piece by piece, as clients of the channel do; return the number of removed words."""
        removed = 0
        for piece in cut(text, PIECE_CHARACTERS):
            removed += await self._carry_out(method, collection, bucket, oid, piece, *more, **options) or 0
            await self._next_turn()
        return removed

    async def _with_vector(
        self, method: str, args: tuple[Any, ...], options: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the arguments of a call with the vector of its text, if the server makes one."""
        embedding = self._service.embedding
        if embedding is None or method not in TEXT_PLACES:
            return args, options
        text = args[TEXT_PLACES[method]]
        if options.get("vector") is not None or (not text and method != "upsert"):
            return args, options
        if method in ("query", "explain") and not embedding.ranks(options.get("sort")):
            return args, options
        if method == "upsert":
            vector = await embedding.vector_of_upsert(*args, others=(options.get("tags"), options.get("values")))
        else:
            vector = await embedding.vector_of(text, is_question=method != "push")
        return args, {**options, "vector": vector}

    def _long(self, method: str, *args: Any, **options: Any) -> Any:
        """Return an awaitable of the result of a method that takes longer than a turn; None for other methods."""
        service = self._service
        match method:
            case "stats":
                return self._stats(*args)
            case "objects":
                return self._objects(*args, **options)
            case "flush" if (filter := options.get("filter")) is not None:
                collection, bucket, oid = args
                bucket = bucket_of_filter(bucket, oid)
                return self._waited(service.flush_passing(collection, bucket, filter_text(filter)))
            case "verify":
                return self._waited(service.maintenance.verify())
            case "consolidate":
                return self._waited(service.maintenance.consolidate())
            case "backup":
                return self._waited(service.maintenance.backup(Path(*args)))
            case "restore":
                return self._waited(service.maintenance.restore(Path(*args)))
        return None

    async def _waited(self, what: Awaitable[Value]) -> Value:
        """Return the result of an awaitable in a turn of its own, because many requests may wait for the same event."""
        found = await what
        await self._pace.turn()
        return found

    async def _stats(self, collection: str | None = None, bucket: str | None = None) -> dict[str, Any]:
        """Return the figures of a collection or a bucket after a commit, or those of the index, which `WholeStats` may
        have read a little earlier.
        """
        if collection is None and bucket is None:
            return await self._waited(self._whole.get())
        return await self._waited(self._read_stats(collection, bucket))

    async def _read_stats(self, *names: str | None) -> dict[str, Any]:
        await self._service.refresh_questions()
        self._service.committer.commit()  # if that fails, the figures are those of the commit before
        return await asyncio.to_thread(self._service.index.stats, *names)

    async def _objects(self, collection: str, bucket: str, *, prefix: str, after: str | None, limit: int) -> list[str]:
        """Return names of objects, read in small steps, because a million names may lack the prefix."""
        index = self._service.index
        position: int | None = 0 if after is None else index.position_after(collection, bucket, after)
        names: list[str] = []
        while position is not None and len(names) < limit:
            page = index.objects_from(collection, bucket, position, prefix=prefix, limit=limit - len(names))
            names += page.objects
            position = page.next
            if position is not None and len(names) < limit:
                await self._next_turn()
        return names

    async def names(self, collection: str | None, after: str | None, limit: int) -> list[str]:
        """Return a page of names of collections, or of buckets if a collection is given."""
        self._service.committer.settle()
        return names_of(self._service.index, collection, after, limit)

    async def _seal(self) -> None:
        """Write changes to the log. Raises StoreError if it cannot be written: the changes are undone."""
        synced = self._service.committer.seal(self)
        if synced is not None:
            await self._pace.after(synced)

    async def push_rows(self, rows: Sequence[TextRow], *, upsert: bool = False) -> list[RefusedPlace]:
        """Push rows, or `upsert` them, in turns, between which connections are served; return the refused ones.

        Raises:
            ShuttingDown: the server stops.
        """
        refused: list[RefusedPlace] = []
        index, embedding = self._service.index, self._service.embedding
        change = upsert_row if upsert else push_row
        place, made = 0, None if embedding is None else await embedding.vectors_of(rows, upsert=upsert)
        while place < len(rows):
            self._check_ready()
            deadline = time.perf_counter() + TURN_S
            try:
                while place < len(rows) and time.perf_counter() < deadline:
                    row = rows[place]
                    if embedding is not None and made is not None:
                        row = await embedding.with_row_vector(row, place, made, self._seal, upsert=upsert)
                    if is_long(row) and not upsert:
                        text, options = text_and_others(row)
                        await self._in_pieces("push", *row[:3], text, row.lang, **options)
                    else:
                        change(index, row)
                    place += 1
            except CommandError as error:
                refused.append((place, sentence_of(error)))
                place += 1
            await self._seal()
            await self._next_turn()
        return refused

    async def _next_turn(self) -> None:
        """Wait for a later pass of the loop, so that other work runs."""
        await asyncio.sleep(0)
        await self._pace.turn()

    async def figures(self) -> dict[str, Any]:
        """Return the figures of the server and its index."""
        service = self._service
        statistics = service.statistics
        seen = server_figures(service)
        return {
            "connections": sum(seen.connections.values()),
            "received_bytes": seen.received_bytes_total,
            "sent_bytes": seen.sent_bytes_total,
            "consolidations": seen.consolidations_total,
            "errors": seen.errors_total,
            "buckets_to_consolidate": seen.pending_buckets,
            "log_bytes": seen.log_bytes,
            "refuses_changes": seen.is_refusing,
            "memory_bytes": memory_bytes(),
            "verbs": {
                verb: {"count": each.count, "mean_us": each.seconds / each.count * 1e6, **slowest(each)}
                for verb, each in seen.verbs.items()
                if each.count
            },
            "slow": list(statistics.slow),
            "index": await self.call("stats"),
        }

    async def words_of_objects(self, collection: str, bucket: str, objects: Sequence[str]) -> list[list[str]]:
        """Return the most frequent words of each object; other work runs between some of them."""
        found: list[list[str]] = []
        while len(found) < len(objects):
            if found:
                await self._next_turn()
            deadline = time.perf_counter() + TURN_S
            while len(found) < len(objects) and time.perf_counter() < deadline:
                some = objects[len(found) : len(found) + OBJECTS_AT_ONCE]
                found += self._service.index.words_of_objects(collection, bucket, some)
        return found

    def channel(self) -> str:
        """Return the URL of the server."""
        return self._service.url

    async def unready(self) -> str | None:
        """Return the reason why the server should get no requests, or None."""
        return not_ready(self._service)


def is_long(row: TextRow) -> bool:
    """Return whether the text of a row is pushed in pieces; False for a value that is not a str."""
    return isinstance(row[3], str) and len(row[3]) > PIECE_CHARACTERS


def slowest(figures: VerbFigures) -> dict[str, float | None]:
    """Return the 99th percentile of durations, rounded up to one of BOUNDS_S; None: above the last bound."""
    wanted = figures.count * 0.99
    found = (bound for bound, reached in zip(BOUNDS_S, figures.up_to_bound, strict=True) if reached >= wanted)
    bound = next(found, None)
    return {"p99_at_most_us": None if bound is None else bound * 1e6}


class HttpServer:
    """HTTP on one address. Create it while the loop runs.

    Args:
        service: the service with the index.
        config: the section [http] with an address.

    Raises:
        ConfigError: other machines can reach the address, there is no password, and `http.without_password` is false.
        SonicError: the address cannot be used.
    """

    def __init__(self, service: BaseService, config: HttpConfig) -> None:
        address = config.address
        assert address is not None
        password = service.config.channel.auth_password
        self._service = service
        host = host_of(address[0], password, config)
        with explaining(str(config.inet), "http.inet"):
            self._socket = bind_tcp(host, address[1])
        self.name = name_of(self._socket)
        """The address, as host:port."""
        self._connections = Connections(service.room)
        pace = self._connections.pace
        backend = ServerBackend(service, pace) if isinstance(service, Service) else over_channel(service, pace)
        self._channel = backend if isinstance(backend, PacedChannel) else None
        with naming("http.hits"):
            application = app(
                backend,
                password=password,
                keys=service.keys,
                read_only=config.read_only,
                origins=config.origins,
                page=config.page,
                refuse=self._refuse,
                hosts=config.hosts,
                hits=config.hits,
            )
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER_BYTES)
        settings = uvicorn.Config(
            behind_proxies(application, config.proxies), lifespan="off", log_config=None, log_level="error",
            access_log=False, server_header=False, proxy_headers=False, ws="none",
            timeout_keep_alive=int(KEEP_ALIVE_S), timeout_graceful_shutdown=2 * STOP_S, backlog=ACCEPTED_AT_ONCE,
        )  # fmt: skip
        settings.load()
        settings.http_protocol_class = partial(LimitedProtocol, self._connections)  # type: ignore[assignment]
        self._server = QuietServer(settings)
        self._task: asyncio.Task[None] | None = None
        self._delays: set[asyncio.Event] = set()

    async def start(self) -> None:
        """Listen. Raises SonicError if that fails."""
        with explaining(self.name, "http.inet"):
            self._socket.listen(BACKLOG)
        self._task = asyncio.create_task(self._server.serve([self._socket]))
        while not self._server.started and not self._task.done():
            await asyncio.sleep(0.001)
        if self._task.done():
            await self._task
        self._socket.listen(BACKLOG)  # asyncio accepts as many in a pass as it lets wait

    async def stop(self) -> None:
        """Answer the requests under way, for at most STOP_S, and close the connections."""
        await stop_accepting([self._socket])
        self._server.should_exit = True
        for delay in self._delays:
            delay.set()
        if self._task is not None:
            await asyncio.wait({self._task}, timeout=STOP_S)
            self._connections.abort()
            await self._task
        if self._channel is not None:
            await self._channel.close()
        self._socket.close()

    async def _refuse(self, peer: Any) -> bool:
        """Delay the refusal of a wrong password as the channel does; return False if too many wait already.

        Args:
            peer: the client, as named by a proxy; the peer of the connection, perhaps the proxy, is counted as well.
        """
        now_s = asyncio.get_running_loop().time()
        passwords = self._service.wrong_passwords
        networks = {network_or_unknown(peer), network_or_unknown(CONNECTION.get(peer))}
        delays_s = [passwords.delay_s(network, now_s) for network in networks]
        if None in delays_s:
            return False
        delay_s = max(delay or 0.0 for delay in delays_s)
        if delay_s and not self._server.should_exit:
            waited = asyncio.Event()
            refusals = [DelayedRefusal(passwords, network, delay_s, waited.set) for network in networks]
            self._delays.add(waited)
            try:
                await waited.wait()
            finally:
                self._delays.remove(waited)
                for refusal in refusals:
                    refusal.end()
        return True


CONNECTION: ContextVar[Any] = ContextVar("connection")
"""The peer of a request's connection, which may be a proxy."""


def behind_proxies(application: ASGIApp, proxies: Sequence[str]) -> ASGIApp:
    """Return an application that reads the address of the client in X-Forwarded-For if a request comes from one of
    these proxies.
    """
    if not proxies:
        return application
    named: ASGIApp = ProxyHeadersMiddleware(application, list(proxies))  # type: ignore[arg-type, assignment]

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        CONNECTION.set(scope.get("client"))
        await named(scope, receive, send)

    return serve


def network_or_unknown(peer: object) -> str:
    """Return the network of a peer; "unknown" if a proxy sent no valid address."""
    try:
        return network_of(peer)
    except ValueError:
        return "unknown"


class PacedChannel(ChannelBackend):
    """A channel backend whose answers are read in turns, because many may arrive together.

    Args:
        pace: gives the turns.
    """

    def __init__(
        self, url: Callable[[], str], password: str | None, unready: Callable[[], str | None], pace: Pace
    ) -> None:
        super().__init__(url, password, unready)
        self._pace = pace

    async def call(self, method: str, *args: Any, **options: Any) -> Any:
        """Return the result of a method of the client."""
        found = await super().call(method, *args, **options)
        await self._pace.turn()
        return found


def over_channel(service: BaseService, pace: Pace) -> PacedChannel:
    """Return the backend for a service that has no index of its own."""
    password = service.config.channel.auth_password
    return PacedChannel(lambda: service.url, password, lambda: not_ready(service), pace)


class QuietServer(uvicorn.Server):
    """A server of uvicorn that does not handle signals."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture no signals."""
        yield


@asynccontextmanager
async def open_http(service: BaseService, config: HttpConfig) -> AsyncIterator[str]:
    """Serve HTTP for the length of a `with` block; yield the address. Raises SonicError if it cannot start."""
    server = HttpServer(service, config)
    await server.start()
    try:
        yield server.name
    finally:
        await server.stop()
