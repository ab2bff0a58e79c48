"""The metrics and the readiness of a node: the progress of its replicas, and the waits of batches."""

import asyncio
from pathlib import Path

import pytest

from sonicpy.cluster.log import lag as module
from sonicpy.cluster.log.broker import Epoch, LogGone, Unacknowledged
from sonicpy.cluster.log.gaps import GAP_S, Gaps
from sonicpy.cluster.log.lag import LAG_MAX_S, SILENCE_MAX_S, Lag
from sonicpy.cluster.log.writer import LogWriter
from sonicpy.cluster.node.partition_figures import partition_figures
from sonicpy.server.web.metrics import labelled
from tests.cluster.memory import MemoryBroker
from tests.cluster.test_replica import entry, follow, pushed, replica_in, run
from tests.support.patience import until_in_loop

DOCUMENT = (Path(__file__).parents[2] / "docs/cluster-operations.md").read_text(encoding="utf-8")


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class FakeReplica:
    def __init__(self) -> None:
        self.applied = 0
        self.fault: str | None = None


class FakeBroker(MemoryBroker):
    """A broker that answers with the end of a log, or raises an error."""

    def __init__(self) -> None:
        super().__init__()
        self.last = 0
        self.error: Exception | None = None

    async def epoch(self, log: int) -> Epoch:
        if self.error is not None:
            raise self.error
        return Epoch(self.name, 1, self.last)


class Scene:
    """A replica, its log, and a clock."""

    def __init__(self) -> None:
        self.clock, self.broker, self.replica = Clock(), FakeBroker(), FakeReplica()
        self.lag = Lag(self.broker, {3: self.replica}, lambda partition: partition, self.clock)

    def look(self, *, after_s: float = 0.0, last: int | None = None) -> None:
        self.clock.now += after_s
        self.broker.last = self.broker.last if last is None else last
        asyncio.run(self.lag.look(3))


def test_a_replica_that_applies_what_was_seen_is_not_behind() -> None:
    scene = Scene()
    for last in (10, 20, 30):
        scene.look(after_s=3, last=last)
        assert scene.lag.behind(3) == 10
        scene.replica.applied = last
        scene.clock.now += 60
        assert (scene.lag.behind(3), scene.lag.behind_s(3)) == (0, 0.0)
    assert scene.lag.entries(3) == 30


def test_a_replica_is_behind_since_the_oldest_end_that_it_lacks() -> None:
    scene = Scene()
    scene.look(last=10)
    scene.look(after_s=3, last=20)
    scene.look(after_s=3, last=30)
    assert (scene.lag.behind(3), scene.lag.behind_s(3)) == (30, 6.0)
    scene.replica.applied = 10
    assert (scene.lag.behind(3), scene.lag.behind_s(3)) == (20, 3.0)
    scene.replica.applied = 29
    assert (scene.lag.behind(3), scene.lag.behind_s(3)) == (1, 0.0)


def test_a_replica_under_load_that_keeps_up_stays_ready() -> None:
    """At each sample some entries are missing, but never for long."""
    scene = Scene()
    for last in range(1000, 20_000, 1000):
        scene.look(after_s=3, last=last)
        scene.replica.applied = last - 10
        scene.clock.now += 0.1
        assert scene.lag.trouble(to_search=False) is None
        scene.replica.applied = last


def test_a_node_that_lags_is_not_ready() -> None:
    scene = Scene()
    scene.look(last=50)
    scene.clock.now += LAG_MAX_S
    scene.look(last=80)
    assert scene.lag.trouble(to_search=True) is None
    scene.clock.now += 1
    said = "partition 3 is 80 entries behind its log, for 11 s"
    assert scene.lag.trouble(to_search=True) == scene.lag.trouble(to_search=False) == said
    scene.replica.applied = 80
    assert scene.lag.trouble(to_search=False) is None


