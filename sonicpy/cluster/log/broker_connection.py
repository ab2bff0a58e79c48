"""The connection of a process to the brokers, by nats-py, and its change to another broker.

nats-py leaves a broker that is gone or answers no pings. It stays with a broker that answers pings but is cut off from
the others, and so takes no changes and sends no new entries. `leave_silent_brokers` leaves such a broker.
"""

import asyncio
import contextlib
import logging
import ssl
from collections.abc import Callable, Iterator, Sequence
from typing import Any
from urllib.parse import unquote

from nats.aio.client import Client, Server
from nats.aio.subscription import Subscription
from nats.errors import AuthorizationError
from nats.errors import Error as NatsError

from sonicpy.errors import StoreError
from sonicpy.server.watching.unexpected import Unexpected

logger = logging.getLogger(__name__)

RECONNECT_S = 0.1
"""The pause in seconds before the same broker is tried again."""
REFUSED_S = 2.0
"""The pause in seconds after a broker has refused the user or the password, because it logs each attempt."""
REFUSAL = "authorization"
"""A part of the brokers' message for an unknown user or password."""
REVOKED = "user authentication"
"""A part of the brokers' message for a user or password that is no longer valid."""
CLOSE_S = 1.0
"""The longest time in seconds for sending buffered messages to a broker before leaving it."""
FLUSH_S = 1.0
"""The longest time in seconds for which a message waits until a broker takes the buffered ones, if these are many."""
LOOK_S = 1.0
LEAVE_S = 9.0
"""The time in seconds for which a log may be silent before its broker is left: above the 4 to 8 seconds of an election,
because leaving loses answers of other nodes that are under way, and below the time that clients wait for an OK.
"""
LEAVE_AGAIN_S, LEAVE_AGAIN_S_MAX = 4.0, 60.0
"""The first and the longest pause in seconds before the next broker is left; the pause doubles each time."""


class BrokersGone(StoreError):
    """The brokers have ended the connection for good."""


