"""A search process: it serves connections in mode search that the main process hands over.

It opens the store for reading. If a command needs uncommitted changes, the main process answers it, or commits so that
this process can answer. This process ends with the link: no part of a server outlives its main process.
"""

import asyncio
import logging
import os
import socket
from collections.abc import Callable
from itertools import count
from typing import Any

from sonicpy.channel.commands import Command
from sonicpy.channel.session import Session
from sonicpy.children import die_with_parent, ignore
from sonicpy.config import Config
from sonicpy.errors import SonicError
from sonicpy.index.index import Index
from sonicpy.index.read_only_index import GraphReplaced, ReadOnlyIndex
from sonicpy.late import import_now
from sonicpy.server.connections.connection import Connection
from sonicpy.server.connections.descriptors import SPARE, most_descriptors, open_descriptors
from sonicpy.server.connections.dispatch import CALLS, Postponed
from sonicpy.server.connections.permits import held_by, keys_of
from sonicpy.server.connections.phrase_turns import may_check
from sonicpy.server.connections.serving import ServedConnection, Serving, end_connections
from sonicpy.server.jobs.sealer import Sealer
from sonicpy.server.process.loop import run_loop, settle_garbage
from sonicpy.server.process.loop_load import BUSY_SHARE, LoopLoad
from sonicpy.server.process.stop_signals import EACH
from sonicpy.server.searching.handed import go_on_with
from sonicpy.server.searching.handover import NONE, Link
from sonicpy.server.searching.search_messages import (
    AskCommit,
    AskReply,
    AskReport,
    Closed,
    Committed,
    Handover,
    Ready,
    ReplyFound,
    Report,
    Setup,
    Shed,
    Stop,
    Vacate,
)
from sonicpy.server.watching import logs

Call = Callable[[Index, Any], bytes]

logger = logging.getLogger(__name__)

REPORT_S = 0.5
IDLE_SHARE = 0.01
ASKED_MAX = 2
"""The most commands for which this process asks the main process at a time."""


def serve_searches(link: socket.socket) -> None:
    """Serve until the main process sends Stop or closes its end of `link`."""
    ignore(EACH)  # they go to all processes of a server: the main process ends this one
    die_with_parent()  # also while this one is stopped and reads nothing of the link
    run_loop(SearchWorker(link).run())


class SearchWorker:
    """A search process.

    Args:
        link: the socket to the main process.
    """

    def __init__(self, link: socket.socket) -> None:
        self._socket = link

    async def run(self) -> None:
        """Serve connections until the process ends; return at once, with an error in the log, if the index cannot be
        opened.
        """
        messages: asyncio.Queue[tuple[object, int]] = asyncio.Queue()
        link = Link(self._socket, lambda *message: messages.put_nowait(message), _leave)
        setup, board = await messages.get()
        assert isinstance(setup, Setup)
        logs.set_up(setup.config.server.log_level)
        if board == NONE:
            logger.error("a search process ends: it may not open the files that it needs (ulimit -n)")
            return
        try:
            index = ReadOnlyIndex(setup.folder, setup.config)
        except SonicError as error:
            logger.error("%s", error)
            return
        with index:
            index.engine.lexer.prepare()
            import_now()
            index.maintainer.watch_changes(board)
            service = SearchService(index, setup.config, link)
            settle_garbage()
            link.on_message = service.receive
            while not messages.empty():
                service.receive(*messages.get_nowait())
            link.send(Ready(service.most_connections()))
            await service.run()
            link.send(service.report(was_asked=False))
        await link.drain()
        link.close()


