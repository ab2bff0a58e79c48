"""A spread collection in a cluster, compared with one index that holds the same objects."""

import asyncio
import dataclasses
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sonicpy.cluster.registry.partitions import part_of, partition_of, partition_of_part
from sonicpy.errors import CommandError, ConfigError, StoreError
from sonicpy.index.index import Index
from tests.index.test_spread import corpus, queries
from tests.processes import run_here

pytest.importorskip("nats", reason="needs nats-py: pip install nats-py")

from sonicpy.client.blocking.client import Client  # noqa: E402
from sonicpy.client.blocking.connect import connect as connect_client  # noqa: E402
from sonicpy.cluster.operator import transfer  # noqa: E402
from sonicpy.cluster.operator.dev import HOST, DevCluster  # noqa: E402
from sonicpy.cluster.operator.setup import make  # noqa: E402
from sonicpy.cluster.operator.spread_collection import spread  # noqa: E402
from sonicpy.cluster.registry.registry import Layout  # noqa: E402
from sonicpy.cluster.registry.status import status  # noqa: E402
from sonicpy.config import Config  # noqa: E402
from tests.cluster.clusters import kill, running, settle  # noqa: E402
from tests.cluster.test_moves import urls  # noqa: E402
from tests.support.patience import WAIT_S

PARTS = 4
FROZEN = [("o1", 4, 3), ("o1", 5, 1), ("conversation:1", 7, 3)]


@pytest.mark.parametrize(("object", "parts", "part"), FROZEN)
def test_the_part_of_an_object_is_frozen(object: str, parts: int, part: int) -> None:
    assert part_of(object, parts) == part


def test_parts_lie_in_partitions_of_their_own() -> None:
    layout = Layout(6, 2, ("n1", "n2", "n3"), spread=(("big", 4),))
    first = partition_of("big", "b", 6)
    assert layout.parts_of("big", "b") == [(first + part) % 6 for part in range(4)]
    assert layout.parts_of("small", "b") == [partition_of("small", "b", 6)]
    for number in range(50):
        part = part_of(f"o{number}", 4)
        assert layout.partition_of("big", "b", f"o{number}") == partition_of_part("big", "b", part, 6)
        assert layout.partition_of("small", "b", f"o{number}") == partition_of("small", "b", 6)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DevCluster]:
    with running(DevCluster(tmp_path_factory.mktemp("cluster"), partitions=6, copies=2, logs=2)) as cluster:
        status, output, error = run_here(["cluster", "spread", "c", str(PARTS), "--cluster", cluster.addresses], Path())
        assert (status, output, error) == (0, f"c: each bucket has {PARTS} parts\n", "")
        yield cluster


@pytest.fixture(scope="module")
def filled(cluster: DevCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Client, Index, DevCluster]]:
    with Index(tmp_path_factory.mktemp("one") / "one") as one, connect_client(urls(cluster)) as client:
        rows = [(oid, text, "eng") for oid, text in corpus(1)]
        assert client.push_many(rows, collection="c", bucket="b").indexed == len(rows)
        one.push_many(rows, collection="c", bucket="b")
        for oid, text, _ in rows[::17]:
            assert client.pop("c", "b", oid, text[:30]) == one.pop("c", "b", oid, text[:30])
        for oid, _, _ in rows[5::61]:
            assert client.flush_object("c", "b", oid) == one.flush_object("c", "b", oid)
        settle(cluster)  # the other nodes may answer without the newest changes of this one
        yield client, one, cluster


@pytest.mark.full
def test_queries(filled: tuple[Client, Index, DevCluster]) -> None:
    client, one, cluster = filled
    clients = [connect_client(url) for url in urls(cluster)]  # some nodes lack some of the parts
    for place, text in enumerate(queries(7, 60)):
        found = clients[place % 3].query("c", "b", text, limit=100, lang="eng")
        wanted = one.query("c", "b", text, limit=100, lang="eng")
        assert found.scores == pytest.approx(wanted.scores or [], abs=1e-5), text
        sure = [name for name, score in wanted.pairs() if score != wanted.pairs()[-1][1]]  # the last may be one of many
        assert {*sure} <= {*found}, text
        page = client.query("c", "b", text, limit=10, offset=5, lang="eng", total=True)
        assert page.scores == pytest.approx((wanted.scores or [])[5:15], abs=1e-5), text
        assert page.total == one.query("c", "b", text, lang="eng", total=True).total, text
    assert client.query("c", "b", "", total=True) == []
    assert client.query("c", "b", "", total=True).total == client.query("c", "none", "x", total=True).total == 0
    for each in clients:
        each.close()