@pytest.mark.parametrize("name", ["second", "first"], ids=["made again", "lost its end"])
def test_a_replica_that_went_over_to_another_log_is_not_behind(name: str) -> None:
    scene = Scene()
    scene.look(last=1003)
    scene.replica.applied = 1000
    scene.broker.error = LogGone("the brokers have lost it")
    scene.look(after_s=3)
    scene.broker.error, scene.broker.name = None, name
    scene.replica.applied = 1  # sonicpy cluster recover
    scene.look(after_s=3, last=1)
    scene.clock.now += 600
    scene.look(last=2)
    assert (scene.lag.behind(3), scene.lag.behind_s(3), scene.lag.entries(3)) == (1, 0.0, 2)
    assert scene.lag.trouble(to_search=False) is None


def test_a_replica_that_is_fenced_is_not_ready() -> None:
    scene = Scene()
    scene.replica.fault = "it differs from n2 at position 7"
    said = "partition 3 does not answer here: it differs from n2 at position 7"
    assert scene.lag.trouble(to_search=True) == scene.lag.trouble(to_search=False) == said


def test_without_brokers_a_node_is_ready_to_search_alone() -> None:
    scene = Scene()
    scene.look(last=5)
    scene.replica.applied = 5
    scene.broker.error = Unacknowledged("no broker answers")
    scene.look(after_s=SILENCE_MAX_S + 2)
    assert scene.lag.trouble(to_search=True) is None
    assert scene.lag.trouble(to_search=False) == "no broker has answered for 12 s: changes are not acknowledged"
    scene.broker.error = LogGone("the brokers have no stream")  # that is an answer; the replica reports its meaning
    scene.look()
    assert scene.lag.trouble(to_search=False) is None


def test_a_node_without_replicas_looks_whether_brokers_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test() -> None:
        clock = Clock()
        lag = Lag(FakeBroker(), {}, lambda partition: partition, clock)
        clock.now += 100
        task = asyncio.create_task(lag.run())
        await until_in_loop(lambda: lag.silence_s == 0.0, "a broker has answered")
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    run(test())


