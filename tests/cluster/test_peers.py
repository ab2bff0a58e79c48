"""Connections between nodes: frames divided in any way, answers in any order, secrets, and nodes that are lost."""

import asyncio
import socket
import time
from collections.abc import Coroutine
from dataclasses import replace
from typing import Any
from urllib.parse import urlparse

import pytest
import uvloop

pytest.importorskip("nats", reason="needs nats-py: pip install nats-py")

from sonicpy.cluster.peers import awake  # noqa: E402
from sonicpy.cluster.peers import peers as module  # noqa: E402
from sonicpy.cluster.peers.certificates import make_certificate  # noqa: E402
from sonicpy.cluster.peers.frames import HEAD, Frames  # noqa: E402
from sonicpy.cluster.peers.peers import Peers  # noqa: E402
from sonicpy.cluster.registry.registry import PeerAddress  # noqa: E402
from tests.support.other_tasks import close_listener
from tests.support.patience import WAIT_S, until_in_loop


def run(test: Coroutine[Any, Any, None]) -> None:
    """Run a test in the kind of loop that nodes use."""
    uvloop.run(asyncio.wait_for(test, WAIT_S))


class Taken(Frames):
    def __init__(self) -> None:
        super().__init__()
        self.frames: list[tuple[int, bytes]] = []

    def take(self, number: int, body: bytes) -> None:
        self.frames.append((number, body))


FRAMES = [(1, b"one"), (2, b""), (3, b"x" * 5000), (0xFFFFFFFF, b"last")]


@pytest.mark.parametrize("size", [1, 2, 7, 8, 9, 100, 4096, 10_000])
def test_frames_come_whole_however_they_are_cut(size: int) -> None:
    packed = b"".join(HEAD.pack(len(body), number) + body for number, body in FRAMES * 3)
    taken = Taken()
    for place in range(0, len(packed), size):
        taken.data_received(packed[place : place + size])
    assert taken.frames == FRAMES * 3


class FakeRegistry:
    """A registry that holds the addresses of nodes in this process."""

    def __init__(self) -> None:
        self.peers: dict[str, PeerAddress] = {}

    async def peer(self, node: str) -> PeerAddress | None:
        return self.peers.get(node)

    async def note_peer(self, node: str, peer: PeerAddress) -> None:
        self.peers[node] = peer


class FakeConnection:
    """The parts of a connection to the brokers that peers use."""

    def __init__(self, url: str = "nats://127.0.0.1:4222") -> None:
        self.connected_url = urlparse(url)
        self.is_encrypted = url.startswith("tls:")


class Node:
    """A node that answers at once, later, or not at all.

    Attributes:
        asked_later: the number of received questions that it answers later.
        is_later: an event that is set when it may answer these.
    """

    def __init__(self, name: str, registry: FakeRegistry) -> None:
        self.name = name
        self.asked_later = 0
        self.is_later = asyncio.Event()
        self.peers = Peers(name, registry, self.answer_now, self.answer_later)  # type: ignore[arg-type]

    def answer_now(self, question: bytes) -> bytes | None:
        return None if question.startswith((b"later", b"never")) else self.name.encode() + b" says " + question

    async def answer_later(self, question: bytes) -> bytes:
        self.asked_later += 1
        await (asyncio.sleep(1000) if question == b"never" else self.is_later.wait())
        return self.name.encode() + b" said " + question


async def two_nodes(url: str = "nats://127.0.0.1:4222") -> tuple[Node, Node, FakeRegistry]:
    registry = FakeRegistry()
    asking, asked = Node("n1", registry), Node("n2", registry)
    await asked.peers.listen(FakeConnection(url))  # type: ignore[arg-type]
    return asking, asked, registry


async def three_nodes() -> tuple[Node, Node, Node]:
    asking, first, registry = await two_nodes()
    second = Node("n3", registry)
    await second.peers.listen(FakeConnection())  # type: ignore[arg-type]
    return asking, first, second


async def connected(asking: Node, *nodes: str) -> None:
    while await asking.peers.ask(nodes, b"?") is None:
        await asyncio.sleep(0.005)