@pytest.mark.full
def test_words_and_counts(filled: tuple[Client, Index, DevCluster]) -> None:
    client, one, _ = filled
    for word in ("a", "ap", "lig", "nihgt", "serch", "zzzzzz", "house a", "walk lig", "walk-lig", "house-zzz"):
        assert client.suggest("c", "b", word, limit=7) == one.suggest("c", "b", word, limit=7)
    for given in ({}, {"limit": 7, "offset": 5}, {"prefix": "w", "limit": 30}, {"after": "night", "limit": 9}):
        asked: dict[str, Any] = given
        assert client.words("c", "b", **asked) == one.words("c", "b", **asked)
    assert client.count_words("c", "b") == one.count_words("c", "b")
    assert client.count_objects("c", "b") == one.count_objects("c", "b")
    for oid in ("o1", "o5", "o17", "none"):
        assert client.count_object_words("c", "b", oid) == one.count_object_words("c", "b", oid)
        assert client.exists("c", "b", oid) == one.exists("c", "b", oid)
    assert (client.count_buckets("c"), client.buckets("c"), client.collections()) == (1, ["b"], ["c"])
    figures = client.stats("c", "b")
    assert figures["objects"] == one.stats("c", "b")["objects"]
    assert figures["average_length"] == pytest.approx(one.stats("c", "b")["average_length"], abs=0.002)


@pytest.mark.full
def test_objects(filled: tuple[Client, Index, DevCluster]) -> None:
    client, one, _ = filled
    names = list(client.iterate_objects("c", "b"))
    assert sorted(names) == sorted(one.iterate_objects("c", "b"))
    assert client.objects("c", "b", after=names[100], limit=50) == names[101:151]
    assert sorted(client.objects("c", "b", prefix="o59", limit=None)) == sorted(
        one.objects("c", "b", prefix="o59", limit=None)
    )


@pytest.mark.full
def test_init_changes_no_cluster_with_a_spread_collection(filled: tuple[Client, Index, DevCluster]) -> None:
    client, one, cluster = filled
    asyncio.run(make(cluster.addresses, cluster.layout))
    with pytest.raises(StoreError, match="another layout"):
        asyncio.run(make(cluster.addresses, dataclasses.replace(cluster.layout, partitions=7)))
    assert client.count_objects("c", "b") == one.count_objects("c", "b")


@pytest.mark.full
def test_what_a_spread_bucket_does_not_offer(filled: tuple[Client, Index, DevCluster]) -> None:
    client, _, cluster = filled
    with pytest.raises(CommandError, match="EXPLAIN is refused"):
        client.explain("c", "b", "apple")
    with pytest.raises(StoreError, match="allowed is a collection without buckets"):
        spread(cluster.addresses, "c", 2)
    with pytest.raises(ConfigError, match="allowed is 1 to 6"):
        spread(cluster.addresses, "d", 7)


@pytest.mark.full
def test_a_backup_of_it_goes_into_another_cluster(filled: tuple[Client, Index, DevCluster], tmp_path: Path) -> None:
    client, one, cluster = filled
    transfer.backup(cluster.addresses, tmp_path / "backup", print)
    notes = json.loads((tmp_path / "backup" / "cluster.json").read_text())
    assert notes["layout"]["spread"] == [["c", PARTS]]
    with running(DevCluster(tmp_path / "other", partitions=3, copies=2, logs=2)) as other:
        spread(other.addresses, "d", 2)
        transfer.restore(other.addresses, tmp_path / "backup", Config(), print)
        with connect_client(urls(other)) as again:
            assert again.count_objects("c", "b") == one.count_objects("c", "b")
            found = again.query("c", "b", "running apples", limit=50, lang="eng")
            assert found.scores == pytest.approx(
                one.query("c", "b", "running apples", limit=50, lang="eng").scores, abs=1e-5
            )
        nodes = status(other.addresses).figures["nodes"].values()
        assert [node["spread"] for node in nodes] == [[["c", 3], ["d", 2]]] * 3


def test_what_a_restore_spreads() -> None:
    layout = Layout(4, 1, ("n1",))
    assert transfer.parts_wanted(layout, {"big": 8, "c": 2}) == {"big": 4, "c": 2}
    chosen = dataclasses.replace(layout, spread=(("big", 3), ("d", 2)))
    assert transfer.parts_wanted(chosen, {"big": 8}) == {"big": 3, "d": 2}


@pytest.mark.full
def test_a_part_that_does_not_answer_is_an_error(filled: tuple[Client, Index, DevCluster]) -> None:
    client, _, cluster = filled
    assert client.flush_bucket("c", "none") == 0
    layout = cluster.layout
    wanted = Layout(layout.partitions, layout.copies, layout.nodes, spread=(("c", PARTS),)).parts_of("c", "b")
    gone = layout.holders(wanted[0])
    kill(cluster, *gone)
    left = next(name for name in layout.nodes if name not in gone)
    with connect_client(f"sonic://{HOST}:{cluster.node_ports[left]}") as alone, pytest.raises(CommandError):
        alone.query("c", "b", "apple night")
    for name in gone:
        cluster.start_node(name)
    cluster.wait_until_ready(time.monotonic() + WAIT_S)
    assert client.flush_bucket("c", "b") == 1
    assert client.count_objects("c", "b") == 0
