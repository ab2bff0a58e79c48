"""Long work delays nothing that is urgent: meanwhile the disk is synced and readers are watched, and a stop leaves it
out.
"""

import asyncio
from pathlib import Path

import pytest

from sonicpy.server.jobs import maintenance, tasks
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


def test_a_stop_leaves_out_the_graph_that_takes_too_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def work() -> None:
        async with serving_with(tmp_path, {}) as (service, _):
            index = service.index
            for bucket, words in (("large", 400), ("small", 40)):
                index.push("c", bucket, "o", " ".join(f"w{number}" for number in range(words)), lang="none")
            index.engine.commit()
            service.maintenance.consolidate_within(10.0)
            due = [index.maintainer.scope(bucket) for bucket in index.maintainer.due_buckets()]
            assert due == [("c", "large")]
            assert index.query("c", "large", "w399") == ["o"]

    monkeypatch.setattr(maintenance, "WORDS_A_SECOND", 20)
    asyncio.run(work())
