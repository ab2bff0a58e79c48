"""One connection: bytes from the socket into a Session, its replies back, in turns of about half a millisecond.

A turn reads lines until its time is up or none is left, then seals what it changed and writes all replies with one
call. Who has used up a turn queues for the next one (`Service.enqueue_turn`); the others are served as they come.

Reading stops while a turn is unfinished (`_scheduled`), while something runs that takes longer (`_held`), and while the
peer does not take its replies (`_blocked`): so what one connection can make the server hold is bounded, by one read,
one unfinished line, and WRITE_HIGH_BYTES of replies twice.
"""

import asyncio
import logging
import math
import time
from typing import cast

from sonicpy.channel import replies
from sonicpy.channel.commands import Command, Ping
from sonicpy.channel.session import WRONG_PASSWORD, Session
from sonicpy.errors import CommandError, SonicError, StoreError
from sonicpy.server.dispatch import CALLS, CHANGES
from sonicpy.server.passwords import network_of
from sonicpy.server.rejected import RejectedConnection
from sonicpy.server.service import Service
from sonicpy.server.slow import log_slow
from sonicpy.server.statistics import QUICK_S, Tally

logger = logging.getLogger(__name__)

TURN_S = 0.0005
SHORT_TURN_S = 0.00005
"""Of a connection that was not busy, while very many become so at the same time."""
BUSY_S = 0.1
"""Who has used up a turn has to queue for the next one for so long."""
START_TIMEOUT_S = 10.0
FULL = "too_many_connections"
WRITE_HIGH_BYTES = 1 << 16
"""A peer that leaves so much unread is not served until it reads; a turn that answers so much ends."""
WRITE_TIMEOUT_S = 300.0
"""A peer that has read nothing for so long is dropped, where channel.tcp_timeout sets no other time."""
OVERFLOW = b"ERR overflow"
"""What a line that is too long is counted as."""


class Connection(asyncio.BufferedProtocol):
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
        self._busy_until_s = 0.0
        self._held: asyncio.Task[None] | None = None
        self._penance: asyncio.TimerHandle | None = None  # a wrong password waits for its answer
        self._network = ""
        self._at_eof = False
        self._is_tls = False
        self._is_paused = False  # reading

    # -- called by the loop --------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        if self._service.is_full:
            RejectedConnection(
                self._transport, replies.ended(FULL), self._service.turned_away, self._service.read_buffer
            )
            return
        self._is_tls = transport.get_extra_info("sslcontext") is not None
        self._transport.set_write_buffer_limits(high=WRITE_HIGH_BYTES)
        self._service.connected(self)
        self._transport.write(self.session.greeting())
        self._check_time()

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._service.read_buffer

    def buffer_updated(self, nbytes: int) -> None:
        self._moved_s = self._loop.time()
        self._service.statistics.received_bytes += nbytes
        self.session.feed(bytes(self._service.read_buffer[:nbytes]))
        if self._waits():
            return
        began = time.perf_counter()
        if began < self._busy_until_s:
            self._go_on()
            return
        self._turn(SHORT_TURN_S if self._service.is_crowded else TURN_S)
        self._service.spent(time.perf_counter() - began)

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
        self._cancel_refusal()
        self._transport = None
        self._service.disconnected(self)

    # -- called by the server ------------------------------------------------------------------------------------

    def shut_down(self, longest_s: float) -> None:
        """Answer what has arrived, for so long at the most, refuse what comes later, and close once that is sent."""
        self._turn(longest_s)
        self.session.shutting_down = True
        if self._cancel_refusal():
            self._write([replies.ended(WRONG_PASSWORD)])
        if self._held is None and self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        """Close at once."""
        if self._transport is not None:
            self._transport.abort()

    # -- one turn ------------------------------------------------------------------------------------------------

    def _turn(self, longest_s: float = TURN_S) -> None:
        try:
            self._run_turn(longest_s)
        except BaseException:
            self.abort()  # nobody foresaw this: the client shall not wait for an answer that never comes
            raise

    def _run_turn(self, longest_s: float) -> None:
        self._scheduled = False
        if self._transport is None or self._held or self._blocked or self.session.ended:
            return
        if self._is_tls and self._transport.is_closing():
            return
        out: list[bytes] = []
        promises: list[int] = []  # places in `out` that may only leave once the log holds what they tell of or saw
        slow: Command | None = None
        out_bytes = 0
        session, tallies = self.session, self._service.statistics.tallies
        began = now = time.perf_counter()
        while (item := session.next()) is not None:
            kind: type = type(item)
            if isinstance(item, bytes):
                reply = item
                if item is replies.PONG:
                    kind = Ping
                else:
                    self._note_answer(item)
                if reply:
                    out.append(reply)
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
            out_bytes += len(reply)
            if now - began > longest_s:
                self._busy_until_s = now + BUSY_S
                self._scheduled = True
                break
            if out_bytes > WRITE_HIGH_BYTES and longest_s <= TURN_S:
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
        if self.session.wrong_password:
            self._delay_refusal()
            return
        sealed: asyncio.Future[None] | None = None
        if promises:
            try:
                sealed = self._service.seal(self)
            except StoreError as trouble:
                self._withdraw(out, promises, trouble)
        elif out:
            self._service.note_reading()
        if sealed is not None or slow is not None:
            self._scheduled = False  # the end of what is held goes on
            self._held = self._loop.create_task(self._answer_later(sealed, out, promises, slow))
        else:
            self._write(out)
            if self.session.ended:
                self._close()
            elif self._scheduled:
                self._service.enqueue_turn(self._turn)
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

    def _delay_refusal(self) -> None:
        """Tell of the wrong password, the later the more of them came from there; what follows is not kept."""
        self._network = network_of(self._transport.get_extra_info("peername")) if self._transport else ""
        delay_s = self._service.wrong_passwords.delay_s(self._network, self._loop.time())
        if delay_s is None:
            self.abort()
        elif delay_s:
            self._service.wrong_passwords.waits(self._network)
            self._penance = self._loop.call_later(delay_s, self._refuse_password)
        else:
            self._refuse_password()

    def _refuse_password(self) -> None:
        self._cancel_refusal()
        self._moved_s = self._loop.time()
        self._write([replies.ended(WRONG_PASSWORD)])
        self._close()

    def _cancel_refusal(self) -> bool:
        """Return whether there was one."""
        if self._penance is None:
            return False
        self._penance.cancel()
        self._penance = None
        self._service.wrong_passwords.waited(self._network)
        return True

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
            self._service.enqueue_turn(self._turn)
        self._read_on_or_wait()

    def _read_on_or_wait(self) -> None:
        waits = self._waits()
        if waits == self._is_paused or self._transport is None or self._transport.is_closing() or self._at_eof:
            return
        self._is_paused = waits
        if waits:
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
            if unsent < self._unsent_bytes or self._held is not None or self._scheduled or self._penance is not None:
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
