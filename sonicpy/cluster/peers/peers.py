"""Connections between nodes, over which a node asks others questions that it cannot answer itself.

A node listens at the address from which it reaches the brokers, and writes that address to the registry with a secret,
which other nodes have to send: so it trusts the clients that the brokers trust. Questions share one connection to each
node. Without such a connection, they go through the brokers. If the brokers are reached by TLS, the connections between
nodes use TLS, too.
"""

import asyncio
import hmac
import itertools
import logging
import secrets
import socket
import ssl
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence

from sonicpy.cluster.log.broker_connection import BrokerConnection
from sonicpy.cluster.log.ending import end
from sonicpy.cluster.peers.awake import ask_awake
from sonicpy.cluster.peers.frames import Frames
from sonicpy.cluster.peers.hedging import AnswerTaker, Askable, Hedging, TakeAnswer
from sonicpy.cluster.registry.registry import PeerAddress, Registry
from sonicpy.errors import SonicError
from sonicpy.server.connections.accepting import stop_accepting

logger = logging.getLogger(__name__)

TURN_S = 0.0005
"""The time in seconds for which questions of one connection are answered before other connections are served."""
CONNECT_S = 1.0
AGAIN_S = 5.0
"""The time in seconds after a failure for which a node is not asked on a connection."""
SILENCE_S = 1.5
"""The time in seconds without an answer after which the connection to a node is closed."""

SILENT = "the nodes that hold it are silent"

AnswerNow = Callable[[bytes], bytes | None]
AnswerLater = Callable[[bytes], Awaitable[bytes]]


class PeersAsleep(SonicError):
    """No node answers on its connection; nothing was asked."""


class Answerer(Frames):
    """The end of a connection at the node that answers."""

    def __init__(self, peers: "Peers") -> None:
        super().__init__()
        self._peers = peers
        self._loop = asyncio.get_running_loop()
        self._is_admitted = False
        self._questions: deque[tuple[int, bytes]] = deque()
        self._is_busy = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._peers.answerers.add(self)

    def connection_lost(self, error: Exception | None) -> None:
        self.transport = None
        self._peers.answerers.discard(self)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._questions and not self._is_busy:
            self._answer_some()

    def take(self, number: int, body: bytes) -> None:
        if self._is_admitted:
            self._questions.append((number, body))
        elif hmac.compare_digest(body, self._peers.secret):
            self._is_admitted = True
        else:
            self.abort()

    def _answer_some(self) -> None:
        until = time.perf_counter() + TURN_S  # the clock of uvloop counts whole milliseconds
        while self._questions and self.transport is not None:
            number, question = self._questions.popleft()
            answer = self._peers.answer_now(question)
            if answer is None:
                self._peers.start(self._answer_later(number, question))
            else:
                self.send(number, answer)
            if time.perf_counter() > until:
                break
        self._is_busy = bool(self._questions) and self.transport is not None
        if self._is_busy:
            self._loop.call_soon(self._answer_some)

    async def _answer_later(self, number: int, question: bytes) -> None:
        await asyncio.sleep(0)  # the loop sees first whether the asker closed the connection while this process paused
        if self.transport is None or self.transport.is_closing():
            return
        self.send(number, await self._peers.answer_later(question))


