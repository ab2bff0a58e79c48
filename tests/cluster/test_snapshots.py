"""The choice of the node for a snapshot, and its time limits."""

import asyncio
import contextlib
import dataclasses
import os
import signal
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

pytest.importorskip("nats", reason="needs nats-py: pip install nats-py")

from nats.aio.client import Client  # noqa: E402

from sonicpy.client.blocking.connect import connect as connect_client  # noqa: E402
from sonicpy.cluster.log.broker import Unacknowledged  # noqa: E402
from sonicpy.cluster.node import moves, snapshots  # noqa: E402
from sonicpy.cluster.node.snapshots import snapshot_all  # noqa: E402
from sonicpy.cluster.operator.dev import HOST, DevCluster  # noqa: E402
from sonicpy.cluster.registry import watched  # noqa: E402
from sonicpy.cluster.registry.orders import NotDone, Order  # noqa: E402
from sonicpy.cluster.registry.registry import Layout, Registry  # noqa: E402
from sonicpy.cluster.registry.watched import Asleep, give_watched_order  # noqa: E402
from sonicpy.errors import StoreError  # noqa: E402
from tests.cluster.clusters import running  # noqa: E402
from tests.cluster.memory import MemoryBroker, MemoryVault  # noqa: E402
from tests.cluster.test_replica import entry, follow, pushed, replica_in  # noqa: E402
from tests.cluster.test_taking_over import AFTER, FakeReplicas, take_over  # noqa: E402
from tests.support.patience import is_within  # noqa: E402

LAYOUT = Layout(2, 3, ("n1", "n2", "n3"))
NO_CLIENT = cast(Client, None)


def answer(*replicas: int, fault: str | None = None) -> dict[str, Any]:
    return {"replicas": {str(number): {"position": 7, "chain": "aa", "fault": fault} for number in replicas}}


