"""The connection to the brokers: which one is next, when one is left, and what is told of refusals."""

import asyncio
import logging
from collections.abc import Coroutine
from types import SimpleNamespace
from typing import Any, cast
from urllib.parse import urlparse

import pytest

pytest.importorskip("nats", reason="needs nats-py: pip install nats-py")

from nats.aio.client import Server, Srv  # noqa: E402

from sonicpy.cluster import connection as module  # noqa: E402
from sonicpy.cluster.connection import REFUSED_S, BrokersGone, Connection, leave_silent_brokers  # noqa: E402
from sonicpy.cluster.jetstream import is_led  # noqa: E402

GIVEN = [f"nats://u:secret@10.0.0.{number}:4222" for number in (1, 2, 3)]


def run(test: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(test, 20))


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
        connection = Connection()
        connection._setup_server_pool(GIVEN)
        stranger = "nats://10.0.0.9:4222"  # a broker told of it, without a password
        connection._server_pool.append(Srv(urlparse(stranger), discovered=True))
        known = servers(stranger, *GIVEN)
        chosen = [connection._next(known, {}) for _ in range(6)]
        hosts = [str(server.uri.hostname) for server, _ in chosen]
        assert sorted(set(hosts[:3])) == ["10.0.0.1", "10.0.0.2", "10.0.0.3"]
        assert hosts[:3] == hosts[3:]
        assert [wait_s for _, wait_s in chosen[:3]] == [0, 0, 0]
        assert all(0 < wait_s <= module.RECONNECT_S for _, wait_s in chosen[3:])

    run(test())


def test_a_refused_password_is_told_once_and_without_it(caplog: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        connection = Connection()
        connection._setup_server_pool(GIVEN)
        await connection._note(RuntimeError("nats: 'Authorization Violation'"))
        assert connection.refusal is None  # who connects for the first time is told by an error
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
        assert connection._next(servers(GIVEN[0]), {})[1] > REFUSED_S / 2  # each try is a line in the log of a broker
        await connection._note_return()
        assert connection.refusal is None

    run(test())


def test_the_end_of_a_connection_ends_its_node() -> None:
    async def test() -> None:
        connection = Connection()
        await connection._note_end()
        with pytest.raises(BrokersGone, match="the brokers have ended the connection for good"):
            await connection.wait_for_end()

    run(test())


class Moving:
    """A connection that counts how often it goes on with another broker."""

    is_connected = True
    lasting_s = 100.0

    def __init__(self) -> None:
        self.moves = 0

    async def force_reconnect(self) -> None:
        self.moves += 1


def test_a_silent_broker_is_left(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        monkeypatch.setattr(module, "LOOK_S", 0.005)
        monkeypatch.setattr(module, "LEAVE_AGAIN_S", 0.1)
        moving, state = Moving(), SimpleNamespace(silence_s=module.LEAVE_S - 1)
        task = asyncio.create_task(leave_silent_brokers(cast(Connection, moving), lambda: state.silence_s))
        await asyncio.sleep(0.05)
        assert not moving.moves
        state.silence_s = module.LEAVE_S
        with caplog.at_level(logging.WARNING):
            await asyncio.sleep(0.5)
        assert 2 <= moving.moves <= 3  # less and less often: after 0.1, 0.2, 0.4 s
        assert len(caplog.records) == 1
        moving.lasting_s = 0.0  # one that was just taken has not had the time to answer
        state.silence_s, moved = 0.0, moving.moves
        await asyncio.sleep(0.05)
        state.silence_s = module.LEAVE_S
        await asyncio.sleep(0.05)
        assert moving.moves == moved
        task.cancel()

    run(test())