class Asker(Frames):
    """The end of a connection at the node that asks.

    Args:
        changed: called when the connection opens or closes.
    """

    def __init__(self, secret: bytes, changed: Callable[[], None]) -> None:
        super().__init__()
        self._secret = secret
        self._changed = changed
        self._loop = asyncio.get_running_loop()
        self._numbers = itertools.count()
        self._waiting: dict[int, AnswerTaker] = {}
        self._heard_s = 0.0
        self._timer: asyncio.TimerHandle | None = None

    @property
    def is_open(self) -> bool:
        """Whether questions can be sent."""
        return self.transport is not None and not self.transport.is_closing()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self.send(next(self._numbers), self._secret)
        self._changed()

    def connection_lost(self, error: Exception | None) -> None:
        self.transport = None
        if self._timer is not None:
            self._timer.cancel()
        self._changed()
        waiting, self._waiting = self._waiting, {}
        for asked in waiting.values():
            asked.take(self, None)

    def ask(self, question: bytes, asked: AnswerTaker) -> None:
        """Send a question; see `Askable.ask`."""
        if not self.is_open:
            self._loop.call_soon(asked.take, self, None)
            return
        number = next(self._numbers) & 0xFFFFFFFF
        self._waiting[number] = asked
        self.send(number, question)
        if self._timer is None:  # one for all questions, because a timer for each costs as much as the rest
            self._heard_s = self._loop.time()
            self._timer = self._loop.call_later(SILENCE_S, self._check)

    def take(self, number: int, body: bytes) -> None:
        self._heard_s = self._loop.time()
        asked = self._waiting.pop(number, None)
        if asked is not None:
            asked.take(self, body)

    def _check(self) -> None:
        self._timer = None
        if not self._waiting:
            return
        left = self._heard_s + SILENCE_S - self._loop.time()
        if left <= 0:
            self.abort()
        else:
            self._timer = self._loop.call_later(left, self._check)


