"""Nodes of a cluster, as processes on this machine, as monitoring, load balancers and HTTP clients see them."""

import asyncio
import json
import re
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from sonicpy.config import Config
from tests.cluster.judge import Channel
from tests.server.test_metrics import get, scrape

pytest.importorskip("nats", reason="needs nats-py: pip install nats-py")

from sonicpy.cluster.operator.dev import HOST, DevCluster  # noqa: E402
from sonicpy.cluster.operator.spread_collection import spread  # noqa: E402
from sonicpy.cluster.registry.partitions import partition_of  # noqa: E402
from tests.cluster.clusters import kill, make_again, running  # noqa: E402
from tests.support.patience import WAIT_S, until

pytestmark = pytest.mark.full


class WatchedCluster(DevCluster):
    """A cluster whose nodes serve metrics and HTTP."""

    def __init__(self, folder: Path) -> None:
        config = Config.model_validate({"metrics": {"inet": f"{HOST}:9491"}, "http": {"inet": f"{HOST}:8491"}})
        super().__init__(folder, partitions=3, copies=2, logs=3, config=config)
        self.watched = self._ports("metrics.inet")
        self.http = self._ports("http.inet")

    def _ports(self, key: str) -> dict[str, int]:
        return {name: int(place[key].rpartition(":")[2]) for name, place in self.places.items()}


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[WatchedCluster]:
    with running(WatchedCluster(tmp_path / "cluster")) as cluster:
        yield cluster


def test_metrics_of_nodes(cluster: WatchedCluster) -> None:
    channel = Channel(cluster.node_ports["n1"])
    for number in range(30):
        assert channel.ask(f'PUSH c b o{number} "red apple"\n'.encode()) == b"OK"
    channel.close()
    partition = str(partition_of("c", "b", 3))
    log = str(cluster.layout.log_of(int(partition)))
    until(lambda: scrape(cluster.watched["n1"])["sonicpy_log_batches_total", log] == 30)
    holders = cluster.layout.holders(int(partition))
    until(
        lambda: all(
            scrape(cluster.watched[name])["sonicpy_partition_position", partition] == 30
            and scrape(cluster.watched[name])["sonicpy_partition_log_entries", partition] == 30
            for name in holders
        )
    )
    for name in holders:
        found = scrape(cluster.watched[name])
        assert found["sonicpy_partition_lag_entries", partition] == found["sonicpy_partition_faulty", partition] == 0
        assert found["sonicpy_buckets", ""] == 1
        assert found["sonicpy_store_used_bytes", ""] > 0
    found = scrape(cluster.watched["n1"])
    assert found["sonicpy_command_seconds_count", "PUSH"] == 30
    assert found["sonicpy_brokers_silent_seconds", "n1"] < 10
    families = re.findall(r"^# TYPE (sonicpy_\w+) ", get(cluster.watched["n1"], "/metrics")[1], re.MULTILINE)
    root = Path(__file__).parents[2]
    document = "".join((root / "docs" / page).read_text("utf-8") for page in ("operations.md", "cluster-operations.md"))
    assert [name for name in families if f"| `{name}` |" not in document] == []


def ready(cluster: WatchedCluster, name: str, path: str = "/readyz") -> tuple[int, str]:
    return get(cluster.watched[name], path)


def test_a_load_balancer_sees_who_is_ready(cluster: WatchedCluster) -> None:
    assert [ready(cluster, name) for name in cluster.watched] == [(200, "ready\n")] * 3
    kill(cluster, "b1", "b2", "b3")
    until(lambda: ready(cluster, "n1")[0] == 503)
    assert re.fullmatch(r"no broker has answered for 1\d s: changes are not acknowledged\n", ready(cluster, "n1")[1])
    assert ready(cluster, "n1", "/readyz/search") == (200, "ready\n")
    for name in list(cluster.brokers):
        cluster.start_broker(name)
    until(lambda: ready(cluster, "n1") == (200, "ready\n"))
    channel = Channel(cluster.node_ports["n1"])
    assert channel.ask(b'PUSH c b o1 "apple"\n') == b"OK"
    channel.close()
    partition = partition_of("c", "b", 3)
    holders = cluster.layout.holders(partition)
    position = ("sonicpy_partition_position", str(partition))
    until(lambda: all(scrape(cluster.watched[name])[position] == 1 for name in holders))  # else it knows no log
    asyncio.run(make_again(cluster, partition))
    until(lambda: all(ready(cluster, name)[0] == 503 for name in holders))
    for name in holders:
        status, said = ready(cluster, name, "/readyz/search")
        assert status == 503
        assert said.startswith(f"partition {partition} does not answer here: the log of partition {partition} was made")
    (other,) = set(cluster.watched) - set(holders)
    assert ready(cluster, other) == (200, "ready\n")


def ask(port: int, path: str, body: object = None) -> object:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(
        f"http://{HOST}:{port}{path}", data, {"Content-Type": "application/json"}, method="POST" if data else "GET"
    )
    with urllib.request.urlopen(request, timeout=WAIT_S) as answer:
        return json.load(answer)


def test_http_at_a_node(cluster: WatchedCluster) -> None:
    """Each node answers for all partitions, even for those that it does not hold."""
    n1 = cluster.http["n1"]
    for bucket in ("b1", "b2", "b3", "b4"):
        ask(n1, "/v1/push", {"collection": "c", "bucket": bucket, "object": "o1", "text": "red apple"})
        found = ask(n1, f"/v1/query?collection=c&bucket={bucket}&text=apple")
        assert [hit["object"] for hit in found["hits"]] == ["o1"]  # type: ignore[index]
    for port in cluster.http.values():
        until(lambda port=port: ask(port, "/v1/count?collection=c")["count"] == 4)  # type: ignore[misc, index]
        with urllib.request.urlopen(f"http://{HOST}:{port}/health", timeout=WAIT_S) as answer:
            assert answer.status == 200


def test_http_with_a_spread_bucket(cluster: WatchedCluster) -> None:
    """The parts of the bucket are in all partitions, and each node lacks some partitions."""
    spread(cluster.addresses, "big", 3)
    objects = [f"o{number}" for number in range(30)]
    n1 = cluster.http["n1"]
    for name in objects:
        ask(n1, "/v1/push", {"collection": "big", "bucket": "b", "object": name, "text": f"red apple {name}"})
    scope = "collection=big&bucket=b"
    counted = f"/v1/count?{scope}&objects=true"
    for port in cluster.http.values():
        until(lambda port=port: ask(port, counted)["count"] == 30)  # type: ignore[misc, index]
        found = ask(port, f"/v1/query?{scope}&text=apple&limit=50")
        assert sorted(hit["object"] for hit in found["hits"]) == sorted(objects)  # type: ignore[index]
        found = ask(port, f"/v1/query?{scope}&text=o7")
        assert [hit["object"] for hit in found["hits"]] == ["o7"]  # type: ignore[index]
        assert ask(port, f"/v1/suggest?{scope}&word=appl")["words"] == ["apple"]  # type: ignore[index]
