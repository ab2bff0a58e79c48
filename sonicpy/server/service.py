"""What all connections share: the index, the counters, the turns, the committer, and the open connections.

Everything here runs on the loop's thread.
"""

import asyncio
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from sonicpy.channel import replies
from sonicpy.channel.commands import Command, Info, Stats, Trigger, Verify
from sonicpy.channel.session import Session
from sonicpy.config import Config
from sonicpy.server.committer import Committer
from sonicpy.server.dispatch import CALLS
from sonicpy.server.maintenance import Maintenance
from sonicpy.server.passwords import WrongPasswords
from sonicpy.server.readers import ReaderWatch
from sonicpy.server.rejected import RejectedConnection
from sonicpy.server.statistics import Statistics
from sonicpy.server.threads import in_thread
from sonicpy.server.turns import Turns

if TYPE_CHECKING:
    from sonicpy.index.index import Index

READ_BYTES = 1 << 15
"""The most that is read from a connection at once: some hundred commands. The rest waits in the system's buffers."""


class Peer(Protocol):
    """A connection, as the service sees it."""

    session: Session

    def shut_down(self, limit_s: float) -> None: ...
    def abort(self) -> None: ...


class Sealer(Protocol):
    """What puts the changes of a turn where they last."""

    def seal(self, connection: object) -> "asyncio.Future[Any] | None": ...
    def note_turn_without_changes(self) -> None: ...
    async def remove(self) -> None: ...


class BaseService(ABC):
    """Open connections, and what carries out their commands. To be made while the loop runs.

    Args:
        calls: what answers a command within a turn, by its type; the others are left to `execute`.
        target: the first argument of each call.
        committer: takes the changes of a turn.

    Attributes:
        where: in which place the index is, for the announcement.
    """

    where: object

    def __init__(
        self, config: Config, calls: Mapping[type, Callable[[Any, Any], bytes]], target: Any, committer: Sealer
    ) -> None:
        self.config = config
        self.calls = calls
        self.target = target
        self.committer = committer
        self.statistics = Statistics()
        self.turns = Turns()
        self.peers: set[Peer] = set()
        self.rejected: set[RejectedConnection] = set()
        self.wrong_passwords = WrongPasswords()
        self.unready: str | None = "the server is starting"
        """Why new clients should not come, as a sentence; None: they may."""
        self.read_buffer = memoryview(bytearray(READ_BYTES))
        """One for all connections: each takes out what was read before another one reads."""
        self.idle_timeout_s = float(config.channel.tcp_timeout)
        self.slow_command_s = config.server.slow_command_ms / 1000 or math.inf

    @property
    def is_full(self) -> bool:
        """Whether there are as many connections as the settings allow."""
        return 0 < self.config.channel.max_connections <= len(self.peers)

    def connected(self, peer: Peer) -> None:
        """Add a new connection."""
        self.peers.add(peer)
        self.statistics.connections += 1

    def disconnected(self, peer: Peer) -> None:
        """Remove a connection that is closed."""
        self.peers.discard(peer)
        self.statistics.note_closed(peer.session.lines_handled)

    @abstractmethod
    async def execute(self, command: Command) -> bytes:
        """Carry out a command that takes longer than a turn, and return its reply.

        Raises:
            CommandError: a name is not valid.
            SonicError: the command failed.
        """

    @abstractmethod
    def note_url(self, url: str) -> None:
        """Take the URL at which clients are served."""

    @abstractmethod
    async def finish(self, seconds: float) -> None:
        """End all work; `seconds` may be spent on leaving the index in a better state."""

    def _info(self, *, open_collections: int, open_graphs: int, pending_graphs: int) -> bytes:
        return replies.info(
            self.statistics.figures(
                connections=len(self.peers),
                lines_of_open=sum(peer.session.lines_handled for peer in self.peers) - 1,  # this INFO does not count
                open_collections=open_collections,
                open_graphs=open_graphs,
                pending_graphs=pending_graphs,
            )
        )


class Service(BaseService):
    """An index and its connections. To be made while the loop runs.

    Args:
        index: opened with autocommit=False on the loop's thread.
    """

    committer: Committer

    def __init__(self, index: "Index", config: Config) -> None:
        syncs = config.store.kv.durability == "commit"
        committer = Committer(index.maintainer, syncs_before_reply=syncs)
        super().__init__(config, CALLS, index, committer)
        self.index = index
        self.where = config.store.kv.path
        self.maintenance = Maintenance(index.maintainer, config, committer, self.statistics)
        self.readers = ReaderWatch(index.maintainer, self.maintenance, config.store.kv.reader_limit_mb << 20)

    def note_url(self, url: str) -> None:
        """Tell other processes that want to open the folder at which URL this one serves it."""
        self.index.maintainer.note_server(url)

    async def finish(self, seconds: float) -> None:
        """End the maintenance, then consolidate for at most `seconds`."""
        await self.maintenance.stop()
        self.maintenance.consolidate_within(seconds)

    async def execute(self, command: Command) -> bytes:
        """Carry out a command that takes longer than a turn; see `BaseService.execute`."""
        match command:
            case Info():
                maintainer = self.index.maintainer
                return self._info(
                    open_collections=maintainer.open_collections(),
                    open_graphs=maintainer.open_graphs(),
                    pending_graphs=maintainer.pending_buckets(),
                )
            case Stats(collection, bucket):
                self.committer.commit()  # if that fails, the figures are those of the commit before
                stats = self.index.stats
                figures = await in_thread(stats, collection, bucket)
                return replies.json_result(figures)
            case Verify():
                return replies.json_result(await self.maintenance.verify())
            case Trigger(action="consolidate"):
                await self.maintenance.consolidate()
                return replies.OK
            case Trigger(action="backup", argument=str(folder)):
                await self.maintenance.backup(Path(folder))
                return replies.OK
            case Trigger(action="restore", argument=str(folder)):
                await self.maintenance.restore(Path(folder))
                return replies.OK
        raise AssertionError(f"{command} is carried out in a turn")
