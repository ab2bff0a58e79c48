"""Phrases in a cluster, in a plain and in a spread collection, before and after the upgrade."""

from pathlib import Path

import pytest

pytest.importorskip("nats", reason="needs nats-py: pip install nats-py")

import sonicpy
from sonicpy.client.blocking.connect import connect
from sonicpy.cluster.operator.dev import DevCluster
from sonicpy.cluster.operator.spread_collection import spread
from sonicpy.cluster.registry.upgrade import upgrade
from tests.cluster.clusters import running
from tests.cluster.test_moves import urls
from tests.support.patience import until

PLAIN, SPREAD = "plain", "spread"
WANTED = {f"o{number}" for number in range(5, 30, 2)}


@pytest.mark.full
def test_replicas_keep_the_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SONIC_STORE__ORDER", "true")
    with running(DevCluster(tmp_path / "cluster", partitions=4, copies=2)) as made:
        clients = [connect(url) for url in urls(made)]
        spread(made.addresses, SPREAD, 3)
        for collection in (PLAIN, SPREAD):
            clients[0].push(collection, "b", "early", "red ink")
        with pytest.raises(sonicpy.CommandError, match="order of words"):
            clients[0].query(PLAIN, "b", "", phrase="red ink")
        upgrade(made.addresses)
        until(lambda: all(client.push("probe", "b", "o", "x y") is None and keeps(client) for client in clients))
        for collection in (PLAIN, SPREAD):
            for number in range(30):
                client = clients[number % len(clients)]
                client.push(collection, "b", f"o{number}", "red ink here" if number % 2 else "ink red here")
            clients[0].upsert(collection, "b", "o1", "ink red")
            clients[1].pop(collection, "b", "o3", "red")
            for client in clients:
                until(lambda client=client, name=collection: answer(client, name) == (WANTED, len(WANTED)))  # type: ignore[misc]
                quoted = client.query(collection, "b", '"red ink"', syntax="web", limit=40)
                assert set(quoted) == WANTED
                counted = client.facets(collection, "b", "", of="*", phrase="red ink")
                assert counted.total == len(WANTED)
        for client in clients:
            assert client.verify() == []
            client.close()


def keeps(client: "sonicpy.Client") -> bool:
    client.push("probe", "b", "o", "x y")
    try:
        return list(client.query("probe", "b", "", phrase="x y")) == ["o"]
    except sonicpy.CommandError:
        return False


def answer(client: "sonicpy.Client", collection: str) -> tuple[set[str], int | None]:
    hits = client.query(collection, "b", "", phrase="red ink", limit=40, total=True)
    return set(hits), hits.total
