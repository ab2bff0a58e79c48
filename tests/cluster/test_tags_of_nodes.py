"""Tags and values in a cluster, even in spread buckets: refused before the upgrade, complete after it."""

from pathlib import Path

import pytest

pytest.importorskip("nats", reason="needs nats-py: pip install nats-py")

from sonicpy.client.blocking.connect import connect  # noqa: E402
from sonicpy.cluster.operator.dev import DevCluster  # noqa: E402
from sonicpy.cluster.operator.spread_collection import spread  # noqa: E402
from sonicpy.cluster.registry.upgrade import upgrade  # noqa: E402
from sonicpy.errors import CommandError, SonicError  # noqa: E402
from sonicpy.index.index import Index  # noqa: E402
from tests.cluster.clusters import running  # noqa: E402
from tests.cluster.test_known_rules import writes_newest  # noqa: E402
from tests.cluster.test_moves import urls  # noqa: E402
from tests.support.patience import until  # noqa: E402


@pytest.mark.full
def test_tags_in_a_cluster(tmp_path: Path) -> None:
    with running(DevCluster(tmp_path / "cluster", partitions=4, copies=2)) as cluster:
        nodes = [connect(url) for url in urls(cluster)]
        spread(cluster.addresses, "big", 3)
        with pytest.raises(CommandError, match=r"invalid_argument\(this change uses 'tags', .* cluster upgrade\)"):
            nodes[0].push("c", "b", "o", "x", tags=["a"])
        upgrade(cluster.addresses)
        until(lambda: all(map(writes_newest, nodes)))
        expected: dict[tuple[str, str], dict[str, object]] = {}
        for collection in ("c", "big"):
            for number, client in enumerate(nodes * 4):
                given = {"tags": [f"t{number % 2}", "Ben & Jerry's"], "values": {"n": number, "here": "1/-2.5"}}
                client.push(collection, "b", f"o{number}", "alpha", **given)
                expected[collection, f"o{number}"] = {"tags": sorted(given["tags"]), "values": given["values"]}
            for number, client in enumerate(nodes):
                assert client.tag(collection, "b", f"o{number}", ["new"], values={"n": None}) == 1
                assert client.tag(collection, "b", "none", ["new"]) == 0
                expected[collection, f"o{number}"] = {"tags": ["new"], "values": {"here": "1/-2.5"}}
            assert nodes[1].pop(collection, "b", "o0", "alpha") == 1
            assert nodes[2].exists(collection, "b", "o0"), "its tags are left"
            assert nodes[0].flush(collection, "b", "o1") == 1
            del expected[collection, "o1"]
        for client in nodes:
            assert client.verify() == []
            assert client.count_objects("big", "b") == client.count_objects("c", "b") == 4 * len(nodes) - 1
            client.close()
        folders = {path.parent for path in (tmp_path / "cluster").rglob("data.mdb")}
    held = {}
    for folder in folders:
        try:
            index = Index(folder)
        except SonicError:
            continue
        with index:
            held.update({(one.collection, one.object): one.fields for one in index.holdings() if one.bucket == "b"})
    assert held == expected
