"""The registry, on which nodes agree before they serve."""

import asyncio
import dataclasses
import json
from typing import Any, cast

import pytest

pytest.importorskip("nats", reason="needs nats-py: pip install nats-py")

from nats.aio.client import Client
from nats.errors import TimeoutError as NatsTimeout
from nats.js.api import KeyValueConfig
from nats.js.errors import KeyNotFoundError, KeyWrongLastSequenceError

from sonicpy.cluster.log import jetstream_vault
from sonicpy.cluster.log.broker import NotReady
from sonicpy.cluster.log.vault import ValueChanged
from sonicpy.cluster.registry import registry
from sonicpy.cluster.registry.registry import Layout, Registry
from sonicpy.errors import ConfigError, StoreError
from tests.cluster.memory import MemoryVault


def agree(vault: MemoryVault) -> None:
    asyncio.run(Registry(vault).agree_on_analyzer({"lexer": "1"}))


def test_a_node_waits_for_brokers_that_choose_a_leader(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "PAUSE_S", 0.0)
    vault = MemoryVault()
    vault.leaderless = 3
    agree(vault)
    assert list(vault.held) == ["analyser"]
    vault.leaderless = 1
    agree(vault)  # what another node has written


def test_a_node_does_not_wait_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "PAUSE_S", 0.0)
    monkeypatch.setattr(registry, "LEADER_S", 0.05)
    vault = MemoryVault()
    vault.leaderless = 10**9
    said = "the brokers do not store the agreement of the nodes: the brokers do not answer"
    with pytest.raises(NotReady, match=said):
        agree(vault)


def test_a_layout_that_was_changed_meanwhile_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    vault = MemoryVault()
    names, layout = Registry(vault), Layout(4, 3, ("n1", "n2", "n3"))
    asyncio.run(vault.put("cluster", json.dumps(dataclasses.asdict(layout)).encode()))
    assert asyncio.run(names.change_nodes(lambda now: (*now.nodes, "n4"))).nodes == ("n1", "n2", "n3", "n4")

    def meanwhile(now: Layout) -> Layout:
        vault._write("cluster", json.dumps(dataclasses.asdict(layout)).encode())
        return now.settled()

    with pytest.raises(StoreError, match="the layout was not changed: it was changed by somebody else meanwhile"):
        asyncio.run(names.change_layout(meanwhile))
    vault.before_update = [1]
    with pytest.raises(StoreError, match="the layout was not changed: another value"):
        asyncio.run(names.change_layout(Layout.settled))


class Values:
    """The key-value store of brokers; as in NATS, creating a key that exists fails."""

    def __init__(self) -> None:
        self.held: dict[str, bytes] = {}

    async def create(self, key: str, value: bytes) -> None:
        if key in self.held:
            raise KeyWrongLastSequenceError
        self.held[key] = value

    async def update(self, key: str, value: bytes, last: int) -> None:
        if last != 1:
            raise KeyWrongLastSequenceError
        raise NatsTimeout

    async def get(self, key: str) -> Any:
        if key not in self.held:
            raise KeyNotFoundError
        return type("Entry", (), {"value": self.held[key], "revision": 1})


class JustStarted:
    """Brokers without a leader during their first calls."""

    def __init__(self, calls: int) -> None:
        self.calls = calls
        self.values = Values()

    def jetstream(self, timeout: float) -> "JustStarted":
        return self

    async def create_key_value(self, settings: KeyValueConfig) -> Values:
        self.calls -= 1
        if self.calls >= 0:
            raise NatsTimeout
        return self.values


def test_a_cluster_is_made_once_the_brokers_have_a_leader(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jetstream_vault, "PAUSE_S", 0.0)
    brokers = JustStarted(2)
    layout = Layout(4, 3, ("n1", "n2", "n3"))
    asyncio.run(Registry.create(cast(Client, brokers), layout, 3))
    assert set(brokers.values.held) == {"cluster", "made"}
    monkeypatch.setattr(jetstream_vault, "LEADER_S", 0.02)
    with pytest.raises(StoreError, match="the brokers did not make the bucket sonicpy_meta"):
        asyncio.run(Registry.create(cast(Client, JustStarted(10**9)), layout, 3))


def test_the_vault_on_nats_tells_a_change_from_silence() -> None:
    async def test() -> None:
        vault = await jetstream_vault.JetStreamVault.create(cast(Client, JustStarted(0)), 3)
        assert await vault.get("key") is None
        await vault.update("key", b"1", 0)
        assert await vault.get("key") == (b"1", 1)
        for known in (0, 7):
            with pytest.raises(ValueChanged, match="the brokers hold another value by now"):
                await vault.update("key", b"2", known)
        with pytest.raises(NotReady, match="the brokers do not answer") as silent:
            await vault.update("key", b"2", 1)
        assert not isinstance(silent.value, ValueChanged)

    asyncio.run(test())


def test_an_incarnation_is_confirmed_by_most_brokers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "PAUSE_S", 0.0)

    async def test() -> None:
        store = MemoryVault()
        names = Registry(store)
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
        store.stale = stale  # a broker that is cut off still names the first one as the holder
        with pytest.raises(NotReady, match="the brokers do not answer"):
            await names.confirm_incarnation("n1", first)
        store.stale = None
        store.held.clear()
        assert await names.confirm_incarnation("n1", second)  # the brokers have lost their data

    asyncio.run(test())


def test_a_name_is_taken_while_its_holder_confirms_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "PAUSE_S", 0.0)

    async def test() -> None:
        store = MemoryVault()
        names = Registry(store)
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
