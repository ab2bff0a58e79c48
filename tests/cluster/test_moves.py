"""Partitions that move while the cluster serves, replicas that are made anew, and the export and import of whole
clusters.
"""

import asyncio
import dataclasses
import json
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from sonicpy.cluster.registry.partitions import partition_of
from sonicpy.config import Config
from sonicpy.errors import ConfigError, StoreError
from sonicpy.index.index import Index
from tests.cluster.judge import COLLECTION, Load, contents, expected, held_by
from tests.processes import run_here

pytest.importorskip("nats", reason="needs nats-py: pip install nats-py")

from sonicpy.client.blocking.connect import connect as connect_client  # noqa: E402
from sonicpy.cluster.log.jetstream import connect, request  # noqa: E402
from sonicpy.cluster.node import moves  # noqa: E402
from sonicpy.cluster.node.snapshots import snapshot_all  # noqa: E402
from sonicpy.cluster.operator import transfer  # noqa: E402
from sonicpy.cluster.operator.dev import HOST, DevCluster, free_ports  # noqa: E402
from sonicpy.cluster.operator.recover import Wish, recover  # noqa: E402
from sonicpy.cluster.operator.setup import add, drain, make  # noqa: E402
from sonicpy.cluster.registry.registry import Layout  # noqa: E402
from sonicpy.cluster.registry.status import status  # noqa: E402
from sonicpy.cluster.registry.upgrade import upgrade  # noqa: E402
from tests.cluster.clusters import check, kill, make_again, running, settle  # noqa: E402
from tests.support.patience import WAIT_S, until

pytestmark = pytest.mark.full


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[DevCluster]:
    with running(DevCluster(tmp_path / "cluster", partitions=6, copies=2, logs=2)) as cluster:
        yield cluster


@pytest.fixture
def whole(tmp_path: Path) -> Iterator[DevCluster]:
    """A cluster in which every node holds everything."""
    with running(DevCluster(tmp_path / "cluster", partitions=6, copies=3, logs=2)) as cluster:
        yield cluster


def urls(cluster: DevCluster) -> list[str]:
    return [f"sonic://{HOST}:{port}" for port in cluster.node_ports.values()]


def held_partitions(cluster: DevCluster) -> dict[str, set[str]]:
    nodes = status(cluster.addresses).figures["nodes"]
    return {name: set(node["replicas"]) for name, node in nodes.items() if node is not None}


# -- moves -------------------------------------------------------------------------------------------------------------


def test_partitions_move_while_the_cluster_serves(cluster: DevCluster, tmp_path: Path) -> None:
    said: list[str] = []
    with Load(list(cluster.node_ports.values())) as load:
        load.wait_for(200)
        cluster.node_ports["n4"] = free_ports(1)[0]
        cluster.start_node("n4")
        before = held_partitions(cluster)
        layout = add(cluster.addresses, "n4")
        assert layout.former == ("n1", "n2", "n3")
        load.wait_for(100)
        layout = moves.rebalance(cluster.addresses, 60, said.append)
        wanted = {name: {str(number) for number in layout.of_node(name)} for name in layout.nodes}
        assert wanted["n4"]
        until(lambda: held_partitions(cluster) == wanted, "the former nodes let go")
        assert any(wanted[name] < before[name] for name in before)
        load.wait_for(100)
        drain(cluster.addresses, "n1")
        load.wait_for(50)
        layout = moves.rebalance(cluster.addresses, 60, said.append)
        until(lambda: held_partitions(cluster).get("n1") == set(), "n1 holds nothing")
        load.wait_for(100)
        assert status(cluster.addresses).is_whole
    check_init(cluster, layout)
    data = cluster.folder / "n1" / "data"
    until(lambda: all(path.name.endswith(".left") for path in data.iterdir()), "n1 put all aside")
    leaving = cluster.nodes.pop("n1")
    leaving.terminate()
    assert leaving.wait(WAIT_S) == 0
    judge_held(cluster, load, layout, tmp_path / "replay")


