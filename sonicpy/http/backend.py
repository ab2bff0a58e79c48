"""The backend of an application: an index in this process, or a client of a server. Backends answer by method name."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, Protocol

from sonicpy.api.rows import Row
from sonicpy.client.aio.client import AsyncClient
from sonicpy.errors import ClientError, CommandError, sentence_of
from sonicpy.index.index import Index
from sonicpy.options import ARGUMENTS

LONG = frozenset({"consolidate", "backup", "restore", "verify", "stats", "objects"})
"""Methods that may take longer than a turn: they run on a thread."""
CHANGES = frozenset({"push", "upsert", "tag", "pop", "flush", "set_synonyms"})
"""Methods that change an index in turn with other threads: they run on a thread while another one has the turn."""
TURN_S = 0.0005
"""The time in seconds for which rows of a bulk request are pushed before the loop serves other requests."""
STATS_SHARE = 20
"""The share of time for reading the figures of a whole index, as a divisor: at most 1/20, for any number of buckets."""

OUT_OF_BOUNDS = "policy_reject"
"""The code with which a server refuses a limit above its maximum."""
UNPAGED = {"suggest": 20, "explain": 100, "facets": 500}
"""Methods whose answers have no pages, and the largest limit of a server with default settings. A server that refuses a
limit is asked again with this one, and with half of the last one after each further refusal.
"""

TextRow = Row
"""A row of a body, whose parts are not checked yet."""
RefusedPlace = tuple[int, str]
"""The place of a refused row, and the reason."""


class Backend(Protocol):
    """The source of the answers to requests."""

    async def call(self, method: str, *args: Any, **options: Any) -> Any:
        """Return the result of a method of Index or AsyncClient. Raises SonicError as it does."""

    async def names(self, collection: str | None, after: str | None, limit: int) -> list[str]:
        """Return a page of the names of buckets of a collection, or of collections if it is None, in a fixed order."""

    async def push_rows(self, rows: Sequence[TextRow], *, upsert: bool = False) -> list[RefusedPlace]:
        """Push rows, or `upsert` them; return the refused ones. Raises SonicError if the others cannot be pushed."""

    async def figures(self) -> dict[str, Any]:
        """Return the figures of this moment, for the page."""

    async def words_of_objects(self, collection: str, bucket: str, objects: Sequence[str]) -> list[list[str]]:
        """Return words of each object, the most frequent first; none if they are not known."""

    def channel(self) -> str:
        """Return the URL of the server for clients of the channel; "": there is none, or it is not known."""

    async def unready(self) -> str | None:
        """Return the reason why requests cannot be answered, or None."""


class WholeStats:
    """The figures of a whole index; concurrent requests share one reading, which is slow with many buckets.

    Args:
        read: returns the figures.
    """

    def __init__(self, read: Callable[[], Awaitable[dict[str, Any]]]) -> None:
        self._read = read
        self._reading: asyncio.Task[dict[str, Any]] | None = None
        self._until = 0.0

    async def get(self) -> dict[str, Any]:
        """Return the figures; their age is at most STATS_SHARE times the time of reading them."""
        if self._reading is None or (self._reading.done() and time.perf_counter() > self._until):
            self._reading = asyncio.create_task(self._timed())
        return await asyncio.shield(self._reading)

    async def _timed(self) -> dict[str, Any]:
        began = time.perf_counter()
        found = await self._read()
        now = time.perf_counter()
        self._until = now + (now - began) * STATS_SHARE
        return found


class IndexBackend:
    """An index of this process; queries and single changes run on the loop, because a hop to a thread costs more.

    A restore, consolidation or batch on another thread keeps changes waiting: they wait on a thread, one at a time, and
    those behind them wait for them, so that all are made in the order of their requests.
    """

    def __init__(self, index: Index) -> None:
        self._index = index
        self._began = time.monotonic()
        self._whole = WholeStats(lambda: asyncio.to_thread(index.stats))
        self._in_order = asyncio.Lock()
        self._waiting = 0  # changes

    async def call(self, method: str, *args: Any, **options: Any) -> Any:
        """Return the result of a method of the index."""
        if method == "stats" and not any(args):
            return await self._whole.get()
        if method in LONG:
            return await asyncio.to_thread(getattr(self._index, method), *args, **options)
        act = getattr(self._index, method)
        if method in CHANGES and self._index.engine.is_autocommit:  # else one thread alone may change it
            is_long = options.get("filter") is not None
            if is_long or self._waiting or not self._is_free():
                return await self._change(partial(act, *args, **options), is_long=is_long)
        return act(*args, **options)

    async def _change(self, act: Callable[[], Any], *, is_long: bool) -> Any:
        """Return the result of a change, made behind those that wait already: on a thread if it `is_long`, or has to
        wait for its turn."""
        self._waiting += 1
        try:
            async with self._in_order:
                return act() if not is_long and self._is_free() else await asyncio.to_thread(act)
        finally:
            self._waiting -= 1

    def _is_free(self) -> bool:
        """Return whether no other thread has the turn to change the index."""
        return self._index.engine.turn.do(_nothing, 0)

    async def names(self, collection: str | None, after: str | None, limit: int) -> list[str]:
        """Return a page of names of collections, or of buckets if a collection is given."""
        return names_of(self._index, collection, after, limit)

    async def push_rows(self, rows: Sequence[TextRow], *, upsert: bool = False) -> list[RefusedPlace]:
        """Push rows, or `upsert` them, in one commit on a thread; return the refused ones."""
        change = upsert_row if upsert else push_row

        def push() -> list[RefusedPlace]:
            refused = []
            with self._index.batch():
                for place, row in enumerate(rows):
                    try:
                        change(self._index, row)
                    except CommandError as error:
                        refused.append((place, sentence_of(error)))
            return refused

        return await asyncio.to_thread(push)

    async def figures(self) -> dict[str, Any]:
        """Return the figures of the index, and the time in seconds since it was opened here."""
        held = await self.call("stats")
        return {"index": held, "uptime_s": time.monotonic() - self._began}

    async def words_of_objects(self, collection: str, bucket: str, objects: Sequence[str]) -> list[list[str]]:
        """Return the most frequent words of each object."""
        return self._index.words_of_objects(collection, bucket, objects)

    def channel(self) -> str:
        """Return "": an index of a program has no channel."""
        return ""

    async def unready(self) -> str | None:
        """Return None, because an open index always answers."""
        self._index.count_buckets("health")
        return None


class ClientBackend:
    """A backend that passes requests on to a server."""

    def __init__(self, client: AsyncClient) -> None:
        self._client = client
        self._whole = WholeStats(client.stats)

    async def call(self, method: str, *args: Any, **options: Any) -> Any:
        """Return the result of a method of the client; see UNPAGED for limits that are too large for the server."""
        if method == "stats" and not any(args):
            return await self._whole.get()
        act: Callable[..., Awaitable[Any]] = getattr(self._client, method)
        most = UNPAGED.get(method)
        if most is None:
            return await act(*args, **options)
        limit = options.pop("limit", ARGUMENTS[method.upper()]["limit"].default)
        while True:
            try:
                return await act(*args, limit=limit, **options)
            except CommandError as refusal:
                if refusal.code != OUT_OF_BOUNDS or limit <= 1:
                    raise
            limit = most if limit > most else limit // 2

    async def names(self, collection: str | None, after: str | None, limit: int) -> list[str]:
        """Return a page of names of collections, or of buckets if a collection is given."""
        client = self._client
        found = await (client.collections() if collection is None else client.buckets(collection))
        return [name for name in found if after is None or name > after][:limit]

    async def push_rows(self, rows: Sequence[TextRow], *, upsert: bool = False) -> list[RefusedPlace]:
        """Push rows, or `upsert` them, a few hundred in flight; return the refused ones."""
        report = await self._client.push_many(list(rows), upsert=upsert)
        return [(refused.row, refused.reason) for refused in report.refused]

    async def figures(self) -> dict[str, Any]:
        """Return the server's INFO and the figures of its index."""
        return {"info": await self._client.info(), "index": await self._whole.get()}

    async def words_of_objects(self, collection: str, bucket: str, objects: Sequence[str]) -> list[list[str]]:
        """Return no words, because the channel does not give the words of an object."""
        return [[] for _ in objects]

    def channel(self) -> str:
        """Return "": the URL of the server is not shown to clients of this address."""
        return ""

    async def unready(self) -> str | None:
        """Return the reason why the server does not answer, or None."""
        try:
            await self._client.ping()
        except ClientError as error:
            return str(error)
        return None

    async def close(self) -> None:
        """Close the client."""
        await self._client.close()


