"""One search process, on the side of the main process."""

import asyncio
import contextlib
import logging
import multiprocessing
import os
import socket
import threading
import time
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from typing import TYPE_CHECKING, Protocol

from sonicpy.channel import replies
from sonicpy.children import held_back
from sonicpy.errors import SonicError
from sonicpy.server.connections.dispatch import CALLS
from sonicpy.server.jobs.threads import in_thread
from sonicpy.server.jobs.workers import nothing_to_import
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
)
from sonicpy.server.searching.search_worker import IDLE_SHARE, serve_searches

if TYPE_CHECKING:
    from sonicpy.index.index import Index
    from sonicpy.server.connections.serving import Serving
    from sonicpy.server.jobs.committer import Committer

logger = logging.getLogger(__name__)

COMMIT_WITHIN_S = 0.01
"""The shortest time in seconds between commits that follow commands carried out here."""
LATE_S = 1.0
"""The time in seconds by which a report may be late: a process without one is stopped or overloaded, and gets no
connections until it reports.
"""


class OnEnd(Protocol):
    """A function that is called when a search process has closed its end of the link."""

    def __call__(self, process: "SearchProcess", *, expected: bool) -> None: ...


class SearchProcess:
    """A process that serves connections in mode search.

    Args:
        index: the index of the main process, which answers commands that need uncommitted changes.
        committer: commits the changes of that index.
        serving: the connections of the main process, which takes back those that no other process takes.
        choose: returns the process to give a connection to; None: the main process.
        on_end: called once, unless `kill` was called before.

    Attributes:
        connections: the number of connections that it serves.
        most: the most connections that it takes: each needs a descriptor.
        fresh: the number of connections received since its last report.
        silence_s: for how many seconds it has sent no message; `SearchProcesses` counts them.
        owes_since_s: the time at which a report was requested, by the monotonic clock; None: no report is due.
        busy: the share of time in which its loop ran, by its last report.
        active: the number of connections that sent lines, by its last report, if it was busy.
        open_graphs: the number of its open word graphs, by its last report.
        is_retiring: whether it gets no new connections, because it is to end.
        is_leaving: whether it was asked to end.
    """

    def __init__(
        self,
        index: "Index",
        committer: "Committer",
        serving: "Serving",
        choose: "Callable[[], SearchProcess | None]",
        on_end: OnEnd,
    ) -> None:
        self.connections = self.most = 0
        self.fresh = 0
        self.busy = 0.0
        self.active = 0
        self.open_graphs = 0
        self.idle_since_s = time.monotonic()
        self.silence_s = 0.0
        self.owes_since_s: float | None = None
        self.is_ready = self.was_ready = self.is_retiring = self.is_leaving = False
        self._index = index
        self._committer = committer
        self._serving = serving
        self._choose = choose
        self._on_end = on_end
        self._process: BaseProcess | None = None
        self._link: Link | None = None
        self._reported: asyncio.Future[None] | None = None
        self._take: dict[type, Callable[..., None]] = {
            Ready: self._note_ready,
            Closed: self._note_closed,
            AskCommit: self._commit,
            AskReply: self._answer,
            Report: self._note_report,
        }
        self._opening: set[asyncio.Task[bool]] = set()

    @property
    def pid(self) -> int | None:
        """The id of the process; None: it was not started."""
        return None if self._process is None else self._process.pid

    @property
    def takes_connections(self) -> bool:
        """Whether the process can be given a connection."""
        is_here = self.is_ready and not self.is_retiring and self._link is not None and not self._link.is_blocked
        return is_here and (self.owes_since_s is None or time.monotonic() - self.owes_since_s < LATE_S)

    @property
    def is_full(self) -> bool:
        """Whether the process has no descriptor for one more connection."""
        return self.connections >= self.most

    async def start(self) -> None:
        """Start the process; it is ready some tenths of a second later.

        Raises:
            OSError: it cannot be started.
            WorkerError: no thread can be started.
        """
        board = self._index.engine.store.share_changes().descriptor
        ours, theirs = socket.socketpair()
        try:
            self._process = await in_thread(_started, theirs)
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        self._link = Link(ours, self._receive, self._end)
        self._link.pass_on(Setup(self._index.engine.store.folder, self._serving.config), board)

    def take(self, handover: Handover, descriptor: int) -> bool:
        """Give the process a connection; return whether that worked."""
        if self._link is None or not self._link.pass_on(handover, descriptor):
            return False
        self.connections += 1
        self.fresh += 1
        if self.owes_since_s is None:
            self.owes_since_s = time.monotonic()
        return True

    async def report(self) -> None:
        """Wait until the statistics include all counts of the process until now, or the process ends."""
        if self._reported is None:
            self._reported = asyncio.get_running_loop().create_future()
            self.send(AskReport())
        await asyncio.shield(self._reported)

    def send(self, message: object) -> None:
        """Send the process a message, if it runs."""
        if self._link is not None:
            self._link.send(message)

    def kill(self) -> None:
        """Kill the process at once."""
        if self._link is not None:
            self._link.close()
        self.is_ready = False
        self._settle_report()
        if self._process is not None:
            self._process.kill()
            with contextlib.suppress(RuntimeError):  # no thread: it is reaped when the next one is started
                threading.Thread(target=self._process.join, name="search process", daemon=True).start()

    # -- inside ------------------------------------------------------------------------------------------------------

    def _receive(self, message: object, descriptor: int) -> None:
        self.silence_s = 0.0
        if isinstance(message, Handover):
            self._take_back(message, descriptor)
        else:
            self._take[type(message)](message)

    def _take_back(self, handover: Handover, descriptor: int) -> None:
        """Give a connection that this process hands back to another process, or serve it in the main process."""
        chosen = None if descriptor == NONE else self._choose()
        if chosen is not None and chosen is not self and chosen.take(handover, descriptor):
            os.close(descriptor)
            return
        opening = asyncio.get_running_loop().create_task(go_on_with(self._serving, handover, descriptor))
        self._opening.add(opening)
        opening.add_done_callback(self._opening.discard)

    def _end(self) -> None:
        self._on_end(self, expected=self.is_leaving)

    def _note_ready(self, message: Ready) -> None:
        self.is_ready = self.was_ready = True
        self.most = message.most

    def _note_closed(self, message: Closed) -> None:
        self.connections -= message.connections

    def _note_report(self, message: Report) -> None:
        self._serving.statistics.add(message.counts)
        self.busy = message.busy
        self.active = message.active
        self.open_graphs = message.open_graphs
        self.most = message.most
        self._index.engine.graphs.broken.update(message.broken_buckets)
        if message.unanswered is not None and self._index.questions is not None:
            self._index.questions.add(message.unanswered)
        self.fresh = 0
        self.owes_since_s = None if message.busy < IDLE_SHARE else time.monotonic()
        if message.was_asked:
            self._settle_report()

    def _settle_report(self) -> None:
        reported, self._reported = self._reported, None
        if reported is not None and not reported.done():
            reported.set_result(None)

    def _commit(self, message: AskCommit) -> None:
        """Answer once all changes acknowledged until now are committed."""

        def answer(done: asyncio.Future[bool]) -> None:
            self.send(Committed(message.number, done.result()))

        self._committer.commit_soon().add_done_callback(answer)

    def _answer(self, message: AskReply) -> None:
        """Carry out a command here, where uncommitted changes are visible; schedule a commit, so that the process can
        answer later commands itself.
        """
        self._committer.commit_within(COMMIT_WITHIN_S)
        try:
            reply = CALLS[type(message.command)](self._index, message.command)
        except SonicError as error:
            logger.error("%s", error)
            reply = replies.error(error)
        undone = self._committer.settle()  # the reply may tell of changes that no log holds yet
        if undone is not None:
            reply = replies.error(undone)
        self.send(ReplyFound(message.number, reply))


def _started(theirs: socket.socket) -> BaseProcess:
    """Start a search process and return it; this blocks the calling thread for up to 0.1 s.

    The process ends with the thread that calls this function (`die_with_parent`): threads of the loop's executor live
    as long as the server.
    """
    process = multiprocessing.get_context("spawn").Process(target=serve_searches, args=(theirs,), daemon=True)
    with nothing_to_import(), held_back(EACH):
        process.start()
    return process
