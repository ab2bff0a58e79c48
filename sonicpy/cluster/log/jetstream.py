"""The broker on NATS JetStream: a stream of three copies for each log.

Nothing but nats-py is needed; the servers elect the leader of a stream by Raft. `read` uses an ephemeral push consumer
of its own: it checks that positions have no gap, answers flow control, and ends after SILENCE_S without a message or
heartbeat, because a consumer dies with its server.
"""

import asyncio
import json
import logging
import re
import time
from collections import deque
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import urlsplit

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from nats.errors import Error as NatsError

from sonicpy.cluster.log.broker import Epoch, LogGone, NotReady, Unacknowledged
from sonicpy.cluster.log.broker_connection import RECONNECT_S, REFUSAL, BrokerConnection
from sonicpy.cluster.log.patience import Patience
from sonicpy.cluster.log.refusals import SURE_S, meaning, meaning_of_answer
from sonicpy.errors import ConfigError, StoreError

logger = logging.getLogger(__name__)

ENTRY_BYTES_MAX = 1 << 20
CONNECT_S = 10.0
"""The longest time in seconds for the first connection."""
ANSWER_S = 1.0
"""The longest time in seconds for one answer of a broker."""
HEARTBEAT_S = 2.0
SILENCE_S = 5.0
DUPLICATES_S = 120
STREAM_NOT_FOUND = 10059
STALLED = "Nats-Consumer-Stalled"
"""The header of a heartbeat that repeats a question of flow control: the broker sends no entries before the answer."""
MESSAGES_WAITING_MAX = 1 << 16
BYTES_WAITING_MAX = 64 << 20
NANOSECONDS = 1_000_000_000
SCHEMES = ("nats", "tls", "ws", "wss")
CREDENTIALS = re.compile(r"((?:^|,)(?:\w+://)?)(?:(?!,\w+://).)*@", re.DOTALL)
"""Matches the user and the password of an address in a list, and the separator and scheme before them."""
ALLOWED = "allowed are addresses of NATS servers such as nats://10.0.0.1:4222, separated by commas."
CUT_OFF_S = 4.0
"""The time in seconds without contact to other brokers after which a leader may have been replaced without noticing."""


async def connect(addresses: str, name: str, *, patient: bool = True) -> BrokerConnection:
    """Return a connection to one of the brokers, which changes to another one when that one dies.

    Args:
        addresses: the addresses of the brokers, as nats://HOST:PORT, separated by commas.
        name: the name of this program, for the brokers' logs.
        patient: after a loss, try to connect without a time limit.

    Raises:
        ConfigError: an address is wrong, or the brokers refuse the user or the password, or have a certificate that is
            not trusted.
        NotReady: no broker answers.
    """
    check_addresses(addresses)
    connection = BrokerConnection()
    try:
        await asyncio.wait_for(connection.open(addresses.split(","), name, patient=patient), CONNECT_S)
    except (NatsError, OSError) as error:  # TimeoutError among them
        shown = without_passwords(addresses)
        if connection.refused or REFUSAL in str(error).lower():
            raise ConfigError(
                f"--cluster is {shown}: the brokers refuse the user or the password; allowed "
                "are addresses such as nats://USER:PASSWORD@10.0.0.1:4222, separated by commas."
            ) from error
        cause = connection.last_failure or error
        if isinstance(found := meaning(cause), ConfigError):
            raise ConfigError(f"--cluster is {shown}: {found}") from error
        raise NotReady(f"--cluster is {shown}: no broker answers there ({cause or type(cause).__name__})") from error
    return connection


def without_passwords(addresses: str) -> str:
    """Return addresses without users and passwords, for messages."""
    return CREDENTIALS.sub(r"\1***@", addresses)


def check_addresses(addresses: str) -> None:
    """Raise ConfigError if an address has a wrong form: nats-py would try it as long as a valid one."""
    shown = without_passwords(addresses)
    for address in addresses.split(","):
        if not _is_address(address):  # maybe a part of a password, which a comma or a slash has cut
            raise ConfigError(f"--cluster holds {address if address in shown else shown!r}; {ALLOWED}")


def _is_address(address: str) -> bool:
    scheme, mark, rest = address.rpartition("://")
    if not rest or any(map(str.isspace, rest)) or not address.isprintable() or (mark and scheme not in SCHEMES):
        return False
    try:
        parts = urlsplit(f"nats://{rest}")
        return bool(parts.hostname) and parts.port != 0
    except ValueError:  # of a port, or of brackets
        return False


