"""A node takes over a layout although a partition cannot be opened, its disk is full, or it saves a snapshot."""

import asyncio
import dataclasses
import errno
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("nats", reason="needs nats-py: pip install nats-py")

from sonicpy.cluster.node import moves, snapshots  # noqa: E402
from sonicpy.cluster.node.moves import Mover  # noqa: E402
from sonicpy.cluster.node.places import Places  # noqa: E402
from sonicpy.cluster.registry.orders import Order, pack_order, subject_of_orders  # noqa: E402
from sonicpy.cluster.registry.registry import Layout, Manifest  # noqa: E402
from sonicpy.errors import StoreDamaged, StoreError  # noqa: E402
from tests.cluster.memory import MemoryVault  # noqa: E402
from tests.support.patience import WAIT_S, until_in_loop  # noqa: E402

BEFORE, AFTER = Layout(4, 1, ("n2",)), Layout(4, 1, ("n1",))
FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


class FakeReplicas:
    """Replicas that are opened and released in name only.

    Attributes:
        refusing: partition -> the errors of the next attempts to open it.
    """

    def __init__(self, folder: Path, refusing: dict[int, list[Exception]]) -> None:
        self.folder = folder
        self.refusing = refusing
        self.held: dict[int, object] = {}

    def folder_of(self, partition: int) -> Path:
        return self.folder / f"{partition:04}"

    async def hold(self, partition: int) -> None:
        if self.refusing.get(partition):
            raise self.refusing[partition].pop(0)
        self.folder_of(partition).mkdir(exist_ok=True)
        self.held[partition] = object()

    async def release(self, partition: int, wait_s: float) -> None:
        del self.held[partition]


class FakeConnection:
    is_closed = True

    def __init__(self) -> None:
        self.taking: dict[str, Callable[[Any], Awaitable[None]]] = {}

    async def subscribe(self, subject: str, cb: Callable[[Any], Awaitable[None]]) -> None:
        self.taking[subject] = cb


def take_over(replicas: FakeReplicas, layouts: list[Layout], wanted: set[int]) -> None:
    """Give layouts to node n1, one after the other, until it holds the wanted partitions."""

    async def layout() -> Layout:
        return layouts.pop(0) if len(layouts) > 1 else layouts[0]

    async def test() -> None:
        given: list[Any] = [Places(BEFORE), replicas, None, FakeConnection(), SimpleNamespace(layout=layout)]
        mover = Mover("n1", *given)
        await mover.start()
        async with asyncio.timeout(WAIT_S):
            while replicas.held.keys() != wanted or len(layouts) > 1:
                await asyncio.sleep(0.01)
        await mover.stop()

    asyncio.run(test())


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(moves, "LOOK_S", 0.01)


@pytest.mark.parametrize("error", [FULL, StoreError("no room"), ZeroDivisionError()], ids=["full", "store", "other"])
def test_a_partition_that_could_not_be_opened_is_opened_later(tmp_path: Path, error: Exception) -> None:
    take_over(FakeReplicas(tmp_path, {1: [error, error]}), [AFTER], {0, 1, 2, 3})


def test_a_partition_that_cannot_be_opened_does_not_hold_up_others(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    damaged: list[Exception] = [StoreDamaged("the snapshot holds another position")] * 10_000
    take_over(FakeReplicas(tmp_path, {0: damaged}), [AFTER], {1, 2, 3})
    assert caplog.messages.count("the layout is not taken over yet: the snapshot holds another position") == 1


def test_a_folder_that_cannot_be_set_aside_ends_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    replicas = FakeReplicas(tmp_path, {})
    (tmp_path / f"0002{moves.LEFT}").touch()  # a file, which is no folder to come back
    (tmp_path / "0002").mkdir()
    take_over(replicas, [AFTER, BEFORE, BEFORE, BEFORE, BEFORE, BEFORE, AFTER], {0, 1, 2, 3})
    assert f"the layout is not taken over yet: cannot rename {tmp_path / '0002'}: Not a directory" in caplog.messages


class BusyReplicas(FakeReplicas):
    """Replicas whose snapshots, and whose opening, last until an event is set."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, {})
        self.saving, self.opening, self.goes_on = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def hold(self, partition: int) -> None:
        self.opening.set()
        await self.goes_on.wait()
        await super().hold(partition)

    async def snapshot(self, partition: int) -> int:
        self.saving.set()
        await self.goes_on.wait()
        return 1


@pytest.mark.parametrize("work", ["saving", "opening"])
def test_a_node_passes_questions_on_by_a_new_layout_while_its_replicas_are_busy(tmp_path: Path, work: str) -> None:
    now = [BEFORE]
    answers: list[bytes] = []

    async def layout() -> Layout:
        return now[0]

    async def respond(answer: bytes) -> None:
        answers.append(answer)

    async def test() -> None:
        replicas, places, connection = BusyReplicas(tmp_path), Places(BEFORE), FakeConnection()
        given: list[Any] = [places, replicas, None, connection, SimpleNamespace(layout=layout)]
        mover = Mover("n1", *given)
        await mover.start()
        if work == "saving":
            replicas.held[0] = SimpleNamespace(fault=None)
            message = SimpleNamespace(data=pack_order(Order("save", 0)), respond=respond)
            await connection.taking[subject_of_orders("n1")](message)
        else:
            now[0] = AFTER
        await getattr(replicas, work).wait()
        later = dataclasses.replace(now[0], spread=(("c", 2),))
        now[0] = later
        await until_in_loop(lambda: places.layout == later)
        assert places.spread == {"c"}
        replicas.goes_on.set()
        await until_in_loop(lambda: sorted(replicas.held) == later.of_node("n1"))
        assert answers == ([b"+1"] if work == "saving" else [])
        await mover.stop()

    asyncio.run(asyncio.wait_for(test(), WAIT_S))


def test_a_snapshot_that_does_not_fit_on_the_disk_is_an_error_of_the_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise FULL

    monkeypatch.setattr(snapshots, "new_bytes", refuse)
    with pytest.raises(StoreError, match=r"cannot write the snapshot of partition 3 to .*0003\.new: No space left"):
        asyncio.run(snapshots.load(3, Manifest(5, "e", "c", 1, 1), MemoryVault(), tmp_path / "0003.new"))