def test_answers_come_to_who_asked() -> None:
    async def test() -> None:
        asking, asked, _ = await two_nodes()
        assert await asking.peers.ask(("n1", "n2"), b"first") is None  # the connection is being opened
        await connected(asking, "n1", "n2")
        slow = asyncio.create_task(asking.peers.ask(("n2",), b"later"))  # type: ignore[arg-type]
        questions = [b"%d" % number for number in range(500)]
        answers = await asyncio.gather(*(asking.peers.ask(("n1", "n2"), question) for question in questions))
        assert answers == [b"n2 says " + question for question in questions]
        assert not slow.done()
        asked.is_later.set()
        assert await slow == b"n2 said later"
        await asking.peers.close()
        await asked.peers.close()

    run(test())


def test_many_questions_leave_time_for_others() -> None:
    async def test() -> None:
        asking, asked, _ = await two_nodes()
        await connected(asking, "n2")
        began: list[int] = []
        turns = 0

        def answer_slowly(question: bytes) -> bytes:
            time.sleep(2 * module.TURN_S)
            began.append(turns)
            return question

        asked.peers.answer_now = answer_slowly
        waiting = asyncio.gather(*(asking.peers.ask(("n2",), b"?") for _ in range(50)))
        while not waiting.done():
            turns += 1
            await asyncio.sleep(0)
        assert len(set(began)) > 25
        await asking.peers.close()
        await asked.peers.close()

    run(test())


def test_who_does_not_know_the_secret_gets_no_answer() -> None:
    async def test() -> None:
        asking, asked, registry = await two_nodes()
        peer = registry.peers["n2"]
        registry.peers["n2"] = PeerAddress(peer.host, peer.port, "wrong")
        await asking.peers.ask(("n2",), b"first")
        await asyncio.sleep(0.05)
        assert await asking.peers.ask(("n2",), b"second") is None
        assert asked.peers.answerers == set()
        await asking.peers.close()
        await asked.peers.close()

    run(test())


def test_another_node_answers_when_one_is_lost() -> None:
    async def test() -> None:
        asking, first, second = await three_nodes()
        await connected(asking, "n2")
        await connected(asking, "n3")
        waiting = [asyncio.create_task(asking.peers.ask(("n2", "n3"), b"later")) for _ in range(4)]  # type: ignore[arg-type]
        while first.asked_later < len(waiting):
            await asyncio.sleep(0.001)
        second.is_later.set()
        await first.peers.close()
        assert set(await asyncio.gather(*waiting)) == {b"n3 said later"}
        assert await asking.peers.ask(("n2", "n3"), b"again") == b"n3 says again"
        await asking.peers.close()
        await second.peers.close()

    run(test())


def test_a_silent_node_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test() -> None:
        monkeypatch.setattr(module, "SILENCE_S", 0.1)
        asking, asked, _ = await two_nodes()
        await connected(asking, "n2")
        assert await asking.peers.ask(("n2",), b"never") is None
        await connected(asking, "n2")  # it is tried again
        await asking.peers.close()
        await asked.peers.close()

    run(test())


def test_what_nodes_tell_each_other_is_encrypted_where_brokers_are_reached_by_tls() -> None:
    async def test() -> None:
        asking, asked, registry = await two_nodes("tls://127.0.0.1:4222")
        read: list[bytes] = []
        peer = registry.peers["n2"]
        async with Tap(peer, read) as port:
            registry.peers["n2"] = replace(peer, port=port)
            await connected(asking, "n2")
            questions = [b"question %d" % number * 1000 for number in range(50)]
            answers = await asyncio.gather(*(asking.peers.ask(("n2",), question) for question in questions))
        await asking.peers.close()
        await asked.peers.close()
        assert answers == [b"n2 says " + question for question in questions]
        passed = b"".join(read)
        assert len(passed) > 2 * sum(map(len, questions))
        assert b"question" not in passed
        assert peer.secret.encode() not in passed

    run(test())


