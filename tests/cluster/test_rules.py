"""Rules of buckets in a cluster: the newest are written once all nodes have agreed on them, and replicas never cut."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from sonicpy.cluster.log.versions import LISTED, Agreement
from sonicpy.rules import FIRST, NEWEST
from sonicpy.store.rows.uses import KNOWN
from tests.support.patience import until

pytest.importorskip("nats", reason="needs nats-py: pip install nats-py")

from sonicpy.client.blocking.client import Client  # noqa: E402
from sonicpy.client.blocking.connect import connect  # noqa: E402
from sonicpy.cluster.node.rules import rules_of  # noqa: E402
from sonicpy.cluster.operator.dev import DevCluster  # noqa: E402
from sonicpy.cluster.operator.spreading import spread  # noqa: E402
from sonicpy.cluster.registry.upgrade import upgrade  # noqa: E402
from tests.cluster.clusters import running  # noqa: E402
from tests.cluster.test_moves import urls  # noqa: E402

TEXT = "flat of 50 m²"


@pytest.mark.parametrize(
    ("agreed", "rules"),
    [
        (Agreement(), FIRST),
        (Agreement(1, frozenset(KNOWN)), FIRST),
        (Agreement(LISTED, frozenset({"facts"})), FIRST),
        (Agreement(LISTED, frozenset({"facts", "rules 8"})), NEWEST),
    ],
)
def test_new_rules_need_an_agreement(agreed: Agreement, rules: int) -> None:
    assert rules_of(agreed) == rules


@pytest.fixture
def clients(tmp_path: Path) -> Iterator[tuple[DevCluster, list[Client]]]:
    """A cluster of three nodes with two copies, and a client of each node."""
    with running(DevCluster(tmp_path / "cluster", partitions=4, copies=2)) as cluster:
        each = [connect(url) for url in urls(cluster)]
        yield cluster, each
        for client in each:
            client.close()


def writes_newest(client: Client) -> bool:
    """Whether a node has heard of the upgrade: it gives a new bucket the newest rules."""
    client.push("c", "probe", "o", "m²")
    found = client.query("c", "probe", "m2") == ["o"]
    client.flush("c", "probe")
    return found


def rules_at(clients: list[Client], collection: str, bucket: str) -> set[int]:
    return {client.stats(collection, bucket)["rules"] for client in clients}


@pytest.mark.full
def test_an_upgraded_cluster_writes_the_newest(clients: tuple[DevCluster, list[Client]]) -> None:
    cluster, nodes = clients
    spread(cluster.addresses, "big", 3)
    for node, client in enumerate(nodes):
        client.push("c", "old", f"o{node}", TEXT)
        client.push("big", "old", f"o{node}", TEXT)
    assert rules_at(nodes, "c", "old") == {FIRST}
    upgrade(cluster.addresses)
    until(lambda: all(map(writes_newest, nodes)))
    for node, client in enumerate(nodes):
        for bucket in ("old", "new"):
            client.push("c", bucket, f"late{node}", TEXT)
            client.push("big", bucket, f"late{node}", TEXT)
    late = [f"late{node}" for node in range(len(nodes))]
    everything = sorted([*late, *(f"o{node}" for node in range(len(nodes)))])
    for collection in ("c", "big"):
        for client in nodes:
            assert sorted(client.query(collection, "new", "m2 flat")) == late
            assert sorted(client.query(collection, "old", "m² flat")) == everything
            assert sorted(client.query(collection, "new", "m² flat")) == late
        assert nodes[0].pop(collection, "new", late[0], "50 m²") == 2
        assert nodes[0].pop(collection, "old", late[0], "50 m²") == 3
    assert rules_at(nodes, "c", "old") == {FIRST}
    assert rules_at(nodes, "c", "new") == {NEWEST}
    nodes[1].flush("c", "old")
    nodes[1].push("c", "old", "again", TEXT)
    assert nodes[1].query("c", "old", "m2") == ["again"]
    for client in nodes:
        assert client.verify() == []