def check_init(cluster: DevCluster, layout: Layout) -> None:
    """Creating the cluster again with its first or its present names changes nothing; other names are refused."""
    for nodes in (cluster.layout.nodes, layout.nodes):
        assert asyncio.run(make(cluster.addresses, dataclasses.replace(cluster.layout, nodes=nodes))) == layout
    with pytest.raises(StoreError, match="a cluster on n2, n3, n4: sonicpy cluster add and drain change which nodes"):
        asyncio.run(make(cluster.addresses, dataclasses.replace(cluster.layout, nodes=("n1", "n2", "n9"))))
    with pytest.raises(StoreError, match="another layout .partitions: 6, logs: 2, copies: 2., and that stays so"):
        asyncio.run(make(cluster.addresses, dataclasses.replace(cluster.layout, logs=3)))


def test_three_nodes_become_five_and_three_again(cluster: DevCluster) -> None:
    buckets = [f"b{number}" for number in range(100)]
    with connect_client(urls(cluster)) as client:
        for bucket in buckets:
            client.push("c", bucket, "o1", "apple")
    for name in ("n4", "n5"):
        cluster.node_ports[name] = free_ports(1)[0]
        cluster.start_node(name)
    steps = [(add, "n4"), (add, "n5"), (drain, "n1"), (drain, "n2")]
    for change, name in steps:
        change(cluster.addresses, name)
        layout = moves.rebalance(cluster.addresses, 60, print)
        wanted = {node: {str(number) for number in layout.of_node(node)} for node in layout.nodes}
        until(
            lambda wanted=wanted: {n: held for n, held in held_partitions(cluster).items() if held} == wanted,
            "every node holds what it should",
        )
        assert status(cluster.addresses).is_whole
        counts = [len(held) for held in wanted.values()]
        assert max(counts) <= 1.3 * sum(counts) / len(counts) or max(counts) - min(counts) <= 1
        with connect_client(urls(cluster)) as client:
            assert all(client.query("c", bucket, "apple") == ["o1"] for bucket in buckets)
    assert layout.nodes == ("n3", "n4", "n5")


def test_a_client_of_several_nodes_goes_on_when_its_node_dies(cluster: DevCluster) -> None:
    with connect_client(urls(cluster)) as client:
        for number in range(30):
            client.push("c", f"b{number % 7}", f"o{number}", "apple")
        for victim in list(cluster.nodes):
            kill(cluster, victim)
            longest = 0.0
            for number in range(60):
                began = time.monotonic()
                client.push("c", f"b{number % 7}", f"o{number}", "apple pear")
                assert f"o{number}" in client.query("c", f"b{number % 7}", "apple", limit=100)
                longest = max(longest, time.monotonic() - began)
            print(f"{victim} killed: at most {longest:.3f} s for a PUSH and a QUERY")
            assert longest < 5
            cluster.start_node(victim)
            cluster.wait_until_ready(time.monotonic() + WAIT_S)