class JetStream:
    """The logs of a cluster on NATS.

    Args:
        connection: an open connection to the brokers.
    """

    def __init__(self, connection: Client) -> None:
        self._connection = connection

    # -- LogKeeper -----------------------------------------------------------------------------------------------------

    async def append(self, log: int, entry: bytes, key: str) -> int:
        """Add an entry; see `LogKeeper.append`."""
        headers = {"Nats-Msg-Id": key, "Nats-Expected-Stream": stream_of(log)}
        answer = await ask(self._connection, subject_of(log), entry, headers)
        if "error" in answer:
            raise Unacknowledged(f"the broker refused an entry: {answer['error'].get('description')}")
        return int(answer["seq"])

    async def read(self, log: int, position: int, end: asyncio.Event) -> AsyncIterator[tuple[int, bytes]]:
        """Yield the entries behind a position; see `LogKeeper.read`."""
        consumer = Consumer(self._connection, log, position, end)
        try:
            await consumer.start()
            async for number, entry in consumer.entries():
                yield number, entry
        except NatsError as error:
            raise Unacknowledged(f"no broker answers ({type(error).__name__})") from error
        finally:
            await consumer.stop()

    async def trim(self, log: int, position: int) -> None:
        """Delete the entries up to a position; see `LogKeeper.trim`."""
        await request(self._connection, f"STREAM.PURGE.{stream_of(log)}", {"seq": position + 1})

    async def epoch(self, log: int) -> Epoch:
        """Return the state of a log; see `LogKeeper.epoch`."""
        sure_s = time.monotonic() + SURE_S
        while is_missing(answer := await ask(self._connection, f"$JS.API.STREAM.INFO.{stream_of(log)}", b"")):
            if time.monotonic() < sure_s:
                await asyncio.sleep(RECONNECT_S)
                continue
            raise LogGone(f"the brokers have no stream {stream_of(log)}: run sonicpy cluster init")
        if "error" in answer:
            raise Unacknowledged(f"the broker answered: {answer['error'].get('description')}")
        if not is_led(answer.get("cluster") or {}):
            raise Unacknowledged(f"the broker that answered for {stream_of(log)} is cut off from most others")
        state = answer["state"]
        return Epoch(answer["created"], int(state["first_seq"]), int(state["last_seq"]))

    async def epoch_at_last(self, log: int) -> Epoch:
        """Return the state of a log, once a broker answers; see `LogKeeper.epoch`."""
        patience = Patience(f"log {log}")
        while True:
            try:
                epoch = await self.epoch(log)
                patience.end()
                return epoch
            except Unacknowledged as error:
                await patience.wait(error, RECONNECT_S)

    # -- setting up ----------------------------------------------------------------------------------------------------

    async def create(self, log: int, copies: int) -> None:
        """Make the stream of a log, unless it exists.

        Args:
            copies: the number of brokers that hold each entry.

        Raises:
            ConfigError: the brokers refuse because of a setting.
            StoreError: the brokers refuse or do not answer.
        """
        settings = {
            "name": stream_of(log),
            "subjects": [subject_of(log)],
            "retention": "limits",
            "storage": "file",
            "num_replicas": copies,
            "discard": "new",
            "max_consumers": -1,
            "max_msgs": -1,
            "max_bytes": -1,
            "max_age": 0,
            "max_msg_size": ENTRY_BYTES_MAX,
            "duplicate_window": DUPLICATES_S * NANOSECONDS,
            "allow_direct": True,
            "deny_delete": True,
        }
        await request(self._connection, f"STREAM.CREATE.{stream_of(log)}", settings)


async def request(connection: Client, what: str, settings: dict[str, Any]) -> dict[str, Any]:
    """Ask the brokers for a change of a stream; return their answer.

    Args:
        what: the operation of JetStream and the stream, such as "STREAM.CREATE.name".
        settings: the fields of the request.

    Raises:
        StoreError: the brokers refuse or do not answer.
        ConfigError: the brokers refuse because of a setting.
    """
    answer = await ask(connection, f"$JS.API.{what}", json.dumps(settings).encode(), timeout_s=10.0)
    if "error" in answer:
        if isinstance(found := meaning_of_answer(answer["error"]), ConfigError):
            raise found
        raise StoreError(f"the brokers refused {what}: {answer['error'].get('description')}")
    return answer


async def ask(
    connection: Client, subject: str, payload: bytes, headers: dict[str, str] | None = None, timeout_s: float = ANSWER_S
) -> dict[str, Any]:
    """Return the answer of the brokers to a message, within `timeout_s` seconds. Raises Unacknowledged if there is
    none."""
    if not connection.is_connected:  # nats-py would send it late, after its outcome was reported as unknown
        raise Unacknowledged("no broker is connected")
    try:
        message = await connection.request(subject, payload, timeout=timeout_s, headers=headers)
    except (NatsError, OSError) as error:
        raise Unacknowledged(f"no broker answers ({type(error).__name__})") from error
    answer: dict[str, Any] = json.loads(message.data)
    return answer


