"""Commands that put objects into partitions, and those that change the partitions of objects, exclude each other."""

import asyncio
import dataclasses
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("nats", reason="needs nats-py: pip install nats-py")

from sonicpy.cluster.log.agreement import FIRST, Agreement  # noqa: E402
from sonicpy.cluster.log.versions import newest  # noqa: E402
from sonicpy.cluster.node import claim as claims  # noqa: E402
from sonicpy.cluster.operator import spread_collection, transfer  # noqa: E402
from sonicpy.cluster.registry.registry import FORMAT, Layout, Registry  # noqa: E402
from sonicpy.config import Config  # noqa: E402
from sonicpy.errors import ConfigError, StoreError  # noqa: E402
from sonicpy.index.index import Index  # noqa: E402
from sonicpy.index.recorder import Recorder  # noqa: E402
from tests.cluster.memory import MemoryBroker, MemoryVault  # noqa: E402
from tests.cluster.test_claim import Hub  # noqa: E402
from tests.support.patience import WAIT_S  # noqa: E402

LAYOUT = Layout(4, 1, ("n1",))
REFUSED = r"^an import, restore or spread of this cluster runs, and allowed is one of them at a time \(process \d+ of "


class BrokersInMemory:
    """A cluster of one node whose brokers are lists and dicts.

    Attributes:
        held: the answers of the next questions for buckets; afterwards nothing is found.
        when_asked: called before each such answer.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.registry = Registry(MemoryVault())
        self.log = MemoryBroker()
        self.hub = Hub()
        self.held: list[str] = []
        self.when_asked: Callable[[], Awaitable[None]] = lambda: asyncio.sleep(0)
        self.patch(monkeypatch)

    def patch(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(claims, "WAIT_S", 0.05)
        monkeypatch.setattr(transfer, "JetStream", lambda connection: self.log)
        for module in (transfer, spread_collection):
            monkeypatch.setattr(module, "cluster_at", self._cluster_at)
            monkeypatch.setattr(module, "what_is_held", self._what_is_held)
        monkeypatch.setattr(spread_collection, "ask_nodes", self._ask_nodes)
        monkeypatch.setattr(spread_collection, "tell_layout", lambda *_: asyncio.sleep(0))

    async def make(self) -> None:
        layout = {"format": FORMAT, **dataclasses.asdict(LAYOUT)}
        await self.registry.vault.put("cluster", json.dumps(layout).encode())
        await self.registry.note_agreement(newest())

    @asynccontextmanager
    async def _cluster_at(self, *_: object, **__: object) -> AsyncIterator[tuple[Hub, Registry]]:
        yield self.hub, self.registry

    async def _what_is_held(self, *_: object) -> str:
        await self.when_asked()
        return self.held.pop(0) if self.held else ""

    async def _ask_nodes(self, *_: object) -> dict[str, Any]:
        return {"n1": {"spread": [list(pair) for pair in (await self.registry.layout()).spread]}}


def test_a_collection_is_not_spread_while_an_import_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Index(tmp_path / "one", autocommit=False) as one:
        one.push("c", "b", "o1", "apple", "eng")
        one.commit()

    async def test() -> None:
        brokers = BrokersInMemory(monkeypatch)
        await brokers.make()
        brokers.log.gate.clear()  # the import waits for its first acknowledgement
        importing = asyncio.create_task(transfer._import("", [tmp_path / "one"], Config(), print))
        while not brokers.log.under_way:
            assert not importing.done(), importing.result()
            await asyncio.sleep(0.01)
        with pytest.raises(ConfigError, match=REFUSED):
            await spread_collection._spread("", "c", 3)
        assert (await brokers.registry.layout()).spread == ()
        brokers.log.gate.set()
        assert await importing == 1
        assert (await spread_collection._spread("", "c", 3)).spread == (("c", 3),)

    asyncio.run(asyncio.wait_for(test(), WAIT_S))


def test_nothing_is_imported_while_a_collection_is_spread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def test() -> None:
        brokers = BrokersInMemory(monkeypatch)
        await brokers.make()
        refused: list[ConfigError] = []

        async def import_meanwhile() -> None:
            with pytest.raises(ConfigError, match=REFUSED) as raised:
                await transfer._import("", [tmp_path], Config(), print)
            refused.append(raised.value)

        brokers.when_asked = import_meanwhile
        assert (await spread_collection._spread("", "c", 3)).spread == (("c", 3),)
        assert len(refused) == 2, "before and after the change of the layout"

    asyncio.run(asyncio.wait_for(test(), WAIT_S))


def test_a_bucket_that_came_while_a_collection_was_spread_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test() -> None:
        brokers = BrokersInMemory(monkeypatch)
        await brokers.make()
        brokers.held = ["", "which holds b"]
        with pytest.raises(
            StoreError, match="^c is spread now, but was changed meanwhile, which holds b: flush c, and"
        ):
            await spread_collection._spread("", "c", 3)

    asyncio.run(asyncio.wait_for(test(), WAIT_S))


def test_an_import_that_is_refused_leaves_a_new_cluster_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The settings of texts are those of the first import that writes, not of one that fails."""
    with Index(tmp_path / "one", autocommit=False) as one:
        one.push("c", "b", "o1", "apple", "eng")
        one.commit()
        wanted = one.engine.analyzer()

    async def test() -> None:
        brokers = BrokersInMemory(monkeypatch)
        await brokers.make()
        wrong = {**wanted, "lexer": "other"}
        monkeypatch.setattr(Recorder, "analyzer", lambda recorder: wrong)
        with pytest.raises(ConfigError, match="one was made with lexer = .*; allowed is other, as in the cluster"):
            await transfer._import("", [tmp_path / "one"], Config(), print, spread={"c": 3})
        monkeypatch.undo()
        brokers.patch(monkeypatch)
        brokers.held = ["which holds c"]
        with pytest.raises(StoreError, match="cannot restore into this cluster, which holds c; allowed is an empty"):
            await transfer._import("", [tmp_path / "one"], Config(), print, only_empty=True, spread={"c": 3})
        await brokers.registry.note_agreement(Agreement(FIRST))
        with pytest.raises(StoreError, match="upgrade every node, then run sonicpy cluster upgrade"):
            await transfer._import("", [tmp_path / "one"], Config(), print, spread={"c": 3})
        await brokers.registry.note_agreement(newest())
        assert await brokers.registry.vault.get("analyser") is None
        assert (await brokers.registry.layout()).spread == ()
        assert await transfer._import("", [tmp_path / "one"], Config(), print, spread={"c": 3}) == 1
        agreed = await brokers.registry.vault.get("analyser")
        assert agreed is not None
        assert json.loads(agreed.value) == wanted
        assert (await brokers.registry.layout()).spread == (("c", 3),)

    asyncio.run(asyncio.wait_for(test(), WAIT_S))
