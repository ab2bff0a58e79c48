"""Carries out the lines of one session, counts them, and turns errors into replies. Sends nothing.

line -> Session.next -> reply of the session                    -> out
                     -> command in `Service.kinds` -> reply    -> out
                     -> any other command: returned to the caller, because it takes longer than a turn;
                        as Relayed, if another process or node is asked
"""

import asyncio
import enum
import logging
import math
import time
from functools import partial
from typing import TYPE_CHECKING

from sonicpy.channel import replies
from sonicpy.channel.commands import Command, Mode, Ping
from sonicpy.channel.session import Session
from sonicpy.errors import CommandError, SonicError, StoreError
from sonicpy.server.connections.dispatch import Postponed, Relayed
from sonicpy.server.connections.permits import guarded, may_go_on, permitted, shown_reply
from sonicpy.server.watching.server_statistics import QUICK_S, Tally
from sonicpy.server.watching.slow import log_slow

if TYPE_CHECKING:
    from sonicpy.server.connections.serving import Serving

logger = logging.getLogger(__name__)

OVERFLOW = b"ERR overflow"
"""The name under which too long lines are counted."""


class TurnEnd(enum.Enum):
    """The reason why a turn ended before the last line: its time is over, its replies fill the buffer, or as below."""

    TIME_IS_UP = enum.auto()
    HALF_GONE = enum.auto()
    """The last reply has to wait until the removal that its command began is complete."""
    REPLIES_ARE_LONG = enum.auto()
    SEARCH_BEGINS = enum.auto()
    """START was accepted in mode search, and a search process may take the connection over."""


class Runner:
    """The commands of one session."""

    __slots__ = ("_kinds", "_service", "_session", "_statistics", "_target", "known_peer", "transport")

    def __init__(self, service: "Serving", session: Session) -> None:
        self._service = service
        self._kinds = service.kinds if session.permit is None else guarded(service.kinds, session.permit)
        self._target = service.target
        self._statistics = service.statistics
        self._session = session
        self.transport: asyncio.BaseTransport | None = None
        """The transport of the connection while it is open; the slow log reads the peer from it."""
        self.known_peer: object = None
        """The name of the peer, if another process accepted the connection."""

    def peer_name(self) -> object:
        """Return the address of the peer, as the socket gives it; None: the connection is closed."""
        return None if self.transport is None else self.known_peer or self.transport.get_extra_info("peername")

    def run(
        self, out: list[bytes], promises: list[int], limit_s: float, limit_bytes: float
    ) -> TurnEnd | Command | Relayed | None:
        """Carry out lines until none is left or a limit is reached.

        Args:
            out: gets the replies, in order.
            promises: gets the places in `out` of replies that may be sent only once the log holds the changes that they
                confirm or show.
            limit_s: time after which no further line is read.
            limit_bytes: length of replies after which no further line is read.

        Returns:
            None: no line is left. TurnEnd: the reason why lines are left. Command or Relayed: a command that takes
                longer than a turn and has to be carried out before the next line, by another node if it is Relayed.
        """
        session, kinds, target, late = self._session, self._kinds, self._target, TurnEnd.TIME_IS_UP
        out_bytes = 0
        clock = time.perf_counter
        began = now = clock()
        while (item := session.next()) is not None:
            kind = kinds.get(type(item))
            if kind is not None:
                call, tally, changes, removes = kind
                try:
                    reply = call(target, item)
                except Postponed as postponed:
                    assert not isinstance(item, bytes)
                    if postponed.ask is None or promises:
                        return item
                    return Relayed(item, postponed.ask, now)
                except SonicError as error:
                    reply = self.refuse(error)
                else:
                    if changes or promises:
                        promises.append(len(out))
                out.append(reply)
                if removes and target.engine.store.has_removals:
                    return TurnEnd.HALF_GONE
            elif isinstance(item, bytes):
                reply = item
                if reply is replies.PONG:
                    tally = self._statistics.tallies[Ping]
                else:
                    tally = self._count_own_reply(reply)
                    if session.permit is not None and kinds is self._service.kinds:
                        kinds = self._kinds = guarded(self._service.kinds, session.permit)
                        session.check_piece = partial(permitted, session.permit, counts=True)
                    if session.mode is Mode.SEARCH and not session.lines_handled and self._hands_over:
                        late, limit_s = TurnEnd.SEARCH_BEGINS, -math.inf
                if reply:
                    out.append(reply)
            else:
                return item
            before, now = now, clock()
            tally.count += 1
            tally.seconds += now - before
            if now - before > QUICK_S:
                self._note_duration(tally, item, now - before)
            out_bytes += len(reply)
            if now - began > limit_s:
                return late
            if out_bytes > limit_bytes:
                return TurnEnd.REPLIES_ARE_LONG
            if session.is_drained():  # `next` would find that out too, by the way of lines that break a rule
                return None
        return None

    @property
    def _hands_over(self) -> bool:
        """Whether a search process may take the connection over."""
        return self._service.hands_over and may_go_on(self._session)

    async def run_long(self, command: Command) -> bytes:
        """Carry out a command that takes longer than a turn, and return its reply."""
        began = time.perf_counter()
        try:
            permit = self._session.permit
            if permit is not None:
                command = permitted(permit, command, counts=type(command) not in self._service.kinds)
            reply = await self._service.execute(command)
            if permit is not None:
                reply = shown_reply(permit, command, reply)
        except SonicError as error:
            reply = self.refuse(error)
        self._count_long(command, time.perf_counter() - began)
        return reply

    def finish_relayed(self, relayed: Relayed, answer: bytes | SonicError) -> bytes:
        """Return the reply to a command that another node has answered."""
        self._count_long(relayed.command, time.perf_counter() - relayed.began)
        return answer if isinstance(answer, bytes) else self.refuse(answer)

    def refuse(self, error: SonicError) -> bytes:
        """Return and count the reply to a failed command; the details of the error go only to the log."""
        if not isinstance(error, CommandError):
            logger.error("%s", error)
        reply = replies.error(error)
        self._statistics.note_error(reply)
        return reply

    def withdraw(self, out: list[bytes], promises: list[int], error: StoreError) -> None:
        """Replace the replies in `out` that confirm changes which were undone."""
        reply = replies.error(error)
        logger.error("%s", error)
        for place in promises:
            out[place] = reply
            self._statistics.note_error(reply)

    def withdraw_all(self, out: list[bytes], error: StoreError) -> None:
        """Replace all replies in `out` that depend on an index, whose changes were undone."""
        self.withdraw(out, [place for place, reply in enumerate(out) if reply.startswith(replies.OF_INDEX)], error)

    def _count_long(self, command: Command, seconds: float) -> None:
        tally = self._statistics.tallies[type(command)]
        self._statistics.note_slow(tally.verb, command, seconds)
        tally.add(seconds)  # INFO's best and worst are those of commands carried out in a turn
        if seconds >= self._service.slow_command_s:
            log_slow(tally.verb, command, seconds, self.peer_name())

    def _count_own_reply(self, reply: bytes) -> Tally:
        """Count the error in a line that the session itself has answered; return the tally of the line."""
        is_overflow = not reply and self._session.ended  # a line that is too long gets no reply
        self._statistics.note_error(OVERFLOW if is_overflow else reply)
        return self._statistics.tallies[bytes]

    def _note_duration(self, tally: Tally, item: bytes | Command, seconds: float) -> None:
        self._statistics.note_duration(tally, seconds)
        self._statistics.note_slow(tally.verb, item, seconds)
        if seconds >= self._service.slow_command_s:
            log_slow(tally.verb, item, seconds, self.peer_name())