class Peers:
    """The connections of a node. Create it while the loop runs.

    Args:
        name: the name of the node.
        answer_now: returns the answer to a question, or None if it has to wait.
        answer_later: returns the answer after waiting.

    Attributes:
        secret: the first frame of a connection to this node.
        answerers: the connections on which this node is asked.
    """

    def __init__(self, name: str, registry: Registry, answer_now: AnswerNow, answer_later: AnswerLater) -> None:
        self.answer_now = answer_now
        self.answer_later = answer_later
        self.secret = secrets.token_hex(16).encode()
        self.answerers: set[Answerer] = set()
        self._name = name
        self._registry = registry
        self._loop = asyncio.get_running_loop()
        self.hedging = Hedging(self._forget)
        self._server: asyncio.Server | None = None
        self._askers: dict[str, Asker] = {}
        self._opening: dict[str, asyncio.Task[None]] = {}
        self._not_before_s: dict[str, float] = {}
        self._silent: set[str] = set()  # nodes whose machine accepts connections, and which send nothing on them
        self._turn = itertools.count()
        self._routes: dict[tuple[str, ...], list[list[Asker]]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def listen(self, connection: BrokerConnection) -> None:
        """Listen for questions of other nodes, with TLS if the brokers are reached by TLS, and write the address to the
        registry. If no port can be opened, log a warning: questions then come through the brokers.
        """
        url = connection.connected_url
        if url is None or not url.hostname:
            return
        certificate, context = "", None
        if connection.is_encrypted:
            from sonicpy.cluster.peers.certificates import make_certificate  # noqa: PLC0415  see there

            made = make_certificate(self._name)
            certificate, context = made.text, made.context
        try:
            host = address_towards(url.hostname, url.port or 4222)
            self._server = await self._loop.create_server(lambda: Answerer(self), host, 0, ssl=context)
        except OSError as error:
            logger.warning("other nodes ask this one through the brokers: it cannot listen (%s)", error)
            return
        port = self._server.sockets[0].getsockname()[1]
        await self._registry.note_peer(self._name, PeerAddress(host, port, self.secret.decode(), certificate))

    def route(self, nodes: tuple[str, ...]) -> Sequence[Asker]:
        """Return the open connections to some nodes, in rotating order; open missing ones in the background."""
        routes = self._routes.get(nodes)
        if routes is None:
            askers = [asker for node in nodes if (asker := self._asker_of(node)) is not None]
            routes = [askers[place:] + askers[:place] for place in range(len(askers))]
            if not routes:
                return ()
            if len(askers) == len(nodes) - (self._name in nodes):
                self._routes[nodes] = routes
        return routes[next(self._turn) % len(routes)]

    def ask_along(self, route: Sequence[Asker], question: bytes, answer: TakeAnswer) -> None:
        """Ask some nodes; `answer` later gets the first answer, or None.

        Args:
            route: the result of `route`, not empty.
        """
        self.hedging.ask(route, question, answer)

    async def ask(self, nodes: tuple[str, ...], question: bytes) -> bytes | None:
        """Return the answer of one of some nodes to a packed question; None: no node is connected."""
        route = self.route(nodes)
        if not route:
            return None
        future: asyncio.Future[bytes | None] = self._loop.create_future()
        self.ask_along(route, question, lambda answer: None if future.done() else future.set_result(answer))
        return await future

    async def ask_once(self, nodes: tuple[str, ...], question: bytes, limit_s: float) -> bytes | None:
        """Return the answer of a node to a question that must not be asked twice, or the reason why none can answer.

        Args:
            limit_s: the longest wait for an answer in seconds.

        Returns:
            None: no node is connected, and none can be.

        Raises:
            PeersAsleep: no connected node answers a probe; nothing was asked.
            Vanished: a node has received the question and does not answer.
        """
        route = self.route(nodes)
        if not route and (opening := [self._opening[node] for node in nodes if node in self._opening]):
            await asyncio.wait(opening)
            route = self.route(nodes)
        if not route:
            if not self._silent.isdisjoint(nodes):
                raise PeersAsleep(SILENT)
            return None
        answer = await ask_awake(route, question, limit_s, self._forget)
        if answer is None:
            raise PeersAsleep(SILENT)
        return answer

    def start(self, work: "Awaitable[None]") -> None:
        """Run a task until it ends, or the node closes."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """End all connections."""
        if self._server is not None:
            await stop_accepting(self._server.sockets)
            self._server.close()
        self.hedging.close()
        await end([*self._opening.values(), *self._tasks])
        for side in (*self._askers.values(), *self.answerers):
            side.abort()

    def _asker_of(self, node: str) -> Asker | None:
        """Return the connection to a node; None: there is none yet, and it is being opened."""
        asker = self._askers.get(node)
        if asker is not None and asker.is_open:
            return asker
        if node != self._name and node not in self._opening and self._loop.time() >= self._not_before_s.get(node, 0.0):
            self._not_before_s[node] = self._loop.time() + AGAIN_S
            task = self._opening[node] = self._loop.create_task(self._open(node))
            task.add_done_callback(lambda _: self._opening.pop(node, None))
        return None

    async def _open(self, node: str) -> None:
        self._silent.discard(node)
        try:
            peer = await self._registry.peer(node)
            if peer is None:
                return
            secret = peer.secret.encode()
            context = trust(peer.certificate) if peer.certificate else None
            connected = await asyncio.wait_for(self._connect(peer.host, peer.port), CONNECT_S)
            opening = self._loop.create_connection(
                lambda: Asker(secret, self._routes.clear),
                sock=connected,
                ssl=context,
                server_hostname=peer.host if context else None,
            )
            try:
                _, self._askers[node] = await asyncio.wait_for(opening, CONNECT_S)
            except TimeoutError:
                self._silent.add(node)
                self._not_before_s[node] = 0.0  # it may only have paused
                raise
        except (OSError, SonicError) as error:  # TimeoutError among them
            logger.info("no connection to the node %s (%s): it is asked through the brokers", node, error)

    async def _connect(self, host: str, port: int) -> socket.socket:
        """Return a socket that is connected to an address. Raises OSError."""
        connected = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
        try:
            connected.setblocking(False)
            connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, True)
            await self._loop.sock_connect(connected, (host, port))
        except BaseException:
            connected.close()
            raise
        return connected

    def _forget(self, lost: Askable) -> None:
        for node, asker in list(self._askers.items()):
            if asker is lost:
                del self._askers[node]
                self._not_before_s[node] = 0.0  # it may have been started again


def address_towards(host: str, port: int) -> str:
    """Return the address of this machine in connections to `port` of `host`. Raises OSError."""
    family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)[0]
    with socket.socket(family, kind, protocol) as some:
        some.connect(address)  # of a datagram socket: nothing is sent
        return str(some.getsockname()[0])


def trust(certificate: str) -> ssl.SSLContext:
    """Return a TLS context that connects only to a listener with the given certificate, as PEM.

    Raises:
        ssl.SSLError: the text is no certificate.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.load_verify_locations(cadata=certificate)
    return context
