"""The refusals of `sonicpy cluster recover`, given the answers of nodes."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("nats", reason="needs nats-py: pip install nats-py")

from sonicpy.cluster.log.batches import unpack_batch  # noqa: E402
from sonicpy.cluster.log.broker import Epoch  # noqa: E402
from sonicpy.cluster.node import moves  # noqa: E402
from sonicpy.cluster.node.replica import Replica  # noqa: E402
from sonicpy.cluster.operator import recover  # noqa: E402
from sonicpy.cluster.operator.recover import Wish, check_log, check_source, check_wish, left_out  # noqa: E402
from sonicpy.cluster.registry.orders import Order  # noqa: E402
from sonicpy.cluster.registry.registry import Layout  # noqa: E402
from sonicpy.errors import ConfigError, StoreError  # noqa: E402
from tests.cluster.memory import MemoryBroker  # noqa: E402
from tests.cluster.test_replica import entry, follow, pushed, replica_in  # noqa: E402

LAYOUT = Layout(2, 2, ("n1", "n2"))
LOGS = [Epoch("today", 1, 7)]


def answers(position: int, epoch: str) -> dict[str, Any]:
    replica = {"position": position, "epoch": epoch, "chain": "aa", "fault": None}
    return {"n1": {"replicas": {"0": {**replica, "position": 1, "epoch": ""}, "1": replica}}}


def test_a_replica_that_holds_what_the_brokers_lost_is_not_thrown_away() -> None:
    check_log(LAYOUT, LOGS, answers(7, "today"), [0, 1], "n1")
    for position, epoch in ((8, "today"), (3, "yesterday")):
        with pytest.raises(ConfigError, match="n1, whose partition 1 holds changes that the brokers have lost; "):
            check_log(LAYOUT, LOGS, answers(position, epoch), [0, 1], "n1")
        check_log(LAYOUT, LOGS, answers(position, epoch), [0], "n1")


def test_the_nodes_that_may_be_named_are_listed() -> None:
    with pytest.raises(ConfigError, match=r"--from is n2, which does not answer; allowed are n1\.$"):
        check_wish(LAYOUT, answers(7, "today"), Wish(source="n2"))
    with pytest.raises(ConfigError, match=r"--node is n2, which does not answer; no node does: start them\.$"):
        check_wish(LAYOUT, {}, Wish(node="n2"))


THREE = Layout(2, 2, ("n1", "n2", "n3"))
"""Each of two partitions has two of three nodes."""


def test_a_node_without_the_partition_is_refused() -> None:
    holders = THREE.holders(1)
    (other,) = {*THREE.nodes} - {*holders}
    opened = {name: {"replicas": {"0": held(7)} if name == holders[0] else {"1": held(7)}} for name in THREE.nodes}
    with pytest.raises(
        ConfigError, match=f"--node is {other}, which does not hold partition 1; allowed is one of {', '.join(holders)}"
    ):
        check_wish(THREE, opened, Wish(node=other, partition=1))
    with pytest.raises(ConfigError, match=f"--node is {holders[0]}, which has not opened partition 1 yet; allowed is"):
        check_wish(THREE, opened, Wish(source=holders[1], node=holders[0], partition=1))
    check_wish(THREE, opened, Wish(node=holders[1], partition=1))
    check_wish(THREE, opened, Wish(source=holders[1], partition=1))


def test_replicas_that_no_order_reached_are_named() -> None:
    layout = Layout(2, 3, ("n1", "n2", "n3"))
    answered = {"n1": {"replicas": {"0": held(7), "1": held(7)}}, "n2": {"replicas": {"1": held(7)}}}
    silent = [f"partition {number}: n3 is left out: the node does not answer" for number in range(2)]
    unopened = "partition 0: n2 is left out: the node has not opened it yet"
    assert {*left_out(layout, answered, [0, 1], Wish(source="n1"))} == {unopened, *silent}
    assert [*left_out(layout, answered, [0], Wish(source="n1", partition=0))].count(unopened) == 1
    assert [*left_out(layout, answered, [1], Wish(source="n1", node="n2"))] == [unopened]
    assert [*left_out(layout, answered, [1], Wish(node="n2"))] == [unopened]
    assert [*left_out(layout, answered, [1], Wish(source="n1", partition=1))] == silent[1:]
    assert [*left_out(layout, answered, [0, 1], Wish(node="n1"))] == []


def held(position: int, fault: str | None = None, epoch: str = "today", **more: Any) -> dict[str, Any]:
    return {"position": position, "epoch": epoch, "chain": "aa", "fault": fault, "stopped": fault is not None, **more}


LOST = "the log ends at 85"
LOG = Epoch("today", 1, 120)


def test_a_log_that_grew_again_does_not_hide_what_only_a_stopped_replica_has() -> None:
    replicas = {"n1": held(100, LOST, ahead=True), "n2": held(100, LOST, ahead=True), "n3": held(120)}
    with pytest.raises(
        ConfigError,
        match="n3, whose partition 0 follows the present log, but that of n. holds changes that the brokers have lost; "
        "allowed is n., or --anyway",
    ):
        check_source(replicas, LOG, 0, "n3")
    check_source(replicas, LOG, 0, "n1")
    answered = {name: {"replicas": {"0": replica}} for name, replica in replicas.items()}
    with pytest.raises(ConfigError, match="n1, whose partition 0 holds changes that the brokers have lost; "):
        check_log(Layout(1, 3, ("n1", "n2", "n3")), [LOG], answered, [0], "n1")


def test_of_two_replicas_that_hold_lost_changes_the_one_with_more_is_allowed() -> None:
    replicas = {"n1": held(130, LOST, ahead=True), "n2": held(125, LOST, ahead=True)}
    with pytest.raises(ConfigError, match="n2, whose partition 0 is at 125, but that of n1 is at 130; allowed is n1"):
        check_source(replicas, LOG, 0, "n2")
    check_source(replicas, LOG, 0, "n1")


def test_changes_that_the_log_has_no_more_are_not_given_up_silently() -> None:
    log = Epoch("today", 500, 600)
    replicas = {"n1": held(300, "the log begins at 500"), "n2": held(600)}
    with pytest.raises(
        ConfigError, match="at 300, but the log begins at 500; allowed are another node, --node n1, which"
    ):
        check_source(replicas, log, 0, "n1")
    check_source(replicas, log, 0, "n2")
    check_source({"n1": held(499, "it cannot be applied"), "n2": held(600)}, log, 0, "n1")


def test_a_recovery_that_was_interrupted_goes_on() -> None:
    """The source follows the present log already; the other replica still waits for its snapshot."""
    other = held(100, LOST, ahead=True)
    check_source({"n1": other, "n2": held(5, adopted=100)}, Epoch("today", 1, 5), 0, "n2")
    with pytest.raises(ConfigError, match="that of n1 holds changes that the brokers have lost"):
        check_source({"n1": other, "n2": held(120, adopted=99)}, LOG, 0, "n2")


def test_nodes_of_an_older_version_are_judged_by_what_they_tell() -> None:
    old = {"position": 130, "epoch": "today", "chain": "aa", "fault": LOST}
    with pytest.raises(ConfigError, match="that of n1 holds changes that the brokers have lost"):
        check_source({"n1": old, "n2": {**old, "position": 120, "fault": None}}, LOG, 0, "n2")
    check_source({"n1": {**old, "position": 90, "fault": "it has stopped"}, "n2": {**old, "fault": None}}, LOG, 0, "n2")


@pytest.mark.parametrize(
    ("source", "order"),
    [
        (held(100, LOST, ahead=True), "adopt"),
        (held(130, LOST), "adopt"),
        (held(5, "it has not caught up with the log", adopted=100, stopped=False), "snapshot"),
        (held(120), "snapshot"),
    ],
)
def test_only_a_replica_of_another_log_adopts_the_present_one(
    source: dict[str, Any], order: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[tuple[str, str]] = []

    async def give(connection: object, node: str, order: Order, **_: object) -> str:
        given.append((node, order.kind))
        return "7"

    monkeypatch.setattr(recover, "give_order", give)
    monkeypatch.setattr(recover, "give_watched_order", give)
    monkeypatch.setattr(recover, "tell_recovery", lambda *_: asyncio.sleep(0))
    answered = {"n1": {"replicas": {"0": source}}, "n2": {"replicas": {"0": held(90, "it has stopped")}}}
    wish = Wish(source="n1", anyway=True)
    asyncio.run(recover._recover_partition(None, Layout(1, 2, ("n1", "n2")), LOG, answered, 0, wish, print))  # type: ignore[arg-type]
    assert given == [("n1", order), ("n2", "reset")]


@pytest.mark.parametrize("wish", [Wish(source="n1", anyway=True), Wish(node="n2"), Wish(node="n2", anyway=True)])
def test_no_node_waits_for_changes_that_a_recovery_gave_up(wish: Wish, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[int] = []

    async def give(*_: object, **__: object) -> str:
        return "7"

    async def tell(connection: object, partition: int) -> None:
        told.append(partition)

    monkeypatch.setattr(recover, "give_order", give)
    monkeypatch.setattr(recover, "give_watched_order", give)
    monkeypatch.setattr(recover, "tell_recovery", tell)
    answered = {"n1": {"replicas": {"0": held(7)}}, "n2": {"replicas": {"0": held(130, LOST, ahead=True)}}}
    asyncio.run(recover._recover_partition(None, Layout(1, 2, ("n1", "n2")), LOG, answered, 0, wish, print))  # type: ignore[arg-type]
    assert told == [0]


# -- with replicas -----------------------------------------------------------------------------------------------------


def test_the_answer_of_a_replica_that_stopped_says_whether_it_holds_lost_changes(tmp_path: Path) -> None:
    async def test() -> None:
        broker = MemoryBroker()
        broker.logs[0] += [entry(number, pushed(f"o{number}", "apple")) for number in range(1, 6)]
        log = Epoch("first", 7, 12)
        for lost, is_refused in ((Epoch("first", 1, 3), True), (Epoch("second", 1, 9), True), (log, False)):
            replica = replica_in(tmp_path / f"{lost.name}{lost.last}")
            await follow(broker, 5, replica)
            replica.begin(lost)
            state = replica.state()
            assert state["fault"] is not None
            held_now = {"n1": state, "n2": held(12, epoch="first")}
            if is_refused:
                with pytest.raises(ConfigError, match="that of n1 holds changes that the brokers have lost"):
                    check_source(held_now, log, 0, "n2")
            else:
                check_source(held_now, log, 0, "n2")
            await replica.close()

    asyncio.run(test())


class Held:
    """The replicas and the writers of a node that holds one replica, behind whose log an entry is appended."""

    def __init__(self, replica: Replica, last: int) -> None:
        self.held = {replica.partition: replica}
        self.last = last

    async def barrier(self, partition: int) -> int:
        return self.last

    async def snapshot(self, partition: int) -> int:
        return self.held[partition].applied


def test_a_snapshot_waits_for_a_replica_that_reads_a_long_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(moves, "LOOK_S", 0.05)

    async def test() -> None:
        replica = replica_in(tmp_path)
        replica.begin(Epoch("first", 1, 8))

        async def read() -> None:
            for number in range(1, 9):
                await asyncio.sleep(0.05)
                replica.take(number, unpack_batch(entry(number, pushed(f"o{number}", "apple"), partition=1)))

        reading = asyncio.create_task(read())
        one = Held(replica, 8)
        mover = moves.Mover("n1", *[one] * 5)  # type: ignore[arg-type]
        waiting = asyncio.create_task(mover._carry_out(Order("snapshot", 0)))
        await asyncio.sleep(0)
        with pytest.raises(StoreError, match="it has not caught up with the log"):
            await mover._carry_out(Order("save", 0))
        assert not waiting.done(), "another order has waited for it"
        assert await waiting == 8
        await reading
        one.last = 9
        with pytest.raises(StoreError, match="partition 0 is at 8, and 9 does not come"):
            await mover._carry_out(Order("snapshot", 0))
        await replica.close()

    asyncio.run(test())
