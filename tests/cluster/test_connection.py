"""Tests of the connection to the brokers: the next broker, leaving a broker, and messages about refusals."""

import asyncio
import contextlib
import logging
import subprocess
from collections.abc import AsyncIterator, Coroutine, Iterator
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from urllib.parse import urlparse

import pytest

pytest.importorskip("nats", reason="needs nats-py: pip install nats-py")

from nats.aio.client import Server, Srv  # noqa: E402
from nats.aio.msg import Msg  # noqa: E402
from nats.errors import Error as NatsError  # noqa: E402
from nats.errors import NoRespondersError  # noqa: E402

from sonicpy.cluster.log import broker_connection as module  # noqa: E402
from sonicpy.cluster.log.broker import Unacknowledged  # noqa: E402
from sonicpy.cluster.log.broker_connection import (  # noqa: E402
    LEAVE_AGAIN_S,
    LEAVE_S,
    REFUSED_S,
    BrokerConnection,
    BrokersGone,
    leave_silent_brokers,
)
from sonicpy.cluster.log.ending import close  # noqa: E402
from sonicpy.cluster.log.jetstream import ask, connect, is_led  # noqa: E402
from sonicpy.cluster.operator.dev import HOST, free_ports  # noqa: E402
from tests.cluster.clusters import broker_program  # noqa: E402
from tests.cluster.pretender import pretending  # noqa: E402
from tests.support.patience import WAIT_S, until_in_loop

GIVEN = [f"nats://u:secret@10.0.0.{number}:4222" for number in (1, 2, 3)]


def run(test: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(test, WAIT_S))


def other(active_s: float, *, current: bool = True) -> dict[str, Any]:
    return {"name": "b", "current": current, "active": int(active_s * 1e9)}


@pytest.mark.parametrize(
    ("cluster", "led"),
    [
        ({"leader": "b1", "replicas": [other(0.4), other(0.5)]}, True),
        ({"leader": "b1", "replicas": [other(0.4), other(60, current=False)]}, True),
        ({"leader": "b1", "replicas": [other(5, current=False), other(60, current=False)]}, False),
        ({"leader": "b1", "replicas": [other(5), other(6)]}, False),  # cut off, and does not know it yet
        ({"replicas": [other(0.4), other(0, current=False)]}, False),
        ({"leader": "b1"}, True),  # one copy
        ({}, False),
    ],
)
def test_a_broker_that_is_cut_off_tells_nothing_new(cluster: dict[str, Any], led: bool) -> None:
    assert is_led(cluster) is led


def servers(*addresses: str) -> list[Server]:
    return [Server(uri=urlparse(address), reconnects=0) for address in addresses]


def test_brokers_take_turns_and_only_those_that_were_given() -> None:
    async def test() -> None:
        connection = BrokerConnection()
        connection._setup_server_pool(GIVEN)
        stranger = "nats://10.0.0.9:4222"  # a broker reported it, without a password
        connection._server_pool.append(Srv(urlparse(stranger), discovered=True))
        known = servers(stranger, *GIVEN)
        chosen = [connection._next(known, {}) for _ in range(6)]
        hosts = [str(server.uri.hostname) for server, _ in chosen]
        assert sorted(set(hosts[:3])) == ["10.0.0.1", "10.0.0.2", "10.0.0.3"]
        assert hosts[:3] == hosts[3:]
        assert [wait_s for _, wait_s in chosen[:3]] == [0, 0, 0]
        assert all(0 < wait_s <= module.RECONNECT_S for _, wait_s in chosen[3:])

    run(test())


@pytest.mark.parametrize(
    ("credentials", "user", "password"),
    [("u:secret", "u", "secret"), ("u%20v:p%40s%2Fs%2C%3A%25", "u v", "p@s/s,:%"), ("u:p%C3%A4ss", "u", "päss")],
)
def test_a_password_may_be_percent_encoded(credentials: str, user: str, password: str) -> None:
    async def test() -> None:
        with pretending(None) as broker:
            connection = await connect(f"nats://{credentials}@{broker.address}", "test", patient=False)
            await close(connection)
            (sent,) = broker.sent
            assert (sent["user"], sent["pass"]) == (user, password)

    run(test())