def test_a_folder_that_was_left_comes_back_or_goes(tmp_path: Path) -> None:
    folder = tmp_path / "0003"
    folder.mkdir()
    (folder / "x").touch()
    moves.leave(folder)
    moves.delete_left(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["0003.left"]
    moves.come_back(folder)
    assert [path.name for path in tmp_path.iterdir()] == ["0003"]
    moves.leave(folder)
    old = time.time() - moves.KEEP_S - 1
    os.utime(tmp_path / "0003.left", (old, old))
    moves.delete_left(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_rebalance_gives_up_in_time_and_loses_nothing(cluster: DevCluster) -> None:
    add(cluster.addresses, "n4")  # which is not started
    with pytest.raises(StoreError, match="not all replicas are ready"):
        moves.rebalance(cluster.addresses, 2, print)
    with connect_client(urls(cluster)) as client:
        for number in range(20):
            client.push("c", f"b{number}", "o1", "apple")
            assert client.query("c", f"b{number}", "apple") == ["o1"]
    drain(cluster.addresses, "n4")
    assert moves.rebalance(cluster.addresses, 20, print).nodes == ("n1", "n2", "n3")


# -- recovery ----------------------------------------------------------------------------------------------------------


async def delete_all(cluster: DevCluster) -> None:
    connection = await connect(cluster.addresses, "test")
    try:
        for number in range(cluster.layout.logs):
            await request(connection, f"STREAM.DELETE.sonicpy_{number}", {})
        await request(connection, "STREAM.DELETE.sonicpy_snapshots", {})
    finally:
        await connection.close()


def test_a_log_that_was_made_again_is_taken_over(whole: DevCluster, tmp_path: Path) -> None:
    with Load(list(whole.node_ports.values())) as load:
        load.wait_for(200)
        snapshot_all(whole.addresses)
        load.wait_for(100)
    settle(whole)
    number = whole.layout.log_of(partition_of(COLLECTION, load.writers[0].bucket, whole.layout.partitions))
    partitions = len(whole.layout.partitions_of(number))
    asyncio.run(make_again(whole, number))
    until(lambda: len(status(whole.addresses).figures["faults"]) == 3 * partitions, "all replicas have stopped")
    more = Load(list(whole.node_ports.values()), seed=2)
    for old, new in zip(load.writers, more.writers, strict=True):
        new.acknowledged = old.acknowledged
    with connect_client(urls(whole)) as client:  # acknowledged while no replica can apply it
        for writer in more.writers:
            client.push(COLLECTION, writer.bucket, "meanwhile", "word1 word2")
            writer.acknowledged.append(writer.acknowledged[0]._replace(
                verb="PUSH", object="meanwhile", text="word1 word2"))  # fmt: skip
    said: list[str] = []
    assert recover(whole.addresses, Wish(source="n2"), said.append) == partitions
    assert any("n2 is right" in line for line in said), said
    assert sum("starts again" in line for line in said) == 2 * partitions
    with more:
        more.wait_for(200)
    check(whole, more, tmp_path / "replay")


def test_all_streams_that_are_lost_are_made_anew(cluster: DevCluster, tmp_path: Path) -> None:
    with Load(list(cluster.node_ports.values())) as load:
        load.wait_for(200)
    settle(cluster)
    asyncio.run(delete_all(cluster))
    for source in ("n1", "n2", "n3"):
        recover(cluster.addresses, Wish(source=source), print)
    found = status(cluster.addresses).figures
    assert found["faults"] == []
    for url in urls(cluster):  # which do not wait for positions of the log that is lost
        with connect_client([url]) as client:
            for writer in load.writers:
                assert client.count_objects(COLLECTION, writer.bucket) > 0
    again = [path for path in (cluster.folder / "n1" / "data").iterdir() if path.name.isdigit()]
    kill(cluster, "n1")
    shutil.rmtree(again[0])  # begins with the snapshot: the log does not go back to the beginning
    cluster.start_node("n1")
    more = Load(list(cluster.node_ports.values()), seed=2)
    for old, new in zip(load.writers, more.writers, strict=True):
        new.acknowledged = old.acknowledged
    with more:
        more.wait_for(100)
    judge_held(cluster, more, cluster.layout, tmp_path / "replay")


def judge_held(cluster: DevCluster, load: Load, layout: Layout, replay: Path) -> None:
    """Compare the partitions of every node with the replay."""
    settle(cluster)
    cluster.stop()
    assert [answer for writer in load.writers for answer in writer.unexpected] == []
    wanted = expected((one for writer in load.writers for one in writer.acknowledged), replay)
    for name in layout.nodes:
        for left in (cluster.folder / name / "data").glob("*.left"):
            shutil.rmtree(left)
        mine = {
            scope: objects
            for scope, objects in wanted.items()
            if name in layout.holders(partition_of(*scope, layout.partitions))
        }
        assert held_by(cluster.folder / name / "data") == mine, name


def test_the_replicas_of_a_node_are_made_anew(cluster: DevCluster, tmp_path: Path) -> None:
    with Load(list(cluster.node_ports.values())) as load:
        load.wait_for(200)
        snapshot_all(cluster.addresses)
        load.wait_for(100)
        said: list[str] = []
        number = recover(cluster.addresses, Wish(node="n2"), said.append)
        assert number == len(cluster.layout.of_node("n2"))
        load.wait_for(100)
    judge_held(cluster, load, cluster.layout, tmp_path / "replay")


def test_what_cannot_be_recovered_is_refused(cluster: DevCluster) -> None:
    for wish, said in (
        (Wish(source="n9"), "n9, which does not answer"),
        (Wish(source="n1", partition=6), "allowed is 0 to 5"),
        (Wish(source=_without(cluster, 0), partition=0), "allowed for partition 0 is one of"),
    ):
        with pytest.raises(ConfigError, match=said):
            recover(cluster.addresses, wish, print)
    assert recover(cluster.addresses, Wish(source="n1"), print) == 0


def _without(cluster: DevCluster, partition: int) -> str:
    return next(name for name in cluster.layout.nodes if name not in cluster.layout.holders(partition))


# -- in and out --------------------------------------------------------------------------------------------------------


def fill(index: Index) -> None:
    for number in range(300):
        words = " ".join(f"word{(number * step) % 37}" for step in (1, 3, 7))
        index.push("books", f"b{number % 5}", f"o{number}", f"{words} {words if number % 3 else ''}")
    index.push("books", "b1", "long", " ".join(f"term{number}" for number in range(60_000)))
    index.push("names", "b", "o1", "Ünïcode naïve 東京タワー")
    for number in range(0, 300, 11):
        index.pop("books", f"b{number % 5}", f"o{number}", "word0 word3")
    index.flush_object("books", "b2", "o7")


def test_a_folder_goes_in_and_comes_out(cluster: DevCluster, tmp_path: Path) -> None:
    with Index(tmp_path / "one") as index:
        fill(index)
        wanted = contents(index)
        index.backup(tmp_path / "saved")
        asked = [("books", f"b{bucket}", f"word{word}") for bucket in range(5) for word in range(0, 37, 5)]
        hits = [index.query(*one, limit=50) for one in asked]
        hits_of_name = list(index.query("names", "b", "naive 東京"))
    upgrade(cluster.addresses)
    status_code, output, error = run_here(
        ["cluster", "import", str(tmp_path / "one"), "--cluster", cluster.addresses], tmp_path
    )
    assert (status_code, error) == (0, ""), error
    count = sum(map(len, wanted.values()))
    assert f"{count} objects imported" in output
    assert transfer.import_folder(cluster.addresses, tmp_path / "saved", Config(), print) == count  # changes nothing
    with connect_client(urls(cluster)) as client:
        for one, found in zip(asked, hits, strict=True):
            got = client.query(*one, limit=50)
            assert list(got) == list(found)
            assert got.scores == pytest.approx(found.scores, abs=1e-5)
        assert list(client.query("names", "b", "naive 東京")) == hits_of_name
    with pytest.raises(StoreError, match="allowed is an empty cluster"):
        transfer.backup(cluster.addresses, tmp_path / "whole", print)
        transfer.restore(cluster.addresses, tmp_path / "whole", Config(), print)
    with pytest.raises(ConfigError, match="is not empty"):
        transfer.backup(cluster.addresses, tmp_path / "whole", print)
    notes = json.loads((tmp_path / "whole" / "cluster.json").read_text())
    assert list(notes["partitions"]) == [str(number) for number in range(6)]
    settle(cluster)
    cluster.stop()
    with running(DevCluster(tmp_path / "bigger", partitions=7, copies=2, logs=2)) as bigger:
        upgrade(bigger.addresses)
        assert transfer.restore(bigger.addresses, tmp_path / "whole", Config(), print) == count
        settle(bigger)
        bigger.stop()
        found = {scope: held for name in bigger.nodes for scope, held in held_by(bigger.folder / name / "data").items()}
        assert found == wanted


def test_what_is_no_folder_of_data(cluster: DevCluster, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StoreError, match=r"^cannot make a backup in .*file: Not a directory; allowed is a new folder$"):
        transfer.backup(cluster.addresses, tmp_path / "file", print)
    assert run_here(["cluster", "backup", "file", "--cluster", cluster.addresses], tmp_path)[0] == 1
    with pytest.raises(StoreError, match="neither a store nor a backup"):
        transfer.import_folder(cluster.addresses, tmp_path, Config(), print)
    with pytest.raises(ConfigError, match=r"holds no cluster\.json"):
        transfer.restore(cluster.addresses, tmp_path, Config(), print)
