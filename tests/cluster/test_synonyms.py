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
from sonicpy.cluster.operator.transfer import backup, import_folder, restore  # noqa: E402
from sonicpy.cluster.registry.upgrade import upgrade  # noqa: E402
from tests.cluster.clusters import running, settle  # noqa: E402
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


@pytest.mark.full
def test_an_import_and_a_restore_bring_synonyms(tmp_path: Path) -> None:
    with sonicpy.open(tmp_path / "one") as one:
        one.push(PLAIN, "b", "o", "lynx", "none")
        one.set_synonyms(PLAIN, RULES)
        config = one.config
    with running(DevCluster(tmp_path / "first", partitions=4, copies=1)) as first:
        upgrade(first.addresses)
        assert import_folder(first.addresses, tmp_path / "one", config, print) == 1
        assert import_folder(first.addresses, tmp_path / "one", config, print) == 1
        check(first)
        backup(first.addresses, tmp_path / "backup", print)
    with running(DevCluster(tmp_path / "second", partitions=2, copies=1)) as second:
        upgrade(second.addresses)
        assert restore(second.addresses, tmp_path / "backup", config, print) == 1
        check(second)


@pytest.mark.full
def test_rules_beyond_the_limit_are_refused_before_their_index_is_imported(tmp_path: Path) -> None:
    def rules(first: int, last: int) -> list[str]:
        return [f"w{number}, v{number}" for number in range(first, last)]

    for number, given in enumerate((rules(0, 9_000), rules(8_000, 9_990), rules(9_980, 9_991))):
        with sonicpy.open(tmp_path / "several" / f"{number:04}") as index:
            index.push(PLAIN, "b", f"o{number}", "lynx", "none")
            index.set_synonyms(PLAIN, given)
            config = index.config
    with running(DevCluster(tmp_path / "cluster", partitions=2, copies=1)) as cluster:
        upgrade(cluster.addresses)
        with connect(urls(cluster)[0]) as client:
            until(lambda: takes_synonyms(client))
            client.set_synonyms(PLAIN, RULES * 3 + [f"{word}, other" for word in WORDS[:7]])
            for _ in range(2):
                with pytest.raises(
                    sonicpy.StoreError, match=r"0002 is imported: .* would have 10001 rules; allowed are 10000$"
                ):
                    import_folder(cluster.addresses, tmp_path / "several", config, print)
                settle(cluster)
                assert client.synonyms(PLAIN) == [*RULES, *[f"{word}, other" for word in WORDS[:7]], *rules(0, 9_990)]
                assert sorted(client.query(PLAIN, "b", "lynx", lang="none")) == ["o0", "o1"]
            client.set_synonyms(PLAIN, rules(0, 10_000))
            assert import_folder(cluster.addresses, tmp_path / "several", config, print) == 3
            settle(cluster)
            assert len(client.synonyms(PLAIN)) == 10_000


def check(cluster: DevCluster) -> None:
    settle(cluster)
    for url in urls(cluster):
        with connect(url) as client:
            assert client.synonyms(PLAIN) == RULES
            assert client.query(PLAIN, "b", "cat", lang="none").objects == ["o"]