class BrokerConnection(Client):
    """A connection to one of the brokers at the given addresses; addresses announced by brokers are not used.

    Attributes:
        refusal: a sentence that says why brokers refuse the user or the password; None: they do not.
        refused: the message of the brokers about the refusal.
        last_failure: the error of the last attempt; an error of an untrusted certificate is kept.
    """

    def __init__(self) -> None:
        super().__init__()
        self.refusal: str | None = None
        self.refused: set[str] = set()
        self.last_failure: Exception | None = None
        self._connected_s = 0.0
        self._tried_s: dict[str, float] = {}
        self._is_open = False
        self._ended = asyncio.Event()

    async def open(self, addresses: Sequence[str], name: str, *, patient: bool) -> None:
        """Connect to one of the brokers.

        Args:
            name: the name of this program, for the brokers' logs.
            patient: after a loss, try to connect without a time limit.

        Raises:
            NatsError, OSError, ValueError: no broker answers.
        """
        await self.connect(
            servers=list(addresses),
            name=name,
            connect_timeout=2,
            reconnect_time_wait=RECONNECT_S,  # type: ignore[arg-type]
            max_reconnect_attempts=-1,
            ping_interval=5,
            max_outstanding_pings=2,
            flush_timeout=FLUSH_S,
            error_cb=self._note,
            disconnected_cb=self._note_loss,
            reconnected_cb=self._note_return,
            closed_cb=self._note_end,
            reconnect_to_server_handler=self._next,
            allow_reconnect=patient,
        )
        self._is_open = True
        self._note_broker()

    @property
    def lasting_s(self) -> float:
        """The time in seconds since the connection to the present broker was made."""
        return asyncio.get_running_loop().time() - self._connected_s if self.is_connected else 0.0

    @property
    def has_jetstream(self) -> bool:
        """Whether the settings of the present broker enable JetStream."""
        return bool(self._server_info.get("jetstream"))

    @property
    def is_encrypted(self) -> bool:
        """Whether the connection to the brokers is encrypted."""
        url = self.connected_url
        return bool(self._server_info.get("tls_required")) or (url is not None and url.scheme in ("tls", "wss"))

    async def close(self) -> None:
        """End the connection."""
        with self._leaving():
            await super().close()

    async def leave(self, subscription: Subscription) -> None:
        """End a subscription after processing the messages sent on it, which no other subscriber would get."""
        try:
            if self.is_connected:
                await asyncio.wait_for(subscription.drain(), CLOSE_S)  # type: ignore[no-untyped-call]
            elif not self.is_closed:
                await subscription.unsubscribe()
        except (NatsError, OSError):  # it was ended before, or the connection is lost: TimeoutError among them
            self._remove_sub(subscription._id)  # else it would begin anew with the next broker

    async def wait_for_end(self) -> None:
        """Wait until the brokers have ended the connection for good. Raises BrokersGone then."""
        await self._ended.wait()
        raise BrokersGone(f"the brokers have ended the connection for good ({self.last_error}), so this node ends")

    # -- what nats-py calls --------------------------------------------------------------------------------------------

    def _setup_server_pool(self, connect_url: list[str]) -> None:
        """Set the brokers. Users and passwords may be percent-encoded, which nats-py does not decode."""
        super()._setup_server_pool(connect_url)
        for server in self._server_pool:
            credentials, mark, place = server.uri.netloc.rpartition("@")
            server.uri = server.uri._replace(netloc=f"{unquote_each(credentials)}{mark}{place}")

    async def _attempt_reconnect(self) -> None:
        """Continue with another broker, without the messages that are still buffered for the last one.

        nats-py would send them first, after their outcome was reported as unknown: an old change could undo a newer
        one. Subscriptions begin anew by themselves.
        """
        self._pending, self._pending_data_size = [], 0
        with self._leaving():
            await super()._attempt_reconnect()

    @contextlib.contextmanager
    def _leaving(self) -> Iterator[None]:
        """Limit to CLOSE_S, inside a `with` block, the time for sending buffered messages to a broker that is being
        left; nats-py would wait for ever."""
        writer = getattr(self._transport, "_io_writer", None)  # WebSockets have none
        timer = None if writer is None else asyncio.get_running_loop().call_later(CLOSE_S, writer.transport.abort)
        try:
            yield
        finally:
            if timer is not None:
                timer.cancel()

    async def _process_err(self, err_msg: str) -> None:
        """Handle an error message of a broker: a refused password may be accepted later.

        Without this, nats-py would end the connection for good, unless the broker closes it before the message is read.
        """
        is_refusal = REFUSAL in err_msg.lower() or REVOKED in err_msg.lower()
        if is_refusal and self._is_open and self.options["allow_reconnect"]:
            error = AuthorizationError()
            await self._note(error)
            await self._process_op_err(error)
            return
        await super()._process_err(err_msg)

    async def _note(self, error: Exception) -> None:
        """Record a refusal; other errors reach the callers that wait for answers."""
        if not isinstance(self.last_failure, ssl.SSLCertVerificationError):
            self.last_failure = error
        if REFUSAL not in str(error).lower():
            return
        self.refused.add(str(error))
        if self._is_open and self.refusal is None:
            self.refusal = "a broker refuses the user or the password that --cluster holds"
            logger.error("%s: start this process again with the right ones", self.refusal)

    async def _note_loss(self) -> None:
        if not self.is_closed:
            logger.warning("the connection to a broker is lost; all of them are tried in turn until one answers")

    async def _note_return(self) -> None:
        self.refusal = None
        self._note_broker()
        address = self.connected_url.netloc.rpartition("@")[2] if self.connected_url else ""  # without a password
        logger.warning("a broker answers again, at %s", address)

    async def _note_end(self) -> None:
        self._ended.set()

    def _next(self, servers: list[Server], _: dict[str, Any]) -> tuple[Server, float]:
        """Return the broker to try next, the one tried longest ago, and the pause before it in seconds; note the try.

        Addresses that brokers announce are ignored: they lack users and passwords, and may be valid only between
        brokers.
        """
        told = {uri.netloc for uri in self.discovered_servers}
        known = [server for server in servers if server.uri.netloc not in told]
        chosen = min(known, key=lambda server: self._tried_s.get(server.uri.netloc, 0.0))
        now_s = asyncio.get_running_loop().time()
        wait_s = REFUSED_S if self.refusal else RECONNECT_S
        left_s = max(0.0, self._tried_s.get(chosen.uri.netloc, -wait_s) + wait_s - now_s)
        self._tried_s[chosen.uri.netloc] = now_s + left_s
        return chosen, left_s

    def _note_broker(self) -> None:
        self._connected_s = asyncio.get_running_loop().time()
        if self.connected_url is not None:
            self._tried_s[self.connected_url.netloc] = self._connected_s


def unquote_each(credentials: str) -> str:
    """Return the user and the password of an address with percent-encoding decoded."""
    user, mark, password = credentials.partition(":")
    return f"{unquote(user).replace(':', '%3A')}{mark}{unquote(password)}"


async def leave_silent_brokers(connection: BrokerConnection, silence_s: Callable[[], float]) -> None:
    """Change to another broker whenever a log has been silent for LEAVE_S, until cancelled.

    Args:
        silence_s: returns the time in seconds since a log last answered.
    """
    clock = asyncio.get_running_loop().time
    unexpected = Unexpected(logger, "while a silent broker was left")
    wait_s, not_before_s = LEAVE_AGAIN_S, 0.0
    while True:
        await asyncio.sleep(LOOK_S)
        if silence_s() < LEAVE_S:
            wait_s, not_before_s = LEAVE_AGAIN_S, 0.0
        elif clock() >= not_before_s and connection.lasting_s >= LEAVE_AGAIN_S:
            if not not_before_s:
                logger.warning(
                    "a log is silent for %.0f s, maybe because the broker is cut off: another is tried", LEAVE_S
                )
            not_before_s = clock() + wait_s
            wait_s = min(2 * wait_s, LEAVE_AGAIN_S_MAX)
            try:
                await connection.force_reconnect()
            except Exception as error:  # noqa: BLE001 - brokers that are silent later have to be left, too
                unexpected.log(error)