class Nodes:
    """Nodes that execute orders, except those that fail."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **failing: Exception) -> None:
        self.failing = failing
        self.asked: list[str] = []
        monkeypatch.setattr(snapshots, "give_watched_order", self.give)

    async def give(self, _: Client, node: str, order: Order) -> str:
        assert order.kind == "save"
        self.asked.append(node)
        if node in self.failing:
            raise self.failing[node]
        return "7"


def take(answers: dict[str, Any], partition: int = 0) -> None:
    asyncio.run(snapshots._take_one(NO_CLIENT, LAYOUT, answers, partition))


def test_the_next_node_is_asked_if_one_cannot(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second, third = LAYOUT.holders(0)
    nodes = Nodes(monkeypatch)
    take({name: answer(0, 1) for name in LAYOUT.nodes})
    assert nodes.asked == [first]
    nodes = Nodes(monkeypatch)
    take({second: answer(1), third: answer(0, 1)})
    assert nodes.asked == [third]
    nodes = Nodes(monkeypatch, **{first: NotDone(first, 0, "the node does not hold it")})
    take({name: answer(0, 1) for name in LAYOUT.nodes})
    assert nodes.asked == [first, second]


def test_a_node_that_falls_asleep_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    first = LAYOUT.holders(0)[0]
    nodes = Nodes(monkeypatch, **{first: Asleep(first, 0, "it is silent")})
    answers = {name: answer(0, 1) for name in LAYOUT.nodes}
    take(answers, 0)
    take(answers, 1)
    assert nodes.asked.count(first) == 1
    assert len(nodes.asked) == 3


def test_a_partition_that_nobody_can_save_is_told_with_the_reasons(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second, third = LAYOUT.holders(0)
    Nodes(monkeypatch, **{third: NotDone(third, 0, "the disk is full")})
    with pytest.raises(StoreError) as told:
        take({second: answer(0, fault="it has stopped"), third: answer(0)})
    assert str(told.value) == (
        f"partition 0 has no new snapshot ({first}: the node does not answer; {second}: it has stopped; "
        f"{third}: the disk is full)"
    )


@pytest.mark.parametrize("partitions", [6, 60])
def test_all_partitions_are_tried_and_all_logs_cut_off(monkeypatch: pytest.MonkeyPatch, partitions: int) -> None:
    layout = Layout(partitions, 1, ("n1", "n2", "n3"), logs=2)
    gone = layout.of_node("n1")
    taken: list[int] = []
    cut_off: list[int] = []

    @contextlib.asynccontextmanager
    async def at(*_: object) -> AsyncIterator[tuple[object, object]]:
        async def given() -> Layout:
            return layout

        yield None, SimpleNamespace(layout=given)

    async def nodes(*_: object) -> dict[str, Any]:
        return {name: answer(*layout.of_node(name)) for name in ("n2", "n3")}

    async def give(_: Client, node: str, order: Order) -> str:
        taken.append(order.partition)
        return "7"

    async def trim(number: int, *_: object) -> list[dict[str, Any]]:
        cut_off.append(number)
        return []

    monkeypatch.setattr(snapshots, "cluster_at", at)
    monkeypatch.setattr(snapshots, "ask_nodes", nodes)
    monkeypatch.setattr(snapshots, "give_watched_order", give)
    monkeypatch.setattr(snapshots, "_trim", trim)
    said = [f"partition {number} has no new snapshot (n1: the node does not answer)" for number in gone]
    with pytest.raises(StoreError) as told:
        snapshot_all("nats://127.0.0.1:1")
    assert taken == [number for number in range(partitions) if number not in gone]
    assert cut_off == [0, 1]
    assert str(told.value).startswith("; ".join(said[:3]))
    assert ("more" in str(told.value)) == (len(gone) > 16)


# -- what the vault keeps ----------------------------------------------------------------------------------------------


def test_a_snapshot_is_kept_in_chunks_and_becomes_a_folder_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshots, "CHUNK_BYTES", 1 << 14)
    monkeypatch.setattr(snapshots, "CHUNK_S", 0.0)

    async def test() -> None:
        broker, vault = MemoryBroker(), MemoryVault()
        names = Registry(vault)
        replica = replica_in(tmp_path / "0000")
        positions = []
        for number in range(1, 4):
            broker.logs[0].append(entry(number, pushed(f"o{number}", "apple")))
            await follow(broker, number, replica)
            positions.append(await snapshots.save(replica, names))
            assert await snapshots.save(replica, names) == positions[-1], "there is one of this position"
        assert positions == [1, 2, 3]
        kept = await names.snapshots(0)
        assert [manifest.position for manifest in kept] == [3, 2], "older ones are dropped, with their chunks"
        assert {name.split(".")[1] for name in vault.chunks} == {"3", "2"}
        assert len(vault.chunks) == sum(manifest.chunks for manifest in kept) > 2
        epoch = await broker.epoch(0)
        await snapshots.replace_folder(0, epoch, names, tmp_path / "0001")
        again = replica_in(tmp_path / "0001")
        assert again.applied == 3
        assert again.index.query_ids("c", "b", "apple") == ["o3", "o2", "o1"]
        del vault.chunks["0.3.1"]
        with pytest.raises(StoreError, match=r"the part 0\.3\.1 of a snapshot is not there"):
            await snapshots.replace_folder(0, epoch, names, tmp_path / "0002")
        await snapshots.forget(0, names)
        assert (vault.chunks, await names.snapshots(0)) == ({}, [])
        for one in (replica, again):
            await one.close()

    asyncio.run(test())


class FaultyVault(MemoryVault):
    """A vault that fails at the third chunk of a snapshot.

    Attributes:
        folder: the folder of the node.
        beside: the names in it at the first chunk.
        error: the error; None: it does not fail.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder = folder
        self.beside: list[str] = []
        self.error: BaseException | None = None
        self._count = 0

    async def put_chunk(self, name: str, chunk: bytes) -> None:
        self._count = 1 if name.endswith(".0") else self._count + 1
        self.beside = self.beside or [path.name for path in self.folder.iterdir()]
        if self.error is not None and self._count == 3:
            raise self.error
        await super().put_chunk(name, chunk)