def _nothing() -> None:
    """Do nothing: the work in a turn that is only tried."""


def push_row(index: Index, row: TextRow) -> None:
    """Push a row. Raises the errors of `push`."""
    text, options = text_and_others(row)
    index.push(*row[:3], text, row.lang, **options)


def upsert_row(index: Index, row: TextRow) -> None:
    """Replace the text of an object by that of a row. Raises the errors of `upsert`."""
    index.upsert(*row[:3], row.texts or row.text, row.lang, **others_of(row))


def text_and_others(row: TextRow) -> tuple[str, dict[str, Any]]:
    """Return the text of a row to push, and all but its names, text and language as keyword arguments of `push`."""
    if row.texts is None:
        return row.text, others_of(row)
    ((field, text),) = row.texts.items()
    return text, {"field": field, **others_of(row)}


def others_of(row: TextRow) -> dict[str, Any]:
    """Return the vector, tags and values of a row as keyword arguments of `push`; {} for most rows."""
    if row.vector is None and row.tags is None and row.values is None:
        return {}
    return {"vector": row.vector, "tags": row.tags, "values": row.values}


def names_of(index: Index, collection: str | None, after: str | None, limit: int) -> list[str]:
    """Return at most `limit` names after `after`: of buckets of a collection, or of collections if it is None."""
    if collection is None:
        return index.collections_after(after, limit)
    return index.buckets_after(collection, after, limit)


def backend_of(source: Any) -> Backend:
    """Return the backend over an index or a client; a backend is returned as it is.

    Raises:
        TypeError: the source is not an index, a client or a backend.
    """
    if isinstance(source, Index):
        return IndexBackend(source)
    if isinstance(source, AsyncClient):
        return ClientBackend(source)
    if hasattr(source, "push_rows"):
        backend: Backend = source
        return backend
    raise TypeError(f"an application is over an Index or an AsyncClient, not {type(source).__name__}")