class Consumer:
    """One push consumer of a stream, from its creation until a message is missing.

    Args:
        position: the position behind which the consumer begins to read.
        end: the event that ends `entries` when it is set.
    """

    def __init__(self, connection: Client, log: int, position: int, end: asyncio.Event) -> None:
        self._connection = connection
        self._stream = stream_of(log)
        self._position = position
        self._wanted_end = end
        self._messages: deque[Msg] = deque()
        self._name = ""
        self._loop = asyncio.get_running_loop()
        self._waiter: asyncio.Future[None] | None = None
        self._subscription: Subscription | None = None
        self._is_over = False
        self._seen_s = self._loop.time()

    async def start(self) -> None:
        """Subscribe, and make the consumer.

        Raises:
            NatsError: no broker answers.
            Unacknowledged: the brokers refuse.
        """
        inbox = self._connection.new_inbox()
        self._subscription = await self._connection.subscribe(
            inbox,
            cb=self._take,
            pending_msgs_limit=MESSAGES_WAITING_MAX,
            pending_bytes_limit=BYTES_WAITING_MAX,
        )
        settings = {
            "stream_name": self._stream,
            "config": {
                "deliver_subject": inbox,
                "deliver_policy": "by_start_sequence",
                "opt_start_seq": self._position + 1,
                "ack_policy": "none",
                "max_deliver": 1,
                "replay_policy": "instant",
                "flow_control": True,
                "idle_heartbeat": int(HEARTBEAT_S * NANOSECONDS),
                "inactive_threshold": int(60 * NANOSECONDS),
                "mem_storage": True,
                "num_replicas": 1,
            },
        }
        message = await self._connection.request(
            f"$JS.API.CONSUMER.CREATE.{self._stream}", json.dumps(settings).encode(), timeout=2 * ANSWER_S
        )
        answer = json.loads(message.data)
        if "error" in answer:
            raise Unacknowledged(f"the broker made no consumer: {answer['error'].get('description')}")
        self._name = answer["name"]

    async def entries(self) -> AsyncIterator[tuple[int, bytes]]:
        """Yield positions and entries until one is missing, nothing arrives for SILENCE_S, or `end` is set."""
        wanted_end = asyncio.ensure_future(self._wanted_end.wait())
        wanted_end.add_done_callback(lambda _: self._end())
        self._watch()
        try:
            while True:
                message = await self._next()
                if message is None:
                    return
                if message.headers and "Status" in message.headers:  # a heartbeat, or a question of flow control
                    if message.reply:
                        await self._connection.publish(message.reply)
                    elif self._is_behind(message):
                        return
                    elif stalled := message.headers.get(STALLED):
                        await self._connection.publish(stalled)
                    continue
                number = position_in(message.reply)
                if number != self._position + 1:
                    return
                self._position = number
                yield number, message.data
        finally:
            wanted_end.cancel()
            self._watchdog.cancel()

    async def stop(self) -> None:
        """Delete the consumer, if a broker answers."""
        try:
            if self._subscription is not None:
                await self._subscription.unsubscribe()
            if self._name:
                await self._connection.publish(f"$JS.API.CONSUMER.DELETE.{self._stream}.{self._name}")
        except NatsError:  # not connected: it ends by itself
            return

    async def _next(self) -> Msg | None:
        """Return the next message; None: the consumer has ended."""
        while not self._messages:
            if self._is_over:
                return None
            self._waiter = self._loop.create_future()  # a queue and a time-out cost a task for each message
            await self._waiter
        return self._messages.popleft()

    def _watch(self) -> None:
        """End the consumer after SILENCE_S without a message."""
        if self._loop.time() - self._seen_s >= SILENCE_S:
            self._end()
        self._watchdog = self._loop.call_later(HEARTBEAT_S, self._watch)

    def _end(self) -> None:
        self._is_over = True
        self._wake()

    def _wake(self) -> None:
        waiter, self._waiter = self._waiter, None
        if waiter is not None and not waiter.done():
            waiter.set_result(None)

    def _is_behind(self, heartbeat: Msg) -> bool:
        """Return whether the broker has sent an entry that did not arrive."""
        return int((heartbeat.headers or {}).get("Nats-Last-Stream", 0)) > self._position

    async def _take(self, message: Msg) -> None:
        self._seen_s = self._loop.time()
        self._messages.append(message)
        self._wake()


def stream_of(log: int) -> str:
    """Return the name of the stream of a log."""
    return f"sonicpy_{log}"


def subject_of(log: int) -> str:
    """Return the subject for the entries of a log."""
    return f"sonicpy.log.{log}"


def is_missing(answer: dict[str, Any]) -> bool:
    """Return whether an answer means that the stream does not exist."""
    return bool(answer.get("error", {}).get("err_code") == STREAM_NOT_FOUND)


def is_led(cluster: dict[str, Any]) -> bool:
    """Return whether the state of a stream comes from a broker in contact with the majority's leader.

    A broker that is cut off returns an old state. It reports no leader then, or itself as the leader.

    Args:
        cluster: the part about the copies of the stream.
    """
    others = cluster.get("replicas") or []
    near = [
        other
        for other in others
        if other.get("active", 0) < CUT_OFF_S * NANOSECONDS and (other.get("active") or other.get("current"))
    ]
    return bool(cluster.get("leader")) and 2 * (1 + len(near)) > 1 + len(others)


def position_in(reply: str) -> int:
    """Return the position of an entry, from the subject for its acknowledgement.

    The subject is $JS.ACK.STREAM.CONSUMER.TRIES.POSITION.NUMBER.TIME.PENDING; later servers add two words behind ACK.
    """
    words = reply.split(".")
    return int(words[5] if len(words) == 9 else words[7])
