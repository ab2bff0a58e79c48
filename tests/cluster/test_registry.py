"""What nodes agree on before they serve."""

import asyncio
from typing import Any, cast

import pytest

pytest.importorskip("nats", reason="needs nats-py: pip install nats-py")

from nats.js.errors import KeyWrongLastSequenceError, NoStreamResponseError
from nats.js.kv import KeyValue

from sonicpy.cluster import registry
from sonicpy.cluster.registry import Registry
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
