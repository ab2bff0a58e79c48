"""A replica applies the log, records its progress, continues from there, and stops when it must."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Coroutine, Sequence
from pathlib import Path
from typing import Any

import pytest

from sonicpy.cluster.log.batches import Batch, pack_batch, pack_records, unpack_batch
from sonicpy.cluster.log.broker import Epoch
from sonicpy.cluster.log.ending import end
from sonicpy.cluster.node import follower as follower_module
from sonicpy.cluster.node import replica as replica_module
from sonicpy.cluster.node.follower import LogFollower
from sonicpy.cluster.node.replica import Replica, ReplicaTasks
from sonicpy.config import Config
from sonicpy.errors import InvalidArgument, StoreError, StoreFull
from sonicpy.index.engine import Engine
from sonicpy.index.index import Index
from sonicpy.index.recorder import Recorder
from sonicpy.index.replica_index import ReplicaIndex
from sonicpy.server.watching.server_statistics import ServerStatistics
from sonicpy.store.care.replica_backup import install_backup, progress_of_backup
from sonicpy.store.disk.table_rows import MapFull
from sonicpy.store.replica_store import ReplicaStore
from sonicpy.store.rows.log_progress import LogProgress
from tests.cluster.memory import MemoryBroker
from tests.support.patience import WAIT_S

RECORDER = Recorder(Config())


def run(test: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(test, WAIT_S))


def pushed(oid: str, text: str, bucket: str = "b") -> bytes:
    RECORDER.push("c", bucket, oid, text, "eng")
    return RECORDER.take_record()


def popped(oid: str, text: str) -> bytes:
    RECORDER.pop("c", "b", oid, text)
    return RECORDER.take_record()


def entry(number: int, *records: bytes, writer: str = "n1", partition: int = 0) -> bytes:
    return pack_batch(Batch(writer, 1, number, {partition: pack_records(records)}))


class Noted:
    def __init__(self) -> None:
        self.answers: list[tuple[str, int, int, list[int]]] = []
        self.late: list[int] = []

    def __call__(self, writer: str, incarnation: int, number: int, answers: list[int]) -> None:
        self.answers.append((writer, incarnation, number, answers))


def replica_in(folder: Path, noted: Noted | None = None, partition: int = 0) -> Replica:
    noted = noted or Noted()
    index = ReplicaIndex(folder, RECORDER)
    return Replica(partition, index, RECORDER.config, ServerStatistics(), noted, noted.late.append)


async def follow(broker: MemoryBroker, position: int, *replicas: Replica) -> None:
    follower = LogFollower(0, broker)
    for replica in replicas:
        follower.follow(replica)
    task = asyncio.create_task(follower.run())
    for replica in replicas:
        await replica.wait_for(position, WAIT_S)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def follow_until_stopped(broker: MemoryBroker, replica: Replica) -> None:
    follower = LogFollower(0, broker)
    follower.follow(replica)
    task = asyncio.create_task(follower.run())
    task.add_done_callback(follower.note_end)
    while not replica.is_broken:
        await asyncio.sleep(0.001)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


def test_a_replica_answers_what_the_log_holds(tmp_path: Path) -> None:
    async def test() -> None:
        broker, noted = MemoryBroker(), Noted()
        broker.logs[0] += [entry(1, pushed("o1", "red apple"), pushed("o2", "apple")), entry(2, popped("o1", "apple"))]
        replica = replica_in(tmp_path, noted)
        assert replica.fault is not None
        await follow(broker, 2, replica)
        assert replica.fault is None
        assert replica.index.query_ids("c", "b", "apple") == ["o2"]
        assert noted.answers == [("n1", 1, 1, [0, 0]), ("n1", 1, 2, [1])]
        await replica.close()

    run(test())


def test_a_replica_leaves_out_a_point_among_numbers(tmp_path: Path) -> None:
    def valued(oid: str, value: Any) -> bytes:
        RECORDER.push("c", "b", oid, "apple", "eng", values={"n": value})
        return RECORDER.take_record()

    async def test() -> None:
        broker = MemoryBroker()
        broker.logs[0].append(entry(1, valued("o1", 5), valued("o2", (48.1, 11.5))))
        replica = replica_in(tmp_path)
        await follow(broker, 1, replica)
        assert [one.fields for one in replica.index.holdings("c", "b")] == [{"values": {"n": 5}}, {}]
        assert replica.index.query_ids("c", "b", "apple") == ["o2", "o1"]
        await replica.close()

    run(test())


def test_a_replica_goes_on_where_its_last_commit_ended(tmp_path: Path) -> None:
    async def test() -> None:
        broker = MemoryBroker()
        broker.logs[0] += [entry(number, pushed(f"o{number}", "apple")) for number in range(1, 6)]
        replica = replica_in(tmp_path)
        await follow(broker, 5, replica)
        chain = replica.index.progress.chain
        await replica.close()
        replica = replica_in(tmp_path)
        assert replica.applied == 5
        assert (replica.index.progress.chain, replica.index.progress.writers) == (chain, {"n1": (1, 5)})
        broker.logs[0] += [entry(5, pushed("again", "apple")), entry(6, pushed("o6", "apple"))]
        await follow(broker, 7, replica)
        assert replica.index.count_objects("c", "b") == 6  # the batch with number 5 came twice
        await replica.close()

    run(test())


def test_a_replica_that_is_read_commits_soon_and_others_seldom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replica_module, "COMMIT_AFTER_READ_S", 0.01)
    monkeypatch.setattr("sonicpy.server.jobs.tasks.TICK_S", 0.01)

    async def test() -> None:
        replicas = [replica_in(tmp_path / name) for name in ("read", "other")]
        ticking = [asyncio.create_task(ReplicaTasks(replica).run()) for replica in replicas]
        while any(replica.index.engine.has_dropped for replica in replicas):  # it is looked for once after a start
            await asyncio.sleep(0.01)
        for replica in replicas:
            replica.begin(Epoch("first", 1, 1))
            replica.take(1, unpack_batch(entry(1, pushed("o1", "apple"))))
        assert replicas[0].to_read().count_objects("c", "b") == 1
        while replicas[0].index.engine.store.uncommitted:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.1)  # ten ticks
        assert replicas[1].index.engine.store.uncommitted == 1
        await end(ticking)
        for replica in replicas:
            await replica.close()

    run(test())


def test_a_replica_commits_again_what_it_could_not_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sonicpy.server.jobs.tasks.TICK_S", 0.01)

    def full(engine: Engine) -> None:
        raise StoreFull("the disk is full")

    async def test() -> None:
        replica = replica_in(tmp_path)
        replica.begin(Epoch("first", 1, 1))
        replica.take(1, unpack_batch(entry(1, pushed("o1", "apple"))))
        with monkeypatch.context() as broken:
            broken.setattr(Engine, "commit", full)
            assert not replica.committer.commit()
        ticking = asyncio.create_task(ReplicaTasks(replica).run())
        while replica.index.engine.store.uncommitted:
            await asyncio.sleep(0.01)
        await end([ticking])
        await replica.close()
        with Index(tmp_path) as index:
            assert index.count_objects("c", "b") == 1

    run(test())


def test_a_replica_syncs_beside_a_long_sweep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sonicpy.server.jobs.tasks.TICK_S", 0.01)
    monkeypatch.setattr(replica_module, "SYNC_TICKS", 2)

    async def test() -> None:
        replica = replica_in(tmp_path)
        began = asyncio.Event()

        async def sweep() -> None:
            began.set()
            await asyncio.Event().wait()

        monkeypatch.setattr(replica.committer, "sweep", sweep)
        ticking = asyncio.create_task(ReplicaTasks(replica).run())
        await began.wait()
        replica.begin(Epoch("first", 1, 1))
        replica.take(1, unpack_batch(entry(1, pushed("o1", "apple"))))
        while replica.index.engine.store.uncommitted:
            await asyncio.sleep(0.01)
        await end([ticking])
        await replica.close()

    run(test())


def test_a_worker_that_reads_one_snapshot_of_a_replica_for_ever_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sonicpy.server.jobs.tasks.TICK_S", 0.01)
    monkeypatch.setattr("sonicpy.server.jobs.readers.OLD_S", 0.0)

    async def test() -> None:
        config = Config.model_validate({"store": {"kv": {"reader_limit_mb": 1}}})
        index = ReplicaIndex(tmp_path, RECORDER)
        replica = Replica(0, index, config, ServerStatistics(), Noted(), lambda _: None)
        killed: list[str] = []
        monkeypatch.setattr(replica.maintenance, "kill_worker", lambda process, why: killed.append(why))
        replica.begin(Epoch("first", 1, 0))
        ticking = asyncio.create_task(ReplicaTasks(replica).run())
        number = 0
        with replica.index.engine.store.snapshot():
            while not killed:
                number += 1
                words = " ".join(f"word{number}x{place}" for place in range(500))
                replica.take(number, unpack_batch(entry(number, pushed(f"o{number}", words))))
                replica.committer.commit()
                await asyncio.sleep(0.01)
        assert "MiB while it read one snapshot" in killed[0]
        assert replica.readers.pinned_bytes >= 1 << 20
        await end([ticking])
        await replica.close()

    run(test())


def test_what_was_not_committed_is_read_again(tmp_path: Path) -> None:
    async def test() -> None:
        broker = MemoryBroker()
        replica = replica_in(tmp_path / "a")
        broker.logs[0] += [entry(1, pushed("o1", "apple")), entry(2, pushed("o2", "apple"))]
        await follow(broker, 2, replica)
        replica.committer.commit()
        replica.begin(Epoch("first", 1, 3))
        replica.take(3, unpack_batch(entry(3, pushed("o3", "apple"))))
        broker.logs[0].append(entry(3, pushed("o3", "apple")))
        assert replica.index.count_objects("c", "b") == 3
        shutil.copytree(tmp_path / "a", tmp_path / "b")  # as the death of the process would leave it
        await replica.close()
        again = replica_in(tmp_path / "b")
        assert again.applied == 2
        await follow(broker, 3, again)
        assert again.index.objects("c", "b") == ["o1", "o2", "o3"]
        await again.close()

    run(test())


def test_a_failed_transaction_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def test() -> None:
        broker = MemoryBroker()
        broker.logs[0] += [
            entry(1, *(pushed(f"o{number}", "apple") for number in range(50))),
            entry(2, *(pushed(f"p{number}", "apple") for number in range(50))),
        ]
        replica = replica_in(tmp_path)
        await follow(broker, 1, replica)
        store = replica.index._engine.replica
        store._recover(MapFull("the map is full"))  # nothing of entry 1 was committed
        await follow(broker, 2, replica)
        replica.committer.commit()
        assert replica.index.count_objects("c", "b") == 100
        assert replica.index.verify() == []
        await replica.close()

    run(test())


def test_a_batch_is_applied_whole_or_not_at_all(tmp_path: Path) -> None:
    async def test() -> None:
        broker = MemoryBroker()
        broker.logs[0] += [entry(1, pushed("o1", "apple")), entry(2, pushed("o2", "apple"), b"\x63 no record")]
        replica = replica_in(tmp_path)
        await follow_until_stopped(broker, replica)
        assert replica.is_broken
        assert "uses 'records of kind 99'" in str(replica.fault)
        assert replica.index.objects("c", "b") == ["o1"]
        with pytest.raises(StoreError, match="does not come"):
            await replica.wait_for(2, 1)
        await replica.close()

    run(test())


def test_replicas_of_one_log_are_the_same_whatever_the_cuts(tmp_path: Path) -> None:
    async def test() -> None:
        broker = MemoryBroker()
        texts = ["red apple pie", "green pear", "apple juice", "pear cake"]
        for number in range(1, 41):
            record = pushed(f"o{number % 7}", texts[number % 4], f"b{number % 3}")
            broker.logs[0].append(entry(number, record, popped("o1", "apple")))
        whole, cut = replica_in(tmp_path / "whole"), replica_in(tmp_path / "cut")
        await follow(broker, 40, whole)
        for position in (3, 4, 17, 40):
            await follow(broker, position, cut)
            await cut.close()
            cut = replica_in(tmp_path / "cut")
        assert cut.index.progress == whole.index.progress
        assert list(cut.index.holdings()) == list(whole.index.holdings())
        await whole.close()
        await cut.close()

    run(test())


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ("epoch", "have lost their data"),
        ("shorter", "have lost their newest data"),
        ("trimmed", "begins at 4"),
    ],
)
def test_a_replica_refuses_a_log_that_is_not_its_own(tmp_path: Path, change: str, says: str) -> None:
    async def test() -> None:
        broker = MemoryBroker()
        broker.logs[0] += [entry(1, pushed("o1", "apple")), entry(2, pushed("o2", "apple"))]
        replica = replica_in(tmp_path)
        await follow(broker, 2, replica)
        await replica.close()
        if change == "epoch":
            broker.name = "second"
        elif change == "shorter":
            del broker.logs[0][1]
        else:
            broker.logs[0] += [entry(3, pushed("o3", "apple")), entry(4, pushed("o4", "apple"))]
            await broker.trim(0, 3)
        replica = replica_in(tmp_path)
        await follow_until_stopped(broker, replica)
        assert says in str(replica.fault)
        await replica.close()

    run(test())


def test_a_folder_of_a_replica_opens_as_an_ordinary_index(tmp_path: Path) -> None:
    async def test() -> None:
        broker = MemoryBroker()
        broker.logs[0] += [entry(1, pushed("o1", "apple"))]
        replica = replica_in(tmp_path)
        await follow(broker, 1, replica)
        await replica.close()

    run(test())
    with Index(tmp_path) as index:
        assert index.query_ids("c", "b", "apple") == ["o1"]
        index.push("c", "b", "o2", "pear")
    with pytest.raises(StoreError, match="was changed outside of it"):
        ReplicaIndex(tmp_path, RECORDER)


def test_an_ordinary_index_is_no_replica(tmp_path: Path) -> None:
    with Index(tmp_path) as index:
        index.push("c", "b", "o1", "apple")
    with pytest.raises(StoreError, match="is no replica"):
        ReplicaIndex(tmp_path, RECORDER)


def test_a_replica_changes_by_the_log_alone(tmp_path: Path) -> None:
    index = ReplicaIndex(tmp_path, RECORDER)
    index.push("c", "b", "o1", "apple")
    with pytest.raises(StoreError, match="by the cluster's log alone"):
        index.engine.store.seal()
    assert index.objects("c", "b") == []
    index.close()


def test_a_record_that_no_broker_takes_is_refused() -> None:
    text = " ".join(f"word{number:06d}" for number in range(120_000))
    with pytest.raises(InvalidArgument, match="split the text"):
        RECORDER.push("c", "b", "o1", text, "eng")


def test_a_late_entry_is_asked_for_again(tmp_path: Path) -> None:
    async def test() -> None:
        noted = Noted()
        replica = replica_in(tmp_path, noted)
        with pytest.raises(StoreError, match="does not come"):
            await replica.wait_for(1, 0.7)
        assert set(noted.late) == {0}
        await replica.close()

    run(test())


class SlowBroker(MemoryBroker):
    """A broker whose first reading brings nothing, and whose others bring entries after `begins_s` seconds."""

    begins_s = 0.0
    readings = 0

    async def read(self, log: int, position: int, end: asyncio.Event) -> AsyncIterator[tuple[int, bytes]]:
        self.readings += 1
        if self.readings == 1:
            await end.wait()
            return
        await asyncio.sleep(self.begins_s)
        async for found in super().read(log, position, end):
            yield found


@pytest.mark.full
@pytest.mark.parametrize("begins_s", [0.03, 0.8])
def test_many_reads_that_wait_let_a_reading_of_the_log_go_on(tmp_path: Path, begins_s: float) -> None:
    async def test() -> None:
        broker = SlowBroker()
        broker.begins_s = begins_s
        broker.logs[0].append(entry(1, pushed("o1", "apple")))
        follower = LogFollower(0, broker)
        replica = Replica(
            0, ReplicaIndex(tmp_path, RECORDER), RECORDER.config, ServerStatistics(), Noted(),
            late=lambda _: follower.note_late(),
        )  # fmt: skip
        follower.follow(replica)
        following = asyncio.create_task(follower.run())
        waiting = []
        while not replica.applied and len(waiting) < 400:  # without an end, none of them would be answered
            waiting.append(asyncio.create_task(replica.wait_for(1, WAIT_S)))
            await asyncio.sleep(0.01)
        assert replica.applied == 1
        assert broker.readings <= 3
        await asyncio.gather(*waiting)
        await end([following])
        await replica.close()

    run(test())


def test_no_file_of_a_log_is_written(tmp_path: Path) -> None:
    store = ReplicaStore(tmp_path, RECORDER.analyzer(), map_bytes=1 << 30)
    store.close()
    assert not (tmp_path / "log").exists()


def test_an_unforeseen_error_stops_the_replica(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def test() -> None:
        broker = MemoryBroker()
        broker.logs[0].append(entry(1, pushed("o1", "apple")))
        replica = replica_in(tmp_path)
        monkeypatch.setattr(replica.index, "apply_batch", lambda records, progress: 1 / 0)
        await follow_until_stopped(broker, replica)
        assert replica.fault == "an unexpected error: ZeroDivisionError"
        monkeypatch.undo()
        await replica.close()

    run(test())


def test_a_replica_begins_with_a_backup(tmp_path: Path) -> None:
    async def test() -> None:
        broker = MemoryBroker()
        broker.logs[0] += [entry(number, pushed(f"o{number}", "apple")) for number in range(1, 6)]
        replica = replica_in(tmp_path / "old")
        await follow(broker, 5, replica)
        replica.committer.commit()
        replica.index.engine.store.backup(tmp_path / "backup")
        assert progress_of_backup(tmp_path / "backup") == replica.index.progress
        await replica.close()
        await broker.trim(0, 5)
        install_backup(tmp_path / "backup", tmp_path / "new")
        broker.logs[0].append(entry(6, pushed("o6", "apple")))
        replica = replica_in(tmp_path / "new")
        await follow(broker, 6, replica)
        assert replica.index.count_objects("c", "b") == 6
        assert replica.index.verify() == []
        await replica.close()

    run(test())


def test_a_backup_of_an_ordinary_index_is_no_snapshot(tmp_path: Path) -> None:
    with Index(tmp_path / "index") as index:
        index.push("c", "b", "o1", "apple")
        index.backup(tmp_path / "backup")
    with pytest.raises(StoreError, match="is not one of a replica"):
        progress_of_backup(tmp_path / "backup")


def test_partitions_of_one_log_share_it(tmp_path: Path) -> None:
    async def test() -> None:
        broker = MemoryBroker()
        both = {0: pack_records([pushed("o1", "apple")]), 2: pack_records([pushed("o2", "apple")])}
        broker.logs[0] += [
            pack_batch(Batch("n1", 1, 1, both)),
            entry(2, pushed("o3", "apple"), partition=2),
            entry(3, pushed("o4", "apple"), partition=1),  # of another node
        ]
        first, second = replica_in(tmp_path / "0"), replica_in(tmp_path / "2", partition=2)
        await follow(broker, 3, first, second)
        assert (first.applied, second.applied) == (3, 3)
        assert first.index.objects("c", "b") == ["o1"]
        assert second.index.objects("c", "b") == ["o2", "o3"]
        assert (first.index.progress.position, second.index.progress.position) == (1, 2)
        await first.close()
        await second.close()
        first = replica_in(tmp_path / "0")
        assert first.applied == 3  # so it does not read again what was of others
        await first.close()

    run(test())


def test_a_replica_that_joins_is_given_what_the_others_have_passed(tmp_path: Path) -> None:
    async def test() -> None:
        broker = MemoryBroker()
        for number in range(1, 11):
            broker.logs[0].append(entry(number, pushed(f"o{number}", "apple"), partition=number % 2))
        first, second = replica_in(tmp_path / "0"), replica_in(tmp_path / "1", partition=1)
        follower = LogFollower(0, broker)
        task = asyncio.create_task(follower.run())
        follower.follow(first)
        await first.wait_for(10, WAIT_S)
        broker.logs[0].append(entry(11, pushed("o11", "apple"), partition=1))  # which the reading under way gets first
        follower.follow(second)
        await second.wait_for(11, WAIT_S)
        assert second.index.objects("c", "b")[0] == "o1"
        assert first.index.count_objects("c", "b") == 5
        assert second.index.count_objects("c", "b") == 6
        follower.leave(first)
        await broker.append(0, entry(12, pushed("o12", "apple")), "12")
        await second.wait_for(12, WAIT_S)
        assert first.applied == 11
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await first.close()
        await second.close()

    run(test())


def test_a_replica_that_stops_does_not_stop_the_others(tmp_path: Path) -> None:
    async def test() -> None:
        broker = MemoryBroker()
        broker.logs[0] += [entry(1, b"\x63 no record"), entry(1, pushed("o1", "apple"), partition=1)]
        broken, whole = replica_in(tmp_path / "0"), replica_in(tmp_path / "1", partition=1)
        follower = LogFollower(0, broker)
        follower.follow(broken)
        follower.follow(whole)
        task = asyncio.create_task(follower.run())
        await whole.wait_for(2, WAIT_S)
        assert broken.is_broken
        assert (whole.fault, whole.index.objects("c", "b")) == (None, ["o1"])
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await broken.close()
        await whole.close()

    run(test())


def test_a_full_disk_only_delays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def test() -> None:
        broker = MemoryBroker()
        broker.logs[0] += [entry(1, pushed("o1", "apple")), entry(2, pushed("o2", "apple"))]
        replica = replica_in(tmp_path)
        apply, failed = replica.index.apply_batch, []

        def full_once(records: Sequence[bytes], progress: LogProgress) -> list[int]:
            if not failed:
                failed.append(progress.position)
                raise StoreFull("the disk is full")
            return apply(records, progress)

        monkeypatch.setattr(replica.index, "apply_batch", full_once)
        monkeypatch.setattr(follower_module, "TRY_AGAIN_S", 0.01)
        await follow(broker, 2, replica)
        assert (failed, replica.is_broken) == ([2], False)  # both entries were to be applied together
        assert replica.index.count_objects("c", "b") == 2
        monkeypatch.undo()
        await replica.close()

    run(test())


def test_a_full_disk_holds_up_only_replicas_that_lack_an_entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def test() -> None:
        monkeypatch.setattr(follower_module, "TRY_AGAIN_S", 0.01)
        broker = MemoryBroker()
        replicas = [replica_in(tmp_path / str(number), partition=number) for number in range(3)]
        ahead, full, behind = replicas
        follower = LogFollower(0, broker)
        for replica in replicas:
            follower.follow(replica)
        task = asyncio.create_task(follower.run())
        while any(replica.fault is not None for replica in replicas):
            await asyncio.sleep(0.001)
        with monkeypatch.context() as filled:

            def refuse(records: Sequence[bytes], progress: LogProgress) -> list[int]:
                raise StoreFull("the disk is full")

            filled.setattr(full.index, "apply_batch", refuse)
            await broker.append(0, entry(1, pushed("o1", "apple"), partition=1), "1")
            while behind.held_up is None:
                await asyncio.sleep(0.001)
            assert [replica.held_up for replica in replicas] == [None, "the disk is full", "the disk is full"]
            assert ahead.applied == 1
        await behind.wait_for(1, WAIT_S)
        assert [replica.held_up for replica in replicas] == [None] * 3
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        for replica in replicas:
            await replica.close()

    run(test())


def test_a_replica_that_comes_while_the_log_is_read_lacks_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def test() -> None:
        monkeypatch.setattr(follower_module, "APPLY_S", -1.0)  # others have a turn after each entry
        monkeypatch.setattr(replica_module, "TOGETHER_BYTES", 0)
        broker = MemoryBroker()
        broker.logs[0] += [entry(number, pushed(f"o{number}", "apple")) for number in range(1, 7)]
        first, second = replica_in(tmp_path / "first"), replica_in(tmp_path / "second")
        follower = LogFollower(0, broker)
        follower.follow(first)
        task = asyncio.create_task(follower.run())
        while first.applied < 3:
            await asyncio.sleep(0)
        assert first.applied < 6
        follower.follow(second)
        await first.wait_for(6, WAIT_S)
        await second.wait_for(6, WAIT_S)
        assert second.index.objects("c", "b") == first.index.objects("c", "b")
        assert second.index.progress == first.index.progress
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await first.close()
        await second.close()

    run(test())


def test_a_replica_that_is_closed_leaves_no_commit_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def test() -> None:
        monkeypatch.setattr(replica_module, "COMMIT_AFTER_S", 0.05)
        replica = replica_in(tmp_path)
        replica.begin(Epoch("first", 1, 1))
        replica.take(1, unpack_batch(entry(1, pushed("o1", "alpha"))))
        assert replica.committer.commits_later
        await replica.close()
        await asyncio.sleep(0.15)

    run(test())
    assert caplog.records == []


def log_of(count: int) -> list[bytes]:
    return [entry(number, pushed(f"o{number % 40}", f"apple word{number}")) for number in range(1, count + 1)]


def counted(monkeypatch: pytest.MonkeyPatch, replica: Replica) -> list[int]:
    """Return a list that gets the number of records of each call of `apply_batch`."""
    calls: list[int] = []
    apply_batch = replica.index.apply_batch

    def count(records: Sequence[bytes], progress: LogProgress) -> list[int]:
        calls.append(len(records))
        return apply_batch(records, progress)

    monkeypatch.setattr(replica.index, "apply_batch", count)
    return calls


def test_a_replica_that_catches_up_applies_entries_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def test() -> None:
        broker, noted = MemoryBroker(), Noted()
        broker.logs[0] += log_of(500)
        replica, alone = replica_in(tmp_path / "together", noted), replica_in(tmp_path / "alone")
        calls = counted(monkeypatch, replica)
        await follow(broker, 500, replica)
        assert sum(calls) == 500
        assert len(calls) < 50
        assert noted.answers == [("n1", 1, number, [0]) for number in range(1, 501)]
        broker.logs[0].append(entry(501, pushed("live", "apple"), popped("o1", "apple")))
        await follow(broker, 501, replica)
        assert calls[-1] == 2
        assert noted.answers[-1] == ("n1", 1, 501, [0, 1])
        monkeypatch.setattr(replica_module, "TOGETHER_BYTES", 0)
        await follow(broker, 501, alone)
        assert alone.index.progress == replica.index.progress
        assert list(alone.index.holdings()) == list(replica.index.holdings())
        await replica.close()
        await alone.close()

    run(test())


def test_what_was_taken_and_not_applied_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def test() -> None:
        replica, batches = replica_in(tmp_path), [unpack_batch(packed) for packed in log_of(6)]
        replica.begin(Epoch("first", 1, 6))
        for position in (1, 2, 3):
            replica.take(position, batches[position - 1])
        assert replica.applied == 0  # none of them was applied
        replica.begin(Epoch("first", 1, 6))  # the reading ended, and begins behind `applied`
        apply_batch, failures = replica.index.apply_batch, [StoreFull("the disk is full")]
        monkeypatch.setattr(
            replica.index, "apply_batch", lambda *given: fail(failures) if failures else apply_batch(*given)
        )
        for position in (1, 2, 3, 4, 5):
            replica.take(position, batches[position - 1])
        with pytest.raises(StoreFull):
            replica.take(6, batches[5])
        assert replica.applied == 0
        assert not replica.is_broken
        replica.begin(Epoch("first", 1, 6))
        for position in range(1, 7):
            replica.take(position, batches[position - 1])
        assert replica.applied == 6
        assert replica.fault is None
        assert replica.index.progress.writers == {"n1": (1, 6)}
        assert replica.index.count_objects("c", "b") == 6
        await replica.close()

    def fail(failures: list[StoreFull]) -> list[int]:
        raise failures.pop()

    run(test())


def test_what_is_before_a_damaged_entry_is_applied(tmp_path: Path) -> None:
    async def test() -> None:
        broker = MemoryBroker()
        broker.logs[0] += [*log_of(5), pack_batch(Batch("n1", 1, 6, {0: b"\1\0"})), *log_of(9)[6:]]
        replica = replica_in(tmp_path)
        await follow_until_stopped(broker, replica)
        assert "cut off" in str(replica.fault) or "cannot be read" in str(replica.fault)
        assert replica.applied == replica.index.progress.position == 5
        assert replica.index.count_objects("c", "b") == 5
        await replica.close()

    run(test())
