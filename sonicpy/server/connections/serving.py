"""State that connections share in every process of a server: the counters, the turns, and the open connections.

Everything here runs on the loop's thread. `BaseService` belongs to a main process, `SearchService` to a search process.
"""

import asyncio
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, NamedTuple, Protocol

from sonicpy.access.admission import Keys
from sonicpy.channel.commands import Command, Mode
from sonicpy.channel.session import Session
from sonicpy.channel.syntax import Limits
from sonicpy.config import Config
from sonicpy.server.connections.descriptors import Room
from sonicpy.server.connections.dispatch import CHANGES, REMOVES, Postponed
from sonicpy.server.connections.passwords import WrongPasswords
from sonicpy.server.connections.phrase_turns import KINDS, PhraseTurns, keeps_orders, within_a_turn
from sonicpy.server.connections.rejected import RejectedConnection
from sonicpy.server.connections.turns import Turns
from sonicpy.server.jobs.embedding import Embedding, has_embedder
from sonicpy.server.jobs.sealer import Sealer
from sonicpy.server.watching.server_statistics import ServerStatistics, Tally

READ_BYTES = 1 << 15
"""The most bytes read from a connection at once: a few hundred commands. The rest waits in the system's buffers."""


def limits_of(config: Config) -> Limits:
    """Return the defaults and maxima of LIMIT."""
    search = config.search
    return Limits(
        query_default=search.query_limit_default,
        query_maximum=search.query_limit_maximum,
        suggest_default=search.suggest_limit_default,
        suggest_maximum=search.suggest_limit_maximum,
        list_default=search.list_limit_default,
        list_maximum=search.list_limit_maximum,
    )


class ServedConnection(Protocol):
    """The methods of a connection that the service calls."""

    session: Session

    def shut_down(self, limit_s: float) -> None: ...
    def abort(self) -> None: ...


class CommandKind(NamedTuple):
    """A kind of command that is answered within a turn."""

    call: Callable[[Any, Any], bytes]
    tally: Tally
    changes: bool
    """Whether the reply has to wait until the log holds the change."""
    removes: bool
    """Whether the command may leave most of its work to steps between turns."""


class Serving(ABC):
    """Open connections, and the calls that carry out their commands. Create it while the loop runs.

    Args:
        calls: type of command -> the call that answers within a turn; other commands are left to `execute`.
        target: the first argument of each call.
        committer: takes the changes of a turn.
        statistics: counts the commands; None: new ones.

    Attributes:
        keys: the secrets that are valid besides the password.
        sheds: the number of connections in mode search to hand over to other processes: the next ones that take a turn
            are handed over.
    """

    keys: Keys
    sheds = 0

    def __init__(
        self,
        config: Config,
        calls: Mapping[type, Callable[[Any, Any], bytes]],
        target: Any,
        committer: Sealer,
        statistics: ServerStatistics | None = None,
    ) -> None:
        self.config = config
        self.target = target
        self.committer = committer
        self.statistics = statistics or ServerStatistics()
        self.kinds = {
            kind: CommandKind(call, self.statistics.tallies[kind], kind in CHANGES, kind in REMOVES)
            for kind, call in calls.items()
        }
        """Type of a command -> the call that answers it within a turn."""
        # A node does not hold the objects of all partitions, so it has no `needs_vector`.
        index = target if hasattr(target, "needs_vector") else None
        self.embedding = Embedding(config, index) if has_embedder(config) else None
        """Makes the vectors of texts that come without one; None: the settings name no embedder."""
        if self.embedding is not None:
            for kind in self.kinds.keys() & set(Embedding.KINDS):
                self.kinds[kind] = self.kinds[kind]._replace(call=postponed(self.embedding, self.kinds[kind].call))
        self.turns = Turns()
        self.peers: set[ServedConnection] = set()
        self.rejected: set[RejectedConnection] = set()
        self.room = Room()
        self.wrong_passwords = WrongPasswords()
        self.read_buffer = memoryview(bytearray(READ_BYTES))
        """One buffer for all connections: each takes its bytes out before another one reads."""
        self.idle_timeout_s = float(config.channel.tcp_timeout)
        self.slow_command_s = config.server.slow_command_ms / 1000 or math.inf
        self._seen: dict[ServedConnection, int] = {}  # that each connection had sent at the last call of `count_active`

    @cached_property
    def phrases(self) -> PhraseTurns | None:
        """Answers queries with phrases that take longer than a turn; None: no bucket keeps the order of words."""
        return PhraseTurns() if keeps_orders(self.config) else None

    def answer_phrases_in_turns(self) -> None:
        """Leave queries with phrases to `execute` if many objects have to be checked."""
        if self.phrases is not None:
            for kind in self.kinds.keys() & set(KINDS):
                self.kinds[kind] = self.kinds[kind]._replace(call=within_a_turn(self.kinds[kind].call))

    @property
    def is_full(self) -> bool:
        """Whether the limit of connections is reached."""
        return False

    @property
    def hands_over(self) -> bool:
        """Whether another process may take over connections in mode search."""
        return False

    def count_active(self) -> int:
        """Return how many connections in mode search have sent lines since the last call."""
        before = self._seen
        self._seen = {peer: peer.session.lines_handled for peer in self.peers if peer.session.mode is Mode.SEARCH}
        return sum(lines > before.get(peer, lines) for peer, lines in self._seen.items())

    def connected(self, peer: ServedConnection) -> None:
        """Add a new connection."""
        self.peers.add(peer)

    def disconnected(self, peer: ServedConnection) -> None:
        """Remove a connection that is closed or that another process has taken over."""
        self.peers.discard(peer)
        self.statistics.note_closed(peer.session.lines_handled)

    @abstractmethod
    async def execute(self, command: Command) -> bytes:
        """Carry out a command that takes longer than a turn, and return its reply.

        Raises:
            CommandError: a name is not valid.
            SonicError: the command failed.
        """

    def hand_over(self, descriptor: int, session: Session, unsent: bytes, peer: object) -> bool:
        """Hand a connection over to another process; return whether it took it.

        Args:
            descriptor: the descriptor of its socket; the other process gets a duplicate.
            session: between two turns; its unread bytes are handed over.
            unsent: replies that were not sent.
            peer: the address of the client, for the slow log.
        """
        return False

    def pump(self, transport: asyncio.Transport, session: Session, unsent: bytes, peer: object) -> bool:
        """Hand over a connection whose encryption stays here; return whether another process took it.

        Args:
            transport: does not read; once the connection is handed over, the pump owns it.
            session, unsent, peer: see `hand_over`.
        """
        return False


def postponed(embedding: Embedding, call: Callable[[Any, Any], bytes]) -> Callable[[Any, Any], bytes]:
    """Return a call that leaves a command to `execute` if its text is to get a vector."""

    def call_unless_due(target: Any, command: Any) -> bytes:
        if embedding.is_due(command):
            raise Postponed
        return call(target, command)

    return call_unless_due


async def end_connections(serving: Serving, answer_s: float, stop_s: float) -> None:
    """Answer the commands that have arrived, for at most `answer_s`, and close all connections within `stop_s`."""
    serving.sheds = 0  # a connection that another process takes now would not hear of the end
    began = time.monotonic()  # loop.time() may be cached while peers are answered
    for peer in list(serving.peers):
        peer.shut_down(max(0.0, began + answer_s - time.monotonic()))
    while serving.peers and time.monotonic() < began + stop_s:
        await asyncio.sleep(0.01)
    for peer in list(serving.peers):
        peer.abort()
