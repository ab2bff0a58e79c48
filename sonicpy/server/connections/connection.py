"""One connection: bytes from the socket into a Session, its replies back, in turns of about half a millisecond.

A turn executes lines until its time is up or no line is left, then seals its changes and writes all replies with one
call. A connection that used up its turn queues for the next one (`Turns.enqueue_turn`); other connections are served as
their bytes arrive.

`TurnState` draws the states of a connection and says when it takes a turn, and when it reads. While another node or
process answers a command, the connection reads at most once, because to stop and to resume reading costs as much as a
read. So one connection makes the server hold at most two reads, one unfinished line, and twice WRITE_HIGH_BYTES of
replies.
"""

import asyncio
import math
import time
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, cast

from sonicpy.channel import replies
from sonicpy.channel.commands import Command, Mode
from sonicpy.channel.pieces import IDLE_S
from sonicpy.channel.session import WRONG_PASSWORD, Session
from sonicpy.errors import SonicError, StoreError
from sonicpy.server.connections.dispatch import Relayed
from sonicpy.server.connections.passwords import DelayedRefusal, network_of
from sonicpy.server.connections.permits import may_go_on
from sonicpy.server.connections.rejected import RejectedConnection
from sonicpy.server.connections.runner import Runner, TurnEnd
from sonicpy.server.connections.turn_state import DEFERRED, READY, RELAYED, TurnEvent, TurnState

if TYPE_CHECKING:
    from sonicpy.server.connections.serving import Serving

TURN_S = 0.0005
SHORT_TURN_S = 0.00005
"""The limit of a turn in seconds that is taken on arrival while very many connections become busy at the same time."""
LAST_TURN_S = 0.1
"""The limit in seconds of the turn after which the loop closes a connection whose peer has ended its side of TLS."""
BUSY_S = 0.1
"""The time in seconds for which a connection that used up a turn has to queue for its turns."""
START_TIMEOUT_S = 10.0
TOO_MANY_CONNECTIONS = "too_many_connections"
WRITE_HIGH_BYTES = 1 << 16
"""The number of bytes of unread replies from which on a peer is not served until it reads; a turn with longer replies
ends.
"""
WRITE_TIMEOUT_S = 300.0
"""The time in seconds after which a peer that reads nothing is dropped, where channel.tcp_timeout sets no other
time.
"""
ENDS_WITH_REPLIES = (None, TurnEnd.TIME_IS_UP, TurnEnd.REPLIES_ARE_LONG, TurnEnd.SEARCH_BEGINS)
"""The ends of turns whose replies may leave once their changes are sealed."""


