"""What all connections share: the index, the counters, the turns, the committer, and the open connections.

Everything here runs on the loop's thread.
"""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from sonicpy.channel import replies
from sonicpy.channel.commands import Command, Info, Stats, Trigger, Verify
from sonicpy.channel.session import Session
from sonicpy.config import Config
from sonicpy.server.committer import Committer
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


class Service:
    """An index and its connections. To be made while the loop runs.

    Args:
        index: opened with autocommit=False on the loop's thread.
    """

    def __init__(self, index: "Index", config: Config) -> None:
        self.index = index
        self.config = config
        self.statistics = Statistics()
        self.turns = Turns()
        self.committer = Committer(index.maintainer, syncs_before_reply=config.store.kv.durability == "commit")
        self.maintenance = Maintenance(index.maintainer, config, self.committer, self.statistics)
        self.readers = ReaderWatch(index.maintainer, self.maintenance, config.store.kv.reader_limit_mb << 20)
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

    async def execute(self, command: Command) -> bytes:
        """Carry out a command that takes longer than a turn, and return its reply.

        Raises:
            CommandError: a name is not valid.
            SonicError: the command failed.
        """
        match command:
            case Info():
                return self._info()
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

    def _info(self) -> bytes:
        return replies.info(
            self.statistics.figures(
                connections=len(self.peers),
                lines_of_open=sum(peer.session.lines_handled for peer in self.peers),
                open_scopes=self.index.maintainer.open_scopes(),
                open_graphs=self.index.maintainer.open_graphs(),
                pending_graphs=self.index.maintainer.pending_buckets(),
            )
        )