def test_a_listener_with_another_certificate_is_told_nothing(caplog: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        caplog.set_level("INFO")
        asking, asked, registry = await two_nodes("tls://127.0.0.1:4222")
        peer = registry.peers["n2"]
        for certificate in (make_certificate("n2").text, "no certificate"):
            registry.peers["n2"] = replace(peer, certificate=certificate)
            assert await ask_once_of(asking, "n2") is None
        is_admitted = bool(asked.peers.answerers)
        await asking.peers.close()
        await asked.peers.close()
        told = [record.getMessage() for record in caplog.records if record.name == module.logger.name]
        assert len(told) == 2
        assert "certificate verify failed" in told[0]
        assert "does not contain a certificate" in told[1]
        assert not is_admitted

    run(test())


async def ask_once_of(asking: Node, node: str) -> bytes | None:
    asking.peers._not_before_s.clear()
    return await asking.peers.ask_once((node,), b"change", 5.0)


class Tap:
    """A relay to a peer that records both directions."""

    def __init__(self, peer: PeerAddress, read: list[bytes]) -> None:
        self._peer, self._read = peer, read
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> int:
        self._server = await asyncio.start_server(self._pass_on, "127.0.0.1", 0)
        return int(self._server.sockets[0].getsockname()[1])

    async def __aexit__(self, *_: object) -> None:
        await close_listener(self._server)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection(self._peer.host, self._peer.port)
        self._tasks |= {asyncio.create_task(self._copy(*pair)) for pair in ((reader, back), (there, writer))}

    async def _copy(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(1 << 16):
                self._read.append(data)
                writer.write(data)
        finally:
            writer.close()


def test_what_nobody_waits_for_is_not_answered() -> None:
    """A node that was stopped does not carry out old questions, changes among them, whose senders have given up."""

    async def test() -> None:
        _, asked, registry = await two_nodes()
        peer = registry.peers["n2"]
        frames = [(0, peer.secret.encode()), (1, b"later")]
        packed = b"".join(HEAD.pack(len(body), number) + body for number, body in frames)
        found = []
        for is_gone in (True, False):
            with socket.create_connection((peer.host, peer.port)) as connection:
                connection.sendall(packed)
                if is_gone:
                    connection.close()
                if not is_gone:
                    await until_in_loop(lambda: asked.asked_later > 0)
                await asyncio.sleep(0.1)
                found.append(asked.asked_later)
        asked.is_later.set()
        await asked.peers.close()
        assert found == [0, 1]

    run(test())


async def ask_once(asking: Node, question: bytes) -> bytes | None:
    return await asking.peers.ask_once(("n2", "n3"), question, 5.0)


def test_a_change_goes_to_a_node_that_is_awake(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(awake, "AWAKE_S", 0.3)

    async def test() -> None:
        asking, first, second = await three_nodes()
        assert await ask_once(asking, b"a change") is not None  # it waits for the connections
        await connected(asking, "n3")
        first.peers.answer_now = lambda question: None  # it pauses
        assert {await ask_once(asking, b"%d" % number) for number in range(4)} == {
            b"n3 says %d" % number for number in range(4)
        }
        assert (await ask_once(asking, b"last")) == b"n3 says last"
        second.peers.answer_now = lambda question: None
        with pytest.raises(module.PeersAsleep):
            await ask_once(asking, b"a change")
        for node in (asking, first, second):
            await node.peers.close()

    run(test())


def test_a_node_that_works_on_a_change_may_take_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SILENCE_S", 0.2)
    monkeypatch.setattr(awake, "AGAIN_S", 0.05)

    async def test() -> None:
        asking, asked, _ = await two_nodes()
        await connected(asking, "n2")
        waiting = asyncio.create_task(ask_once(asking, b"later"))
        await asyncio.sleep(0.6)
        assert not waiting.done()
        asked.is_later.set()
        assert await waiting == b"n2 said later"
        asked.is_later.clear()
        waiting = asyncio.create_task(ask_once(asking, b"later"))
        await until_in_loop(lambda: asked.asked_later >= 2)
        asked.peers.answer_now = lambda question: None  # from now on it pauses
        with pytest.raises(awake.Vanished, match="silent"):
            await waiting
        await asking.peers.close()
        await asked.peers.close()

    run(test())


def test_a_node_that_cannot_change_anything_is_followed_by_the_next() -> None:
    async def test() -> None:
        asking, first, second = await three_nodes()
        await connected(asking, "n2")
        await connected(asking, "n3")
        first.peers.answer_now = lambda question: b"-it is behind"
        assert [await ask_once(asking, b"change") for _ in range(4)] == [b"n3 says change"] * 4
        second.peers.answer_now = lambda question: b"-it is behind, too"
        assert (await ask_once(asking, b"change") or b"").startswith(b"-it is behind")
        for node in (asking, first, second):
            await node.peers.close()

    run(test())


def test_no_connection_to_ask_once() -> None:
    async def test() -> None:
        asking, asked, registry = await two_nodes()
        registry.peers.clear()
        assert await ask_once(asking, b"change") is None
        await asking.peers.close()
        await asked.peers.close()

    run(test())
