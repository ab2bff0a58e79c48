"""Fields of texts in a cluster, even in spread buckets: the answers are those of one index."""

import random
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("nats", reason="needs nats-py: pip install nats-py")

import sonicpy  # noqa: E402
from sonicpy.client.blocking.client import Client  # noqa: E402
from sonicpy.client.blocking.connect import connect  # noqa: E402
from sonicpy.cluster.operator.dev import DevCluster  # noqa: E402
from sonicpy.cluster.operator.spread_collection import spread  # noqa: E402
from sonicpy.cluster.registry.upgrade import upgrade  # noqa: E402
from sonicpy.errors import CommandError  # noqa: E402
from tests.cluster.clusters import running  # noqa: E402
from tests.cluster.test_known_rules import writes_newest  # noqa: E402
from tests.cluster.test_moves import urls  # noqa: E402
from tests.support.patience import until  # noqa: E402

WORDS = ["zorane", "zorilo", "mipane", "mipuku", "kalerra", "dutilo", "dutane", "beximu"]
ASKED: list[dict[str, Any]] = [
    {},
    {"fields": "title"},
    {"fields": ["title", "body"]},
    {"fields": {"title": 5}},
    {"fields": {"title": 3, "body": None}},
]


def change(pick: random.Random, client: Client, one: sonicpy.Index) -> None:
    """Change an object of two collections, of the cluster and of the index alike."""

    def words() -> str:
        return " ".join(pick.choices(WORDS, k=pick.randint(0, 5)))

    oid, kind = f"o{pick.randrange(20)}", pick.random()
    named = {name: words() for name in pick.sample(["title", "body", ""], pick.randint(1, 3))}
    for collection in ("c", "big"):
        for index in (client, one):
            if kind < 0.5:
                index.upsert(collection, "b", oid, named)
            elif kind < 0.75:
                for name, text in named.items():
                    index.push(collection, "b", oid, text, field=name or None)
        if kind >= 0.75:
            gone = [index.pop(collection, "b", oid, " ".join(named.values())) for index in (client, one)]
            gone += [index.flush(collection, "b", oid) if kind > 0.9 else 0 for index in (client, one)]
            assert gone[0] == gone[1] and gone[2] == gone[3]


def found(index: Client | sonicpy.Index, collection: str, text: str, asked: dict[str, Any]) -> list[tuple[str, float]]:
    hits = index.query(collection, "b", text, limit=50, **asked)
    return sorted((str(hit.object), round(hit.score or 0, 4)) for hit in hits)


@pytest.mark.full
def test_fields_in_a_cluster(tmp_path: Path) -> None:
    pick = random.Random(11)
    with running(DevCluster(tmp_path / "cluster", partitions=4, copies=2)) as cluster, sonicpy.open(":memory:") as one:
        nodes = [connect(url) for url in urls(cluster)]
        spread(cluster.addresses, "big", 3)
        with pytest.raises(CommandError, match=r"uses 'digests' and 'texts', .* cluster upgrade\)"):
            nodes[0].upsert("c", "b", "o", {"title": "x"})
        upgrade(cluster.addresses)
        until(lambda: all(map(writes_newest, nodes)))
        for _ in range(4):
            for _ in range(40):
                change(pick, pick.choice(nodes), one)
            for collection in ("c", "big"):
                for client in nodes:
                    for asked in ASKED:
                        text = " ".join(pick.sample(WORDS, pick.randint(1, 2))) + " "
                        wanted = found(one, collection, text, asked)
                        until(lambda: _alike(found(client, collection, text, asked), wanted))  # noqa: B023
        long = " ".join(f"word{number:06d}" for number in range(120_000))
        for collection in ("c", "big"):
            nodes[1].upsert(collection, "b", "long", "beximu")
            with pytest.raises(
                CommandError, match=r"invalid_argument\(a change of .* at most 921600; split the text\)"
            ):
                nodes[1].upsert(collection, "b", "long", long)
            assert "long" in nodes[1].query(collection, "b", "beximu", limit=50)
        for client in nodes:
            assert client.verify() == []
            client.close()


def _alike(hits: list[tuple[str, float]], wanted: list[tuple[str, float]]) -> bool:
    """Return whether hits are the same, with scores that differ by their rounding at most."""
    return [name for name, _ in hits] == [name for name, _ in wanted] and all(
        abs(score - other) < 2e-4 for (_, score), (_, other) in zip(hits, wanted, strict=True)
    )