@pytest.mark.parametrize("error", [Unacknowledged("no broker answers"), asyncio.CancelledError()], ids=repr)
def test_a_snapshot_that_fails_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    monkeypatch.setattr(snapshots, "CHUNK_BYTES", 1 << 14)

    async def test() -> None:
        broker, vault = MemoryBroker(), FaultyVault(tmp_path)
        names = Registry(vault)
        replica = replica_in(tmp_path / "0000")
        for number in range(1, 6):
            broker.logs[0].append(entry(number, pushed(f"o{number}", "apple")))
            await follow(broker, number, replica)
            vault.error = error if number in (2, 4, 5) else None
            if vault.error is None:
                await snapshots.save(replica, names)
                continue
            with pytest.raises(type(error)):
                await snapshots.save(replica, names)
        kept = await names.snapshots(0)
        assert [manifest.position for manifest in kept] == [3, 1]
        assert {name.split(".")[1] for name in vault.chunks} == {"3", "1"}
        assert len(vault.chunks) == sum(manifest.chunks for manifest in kept)
        await names.note_snapshots(0, [dataclasses.replace(kept[0], position=5)])  # by another node, meanwhile
        vault.chunks["0.5.0"] = b"its chunk"
        await snapshots._give_up(0, dataclasses.replace(kept[0], position=5), names)
        assert vault.chunks["0.5.0"] == b"its chunk"
        await replica.close()

    asyncio.run(test())
    assert [path.name for path in tmp_path.iterdir()] == ["0000"]


def test_folders_of_a_snapshot_under_way_go_at_the_next_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(moves, "LOOK_S", 0.01)

    async def test() -> list[str]:
        broker, vault = MemoryBroker(), FaultyVault(tmp_path)
        broker.logs[0].append(entry(1, pushed("o1", "apple")))
        replica = replica_in(tmp_path / "0000")
        await follow(broker, 1, replica)
        await snapshots.save(replica, Registry(vault))
        await replica.close()
        return vault.beside

    beside = asyncio.run(test())
    assert len(beside) == 2
    for name in (*beside, "0001.new"):  # as after a kill
        (tmp_path / name).mkdir(exist_ok=True)
    take_over(FakeReplicas(tmp_path, {}), [AFTER], {0, 1, 2, 3})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0000", "0001", "0002", "0003"]


# -- how long a node is waited for -------------------------------------------------------------------------------------


async def wait_for_ever(*_: object, **__: object) -> str:
    await asyncio.Event().wait()
    return ""


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ([{"start": 1}, {"start": 1}, None], "partition 0 at n1: the node has not answered for 0.2 s"),
        ([{"start": 1}, {"start": 2}], "partition 0 at n1: the node was started again meanwhile"),
        ([{}, {}, None], "the node has not answered"),  # of an older version
    ],
)
def test_a_node_that_does_not_answer_is_given_up(
    said: list[dict[str, int] | None], why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def ask(*_: object) -> dict[str, Any]:
        found = said.pop(0) if len(said) > 1 else said[0]
        return {} if found is None else {"n1": found}

    monkeypatch.setattr(watched, "SILENCE_S", 0.2)
    monkeypatch.setattr(watched, "LOOK_S", 0.01)
    monkeypatch.setattr(watched, "ask_named", ask)
    monkeypatch.setattr(watched, "give_order", wait_for_ever)
    with pytest.raises(Asleep, match=why):
        asyncio.run(give_watched_order(NO_CLIENT, "n1", Order("save", 0)))


def test_what_a_node_says_of_an_order_is_returned(monkeypatch: pytest.MonkeyPatch) -> None:
    async def give(*_: object, **__: object) -> str:
        return "7"

    monkeypatch.setattr(watched, "give_order", give)
    monkeypatch.setattr(watched, "ask_named", wait_for_ever)
    assert asyncio.run(give_watched_order(NO_CLIENT, "n1", Order("save", 0))) == "7"


# -- a whole cluster ---------------------------------------------------------------------------------------------------


@contextmanager
def standing_still(cluster: DevCluster, name: str) -> Iterator[None]:
    """Stop a node inside a `with` block."""
    os.kill(cluster.nodes[name].pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(cluster.nodes[name].pid, signal.SIGCONT)


@pytest.mark.full
def test_a_node_that_stands_still_holds_no_snapshot_up(tmp_path: Path) -> None:
    with running(DevCluster(tmp_path / "cluster", partitions=4, copies=2)) as cluster:
        with connect_client(f"sonic://{HOST}:{cluster.node_ports['n1']}") as client:
            for number in range(12):
                client.push("c", f"b{number}", "o1", "apple")
        with standing_still(cluster, "n2"):
            began_s = time.monotonic()
            assert all(one["position"] for one in snapshot_all(cluster.addresses))
            assert is_within(20, began_s)
            with (
                standing_still(cluster, "n1"),
                standing_still(cluster, "n3"),
                pytest.raises(StoreError, match="partition 0 has no new snapshot .n.: the node does not answer"),
            ):
                snapshot_all(cluster.addresses)
