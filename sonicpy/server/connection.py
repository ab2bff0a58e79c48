"""One connection: bytes from the socket into a Session, its replies back, in turns of about half a millisecond.

A turn reads lines until its time is up or none is left, then seals what it changed and writes all replies with one
call. Reading stops while a turn is unfinished (`_scheduled`), while something runs that takes longer (`_held`), and
while the peer does not take its replies (`_blocked`): so what one connection can make the server hold is bounded.
"""

import asyncio
import logging
import math
import time
from typing import cast

from sonicpy.channel import replies
from sonicpy.channel.commands import Command, Ping
from sonicpy.channel.session import Session
from sonicpy.errors import CommandError, SonicError, StoreError
from sonicpy.server.dispatch import CALLS, CHANGES
from sonicpy.server.service import Service
from sonicpy.server.slow import log_slow
from sonicpy.server.statistics import QUICK_S, Tally

logger = logging.getLogger(__name__)

TURN_S = 0.0005
START_TIMEOUT_S = 10.0
WRITE_HIGH_BYTES = 1 << 18
"""A peer that leaves so much unread is not served until it reads."""
WRITE_TIMEOUT_S = 300.0
"""A peer that has read nothing for so long is dropped, where channel.tcp_timeout sets no other time."""
OVERFLOW = b"ERR overflow"
"""What a line that is too long is counted as."""


