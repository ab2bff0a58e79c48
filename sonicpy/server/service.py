"""The shared part of the main process: the calls that carry out all commands, and the search processes."""

import asyncio
import socket
import time
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sonicpy.arguments import path_of
from sonicpy.channel import replies
from sonicpy.channel.commands import Command, FlushPassing, Info, Stats, Trigger, Verify, filter_of
from sonicpy.channel.session import Session
from sonicpy.config import Config
from sonicpy.errors import InvalidArgument, StoreError
from sonicpy.server.connections.descriptors import fits
from sonicpy.server.connections.dispatch import CALLS, CHANGES
from sonicpy.server.connections.permits import held_by, keys_of
from sonicpy.server.connections.phrase_turns import may_check
from sonicpy.server.connections.pump import Pump
from sonicpy.server.connections.serving import Serving
from sonicpy.server.jobs.committer import Committer
from sonicpy.server.jobs.embedding import Embedding
from sonicpy.server.jobs.maintenance import Maintenance
from sonicpy.server.jobs.readers import ReaderWatch
from sonicpy.server.jobs.sealer import Sealer
from sonicpy.server.jobs.threads import in_thread
from sonicpy.server.searching.search_messages import Handover
from sonicpy.server.watching.figures import LabelledFigures
from sonicpy.server.watching.server_statistics import ServerStatistics

if TYPE_CHECKING:
    from sonicpy.index.engine import Engine
    from sonicpy.index.index import Index
    from sonicpy.server.searching.search_processes import SearchProcesses


QUERIES_SHOWN = 20
"""The most queries without hits in the metrics, because each is a series of its own."""


class BaseService(Serving):
    """The connections of a main process. Create it while the loop runs.

    Args:
        calls, target, committer: as in `Serving`.

    Attributes:
        where: the place of the index, for the announcement.
        search: the search processes, if the settings allow any.
    """

    where: object

    def __init__(
        self,
        config: Config,
        calls: Mapping[type, Callable[[Any, Any], bytes]],
        target: Any,
        committer: Sealer,
        statistics: ServerStatistics | None = None,
    ) -> None:
        super().__init__(config, calls, target, committer, statistics)
        self.keys = keys_of(config)
        self.unready: str | None = "the server is starting"
        """The reason why new clients should not connect, as a sentence; None: they may."""
        self.search: SearchProcesses | None = None
        self._pumps: set[Pump] = set()
        self.url = ""
        """The URL for clients of this machine, once the server listens."""

    @property
    def handed_over(self) -> int:
        """The number of open connections that search processes serve."""
        return 0 if self.search is None else self.search.connections

    @property
    def graphs_elsewhere(self) -> int:
        """The number of word graphs that are open in search processes."""
        return 0 if self.search is None else self.search.open_graphs

    @property
    def is_full(self) -> bool:
        """Whether the limit of connections is reached."""
        return 0 < self.config.channel.max_connections <= len(self.peers) + self.handed_over

    @property
    def hands_over(self) -> bool:
        """Whether there is a search process to hand connections over to."""
        return self.search is not None and self.search.is_there and self.embedding is None

    def hand_over(self, descriptor: int, session: Session, unsent: bytes, peer: object) -> bool:
        """Hand a connection over to the search process with the least load; return whether one took it.

        Args:
            descriptor: the descriptor of its socket.
            unsent: replies that the client has not got yet.
            peer: the address of the client.
        """
        chosen = None if self.search is None else self.search.choose(keeps=not self.sheds)
        rest = None if chosen is None else session.take_rest()
        if chosen is None or rest is None:
            return False
        if chosen.take(Handover(unsent, rest, peer, held_by(session)), descriptor):
            return True
        session.feed(rest)
        return False

    def pump(self, transport: asyncio.Transport, session: Session, unsent: bytes, peer: object) -> bool:
        """Hand a connection with TLS over to the search process with the least load; return whether one took it; see
        `Serving.pump`."""
        try:
            ours, theirs = socket.socketpair()
        except OSError:  # no descriptors: it stays
            return False
        with theirs:
            if not fits(ours.fileno()) or not self.hand_over(theirs.fileno(), session, unsent, peer):
                ours.close()
                return False
        self._pumps.add(Pump(transport, ours, self._pumps.discard))
        return True

    async def end_pumps(self, seconds: float) -> None:
        """Wait until the pumps have sent the answers of search processes, for at most `seconds`, then close all
        pumps.
        """
        deadline = time.monotonic() + seconds
        while self._pumps and time.monotonic() < deadline:
            await asyncio.sleep(0.01)
        for pump in list(self._pumps):
            pump.abort()

    async def refresh_figures(self) -> None:
        """Ask the search processes for their counts."""
        if self.search is not None:
            await self.search.refresh()

    @abstractmethod
    def stores(self) -> "Sequence[tuple[Engine, ReaderWatch]]":
        """Return the engine of each store that is open, and the watch over its readers."""

    def more_figures(self) -> "list[LabelledFigures]":
        """Return figures for the metrics besides those of the stores."""
        return []

    def trouble(self, *, to_search: bool) -> str | None:
        """Return the reason why clients should not connect though the server runs, as a sentence; None: they may.

        Args:
            to_search: for clients that only search.
        """
        if not to_search and any(engine.store.refusing for engine, _ in self.stores()):
            return "the store cannot be written: changes are refused, queries are answered"
        return None

    @abstractmethod
    def note_url(self, url: str) -> None:
        """Set the URL for clients of this machine."""
        self.url = url

    @abstractmethod
    async def finish(self, seconds: float) -> None:
        """End all work; consolidation may take `seconds` more."""

    def _info(self, *, open_collections: int, open_graphs: int, pending_graphs: int) -> bytes:
        return replies.info(
            self.statistics.figures(
                connections=len(self.peers) + self.handed_over,
                lines_of_open=sum(peer.session.lines_handled for peer in self.peers) - 1,  # this INFO does not count
                open_collections=open_collections,
                open_graphs=open_graphs,
                pending_graphs=pending_graphs,
            )
        )


