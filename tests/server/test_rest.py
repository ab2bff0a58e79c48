"""A server without changes fills its pages and gives the free ones back to the disk; a change ends this."""

import asyncio
import random
from pathlib import Path

import pytest

from sonicpy import Index
from sonicpy.server.jobs import tasks
from sonicpy.server.jobs.tasks import ServiceTasks
from sonicpy.store.care import packing
from sonicpy.store.disk import background_sync, free_space
from tests.in_loop import serving_with
from tests.support.patience import until_in_loop

OBJECTS = 700


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "TICK_S", 0.05)
    monkeypatch.setattr(tasks, "PACK_AFTER_S", 0.2)
    monkeypatch.setattr(background_sync, "SYNC_AFTER_S", 0.05)
    monkeypatch.setattr(background_sync, "REST_AFTER_S", 0.05)
    monkeypatch.setattr(free_space, "WORTH_BYTES", 0)
    monkeypatch.setattr(packing, "WORTH_PAGES", 3)
    monkeypatch.setattr(packing, "WORTH_SHARE", 0.1)


def load(index: Index) -> None:
    dice = random.Random(1)
    for number in range(OBJECTS):
        words = [f"w{dice.randrange(10**6)}" for _ in range(8)]
        index.push("c", "b", f"o{number}", " ".join(["common", *words]), lang="none")
        if number % 50 == 49:
            index.engine.commit()


def holdings(index: Index) -> dict[str, list[str]]:
    return {one.object: sorted(one.terms) for one in index.holdings()}


@pytest.mark.full
def test_a_server_at_rest_takes_less_disk(tmp_path: Path) -> None:
    async def rest() -> tuple[int, int]:
        async with serving_with(tmp_path, {}) as (service, _):
            index = service.index
            load(index)
            service.committer.commit()
            found = index.maintainer.sparse_ranges()
            assert found
            before, held = index.engine.store.size_bytes(), holdings(index)
            periodic = asyncio.create_task(ServiceTasks(service).run())
            await until_in_loop(lambda: not index.maintainer.sparse_ranges())
            await until_in_loop(lambda: (tmp_path / "data.mdb").stat().st_blocks * 512 <= 0.8 * before)
            last = index.engine.store.last_commit()
            await asyncio.sleep(0.6)
            assert index.engine.store.last_commit() == last, "once is enough"
            periodic.cancel()
            assert holdings(index) == held
            assert index.verify() == []
            return len(found), len(held)

    assert asyncio.run(rest())[1] == OBJECTS


def test_a_change_ends_the_packing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def change() -> None:
        async with serving_with(tmp_path, {}) as (service, _):
            index = service.index
            load(index)
            service.committer.commit()
            found, done = len(index.maintainer.sparse_ranges()), 0
            rewrite = index.maintainer.rewrite

            def rewrite_and_change(sparse: packing.SparseRange) -> None:
                nonlocal done
                done += 1
                rewrite(sparse)
                if done == 2:
                    index.push("c", "b", "new", "another text", lang="none")
                    index.engine.store.seal()

            monkeypatch.setattr(index.maintainer, "rewrite", rewrite_and_change)
            await service.maintenance.pack()
            assert done == 2 < found
            assert index.engine.store.uncommitted == 0
            assert index.verify() == []

    asyncio.run(change())


def test_a_consolidation_gives_much_back_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(free_space, "MUCH_BYTES", 1 << 18)
    monkeypatch.setattr(background_sync, "REST_AFTER_S", 60.0)

    async def consolidate() -> None:
        async with serving_with(tmp_path, {}) as (service, _):
            load(service.index)
            service.committer.commit()
            before, held = (tmp_path / "data.mdb").stat().st_blocks, holdings(service.index)
            await service.maintenance.consolidate()
            assert (tmp_path / "data.mdb").stat().st_blocks <= 0.8 * before
            assert holdings(service.index) == held
            assert service.index.verify() == []

    asyncio.run(consolidate())
