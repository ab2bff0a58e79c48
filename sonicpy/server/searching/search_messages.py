"""Messages between the main process of a server and its search processes, over a `Link`.

main process                          search process
Setup, with the change board    ->
                                <-    Ready
Handover, with the connection   ->
                                <-    Closed
Shed                            ->
Vacate                          ->
                                <-    Handover, with the connection
                                <-    AskReply      to a command that needs uncommitted changes
Reply                           ->
                                <-    AskCommit     more of them wait
Committed                       ->
AskReport                       ->
                                <-    Report        also twice a second
Stop                            ->                  and then it closes its end
"""

from pathlib import Path
from typing import NamedTuple

from sonicpy.access.admission import Held
from sonicpy.channel.commands import Command
from sonicpy.config import Config
from sonicpy.index.report.unanswered import Tallies
from sonicpy.server.watching.server_statistics import Counts


class Setup(NamedTuple):
    """The first message: the index to open."""

    folder: Path
    config: Config


class Ready(NamedTuple):
    """The process accepts connections."""

    most: int
    """The most connections that the process takes: each needs a descriptor."""


class Handover(NamedTuple):
    """A connection in mode search, between two turns."""

    unsent: bytes
    """The replies to send first."""
    rest: bytes
    """The bytes from the client that no process has read."""
    peer: object
    """The address of the client, which the socket of a pump does not have."""
    held: Held | None = None
    """The rights of the client; None: it gave the password, or needed none."""


class Shed(NamedTuple):
    """Hand over this many active connections to the main process, which finds the right processes for them."""

    connections: int


class Vacate(NamedTuple):
    """Hand over at most this many connections that wait for their next command: the process is to end."""

    connections: int


class Closed(NamedTuple):
    """Some of the connections that were handed over are closed, or handed back."""

    connections: int


class AskCommit(NamedTuple):
    """Commit all acknowledged changes."""

    number: int


class Committed(NamedTuple):
    """The answer to AskCommit."""

    number: int
    worked: bool


class AskReply(NamedTuple):
    """Carry out a command."""

    number: int
    command: Command


class ReplyFound(NamedTuple):
    """The answer to AskReply."""

    number: int
    reply: bytes


class AskReport(NamedTuple):
    """Send a report now."""


class Report(NamedTuple):
    """The work of a search process since its previous report."""

    counts: Counts
    busy: float
    """The share of time in which the loop of the process ran."""
    active: int
    """The number of connections that sent lines, if the loop was busy; else 0."""
    broken_buckets: set[int]
    """The ids of buckets whose word graph could not be read."""
    open_graphs: int
    most: int
    """The most connections that the process takes; it changes with the limit of descriptors."""
    was_asked: bool
    """Whether AskReport requested this report."""
    unanswered: Tallies | None = None
    """The questions that found nothing; None: they are not noted."""


class Stop(NamedTuple):
    """Answer the commands that have arrived for at most `answer_s` seconds, close the connections, and end within
    `stop_s`.
    """

    answer_s: float
    stop_s: float