OBJECTS_A_TURN = 8
"""The most objects that a FLUSH with a filter erases between two turns: about a millisecond."""


class Service(BaseService):
    """An index and its connections. Create it while the loop runs.

    Args:
        index: opened with autocommit=False on the loop's thread.
    """

    committer: Committer

    def __init__(self, index: "Index", config: Config) -> None:
        syncs = config.store.kv.durability == "commit"
        committer = Committer(index.engine, syncs_before_reply=syncs)
        super().__init__(config, CALLS, index, committer)
        self.answer_phrases_in_turns()
        self.index = index
        self.where = config.store.kv.path
        self.maintenance = Maintenance(index.maintainer, config, committer, self.statistics)
        self.readers = ReaderWatch(index.engine, self.maintenance, config.store.kv.reader_limit_mb << 20)

    def stores(self) -> "Sequence[tuple[Engine, ReaderWatch]]":
        """Return the engine of the store, and the watch over its readers; see `BaseService.stores`."""
        return [(self.index.engine, self.readers)]

    def note_url(self, url: str) -> None:
        """Publish the URL of this server for processes that try to open its folder."""
        super().note_url(url)
        self.index.engine.store.note_server(url)

    async def refresh_questions(self) -> None:
        """Ask the search processes for the questions that found nothing there."""
        if self.index.questions is not None:
            await self.refresh_figures()

    def more_figures(self) -> "list[LabelledFigures]":
        """Return the commonest queries that found nothing, as figures for the metrics; see
        `BaseService.more_figures`.
        """
        if self.index.questions is None:
            return []
        queries = islice(self.index.questions.figures()["queries"].items(), QUERIES_SHOWN)
        meaning = "Commonest queries that found nothing since the start."
        return [LabelledFigures("sonicpy_unanswered", meaning, "gauge", "query", dict(queries))]

    async def finish(self, seconds: float) -> None:
        """End the maintenance, then consolidate for at most `seconds`."""
        if self.embedding is not None:
            await self.embedding.stop()
        await self.maintenance.stop()
        self.maintenance.consolidate_within(seconds)
        self.committer.stop()

    async def execute(self, command: Command) -> bytes:
        """Carry out a command that takes longer than a turn, and return its reply; see `Serving.execute`."""
        if self.embedding is not None and isinstance(command, Embedding.KINDS):
            command = await self.embedding.with_vector(command)
            if self.phrases is None or not may_check(command):
                return await self._answer_with_vector(command)
        if self.phrases is not None and may_check(command):
            return await self.phrases.answer(self.index, lambda answers: CALLS[type(command)](answers, command))
        match command:
            case Info():
                await self.refresh_figures()
                engine = self.index.engine
                return self._info(
                    open_collections=engine.count_collections(),
                    open_graphs=len(engine.graphs) + self.graphs_elsewhere,
                    pending_graphs=len(engine.store.pending_buckets()),
                )
            case Stats(collection, bucket):
                self.committer.commit()  # if that fails, the figures are those of the commit before
                await self.refresh_questions()
                stats = self.index.stats
                figures = await in_thread(stats, collection, bucket)
                if collection is None and self.embedding is not None:
                    figures["texts_without_vector"] = self.embedding.without
                return replies.json_result(figures)
            case FlushPassing(collection, bucket):
                return replies.result(await self.flush_passing(collection, bucket, filter_of(command)))
            case Verify():
                return replies.json_result(await self.maintenance.verify())
            case Trigger(action="consolidate"):
                await self.maintenance.consolidate()
                return replies.OK
            case Trigger(action="backup", argument=str(folder)):
                await self.maintenance.backup(_folder(folder))
                return replies.OK
            case Trigger(action="restore", argument=str(folder)):
                await self.maintenance.restore(_folder(folder))
                return replies.OK
        raise AssertionError(f"{command} is carried out in a turn")

    async def _answer_with_vector(self, command: Command) -> bytes:
        """Carry out a command of a turn whose text has got its vector, and return its reply, once the log holds the
        change. Raises the error that undid the change."""
        reply = CALLS[type(command)](self.index, command)
        if type(command) in CHANGES:
            synced = self.committer.seal(self)
            if synced is not None:
                await asyncio.shield(synced)
        elif (undone := self.committer.note_turn_without_changes()) is not None:
            raise undone
        return reply

    async def flush_passing(self, collection: str, bucket: str, filter: str) -> int:
        """Erase the objects that pass a filter, the newest first, a few between two turns; return their number.

        Each is erased in the turn in which it is found to pass, so others may change objects meanwhile; objects that
        are new stay, as do those of a bucket that replaces this one. The log has an erasure for each.
        """
        erased, synced = 0, None
        number, found = self.index.objects_passing(collection, bucket, filter, limit=OBJECTS_A_TURN)
        present = number
        while found and present == number:
            for _, name in found:
                self.index.flush_object(collection, bucket, name)
            erased, below = erased + len(found), found[-1][0]
            synced = self.committer.seal(self)
            await self.committer.remove()
            await asyncio.sleep(0)
            present, found = self.index.objects_passing(collection, bucket, filter, limit=OBJECTS_A_TURN, below=below)
        if synced is not None:
            await asyncio.shield(synced)
        return erased


def _folder(name: str) -> Path:
    """Return the folder that TRIGGER names. Raises StoreError if no folder can have this name."""
    try:
        return Path(path_of("the folder", name))
    except InvalidArgument as error:
        raise StoreError(str(error)) from error
