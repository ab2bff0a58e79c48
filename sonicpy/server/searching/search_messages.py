"""Messages between the main process of a server and its search processes, over a `Link`.

main process                          search process
Setup, with the change board    ->
                                <-    Ready
Handover, with the connection   ->
                                <-    Closed
Shed                            ->
Vacate                          ->
                                <-    Handover, with the connection
                                <-    AskReply      to a command that needs what no commit holds yet
Reply                           ->
                                <-    AskCommit     more of them wait
Committed                       ->
AskReport                       ->
                                <-    Report        also twice a second
Stop                            ->                  and then it closes its end
"""

from pathlib import Path
from typing import NamedTuple

from sonicpy.channel.commands import Command
from sonicpy.config import Config
from sonicpy.server.watching.server_statistics import Counts


class Setup(NamedTuple):
    """The first message: what to open."""

    folder: Path
    config: Config


class Ready(NamedTuple):
    """Connections may come."""

    most: int
    """How many it may have at a time, because each takes a descriptor."""


class Handover(NamedTuple):
    """A connection in mode search, between two turns."""

    unsent: bytes
    """Replies to send first."""
    rest: bytes
    """Bytes from the client that no process has read."""
    peer: object
    """Its address: a socket of a pump does not tell."""


class Shed(NamedTuple):
    """Hand over this number of active connections to the main process, which finds the right process for them."""

    connections: int


class Vacate(NamedTuple):
    """Hand over at most this number of connections that wait for their next command: this process is not needed."""

    connections: int


class Closed(NamedTuple):
    """Some of the connections that were handed over are closed, or handed back."""

    connections: int


class AskCommit(NamedTuple):
    """Commit what was acknowledged."""

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
    """The work of a search process since the report before."""

    counts: Counts
    busy: float
    """Share of the time that its loop took."""
    active: int
    """Connections that sent lines, if the loop was busy; else 0."""
    broken_buckets: set[int]
    """Those whose word graph could not be read."""
    open_graphs: int
    most: int
    """As in Ready; the limit of a process can be changed."""
    was_asked: bool
    """By AskReport."""


class Stop(NamedTuple):
    """Answer what has arrived, for at most this time, close the connections, and end."""

    answer_s: float
    stop_s: float
