"""Synonyms in a cluster, in a plain and in a spread collection, compared with one index that holds the same objects."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import sonicpy

pytest.importorskip("nats", reason="needs nats-py: pip install nats-py")

from sonicpy.client.blocking.client import Client  # noqa: E402
from sonicpy.client.blocking.connect import connect  # noqa: E402
from sonicpy.cluster.operator.dev import DevCluster  # noqa: E402
from sonicpy.cluster.operator.spread_collection import spread  # noqa: E402
from sonicpy.cluster.registry.upgrade import upgrade  # noqa: E402
from tests.cluster.clusters import running  # noqa: E402
from tests.cluster.test_moves import urls  # noqa: E402
from tests.support.patience import until  # noqa: E402

WORDS = "zebra kiwi mango quokka fjord lynx gnu vortex".split()
PLAIN, SPREAD = "plain", "spread"
RULES = ["cat, lynx, kiwi mango", "zebra => gnu", "fjord vortex => quokka"]


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[list[Client]]:
    """A client of each node of an upgraded cluster."""
    with running(DevCluster(tmp_path / "cluster", partitions=4, copies=2)) as made:
        clients = [connect(url) for url in urls(made)]
        spread(made.addresses, SPREAD, 3)
        upgrade(made.addresses)
        until(lambda: all(map(takes_synonyms, clients)))
        yield clients
        for client in clients:
            client.close()


def takes_synonyms(client: Client) -> bool:
    """Return whether a node has read the new agreement."""
    try:
        client.set_synonyms("probe", ["a, b"])
    except sonicpy.SonicError:
        return False
    return True


@pytest.mark.full
def test_a_cluster_answers_as_one_index(cluster: list[Client]) -> None:
    dice = random.Random(3)
    with sonicpy.open(":memory:") as one:
        for number in range(60):
            text = " ".join(dice.choices(WORDS, k=4))
            for collection in (PLAIN, SPREAD):
                dice.choice(cluster).push(collection, "b", f"o{number}", text, "none")
                one.push(collection, "b", f"o{number}", text, "none")
        for collection in (PLAIN, SPREAD):
            assert cluster[0].set_synonyms(collection, RULES) == one.set_synonyms(collection, RULES) == 3
        for client in cluster:
            assert client.synonyms(SPREAD) == client.synonyms(PLAIN) == RULES
            for query in ("cat", "zebra", "kiwi mango", "fjord vortex", "cat zebra"):
                for match in ("auto", "all"):
                    options: dict[str, Any] = {
                        "lang": "none",
                        "match": match,
                        "limit": 100,
                        "total": True,
                        "how": True,
                        "fuzzy": 0,
                    }
                    for collection in (PLAIN, SPREAD):
                        here = one.query(collection, "b", query, **options)
                        there = client.query(collection, "b", query, **options)
                        assert (sorted(there), there.total) == (sorted(here), here.total), (collection, query, match)
                        assert {hit.object: hit.how for hit in there} == {hit.object: hit.how for hit in here}
        with pytest.raises(sonicpy.CommandError):
            cluster[0].set_synonyms(PLAIN, ["alone"])
        assert cluster[1].set_synonyms(SPREAD, []) == 0
        assert cluster[2].synonyms(SPREAD) == []
