"""The registry, on which nodes agree before they serve."""

import asyncio
from typing import Any, cast

import pytest

pytest.importorskip("nats", reason="needs nats-py: pip install nats-py")

from nats.aio.client import Client
from nats.errors import TimeoutError as NatsTimeout
from nats.js.api import KeyValueConfig
from nats.js.errors import KeyNotFoundError, KeyWrongLastSequenceError, NoStreamResponseError
from nats.js.kv import KeyValue

from sonicpy.cluster.log.broker import NotReady
from sonicpy.cluster.registry import registry
from sonicpy.cluster.registry.registry import Layout, Registry
from sonicpy.errors import ConfigError, StoreError


class Leaderless:
    """A store of keys whose brokers have no leader for some calls."""

    def __init__(self, calls: int) -> None:
        self.calls = calls
        self.held: dict[str, bytes] = {}

    async def create(self, key: str, value: bytes) -> None:
        self.calls -= 1
        if self.calls >= 0:
            raise NoStreamResponseError
        if key in self.held:
            raise KeyWrongLastSequenceError
        self.held[key] = value

    async def get(self, key: str) -> Any:
        return type("Entry", (), {"value": self.held[key]})


def agree(store: Leaderless) -> None:
    agreed = Registry(cast(KeyValue, store)).agree_on_analyzer({"lexer": "1"})
    asyncio.run(agreed)


def test_a_node_waits_for_brokers_that_choose_a_leader(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "PAUSE_S", 0.0)
    store = Leaderless(3)
    agree(store)
    assert list(store.held) == ["analyser"]
    store.calls = 1
    agree(store)  # what another node has written


def test_a_node_does_not_wait_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "PAUSE_S", 0.0)
    monkeypatch.setattr(registry, "LEADER_S", 0.05)
    with pytest.raises(StoreError, match="the brokers do not store the agreement of the nodes: nats: no response"):
        agree(Leaderless(10**9))


class JustStarted:
    """Brokers that have no leader for their first calls."""

    def __init__(self, calls: int) -> None:
        self.calls = calls
        self.store = Leaderless(0)

    def jetstream(self, timeout: float) -> "JustStarted":
        return self

    async def create_key_value(self, settings: KeyValueConfig) -> Leaderless:
        self.calls -= 1
        if self.calls >= 0:
            raise NatsTimeout
        return self.store


def test_a_cluster_is_made_once_the_brokers_have_a_leader(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "PAUSE_S", 0.0)
    brokers = JustStarted(2)
    layout = Layout(4, 3, ("n1", "n2", "n3"))
    asyncio.run(Registry.create(cast(Client, brokers), layout, 3))
    assert set(brokers.store.held) == {"cluster", "made"}
    monkeypatch.setattr(registry, "LEADER_S", 0.02)
    with pytest.raises(StoreError, match="the brokers did not make the bucket sonicpy_meta"):
        asyncio.run(Registry.create(cast(Client, JustStarted(10**9)), layout, 3))


class Revisions:
    """A store of keys with revisions; a stale one returns old values, and refuses writes."""

    def __init__(self) -> None:
        self.held: dict[str, tuple[bytes, int]] = {}
        self.stale: dict[str, tuple[bytes, int]] | None = None
        self.writes = 0
        self.before_update: list[int] = []

    async def get(self, key: str) -> Any:
        held = self.held if self.stale is None else self.stale
        if key not in held:
            raise KeyNotFoundError
        return type("Entry", (), {"value": held[key][0], "revision": held[key][1]})

    async def create(self, key: str, value: bytes) -> None:
        await self.update(key, value, last=0)

    async def update(self, key: str, value: bytes, last: int) -> None:
        if self.stale is not None:
            raise NatsTimeout
        if self.before_update:
            self._write(key, b"%d" % self.before_update.pop())
        if self.held.get(key, (b"", 0))[1] != last:
            raise KeyWrongLastSequenceError
        self._write(key, value)

    def _write(self, key: str, value: bytes) -> None:
        self.writes += 1
        self.held[key] = value, self.writes


def test_an_incarnation_is_confirmed_by_most_brokers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "PAUSE_S", 0.0)

    async def test() -> None:
        store = Revisions()
        names = Registry(cast(KeyValue, store))
        first, is_first = await names.incarnation("n1")
        assert is_first
        assert await names.confirm_incarnation("n1", first)
        assert store.writes == 2
        stale = dict(store.held)
        second, is_first = await names.incarnation("n1")
        assert not is_first
        assert second > first
        assert not await names.confirm_incarnation("n1", first)
        assert await names.confirm_incarnation("n1", second)
        store.stale = stale  # a broker that is cut off still says that the first one has the name
        with pytest.raises(NotReady, match="the brokers do not answer"):
            await names.confirm_incarnation("n1", first)
        store.stale = None
        store.held.clear()
        assert await names.confirm_incarnation("n1", second)  # the brokers have lost their data

    asyncio.run(test())


def test_a_name_is_taken_while_its_holder_confirms_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "PAUSE_S", 0.0)

    async def test() -> None:
        store = Revisions()
        names = Registry(cast(KeyValue, store))
        first, _ = await names.incarnation("n1")
        store.before_update = [first, first]
        second, _ = await names.incarnation("n1")
        assert second > first
        store.before_update = [second + 1]
        with pytest.raises(ConfigError, match="--node is n1, which is being started somewhere else, too"):
            await names.incarnation("n1")
        store.before_update = [second + 1] * 100
        with pytest.raises(ConfigError, match="--node is n1, which is being started somewhere else, too"):
            await names.incarnation("n1")

    asyncio.run(test())