class Connection(asyncio.Protocol):
    """The socket side of a session."""

    def __init__(self, service: Service, session: Session) -> None:
        self.session = session
        self._service = service
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._opened_s = self._moved_s = self._loop.time()  # when bytes last came or went
        self._unsent_bytes = 0  # when the time was last looked at
        self._blocked = False
        self._scheduled = False
        self._held: asyncio.Task[None] | None = None
        self._at_eof = False
        self._is_tls = False

    # -- called by the loop --------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._is_tls = transport.get_extra_info("sslcontext") is not None
        self._transport.set_write_buffer_limits(high=WRITE_HIGH_BYTES)
        self._service.connected(self)
        self._transport.write(self.session.greeting())
        self._check_time()

    def data_received(self, data: bytes) -> None:
        self._moved_s = self._loop.time()
        self._service.statistics.received_bytes += len(data)
        self.session.feed(data)
        if not self._waits():
            self._turn()

    def eof_received(self) -> bool:
        self._at_eof = True
        if not self._waits():
            self._turn()
        if not self._is_tls:
            return True  # replies may still be under way; the turn closes
        # Under TLS the loop closes now, whatever is returned: what this turn did not reach is not carried out.
        farewell = self.session.end_of_input()
        if farewell:
            self._write([farewell])
        return False

    def pause_writing(self) -> None:
        self._blocked = True
        self._read_on_or_wait()

    def resume_writing(self) -> None:
        self._moved_s = self._loop.time()
        self._blocked = False
        self._go_on()

    def connection_lost(self, error: Exception | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._transport = None
        self._service.disconnected(self)

    # -- called by the server ------------------------------------------------------------------------------------

    def shut_down(self) -> None:
        """Answer what has arrived, refuse what comes later, and close once the replies are sent."""
        self._turn(until_empty=True)
        self.session.shutting_down = True
        if self._held is None and self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        """Close at once."""
        if self._transport is not None:
            self._transport.abort()

    # -- one turn ------------------------------------------------------------------------------------------------

    def _turn(self, *, until_empty: bool = False) -> None:
        try:
            self._run_turn(until_empty=until_empty)
        except BaseException:
            self.abort()  # nobody foresaw this: the client shall not wait for an answer that never comes
            raise

    def _run_turn(self, *, until_empty: bool) -> None:
        self._scheduled = False
        if self._transport is None or self._held or self._blocked or self.session.ended:
            return
        out: list[bytes] = []
        promises: list[int] = []  # places in `out` that may only leave once the log holds what they tell of or saw
        slow: Command | None = None
        session, tallies = self.session, self._service.statistics.tallies
        began = now = time.perf_counter()
        while (item := session.next()) is not None:
            kind: type = type(item)
            if isinstance(item, bytes):
                if item is replies.PONG:
                    kind = Ping
                else:
                    self._note_answer(item)
                if item:
                    out.append(item)
            elif (call := CALLS.get(kind)) is not None:
                try:
                    reply = call(self._service.index, item)
                except SonicError as trouble:
                    reply = self._refusal(trouble)
                else:
                    if promises or kind in CHANGES:
                        promises.append(len(out))
                out.append(reply)
            else:
                slow = item
                break
            before, now = now, time.perf_counter()
            tally = tallies[kind]
            tally.count += 1
            tally.seconds += now - before
            if now - before > QUICK_S:
                self._took(tally, item, now - before)
            if now - began > TURN_S and not until_empty:
                self._scheduled = True
                break
        if item is None and self._at_eof:
            out.append(session.end_of_input())
        self._end_turn(out, promises, slow)

    def _note_answer(self, line: bytes) -> None:
        is_overflow = not line and self.session.ended  # a line that is too long is not answered
        self._service.statistics.refused(OVERFLOW if is_overflow else line)

    def _took(self, tally: Tally, item: bytes | Command, seconds: float) -> None:
        self._service.statistics.took(tally, seconds)
        if seconds >= self._service.slow_command_s:
            self._log_slow(tally, item, seconds)

    def _log_slow(self, tally: Tally, item: bytes | Command, seconds: float) -> None:
        peer = None if self._transport is None else self._transport.get_extra_info("peername")
        log_slow(tally.verb, item, seconds, peer)

    def _end_turn(self, out: list[bytes], promises: list[int], slow: Command | None) -> None:
        sealed: asyncio.Future[None] | None = None
        if promises:
            try:
                sealed = self._service.seal(self)
            except StoreError as trouble:
                self._withdraw(out, promises, trouble)
        if sealed is not None or slow is not None:
            self._scheduled = False  # the end of what is held goes on
            self._held = self._loop.create_task(self._answer_later(sealed, out, promises, slow))
        else:
            self._write(out)
            if self.session.ended:
                self._close()
            elif self._scheduled:
                self._loop.call_soon(self._turn)
        self._read_on_or_wait()

    async def _answer_later(
        self, sealed: "asyncio.Future[None] | None", out: list[bytes], promises: list[int], slow: Command | None
    ) -> None:
        """Wait for the disk, write the turn's replies, then carry out the command that takes longer than a turn."""
        try:
            await self._answer(sealed, out, promises, slow)
        except BaseException:
            self.abort()
            raise
        self._held = None
        self._moved_s = self._loop.time()
        if self.session.ended or self.session.shutting_down:
            self._close()
        else:
            self._go_on()

    async def _answer(
        self, sealed: "asyncio.Future[None] | None", out: list[bytes], promises: list[int], slow: Command | None
    ) -> None:
        try:
            if sealed is not None:
                await asyncio.shield(sealed)
        except StoreError as trouble:
            self._withdraw(out, promises, trouble)
        self._write(out)
        if slow is not None:
            began = time.perf_counter()
            try:
                reply = await self._service.execute(slow)
            except SonicError as trouble:
                reply = self._refusal(trouble)
            seconds = time.perf_counter() - began
            tally = self._service.statistics.tallies[type(slow)]
            tally.add(seconds)  # INFO's best and worst are those of commands carried out in a turn
            if seconds >= self._service.slow_command_s:
                self._log_slow(tally, slow, seconds)
            self._write([reply])

    def _refusal(self, trouble: SonicError) -> bytes:
        reply = refusal(trouble)
        self._service.statistics.refused(reply)
        return reply

    def _withdraw(self, out: list[bytes], promises: list[int], trouble: StoreError) -> None:
        """Put the refusal in the place of every promise that cannot be kept."""
        reply = refusal(trouble)
        for place in promises:
            out[place] = reply
            self._service.statistics.refused(reply)

    def _write(self, out: list[bytes]) -> None:
        if out and self._transport is not None:
            data = b"".join(out)
            self._service.statistics.sent_bytes += len(data)
            self._transport.write(data)

    def _close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    # -- when to go on, when to give up --------------------------------------------------------------------------

    def _waits(self) -> bool:
        return self._scheduled or self._blocked or self._held is not None

    def _go_on(self) -> None:
        if not self._waits() and not self.session.ended:
            self._scheduled = True
            self._loop.call_soon(self._turn)
        self._read_on_or_wait()

    def _read_on_or_wait(self) -> None:
        if self._transport is None or self._transport.is_closing() or self._at_eof:
            return
        if self._waits():
            self._transport.pause_reading()
        else:
            self._transport.resume_reading()

    def _check_time(self) -> None:
        """End the connection if its time is over, else look again when it may be."""
        if self._transport is None:
            return
        now = self._loop.time()
        idle_s = self._service.idle_timeout_s
        if self.session.mode is None and not self.session.ended:
            due = self._opened_s + START_TIMEOUT_S
            if now >= due:
                self._write([self.session.start_timed_out()])
                self._close()
                due = now + WRITE_TIMEOUT_S  # for it to read that line
            if idle_s:
                due = min(due, now + idle_s)  # START may come and begin the idle time
        else:
            unsent = self._transport.get_write_buffer_size()
            if unsent < self._unsent_bytes or self._held is not None or self._scheduled:
                self._moved_s = now
            self._unsent_bytes = unsent
            limit_s = idle_s or (WRITE_TIMEOUT_S if unsent else math.inf)
            due = self._moved_s + limit_s
            if now >= due:
                self._transport.abort()
                return
            due = min(due, now + WRITE_TIMEOUT_S)  # without an idle time, replies may come to lie unread
        self._timer = self._loop.call_at(due, self._check_time)


def refusal(trouble: SonicError) -> bytes:
    """Return the reply to a command that failed; what the client is not told goes to the log."""
    if not isinstance(trouble, CommandError):
        logger.error("%s", trouble)
    return replies.error(trouble)