def test_an_unexpected_error_does_not_end_the_requests(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(module, "LOOK_S", 0.01)

    async def test() -> None:
        broker = FakeBroker()
        broker.error, broker.last = KeyError("state"), 7
        lag = Lag(broker, {3: FakeReplica()}, lambda partition: partition)
        task = asyncio.create_task(lag.run())
        await until_in_loop(lambda: bool(caplog.records), "the node has told it")
        broker.error = None
        await until_in_loop(lambda: lag.behind(3) == 7, "the log is looked at again")
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    run(test())
    assert "an unexpected error while the states of the logs were requested: KeyError('state')" in caplog.text


def test_gaps_are_waits_that_are_too_long() -> None:
    clock = Clock()
    gaps = Gaps(clock)
    for waited in (0.001, GAP_S - 0.01, 4.5, 0.1, 6.5):
        with gaps.waiting():
            clock.now += waited / 2
            assert gaps.lasting_s == pytest.approx(waited / 2)
            clock.now += waited / 2
        assert gaps.lasting_s == 0.0
    assert (gaps.count, gaps.seconds) == (2, pytest.approx(11.0))


def test_the_metrics_of_a_partition(tmp_path: Path) -> None:
    async def test() -> None:
        broker = MemoryBroker(logs=2)
        broker.logs[0] += [entry(1, pushed("o1", "apple")), entry(2, pushed("o2", "apple"))]
        replica = replica_in(tmp_path)
        await follow(broker, 2, replica)
        broker.logs[0] += [entry(3, pushed("o3", "apple"))] * 5
        replica.fault = "it stopped"
        lag = Lag(broker, {0: replica}, lambda partition: partition)
        await lag.look(0)
        writers = [LogWriter(broker, number, "n1", 1, lambda batch, position: None) for number in range(2)]
        await writers[1].add(1, pushed("o1", "apple")).done
        broker.gate.clear()
        waiting = writers[1].add(1, pushed("o2", "apple"))
        await asyncio.sleep(GAP_S + 0.05)
        during = samples(replica, writers, lag)
        broker.gate.set()
        await waiting.done
        after = samples(replica, writers, lag)
        assert during["sonicpy_partition_position", "0"] == 2
        assert during["sonicpy_partition_lag_entries", "0"] == 5
        assert during["sonicpy_partition_lag_seconds", "0"] < 1
        assert during["sonicpy_partition_log_entries", "0"] == 7
        assert during["sonicpy_partition_faulty", "0"] == 1
        assert [during["sonicpy_log_batches_total", number] for number in ("0", "1")] == [0, 1]
        assert during["sonicpy_log_waiting_seconds", "1"] > GAP_S
        assert during["sonicpy_log_gap_seconds_count", "1"] == 0
        assert after["sonicpy_log_waiting_seconds", "1"] == 0
        assert after["sonicpy_log_gap_seconds_count", "1"] == 1
        assert GAP_S < after["sonicpy_log_gap_seconds_sum", "1"] < 5
        assert after["sonicpy_log_batches_total", "1"] == 2
        assert 0 <= after["sonicpy_brokers_silent_seconds", "n1"] < 5
        for name, _ in after:
            assert f"| `{name.removesuffix('_count').removesuffix('_sum')}` |" in DOCUMENT, name
        await replica.close()

    run(test())


def samples(replica: object, writers: list[LogWriter], lag: Lag) -> dict[tuple[str, str], float]:
    """Return the metrics by name and label, as Prometheus reads them."""
    figures = partition_figures("n1", {0: replica}, writers, lag)  # type: ignore[dict-item]
    return {
        (sample.name, next(iter(sample.labels.values()))): sample.value
        for family in map(labelled, figures)
        for sample in family.samples
    }


def lag_of(replicas: dict[int, FakeReplica]) -> tuple[Clock, FakeBroker, Lag]:
    """Return the lag of logs that hold one partition each, with clock and broker."""
    clock, broker = Clock(), FakeBroker()
    return clock, broker, Lag(broker, replicas, lambda partition: partition, clock)


def test_one_silent_log_of_several() -> None:
    clock, broker, lag = lag_of({3: FakeReplica(), 4: FakeReplica()})
    asyncio.run(lag.look(3))
    asyncio.run(lag.look(4))
    assert lag.longest_silence_s == 0
    broker.error = Unacknowledged("no leader")
    asyncio.run(lag.look(4))
    clock.now += 5
    asyncio.run(lag.look(4))
    broker.error = None
    asyncio.run(lag.look(3))
    assert (lag.longest_silence_s, lag.silence_s) == (5, 0)
    asyncio.run(lag.look(4))
    assert lag.longest_silence_s == 0


def test_logs_that_are_looked_at_seldom_are_not_silent() -> None:
    clock, broker, lag = lag_of({number: FakeReplica() for number in range(3)})
    for number in range(3):
        asyncio.run(lag.look(number))
        clock.now += 100
        assert lag.longest_silence_s == 0
    broker.error = Unacknowledged("no leader")
    asyncio.run(lag.look(0))
    assert lag.longest_silence_s == 0  # it counts from the question
    clock.now += 2
    assert lag.longest_silence_s == 2


def test_a_partition_that_comes_back_is_not_silent() -> None:
    replicas = {3: FakeReplica(), 4: FakeReplica()}
    clock, broker, lag = lag_of(replicas)
    broker.error = Unacknowledged("no leader")
    asyncio.run(lag.look(4))
    gone = replicas.pop(4)
    clock.now += 10
    assert lag.longest_silence_s == 0
    broker.error = None

    async def test() -> None:
        task = asyncio.create_task(lag.run())
        await asyncio.sleep(0.05)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    run(test())
    clock.now += 3600
    replicas[4] = gone
    assert lag.longest_silence_s == 0
    replicas.clear()  # as at a node that is drained, which never looked at log 0
    assert lag.longest_silence_s == 0