class Connection(asyncio.BufferedProtocol):
    """The socket side of a session."""

    def __init__(self, service: "Serving", session: Session) -> None:
        self.session = session
        self._service = service
        self._turns = service.turns
        self._runner = Runner(service, session)
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._opened_s = self._active_s = self._loop.time()  # _active_s: when bytes last came or went
        self._unsent_bytes = 0  # at the last check of the time-outs
        self._busy_until_s = 0.0
        self._is_tls = False
        self._state = TurnState()
        self._pending: asyncio.Task[None] | Relayed | DelayedRefusal | None = None  # in DEFERRED, RELAYED, REFUSING

    # -- called by the loop --------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        service = self._service
        accepted = cast(asyncio.Transport, transport)
        if service.is_full or not service.room.has(accepted.get_extra_info("socket").fileno()):
            RejectedConnection(accepted, replies.ended(TOO_MANY_CONNECTIONS), service.rejected, service.read_buffer)
            return
        service.statistics.connections += 1
        self._begin(accepted)
        accepted.write(self.session.greeting())
        self._check_time()

    def _begin(self, transport: asyncio.Transport) -> None:
        self._transport = self._runner.transport = transport
        self._is_tls = transport.get_extra_info("sslcontext") is not None
        transport.set_write_buffer_limits(high=WRITE_HIGH_BYTES)
        self._service.connected(self)

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._service.read_buffer

    def buffer_updated(self, nbytes: int) -> None:
        service = self._service
        self._active_s = self._loop.time()
        service.statistics.received_bytes += nbytes
        self.session.feed(service.read_buffer, nbytes)
        if self._state.waits:
            self._pause_or_resume_reading()
        else:
            self._take_immediate_turn()

    def eof_received(self) -> bool:
        self._state.is_at_end = True
        if not self._is_tls:
            if not self._state.waits:
                self._take_turn()
            return True  # stay open: replies may still be under way, and a turn closes
        # Under TLS the loop closes now, whatever is returned: lines that this turn does not reach are not carried out.
        self._take_turn(LAST_TURN_S, math.inf)
        farewell = self.session.end_of_input()
        if farewell:
            self._write([farewell])
        return False

    def pause_writing(self) -> None:
        self._state.block()
        self._pause_or_resume_reading()

    def resume_writing(self) -> None:
        self._active_s = self._loop.time()
        self._state.unblock()
        self._go_on()

    def connection_lost(self, error: Exception | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._cancel_refusal()
        self._leave()

    # -- called by the server ------------------------------------------------------------------------------------

    def shut_down(self, limit_s: float) -> None:
        """Answer received lines for at most `limit_s`, refuse later ones, and close once the replies are sent."""
        self._take_turn(limit_s, math.inf)
        self.session.shutting_down = True
        if self._cancel_refusal():
            self._write([replies.ended(WRONG_PASSWORD)])
        if self._state.phase not in (DEFERRED, RELAYED):
            self._close()

    def move_away(self) -> bool:
        """Pass this connection to another process, if it is idle; return whether it was passed."""
        if self._state.waits or not self._may_move:
            return False
        if self._hand_over([]):
            return True
        self._pause_or_resume_reading()
        return False

    def abort(self) -> None:
        """Close at once."""
        if self._transport is not None:
            self._transport.abort()

    # -- one turn ------------------------------------------------------------------------------------------------

    def _take_immediate_turn(self) -> None:
        """Take a turn now, unless the connection has to queue for its turn."""
        began = time.perf_counter()
        if began < self._busy_until_s:
            self._go_on()
            return
        self._take_turn(SHORT_TURN_S if self._turns.is_backlogged else TURN_S)
        self._turns.note_immediate_turn(time.perf_counter() - began)

    def _take_turn(self, limit_s: float = TURN_S, limit_bytes: float = WRITE_HIGH_BYTES) -> None:
        transport, state = self._transport, self._state
        if state.phase is not READY and not state.begin_turn():  # without a call in the phase of most turns
            return
        if transport is None or state.is_blocked or self.session.ended:
            return
        if self._is_tls and transport.is_closing():
            return
        out: list[bytes] = []
        promises: list[int] = []
        try:
            stop = self._runner.run(out, promises, limit_s, limit_bytes)
            if stop is None and promises and not state.is_at_end and not self.session.ended:  # as most turns do
                if self._service.committer.seal_with_pass(self, out, promises):
                    if state.is_paused:
                        self._pause_or_resume_reading()
                    return
            elif stop is TurnEnd.SEARCH_BEGINS:
                if self._hand_over(out):
                    return
                stop = self._runner.run(out, promises, limit_s, limit_bytes)
            self._end_turn(stop, out, promises)
        except BaseException:
            self.abort()  # an unexpected error: otherwise the client would wait for an answer that never comes
            raise

    def _end_turn(self, stop: TurnEnd | Command | Relayed | None, out: list[bytes], promises: list[int]) -> None:
        """Seal the changes of a turn, and send its replies or defer them.

        Args:
            stop: the reason for the end of the turn, or a command that is carried out behind it; None: all lines are
                done.
            out: the replies.
            promises: the places in `out` of the replies that confirm changes.
        """
        if self.session.wrong_password:
            self._delay_refusal()
            return
        if out and not promises:
            undone = self._service.committer.note_turn_without_changes()
            if undone is not None:
                self._runner.withdraw_all(out, undone)
        if isinstance(stop, Relayed):
            self._write(out)
            self._pending = stop
            self._state.note(TurnEvent.RELAY)
            stop.ask(self._take_relayed)
            return
        if self._service.sheds and self._moves_away(stop, out):
            return
        if stop is None and self._state.is_at_end:
            out.append(self.session.end_of_input())
        elif stop is TurnEnd.TIME_IS_UP:
            self._busy_until_s = time.perf_counter() + BUSY_S
        synced = self._seal(out, promises) if promises else None
        if synced is not None or stop not in ENDS_WITH_REPLIES:
            self._defer(self._answer_later(synced, out, promises, stop))
        else:
            self._write(out)
            if self.session.ended:
                self._close()
            elif stop is not None:
                self._state.note(TurnEvent.LINES_LEFT)
                self._turns.enqueue_turn(self._take_turn)
            elif not self._state.is_paused:  # `_write` has paused it if the peer is slow
                return
        self._pause_or_resume_reading()

    def _seal(self, out: list[bytes], promises: list[int]) -> "asyncio.Future[Any] | None":
        """Write the changes of a turn to the log; return the future that its replies have to wait for, or None.

        Args:
            out, promises: as in `_end_turn`.
        """
        may_have_read = self._service.committer.is_waiting
        try:
            return self._service.committer.seal(self)
        except StoreError as error:
            self._undo(out, promises, error, may_have_read=may_have_read)
            return None

    def end_seal(self, out: list[bytes], promises: list[int], error: StoreError | None, *, may_have_read: bool) -> None:
        """Send the replies of a turn whose changes were written to the log in a batch: see `committer.Writer`."""
        if error is not None:
            self._undo(out, promises, error, may_have_read=may_have_read)
        self._write(out)

    def _undo(self, out: list[bytes], promises: list[int], error: StoreError, *, may_have_read: bool) -> None:
        """Replace the replies of a turn for changes that were undone.

        Args:
            out, promises: as in `_end_turn`.
            may_have_read: the turn may have read changes of other connections that were undone, too.
        """
        if may_have_read:
            self._runner.withdraw_all(out, error)
        else:
            self._runner.withdraw(out, promises, error)

    def _defer(self, answering: Coroutine[Any, Any, None]) -> None:
        self._state.note(TurnEvent.DEFER)
        self._pending = self._loop.create_task(answering)

    async def _answer_later(
        self,
        synced: "asyncio.Future[Any] | None",
        out: list[bytes],
        promises: list[int],
        stop: TurnEnd | Command | None,
    ) -> None:
        """Wait for the disk and for removals in progress, write the replies of the turn, then run a long command.

        Args:
            synced: the future to wait for first; None: the changes are durable.
            out, promises, stop: as in `_end_turn`.
        """
        try:
            try:
                if synced is not None:
                    await asyncio.shield(synced)
            except StoreError as error:
                self._runner.withdraw(out, promises, error)
            if stop is TurnEnd.HALF_GONE:
                await self._service.committer.remove()
            self._write(out)
            if stop is not None and not isinstance(stop, TurnEnd):
                self._write([await self._runner.run_long(stop)])
        except BaseException:
            self.abort()
            raise
        self._pending = None
        self._state.note(TurnEvent.ANSWERED)
        self._active_s = self._loop.time()
        if self.session.ended or self.session.shutting_down:
            self._close()
        else:
            self._go_on()

    def _take_relayed(self, answer: bytes | SonicError | None) -> None:
        """Write the reply of another process or node, and go on; None: execute the command here."""
        relayed, self._pending = self._pending, None
        if self._transport is None or not isinstance(relayed, Relayed):
            return
        if answer is None:
            self._defer(self._answer_later(None, [], [], relayed.command))
            self._pause_or_resume_reading()
            return
        self._state.note(TurnEvent.ANSWERED)
        self._active_s = self._loop.time()
        self._write([self._runner.finish_relayed(relayed, answer)])
        if self.session.shutting_down:
            self._close()
        elif self._state.waits:
            return
        elif self._state.is_at_end or not self.session.is_drained():
            self._take_immediate_turn()
        else:  # a turn would find nothing
            self._pause_or_resume_reading()

    def _moves_away(self, stop: TurnEnd | Command | None, out: list[bytes]) -> bool:
        """Pass this connection on after a turn here; return whether it was passed."""
        if not self._may_move:
            return False
        if stop not in ENDS_WITH_REPLIES or not self._hand_over(out):
            return False
        self._service.sheds -= 1
        return True

    @property
    def _may_move(self) -> bool:
        session = self.session
        is_open = not session.ended and not session.shutting_down
        return session.mode is Mode.SEARCH and is_open and may_go_on(session)

    def _hand_over(self, out: list[bytes]) -> bool:
        """Pass this connection to another process; return whether it was passed."""
        transport = self._transport
        if transport is None or transport.is_closing() or self._state.is_at_end:
            return False
        if transport.get_write_buffer_size():  # what waits here could come after what the other process sends
            return False
        transport.pause_reading()
        if not self._goes_on_elsewhere(transport, b"".join(out)):
            self._state.is_paused = True
            return False
        if self._timer is not None:
            self._timer.cancel()
        self._leave()
        return True

    def _goes_on_elsewhere(self, transport: asyncio.Transport, unsent: bytes) -> bool:
        """Pass the socket on; under TLS, whose state cannot be passed on, forward decrypted bytes from now on. Return
        False if no search process takes the connection.
        """
        peer = self._runner.peer_name()
        if self._is_tls:
            return self._service.pump(transport, self.session, unsent, peer)
        descriptor = transport.get_extra_info("socket").fileno()
        if not self._service.hand_over(descriptor, self.session, unsent, peer):
            return False
        transport.set_protocol(asyncio.Protocol())  # it does nothing when the transport closes
        transport.close()
        return True

    # -- a wrong password ----------------------------------------------------------------------------------------

    def _delay_refusal(self) -> None:
        """Refuse a wrong password after a delay that grows with the number of wrong passwords from one network."""
        passwords, network = self._service.wrong_passwords, network_of(self._runner.peer_name())
        delay_s = passwords.delay_s(network, self._loop.time())
        if delay_s is None:
            self.abort()
        elif delay_s:
            self._state.note(TurnEvent.REFUSE)
            self._pending = DelayedRefusal(passwords, network, delay_s, self._refuse_password)
        else:
            self._refuse_password()

    def _refuse_password(self) -> None:
        self._cancel_refusal()
        self._active_s = self._loop.time()
        self._write([replies.ended(WRONG_PASSWORD)])
        self._close()

    def _cancel_refusal(self) -> bool:
        """Cancel a delayed refusal; return whether there was one."""
        if not isinstance(self._pending, DelayedRefusal):
            return False
        self._pending.end()
        self._pending = None
        self._state.note(TurnEvent.REFUSED)
        return True

    # -- the socket ----------------------------------------------------------------------------------------------

    def _write(self, out: list[bytes]) -> None:
        if out and self._transport is not None:
            data = b"".join(out)
            self._service.statistics.sent_bytes += len(data)
            self._transport.write(data)

    def _leave(self) -> None:
        """Forget the transport: it is closed, or serves another process now."""
        self._state.lose()
        self.session.drop_pieces()
        self._transport = self._runner.transport = None
        self._service.disconnected(self)

    def _close(self) -> None:
        self._service.committer.settle()  # replies of this pass may wait for it
        if self._transport is not None:
            self._transport.close()

    # -- when to go on, when to give up --------------------------------------------------------------------------

    def _go_on(self) -> None:
        if not self.session.ended and self._state.wants_turn():
            self._turns.enqueue_turn(self._take_turn)
        self._pause_or_resume_reading()

    def _pause_or_resume_reading(self) -> None:
        transport, state = self._transport, self._state
        if transport is None or transport.is_closing() or not state.must_change_reading():
            return
        if state.is_paused:
            transport.pause_reading()
        else:
            transport.resume_reading()

    def _check_time(self) -> None:
        """Close the connection if one of its time-outs has passed, and schedule the next check."""
        if self._transport is None:
            return
        now = self._loop.time()
        self.session.expire()
        has_not_started = self.session.mode is None and not self.session.ended
        due = self._check_start(now) if has_not_started else self._check_activity(now)
        if due is not None:
            self._timer = self._loop.call_at(due, self._check_time)

    def _check_start(self, now: float) -> float:
        """Close the connection if START came too late; return when to check again."""
        due = self._opened_s + START_TIMEOUT_S
        if now >= due:
            self._write([self.session.start_timed_out()])
            self._close()
            due = now + WRITE_TIMEOUT_S  # for the peer to read that line
        idle_s = self._service.idle_timeout_s
        return min(due, now + idle_s) if idle_s else due  # START may come and begin the idle time

    def _check_activity(self, now: float) -> float | None:
        """Close the connection if it was idle for too long; return when to check again, None: it is closed."""
        assert self._transport is not None
        unsent = self._transport.get_write_buffer_size()
        if unsent < self._unsent_bytes or self._state.phase is not READY:
            self._active_s = now
        self._unsent_bytes = unsent
        due = self._active_s + (self._service.idle_timeout_s or (WRITE_TIMEOUT_S if unsent else math.inf))
        if now >= due:
            self._transport.abort()
            return None
        # Without an idle time-out, unread replies may begin one later, and so may pieces of a text.
        return min(due, now + WRITE_TIMEOUT_S, now + IDLE_S)
