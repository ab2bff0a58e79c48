"""Filters, orders, facets and erasures in a cluster, even of spread buckets: every node gives the same answer."""

from pathlib import Path

import pytest

pytest.importorskip("nats", reason="needs nats-py: pip install nats-py")

from sonicpy.client.blocking.connect import connect  # noqa: E402
from sonicpy.cluster.operator.dev import DevCluster  # noqa: E402
from sonicpy.cluster.operator.spread_collection import spread  # noqa: E402
from sonicpy.cluster.registry.upgrade import upgrade  # noqa: E402
from tests.cluster.clusters import running  # noqa: E402
from tests.cluster.test_known_rules import writes_newest  # noqa: E402
from tests.cluster.test_moves import urls  # noqa: E402
from tests.support.patience import until  # noqa: E402


@pytest.mark.full
def test_every_node_asks_and_erases_by_a_filter(tmp_path: Path) -> None:
    with running(DevCluster(tmp_path / "cluster", partitions=4, copies=2)) as cluster:
        nodes = [connect(url) for url in urls(cluster)]
        spread(cluster.addresses, "big", 3)
        upgrade(cluster.addresses)
        until(lambda: all(map(writes_newest, nodes)))
        for collection in ("c", "big"):
            bucket = nodes[0].bucket(collection, "b")
            for number in range(30):
                bucket.push(f"o{number}", "alpha", tags=["even" if number % 2 == 0 else "odd"], values={"n": number})
            for client in nodes:
                asked = client.bucket(collection, "b")
                until(lambda asked=asked: asked.query("", filter="odd", total=True).total == 15)  # type: ignore[misc]
                assert asked.query("alpha", filter="even AND n < 6", sort="-n") == ["o4", "o2", "o0"]
                assert asked.query("", sort="n", after="o4", limit=2) == ["o5", "o6"]
                assert set(asked.query("alpha", filter="n IN (3, 4)")) == {"o3", "o4"}
                counts = asked.facets("alpha", of="*", ranges="n: 0,10")
                assert counts.tags[""] == {"even": 15, "odd": 15}
                assert [tuple(each) for each in counts.ranges["n"]] == [(0, 10, 10), (10, None, 20)]
            assert nodes[1].bucket(collection, "b").flush(filter="odd AND n > 10") == 10
            for client in nodes:
                asked = client.bucket(collection, "b")
                until(lambda asked=asked: asked.query("", filter="odd", total=True).total == 5)  # type: ignore[misc]
        for client in nodes:
            assert client.verify() == []
            client.close()
