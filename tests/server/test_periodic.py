"""Long periodic work does not delay short periodic work: the disk is synced and readers are watched meanwhile."""

import asyncio
from pathlib import Path

import pytest

from sonicpy.server.jobs import tasks
from sonicpy.server.jobs.tasks import ServiceTasks
from tests.in_loop import serving_with
from tests.support.patience import until_in_loop


@pytest.mark.parametrize("long", ["a sweep", "a consolidation"])
def test_the_disk_holds_changes_that_come_during_long_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, long: str
) -> None:
    async def work() -> None:
        settings = {"store": {"fst": {"graph": {"consolidate_after": 0}}}}
        async with serving_with(tmp_path, settings) as (service, _):
            began, checks, syncs = asyncio.Event(), 0, 0
            sync = service.index.engine.store.sync

            async def take_long(*_: object) -> None:
                began.set()
                await asyncio.Event().wait()

            def check() -> None:
                nonlocal checks
                checks += 1

            def count_sync() -> None:
                nonlocal syncs
                sync()
                syncs += 1

            where, name = (service.committer, "sweep") if long == "a sweep" else (service.maintenance, "consolidate")
            monkeypatch.setattr(where, name, take_long)
            monkeypatch.setattr(service.readers, "check", check)
            monkeypatch.setattr(service.index.engine.store, "sync", count_sync)
            index = service.index
            monkeypatch.setattr(index.maintainer, "due_buckets", lambda: [0])
            index.push("c", "b", "o1", "text")
            index.engine.commit()
            periodic = asyncio.create_task(ServiceTasks(service).run())
            await began.wait()
            index.push("c", "b", "o2", "text")
            service.committer.seal(1)
            before = checks, syncs
            await until_in_loop(lambda: checks > before[0] and syncs > before[1] + 1)
            periodic.cancel()
            await asyncio.wait([periodic])
            assert periodic.cancelled()

    monkeypatch.setattr(tasks, "TICK_S", 0.02)
    asyncio.run(work())
