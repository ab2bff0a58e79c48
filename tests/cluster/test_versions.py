"""Nodes of two versions of sonicpy in one cluster: the formats that they read and write, and their changes."""

import asyncio
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from sonicpy._native.records import pack_terms
from sonicpy._native.terms import Terms
from sonicpy.cluster.log.agreement import FIRST, Agreement
from sonicpy.cluster.log.batches import Batch, pack_records
from sonicpy.cluster.log.versions import FORMATS, LISTED, check_agreement, pack_entry, unpack_entry
from sonicpy.cluster.log.writer import LogWriter
from sonicpy.errors import ConfigError, InvalidArgument, StoreDamaged, StoreError
from sonicpy.index.ingest.exported import change_of_facts
from sonicpy.store.changing.mutations import ChangeFields, pack_mutation
from sonicpy.store.fields.all_fields import TERMS
from sonicpy.store.fields.field import FieldMode
from tests.cluster.judge import COLLECTION, Channel, Load
from tests.cluster.memory import MemoryBroker
from tests.cluster.next_version import NEXT, NEXT_FORMAT
from tests.cluster.test_replica import follow, follow_until_stopped, pushed, replica_in, run

pytest.importorskip("nats", reason="needs nats-py: pip install nats-py")

from sonicpy.cluster.log.jetstream import JetStream, connect  # noqa: E402
from sonicpy.cluster.operator.dev import HOST, DevCluster, free_ports  # noqa: E402
from sonicpy.cluster.registry.partitions import partition_of  # noqa: E402
from sonicpy.cluster.registry.registry import Layout  # noqa: E402
from sonicpy.cluster.registry.upgrade import decide, upgrade  # noqa: E402
from tests.cluster.clusters import check, running  # noqa: E402
from tests.support.patience import WAIT_S

LAYOUT = Layout(2, 2, ("n1", "n2", "n3"))