def test_a_refused_password_is_told_once_and_without_it(caplog: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        connection = BrokerConnection()
        connection._setup_server_pool(GIVEN)
        await connection._note(RuntimeError("nats: 'Authorization Violation'"))
        assert connection.refusal is None  # a first connection fails with an error instead
        connection._is_open = True
        with caplog.at_level(logging.WARNING):
            for _ in range(5):
                await connection._note(RuntimeError("nats: 'Authorization Violation'"))
                await connection._note(RuntimeError("nats: timeout"))
        assert [record.message for record in caplog.records] == [f"{connection.refusal}: start this process again with "
                                                                 "the right ones"]  # fmt: skip
        assert "secret" not in caplog.text
        assert "the user or the password" in str(connection.refusal)
        first = connection._next(servers(GIVEN[0]), {})
        assert first[1] == 0
        await connection._note_return()
        assert connection.refusal is None

    run(test())


def test_a_refusing_broker_is_tried_seldom(monkeypatch: pytest.MonkeyPatch) -> None:
    """A broker that refuses is tried seldom, because it logs each attempt to connect."""

    async def test() -> None:
        connection = BrokerConnection()
        connection._setup_server_pool(GIVEN)
        connection.refusal = "a broker refuses the password"
        tries_s = [100.0]
        monkeypatch.setattr(asyncio.get_running_loop(), "time", lambda: tries_s[-1])
        for _ in range(5):
            _, left_s = connection._next(servers(GIVEN[0]), {})
            tries_s.append(tries_s[-1] + left_s + 0.005)  # in which it refuses
        monkeypatch.undo()
        gaps_s = [after - before for before, after in pairwise(tries_s[1:])]
        assert gaps_s == pytest.approx([REFUSED_S] * 4, abs=0.01)

    run(test())


def test_the_broker_that_answers_again_is_named_with_its_port(caplog: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        connection = BrokerConnection()
        connection._status = BrokerConnection.CONNECTED
        connection._current_server = Srv(urlparse(GIVEN[1]))
        await connection._note_return()

    run(test())
    assert [record.message for record in caplog.records] == ["a broker answers again, at 10.0.0.2:4222"]


def test_the_end_of_a_connection_ends_its_node() -> None:
    async def test() -> None:
        connection = BrokerConnection()
        await connection._note_end()
        with pytest.raises(BrokersGone, match="the brokers have ended the connection for good"):
            await connection.wait_for_end()

    run(test())


class Scene:
    """A clock that advances only in `sleep`, and the silences measured at given times."""

    def __init__(self, silences_s: dict[float, float], end_s: float) -> None:
        self.now_s = self.silence_s = 0.0
        self._silences_s = silences_s
        self._end_s = end_s

    async def sleep(self, seconds: float) -> None:
        self.now_s += seconds
        self.silence_s = self._silences_s.get(self.now_s, self.silence_s)
        if self.now_s > self._end_s:
            raise asyncio.CancelledError

    def get_running_loop(self) -> SimpleNamespace:
        return SimpleNamespace(time=lambda: self.now_s)


class Moving:
    """A connection that records when it changes to another broker."""

    is_connected = True

    def __init__(self, scene: Scene, lasting_s: float = 100.0) -> None:
        self.lasting_s = lasting_s
        self.moves_s: list[float] = []
        self._scene = scene

    async def force_reconnect(self) -> None:
        self.moves_s.append(self._scene.now_s)


def leave(monkeypatch: pytest.MonkeyPatch, scene: Scene, moving: Moving) -> None:
    monkeypatch.setattr(module, "asyncio", scene)
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(leave_silent_brokers(cast(BrokerConnection, moving), lambda: scene.silence_s))


def test_a_silent_broker_is_left(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    scene = Scene({1: LEAVE_S - 1, 10: LEAVE_S, 100: 0.0, 105: LEAVE_S}, 106)
    moving = Moving(scene)
    leave(monkeypatch, scene, moving)
    assert moving.moves_s == [10, 14, 22, 38, 70, 105]  # less and less often: after 4, 8, 16, 32 s
    assert len(caplog.records) == 2


def test_a_broker_that_was_just_taken_has_time_to_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = Scene({1: LEAVE_S}, 20)
    moving = Moving(scene, LEAVE_AGAIN_S - 1)
    leave(monkeypatch, scene, moving)
    assert not moving.moves_s


def test_an_unexpected_error_does_not_end_the_watch(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    scene = Scene({1: LEAVE_S}, 20)
    moving = Moving(scene)
    leaves, errors = moving.force_reconnect, [KeyError("uri")]

    async def force_reconnect() -> None:
        if errors:
            raise errors.pop()
        await leaves()

    monkeypatch.setattr(moving, "force_reconnect", force_reconnect)
    leave(monkeypatch, scene, moving)
    assert moving.moves_s == [5, 13]
    assert "an unexpected error while a silent broker was left: KeyError('uri')" in caplog.text


class SmallBroker:
    """A broker with the part of the NATS protocol that a connection needs.

    Attributes:
        is_stuck: whether it no longer reads from its first connection.
        heard: the lines of each connection, by their order.
    """

    def __init__(self) -> None:
        self.writers: list[asyncio.StreamWriter] = []
        self.is_stuck = False
        self.heard: list[list[bytes]] = []
        self.ended = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.writers.append(writer)
        self.heard.append(lines := [])
        writer.write(b'INFO {"server_id":"x","max_payload":1048576}\r\n')
        with contextlib.suppress(OSError, ValueError):  # a line that is too long
            while line := await reader.readline():
                lines.append(line)
                if line.startswith(b"PING"):
                    writer.write(b"PONG\r\n")
                while self.is_stuck and writer is self.writers[0]:
                    await asyncio.sleep(0.01)
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()
        self.ended += 1


@contextlib.asynccontextmanager
async def connected() -> AsyncIterator[tuple[SmallBroker, BrokerConnection]]:
    """Yield a broker, and a connection to it."""
    broker, connection = SmallBroker(), BrokerConnection()
    async with await asyncio.start_server(broker.serve, "127.0.0.1", 0, limit=1024) as server:
        address = f"nats://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        await connection.open([address], "test", patient=True)
        yield broker, connection
        await connection.close()
        broker.is_stuck = False
        await until_in_loop(lambda: broker.ended == len(broker.writers), "the broker has closed all connections")


async def wait_until_again(broker: SmallBroker, connection: BrokerConnection) -> None:
    async with asyncio.timeout(WAIT_S):
        while len(broker.writers) < 2 or not connection.is_connected:
            await asyncio.sleep(0.01)


def stick(broker: SmallBroker, connection: BrokerConnection) -> None:
    """Stop a broker from taking bytes, and send more of them than sockets hold."""
    broker.is_stuck = True
    connection._transport.write(b"PUB s 1048576\r\n" + bytes(32 << 20))


def test_a_broker_that_takes_no_bytes_is_left_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CLOSE_S", 0.1)

    async def test() -> None:
        async with connected() as (broker, connection):
            stick(broker, connection)
            await connection.force_reconnect()
            await wait_until_again(broker, connection)

    run(test())


def test_what_was_given_up_is_not_sent_to_the_next_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    """A change whose outcome was reported as unknown must not take effect later, when it may undo newer ones."""
    monkeypatch.setattr(module, "CLOSE_S", 0.1)

    async def test() -> None:
        async with connected() as (broker, connection):
            stick(broker, connection)
            for _ in range(3):
                with pytest.raises(Unacknowledged):
                    await ask(connection, "changes", b"given up", timeout_s=0.05)
            await connection.force_reconnect()
            await wait_until_again(broker, connection)
            with pytest.raises(Unacknowledged):
                await ask(connection, "changes", b"new", timeout_s=0.05)
            await until_in_loop(lambda: b"new\r\n" in broker.heard[1], "the broker has got the next change")
            assert b"given up\r\n" not in broker.heard[1]
            assert any(line.startswith(b"SUB _INBOX.") for line in broker.heard[1])  # so answers come

    run(test())


def test_a_broker_that_takes_no_bytes_delays_a_question_for_a_moment_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CLOSE_S", 0.1)
    monkeypatch.setattr(module, "FLUSH_S", 0.1)

    async def test() -> None:
        async with connected() as (broker, connection):
            stick(broker, connection)
            for _ in range(5):
                with pytest.raises(Unacknowledged):
                    await ask(connection, "changes", bytes(1 << 20), timeout_s=0.05)
            assert len(broker.writers) == 1  # it was not left before

    run(test())


def test_a_connection_to_a_broker_that_takes_no_bytes_is_closed_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CLOSE_S", 0.1)

    async def test() -> None:
        async with connected() as (broker, connection):
            stick(broker, connection)
            await asyncio.wait_for(close(connection), WAIT_S)

    run(test())


@pytest.mark.parametrize("says", ["Authorization Violation", "User Authentication Revoked"])
def test_a_refusal_of_an_open_connection_is_not_its_end(monkeypatch: pytest.MonkeyPatch, says: str) -> None:
    """A refusal is not the end of a connection, whether the broker closes it or not."""
    monkeypatch.setattr(module, "REFUSED_S", 0.1)

    async def test() -> None:
        async with connected() as (broker, connection):
            broker.writers[0].write(f"-ERR '{says}'\r\n".encode())
            await wait_until_again(broker, connection)
            assert not connection._ended.is_set()

    run(test())


@contextlib.contextmanager
def one_broker(folder: Path) -> Iterator[str]:
    """Run a broker without JetStream inside a `with` block; yield its address."""
    port = free_ports(1)[0]
    with subprocess.Popen(
        [str(broker_program()), "-a", HOST, "-p", str(port), "-l", str(folder / "log.txt")]
    ) as broker:
        try:
            yield f"nats://{HOST}:{port}"
        finally:
            broker.terminate()


async def opened(address: str) -> BrokerConnection:
    for _ in range(100):
        connection = BrokerConnection()
        with contextlib.suppress(NatsError, OSError):
            await connection.open([address], "test", patient=False)
            return connection
        await asyncio.sleep(0.1)
    raise TimeoutError


def test_who_leaves_takes_what_came_before(tmp_path: Path) -> None:
    """A process that leaves takes the requests that came before: each goes to only one process, so no other would
    answer.
    """

    async def test(address: str) -> None:
        asking, one, other = [await opened(address) for _ in range(3)]

        async def take(message: Msg) -> None:
            await message.respond(b"")

        await other.subscribe("questions", queue="all", cb=take)
        await other.flush()
        while True:  # a broker that has just started may take a moment to route
            with contextlib.suppress(NoRespondersError):
                await asking.request("questions", b"", timeout=WAIT_S)  # alone: it also subscribes to all answers
                break
        for _ in range(20):
            leaving = await one.subscribe("questions", queue="all", cb=take)
            await one.flush()
            asked = [asyncio.create_task(asking.request("questions", b"", timeout=WAIT_S)) for _ in range(50)]
            await asyncio.sleep(0.001)
            await one.leave(leaving)
            await asyncio.gather(*asked)
        await one.leave(leaving)  # once more
        for connection in (asking, one, other):
            await close(connection)
        await one.leave(leaving)

    with one_broker(tmp_path) as address:
        run(test(address))
