"""Claims of mirrors in a cluster, in a plain and in a spread collection: of two sources, one has the bucket."""

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from sonicpy.errors import CommandError

pytest.importorskip("nats", reason="needs nats-py: pip install nats-py")

from sonicpy.client.blocking.client import Client  # noqa: E402
from sonicpy.client.blocking.connect import connect  # noqa: E402
from sonicpy.cluster.operator.dev import DevCluster  # noqa: E402
from sonicpy.cluster.operator.spread_collection import spread  # noqa: E402
from sonicpy.cluster.registry.upgrade import upgrade  # noqa: E402
from tests.cluster.clusters import running  # noqa: E402
from tests.cluster.test_moves import urls  # noqa: E402
from tests.support.patience import until  # noqa: E402

PLAIN, SPREAD = "plain", "spread"


def refusal(client: Client, collection: str, bucket: str, owner: str, prefix: str = "") -> str | None:
    """Claim a bucket; return the sentence of a refusal, or None."""
    try:
        client.claim(collection, bucket, owner, prefix=prefix)
    except CommandError as refused:
        return refused.detail
    return None


@pytest.mark.full
def test_one_source_has_a_bucket(tmp_path: Path) -> None:
    with running(DevCluster(tmp_path / "cluster", partitions=4, copies=2)) as cluster:
        clients = [connect(url) for url in urls(cluster)]
        spread(cluster.addresses, SPREAD, 3)
        assert "sonicpy cluster upgrade" in (refusal(clients[0], PLAIN, "b", "first") or "")
        upgrade(cluster.addresses)
        until(lambda: all(refusal(client, "probe", "b", "first") is None for client in clients))
        for collection in (PLAIN, SPREAD):
            for number in range(12):  # the nodes ask at the same time
                with ThreadPoolExecutor() as pool:
                    asked = [
                        partial(refusal, client, collection, f"b{number}", f"source{place}")
                        for place, client in enumerate(clients)
                    ]
                    found = list(pool.map(lambda ask: ask(), asked))
                assert found.count(None) == 1, found
                owner = f"source{found.index(None)}"
                taken = f"the bucket 'b{number}' is the mirror of '{owner}'; allowed are another bucket, a prefix that "
                assert all(sentence is None or sentence.startswith(taken) for sentence in found)
                for place, client in enumerate(clients):
                    client.upsert(collection, f"b{number}", f"o{place}", "text")
                    assert refusal(client, collection, f"b{number}", owner) is None
                    assert refusal(client, collection, f"b{number}", "other", "p") is not None
            assert clients[0].flush_bucket(collection, "b0") == 1
            assert refusal(clients[1], collection, "b0", "other", "p:") is None
            assert refusal(clients[2], collection, "b0", "first", "q:") is None
            assert refusal(clients[0], collection, "b0", "first", "p:") is not None
        with pytest.raises(CommandError, match="printable"):
            clients[0].claim(PLAIN, "b", "a\tb")
        assert all(client.verify() == [] for client in clients)
        for client in clients:
            client.close()