class SearchService(Serving):
    """The shared state of a search process's connections. Create it while the loop runs."""

    def __init__(self, index: ReadOnlyIndex, config: Config, link: Link) -> None:
        calls = {kind: self._unless_behind(call) for kind, call in CALLS.items()}
        super().__init__(config, calls, index, Sealer())
        self.keys = keys_of(config)
        self.answer_phrases_in_turns()
        self._engine = index.engine
        self._questions = index.questions
        self._link = link
        self._loop = asyncio.get_running_loop()
        self._load = LoopLoad()
        self._own_descriptors = open_descriptors()
        self._stopped: asyncio.Future[Stop] = self._loop.create_future()
        self._opening: set[asyncio.Task[bool]] = set()
        self._closed = 0  # connections that the main process does not know of yet
        self._lines_reported = 0
        self._numbers = count()
        self._next_commit: asyncio.Future[bool] | None = None
        self._commits: dict[int, asyncio.Future[bool]] = {}
        self._replies: dict[int, asyncio.Future[bytes]] = {}

    async def run(self) -> None:
        """Serve until the main process sends Stop."""
        reporting = self._loop.create_task(self._report_regularly())
        try:
            stop = await self._stopped
        finally:
            reporting.cancel()
        if self._opening:
            await asyncio.wait(self._opening)
        await end_connections(self, stop.answer_s, stop.stop_s)

    # -- messages of the main process ----------------------------------------------------------------------------------

    def receive(self, message: object, descriptor: int) -> None:
        """Act on a message."""
        match message:
            case Handover():
                self._open(message, descriptor)
            case Committed(number, worked):
                self._commits.pop(number).set_result(worked)
            case ReplyFound(number, reply):
                self._replies.pop(number).set_result(reply)
            case Shed(connections):
                self.sheds = connections
            case Vacate(connections):
                self._vacate(connections)
            case AskReport():
                self._link.send(self.report(was_asked=True))
            case Stop():
                if not self._stopped.done():
                    self._stopped.set_result(message)

    def report(self, *, was_asked: bool) -> Report:
        """Return a report of the work since the last report; `was_asked`: the main process has asked for it."""
        lines = self._lines()
        counts = self.statistics.take_counts(lines - self._lines_reported)
        self._lines_reported = lines
        active = self.count_active() if self._load.busy > BUSY_SHARE else 0
        return Report(
            counts,
            self._load.busy,
            active,
            self._engine.graphs.take_broken(),
            len(self._engine.graphs),
            self.most_connections(),
            was_asked,
            None if self._questions is None else self._questions.take(),
        )

    def most_connections(self) -> int:
        """Return the greatest number of connections, by the limit of descriptors."""
        return most_descriptors() - self._own_descriptors - SPARE

    def hand_over(self, descriptor: int, session: Session, unsent: bytes, peer: object) -> bool:
        """Hand a connection back to the main process; return whether that succeeded.

        Args:
            descriptor: the descriptor of its socket.
            unsent: replies that the client has not got yet.
            peer: the address of the client.
        """
        rest = session.take_rest()
        if rest is None:
            return False
        if self._link.pass_on(Handover(unsent, rest, peer, held_by(session)), descriptor):
            return True
        session.feed(rest)
        return False

    # -- connections ---------------------------------------------------------------------------------------------------

    def disconnected(self, peer: ServedConnection) -> None:
        """Remove a connection that is closed."""
        super().disconnected(peer)
        self._note_closed()

    def _vacate(self, most: int) -> None:
        """Hand over at most `most` connections that wait for their next command."""
        for peer in list(self.peers):
            if not most:
                return
            if isinstance(peer, Connection) and peer.move_away():
                most -= 1

    async def execute(self, command: Command) -> bytes:
        """Carry out a command that needs uncommitted changes, and return its reply.

        The main process, which has these changes, answers the first few commands. Further ones wait for a commit, which
        then costs less.
        """
        if self.phrases is not None and may_check(command) and (not self._is_behind(command) or await self._commit()):
            answer = CALLS[type(command)]
            try:
                return await self.phrases.answer(self.target, lambda answers: answer(answers, command))
            except GraphReplaced:  # while it was answered
                return answer(self.target, command)
        if len(self._replies) >= ASKED_MAX and await self._commit():
            return CALLS[type(command)](self.target, command)
        number = next(self._numbers)
        asked = self._replies[number] = self._loop.create_future()
        self._link.send(AskReply(number, command))
        reply: bytes = await asked
        self.statistics.note_error(reply)
        return reply

    def _unless_behind(self, call: Call) -> Call:
        """Return a call that leaves a command to `execute` if this process may lack acknowledged changes."""

        def answer(index: Index, command: Any) -> bytes:
            if self._is_behind(command):
                raise Postponed
            return call(index, command)

        return answer

    def _is_behind(self, command: Any) -> bool:
        """Return whether this process may lack acknowledged changes that a command has to see."""
        collection: str = getattr(command, "collection", "")
        bucket = None if getattr(command, "buckets", ()) else getattr(command, "bucket", None)
        return self._engine.store.is_behind(collection, bucket)

    async def _commit(self) -> bool:
        """Wait for the next commit; return whether it succeeded."""
        if self._next_commit is None:
            self._next_commit = self._loop.create_future()
            self._loop.call_soon(self._ask_commit)  # all commands of this pass of the loop share the question
        return await asyncio.shield(self._next_commit)

    def _ask_commit(self) -> None:
        asked, self._next_commit = self._next_commit, None
        assert asked is not None
        number = next(self._numbers)
        self._commits[number] = asked
        self._link.send(AskCommit(number))

    def _open(self, handover: Handover, descriptor: int) -> None:
        opening = self._loop.create_task(go_on_with(self, handover, descriptor))
        self._opening.add(opening)
        opening.add_done_callback(self._opened)

    def _opened(self, opening: "asyncio.Task[bool]") -> None:
        self._opening.discard(opening)
        if opening.cancelled() or not opening.result():
            self._note_closed()
            self._link.send(self.report(was_asked=False))  # if it had no descriptor, there is none for others either

    def _note_closed(self) -> None:
        if not self._closed:
            self._loop.call_soon(self._tell_closed)
        self._closed += 1

    def _tell_closed(self) -> None:
        closed, self._closed = self._closed, 0
        self._link.send(Closed(closed))

    # -- figures -------------------------------------------------------------------------------------------------------

    def _lines(self) -> int:
        return self.statistics.lines_of_closed + sum(peer.session.lines_handled for peer in self.peers)

    async def _report_regularly(self) -> None:
        """Send a report regularly, and free the caches of an idle process."""
        was_idle = False
        graphs_s = self.config.store.fst.pool.inactive_after
        while True:
            await asyncio.sleep(REPORT_S)
            self._load.measure()
            self.sheds = 0  # what was not handed over by now need not be
            self._engine.store.drop_idle_reads()
            self._engine.graphs.close_idle(graphs_s)
            is_idle = self._lines() == self._lines_reported and self._load.busy < IDLE_SHARE
            if not (is_idle and was_idle):
                self._link.send(self.report(was_asked=False))
            was_idle = is_idle


def _leave() -> None:
    """End this process at once, with all connections: the main process has ended."""
    os._exit(1)
