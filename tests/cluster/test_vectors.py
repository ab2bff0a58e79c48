"""Vectors in a cluster, in a plain and in a spread collection, compared with one index that holds the same objects."""

import asyncio
import random
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import sonicpy

pytest.importorskip("nats", reason="needs nats-py: pip install nats-py")

from sonicpy.channel.commands import Push, Upsert  # noqa: E402
from sonicpy.client.blocking.client import Client  # noqa: E402
from sonicpy.client.blocking.connect import connect  # noqa: E402
from sonicpy.cluster.node.node_service import NODE_CALLS, NodeService  # noqa: E402
from sonicpy.cluster.operator.dev import DevCluster  # noqa: E402
from sonicpy.cluster.operator.spread_collection import spread  # noqa: E402
from sonicpy.cluster.peers.questions import Question  # noqa: E402
from sonicpy.cluster.registry.upgrade import upgrade  # noqa: E402
from sonicpy.server.connections.dispatch import Postponed  # noqa: E402
from tests.cluster.clusters import running  # noqa: E402
from tests.cluster.test_moves import urls  # noqa: E402
from tests.support.patience import until  # noqa: E402

WORDS = "zebra kiwi mango quokka fjord lynx gnu vortex".split()
PLAIN, SPREAD = "plain", "spread"


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[tuple[DevCluster, list[Client]]]:
    """An upgraded cluster of three nodes, and a client of each."""
    with running(DevCluster(tmp_path / "cluster", partitions=4, copies=2)) as made:
        clients = [connect(url) for url in urls(made)]
        spread(made.addresses, SPREAD, 3)
        upgrade(made.addresses)
        until(lambda: all(map(takes_vectors, clients)))
        yield made, clients
        for client in clients:
            client.close()


def takes_vectors(client: Client) -> bool:
    """Return whether a node has read the new agreement."""
    try:
        client.push("probe", "b", "o", "x", vector=b"\1")
    except sonicpy.CommandError:
        return False
    return True


@pytest.mark.parametrize("kind", [Push, Upsert])
@pytest.mark.parametrize("refusing", [0, 2])
def test_a_node_asks_whether_the_bucket_takes_a_vector(kind: type[Push | Upsert], refusing: int) -> None:
    command, asked = kind("c", "b", "o", "x", None, vector="AQ=="), []

    async def ask(partition: int, question: Question) -> bytes:
        asked.append((partition, question))
        if partition == 1:
            raise sonicpy.StoreError("another part is away")
        if partition != refusing:
            return b"null"
        return b'"the vector is refused: it has 8 bits, those of vector have 16"'

    rules = SimpleNamespace(at_once=lambda *_: 1)
    node: Any = SimpleNamespace(
        desk=SimpleNamespace(ask=ask, rules=rules),
        places=SimpleNamespace(partition_of=lambda *_: 0, parts_of=lambda *_: [0, 1, 2]),
    )
    with pytest.raises(Postponed):
        NODE_CALLS[kind](node, command)
    service: Any = NodeService.__new__(NodeService)
    service.embedding, service.node = None, node
    with pytest.raises(sonicpy.InvalidArgument, match="it has 8 bits"):
        asyncio.run(service.execute(command))
    assert asked == [(part, Question("vector_refusal", ("c", "b", "AQ=="))) for part in range(3)]


@pytest.mark.full
def test_a_cluster_answers_as_one_index(cluster: tuple[DevCluster, list[Client]], tmp_path: Path) -> None:
    _, clients = cluster
    dice = random.Random(3)
    with sonicpy.open(tmp_path / "one") as one:
        for number in range(90):
            text, vector = " ".join(dice.choices(WORDS, k=4)), dice.randbytes(6) if number % 5 else None
            for collection in (PLAIN, SPREAD):
                dice.choice(clients).push(collection, "b", f"o{number}", text, "none", vector=vector)
                one.push(collection, "b", f"o{number}", text, "none", vector=vector)
        check_answers(clients, one, dice)
        for client in clients:
            for collection in (PLAIN, SPREAD):
                with pytest.raises(sonicpy.CommandError):
                    client.push(collection, "b", "o1", "", vector=b"\1")
                with pytest.raises(sonicpy.CommandError):
                    client.upsert(collection, "b", "o1", "", vector=b"\1")
                with pytest.raises(sonicpy.CommandError):
                    client.query(collection, "b", "zebra", vector=[1.0] * 8)
            assert client.verify() == []
        assert clients[0].drop_vectors(PLAIN, "b") == clients[1].drop_vectors(SPREAD, "b", "vector") == 1
        for collection in (PLAIN, SPREAD):
            one.drop_vectors(collection, "b")
        check_answers(clients, one, dice)
        for client in clients:
            assert client.verify() == []


def check_answers(clients: list[Client], one: Any, dice: random.Random) -> None:
    for _ in range(12):
        text, vector = " ".join(dice.choices(WORDS, k=2)), [dice.randrange(-127, 128) for _ in range(48)]
        # Of equal scores, parts know only about which is older, so the first few may be others.
        for collection, depth in ((PLAIN, dice.choice([5, 30])), (SPREAD, 1000)):
            options: Any = {"vector": vector, "limit": 20, "depth": depth, "meaning": 1.5, "total": True}
            expected = one.query(collection, "b", text, lang="none", **options)
            for client in clients:
                found = client.query(collection, "b", text, lang="none", **options)
                assert found.total == expected.total
                assert found.scores == pytest.approx(expected.scores, abs=1e-5)
                if collection == PLAIN:
                    assert found == expected
