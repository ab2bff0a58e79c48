"""What nodes agree on before they serve."""

import asyncio
from typing import Any, cast

import pytest

pytest.importorskip("nats", reason="needs nats-py: pip install nats-py")

from nats.aio.client import Client
from nats.errors import TimeoutError as NatsTimeout
from nats.js.api import KeyValueConfig
from nats.js.errors import KeyWrongLastSequenceError, NoStreamResponseError
from nats.js.kv import KeyValue

from sonicpy.cluster import registry
from sonicpy.cluster.registry import Layout, Registry
from sonicpy.errors import StoreError


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
    with pytest.raises(StoreError, match="the brokers do not take what the nodes agree on: nats: no response"):
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