@pytest.fixture
def next_version(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Make this process the next version, until the patch is undone."""
    monkeypatch.setitem(FORMATS, NEXT, NEXT_FORMAT)
    return monkeypatch


def batch(number: int) -> Batch:
    return Batch("n1", 1, number, {0: pack_records([pushed(f"o{number}", "apple")])})


def test_an_entry_begins_with_its_version(next_version: pytest.MonkeyPatch) -> None:
    for version in FORMATS:
        packed = pack_entry(batch(1), version)
        assert packed[0] == version
        assert unpack_entry(packed) == batch(1)


@pytest.mark.parametrize(("packed", "says"), [(bytes([NEXT]) + b"x", str(NEXT)), (b"", "none"), (b"\xff", "255")])
def test_an_unknown_version_is_named(packed: bytes, says: str) -> None:
    with pytest.raises(StoreDamaged, match=f"has version {says}; this sonicpy reads 1, 2$"):
        unpack_entry(packed)


def test_a_node_goes_on_from_one_version_to_the_next(tmp_path: Path, next_version: pytest.MonkeyPatch) -> None:
    """The log of an upgrade has entries of the old version, then of both versions in any order, then of the next
    version.
    """

    async def test() -> None:
        broker = MemoryBroker()
        broker.logs[0] += [pack_entry(batch(number), FIRST) for number in (1, 2)]
        broker.logs[0] += [pack_entry(batch(3), NEXT), pack_entry(batch(4), FIRST), pack_entry(batch(5), NEXT)]
        replica = replica_in(tmp_path / "next")
        await follow(broker, 5, replica)
        assert replica.index.objects("c", "b") == ["o1", "o2", "o3", "o4", "o5"]
        await replica.close()

    run(test())


def test_a_node_of_the_old_version_stops_and_goes_on_as_the_next(
    tmp_path: Path, next_version: pytest.MonkeyPatch
) -> None:
    """The replica keeps the entries that it can read, does not answer, and is complete under the next version."""
    broker = MemoryBroker()

    async def old() -> None:
        broker.logs[0] += [pack_entry(batch(1), FIRST), pack_entry(batch(2), NEXT), pack_entry(batch(3), FIRST)]
        next_version.undo()
        replica = replica_in(tmp_path)
        await follow_until_stopped(broker, replica)
        assert replica.is_broken
        assert replica.fault == f"an entry of the cluster's log has version {NEXT}; this sonicpy reads 1, 2"
        assert replica.index.objects("c", "b") == ["o1"]
        await replica.close()

    async def new() -> None:
        next_version.setitem(FORMATS, NEXT, NEXT_FORMAT)
        replica = replica_in(tmp_path)
        await follow(broker, 3, replica)
        assert replica.index.objects("c", "b") == ["o1", "o2", "o3"]
        assert replica.index.verify() == []
        await replica.close()

    run(old())
    run(new())


def test_a_writer_changes_its_version_between_two_batches(next_version: pytest.MonkeyPatch) -> None:
    async def test() -> None:
        broker = MemoryBroker()
        writer = LogWriter(broker, 0, "n1", 1, lambda batch, position: None)
        broker.gate.clear()
        first = writer.add(0, pushed("o1", "apple"))
        await asyncio.sleep(0.01)
        writer.agreed = Agreement(NEXT)  # the first batch is under way, and stays what it is
        broker.unanswered = 1
        broker.gate.set()
        await first.done
        await writer.add(0, pushed("o2", "apple")).done
        assert [packed[0] for packed in broker.logs[0]] == [FIRST, FIRST, NEXT]
        assert broker.logs[0][0] == broker.logs[0][1]
        assert [unpack_entry(packed).number for packed in broker.logs[0]] == [1, 1, 2]

    run(test())


def test_nodes_write_what_all_of_them_read() -> None:
    old, new = {"entries": [1]}, {"entries": [1, 2], "uses": ["facts", "fields"]}
    more = {"entries": [1, 2], "uses": ["colours", "facts", "fields"]}
    known = frozenset({"facts", "fields"})
    assert decide(Agreement(1), LAYOUT, {"n1": new, "n2": more, "n3": new, "n9": old}).after == Agreement(2, known)
    decided = decide(Agreement(1), LAYOUT, {"n1": new, "n2": old, "n3": {}})
    assert (decided.after, decided.last) == (Agreement(1), ("n2", "n3"))
    assert decide(Agreement(2), LAYOUT, {"n1": new, "n2": old, "n3": new}).after == Agreement(2)  # it never goes back
    agreed = Agreement(2, frozenset({"facts", "colours"}))
    assert decide(agreed, LAYOUT, {"n1": new, "n2": new, "n3": more}).after == Agreement(2, agreed.names | known)
    assert decide(Agreement(2, known), LAYOUT, dict.fromkeys(LAYOUT.nodes, more)).after.names == {*known, "colours"}
    with pytest.raises(StoreError, match="n2 and n3 did not answer"):
        decide(Agreement(1), LAYOUT, {"n1": new})


def test_a_node_that_reads_less_does_not_start() -> None:
    check_agreement(Agreement())
    check_agreement(Agreement(LISTED, frozenset({"facts"})))
    with pytest.raises(ConfigError, match=f"write entries of version {NEXT}; this sonicpy reads 1, 2: install"):
        check_agreement(Agreement(NEXT))
    with pytest.raises(ConfigError, match="the nodes of this cluster use 'colours', unknown to this sonicpy: install"):
        check_agreement(Agreement(LISTED, frozenset({"facts", "colours"})))


# -- the list of version 2 ---------------------------------------------------------------------------------------------

FACTS = pack_mutation(change_of_facts("c", "b", {3: b"fact"}))
REPLACED = pack_mutation(
    ChangeFields("c", "b", "o1", FieldMode.REPLACE, ((TERMS.id, pack_terms(Terms([b"pear"], b"\1", b"\0"))),))
)


def test_an_entry_lists_what_its_records_use() -> None:
    listed = Batch("n1", 1, 7, {0: pack_records([FACTS])}, frozenset({"facts", "fields"}))
    packed = pack_entry(listed, LISTED)
    assert packed.startswith(b"\2\2\5facts\6fields\2n1")
    assert unpack_entry(packed) == listed
    for size in range(1, packed.index(b"n1") + 2):
        with pytest.raises(StoreDamaged, match="cannot be read"):
            unpack_entry(packed[:size])


def test_an_entry_that_uses_something_unknown_is_refused(tmp_path: Path) -> None:
    """The replica stops with all entries before the unknown one applied, and its error names the unknown feature."""

    async def test() -> None:
        broker = MemoryBroker()
        strange = Batch("n1", 1, 2, {0: pack_records([pushed("o2", "apple")])}, frozenset({"colours"}))
        broker.logs[0] += [pack_entry(batch(1), LISTED), pack_entry(strange, LISTED)]
        replica = replica_in(tmp_path)
        await follow_until_stopped(broker, replica)
        assert str(replica.fault).startswith("an entry of the cluster's log uses 'colours', unknown to this sonicpy: ")
        assert replica.index.objects("c", "b") == ["o1"]
        await replica.close()

    run(test())


def test_a_new_change_is_refused_until_the_cluster_is_upgraded(tmp_path: Path) -> None:
    async def test() -> None:
        broker = MemoryBroker()
        writer = LogWriter(broker, 0, "n1", 1, lambda batch, position: None)
        sentence = "^this change uses 'facts' and 'fields', which .* only after sonicpy cluster upgrade$"
        for agreed in (Agreement(), Agreement(FIRST, frozenset({"facts", "fields"}))):
            writer.agreed = agreed
            with pytest.raises(InvalidArgument, match=sentence):
                writer.add(0, FACTS)
        writer.agreed = Agreement(LISTED, frozenset({"fields"}))
        with pytest.raises(InvalidArgument, match="^this change uses 'facts', which"):
            writer.add(0, FACTS)
        assert writer.is_idle
        await writer.add(0, pushed("o1", "apple")).done
        writer.agreed = Agreement(LISTED, frozenset({"facts", "fields"}))
        await writer.add(0, FACTS).done
        await writer.add(0, REPLACED).done
        uses = [unpack_entry(packed).uses for packed in broker.logs[0]]
        assert uses == [frozenset(), {"facts", "fields"}, {"fields"}]
        replica = replica_in(tmp_path)
        await follow(broker, 3, replica)
        assert replica.index.query_ids("c", "b", "pear") == ["o1"]
        assert replica.index.query_ids("c", "b", "apple") == []
        with replica.index.maintainer.engine.read() as view:
            state = view.bucket("c", "b")
            assert state is not None
            assert view.facts(state.bucket) == {3: b"fact"}
        assert replica.index.verify() == []
        await replica.close()

    run(test())


# -- processes ---------------------------------------------------------------------------------------------------------


class MixedCluster(DevCluster):
    """A cluster in which the nodes in `upgraded` run the next version."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, partitions=4, copies=3)
        self.upgraded: set[str] = set()

    def _run(self, command: list[str], log: Path) -> "subprocess.Popen[bytes]":
        if log.parent.name in self.upgraded:
            command = [sys.executable, "-m", "tests.cluster.next_version", *command[command.index("serve") :]]
        return super()._run(command, log)


@pytest.fixture
def mixed(tmp_path: Path) -> Iterator[MixedCluster]:
    with running(MixedCluster(tmp_path / "cluster")) as cluster:
        yield cluster


async def versions_in_log(cluster: DevCluster, partition: int) -> list[int]:
    """Return the first byte, the version, of each entry of a partition's log."""
    connection = await connect(cluster.addresses, "test")
    try:
        log, found = JetStream(connection), []
        number = cluster.layout.log_of(partition)
        last = (await log.epoch(number)).last
        async for position, packed in log.read(number, 0, asyncio.Event()):
            found.append(packed[0])
            if position == last:
                break
        return found
    finally:
        await connection.close()


@pytest.mark.full
def test_nodes_are_upgraded_one_by_one_under_load(mixed: MixedCluster, tmp_path: Path) -> None:
    with Load(list(mixed.node_ports.values())) as load:
        load.wait_for(200)
        for name in mixed.layout.nodes:
            decided = upgrade(mixed.addresses)
            assert decided.after.version == LISTED
            assert name in decided.last
            mixed.nodes[name].terminate()
            assert mixed.nodes[name].wait(WAIT_S) == 0
            with pytest.raises(StoreError, match=f"{name} did not answer"):
                upgrade(mixed.addresses)
            mixed.upgraded.add(name)
            mixed.start_node(name)
            mixed.wait_until_ready(time.monotonic() + WAIT_S)
            load.wait_for(200)
        partition = partition_of(COLLECTION, load.writers[0].bucket, mixed.layout.partitions)
        assert set(asyncio.run(versions_in_log(mixed, partition))) == {FIRST, LISTED}
        command = [sys.executable, "-m", "tests.cluster.next_version", "cluster", "upgrade"]
        done = subprocess.run([*command, "--cluster", mixed.addresses], capture_output=True, text=True, check=True)
        assert done.stdout == f"nodes write entries of version {NEXT} from now on, not {LISTED}\n"
        load.wait_for(400)
        versions = asyncio.run(versions_in_log(mixed, partition))
        assert versions[0] == FIRST
        assert set(versions[-10:]) == {NEXT}
        mixed.nodes["n2"].terminate()
        mixed.nodes["n2"].wait()
        old = subprocess.run(
            [
                *(sys.executable, "-m", "sonicpy", "serve", "--cluster", mixed.addresses, "--node", "n2"),
                *("--inet", f"{HOST}:{free_ports(1)[0]}", "--data", str(tmp_path / "old")),
            ],
            capture_output=True,
            text=True,
            timeout=WAIT_S,
            check=False,
        )
        assert old.returncode == 2
        assert f"write entries of version {NEXT}; this sonicpy reads {FIRST}, {LISTED}: install" in old.stderr
        mixed.start_node("n2")
        mixed.wait_until_ready(time.monotonic() + WAIT_S)
    channel = Channel(mixed.node_ports["n2"])
    assert channel.ask(b"PING\n") == b"PONG"
    channel.close()
    check(mixed, load, tmp_path / "replay")
