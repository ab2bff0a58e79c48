"""Rules of buckets in a cluster: new buckets get the newest rules once all nodes have agreed on them."""

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sonicpy.cluster.log.agreement import Agreement
from sonicpy.cluster.log.versions import LISTED
from sonicpy.rules import FIRST, NEWEST
from sonicpy.store.rows.uses import KNOWN
from tests.support.patience import until

pytest.importorskip("nats", reason="needs nats-py: pip install nats-py")

from sonicpy.client.blocking.client import Client  # noqa: E402
from sonicpy.client.blocking.connect import connect  # noqa: E402
from sonicpy.cluster.node.known_rules import KEPT_S, KnownRules, rules_of  # noqa: E402
from sonicpy.cluster.node.places import Places  # noqa: E402
from sonicpy.cluster.operator.dev import DevCluster  # noqa: E402
from sonicpy.cluster.operator.spread_collection import spread  # noqa: E402
from sonicpy.cluster.peers.questions import Question  # noqa: E402
from sonicpy.cluster.registry.registry import Layout  # noqa: E402
from sonicpy.cluster.registry.upgrade import upgrade  # noqa: E402
from sonicpy.errors import SonicError  # noqa: E402
from tests.cluster.clusters import running  # noqa: E402
from tests.cluster.stand_ins import ReplicaStandIn
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


def known_rules(held: dict[int, Any], asked: list[int], answer: bytes, newest: int = NEWEST) -> KnownRules:
    """Return the rules at a node of a cluster of four partitions, where `big` is spread over three."""

    async def ask(partition: int, question: Question) -> bytes:
        assert question.kind == "bucket_rules"
        asked.append(partition)
        return answer

    places = Places(Layout(4, 1, ("n1",), spread=(("big", 3),)))
    written: Any = SimpleNamespace(written=[5] * 4)
    recorder: Any = SimpleNamespace(lexer=SimpleNamespace(rules=newest))
    return KnownRules(places, held, written, recorder, ask)


def replica(rules: int | None, *, applied: int = 5, fault: object = None) -> Any:
    index = SimpleNamespace(bucket_rules=lambda collection, bucket: rules)
    return ReplicaStandIn(applied=applied, fault=fault, to_read=lambda: index)


def test_before_the_upgrade_nobody_is_asked() -> None:
    asked: list[int] = []
    rules = known_rules({}, asked, b"8", newest=FIRST)
    assert rules.at_once("c", "b") == FIRST
    assert asyncio.run(rules.find("big", "b")) == FIRST
    assert asked == []


@pytest.mark.parametrize(("held", "found"), [(FIRST, FIRST), (NEWEST, NEWEST), (None, NEWEST)])
def test_a_replica_of_this_node_knows_the_rules(held: int | None, found: int) -> None:
    rules = known_rules({number: replica(held) for number in range(4)}, [], b"")
    assert rules.at_once("c", "b") == found
    assert rules.at_once("big", "b") is None, "other parts may have it"


@pytest.mark.parametrize("held", [{}, {n: replica(FIRST, applied=4) for n in range(4)},
                                  {n: replica(FIRST, fault="damaged") for n in range(4)}])  # fmt: skip
def test_another_node_is_asked_where_this_one_does_not_know(held: dict[int, Any]) -> None:
    asked: list[int] = []
    rules = known_rules(held, asked, b"1")
    assert rules.at_once("c", "b") is None
    assert asyncio.run(rules.find("c", "b")) == FIRST
    assert rules.at_once("c", "b") == FIRST, "it is remembered"
    assert len(asked) == 1


def test_all_parts_of_a_spread_bucket_are_asked_until_one_has_it() -> None:
    for answer, found, count in ((b"1", FIRST, 1), (b"8", NEWEST, 1), (b"null", NEWEST, 3)):
        asked: list[int] = []
        assert asyncio.run(known_rules({}, asked, answer).find("big", "b")) == found
        assert len(set(asked)) == len(asked) == count


def test_older_rules_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Older rules are forgotten: after FLUSHB at another node, the bucket may be created anew with the newest rules."""
    asked: list[int] = []
    rules, newest = known_rules({}, asked, b"1"), known_rules({}, [], b"8")
    for each in (rules, newest):
        asyncio.run(each.find("c", "b"))
    later = time.monotonic() + KEPT_S + 1
    rules.forget("other")
    assert rules.at_once("c", "b") == FIRST
    with monkeypatch.context() as patched:
        patched.setattr(time, "monotonic", lambda: later)
        assert rules.at_once("c", "b") is None
        assert newest.at_once("c", "b") == NEWEST
    rules.forget("c")
    assert rules.at_once("c", "b") is None


def test_names_are_checked() -> None:
    for collection, bucket in (("two words", "b"), ("c", ""), ("c", "\xe9")):
        with pytest.raises(SonicError):
            known_rules({n: replica(FIRST) for n in range(4)}, [], b"1").at_once(collection, bucket)


@pytest.fixture
def clients(tmp_path: Path) -> Iterator[tuple[DevCluster, list[Client]]]:
    """A cluster of three nodes, with two copies of each partition, and a client of each node."""
    with running(DevCluster(tmp_path / "cluster", partitions=4, copies=2)) as cluster:
        each = [connect(url) for url in urls(cluster)]
        yield cluster, each
        for client in each:
            client.close()


def writes_newest(client: Client) -> bool:
    """Return whether a node has read the new agreement, which shows in the rules of a new bucket."""
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


@pytest.mark.full
def test_an_upgraded_cluster_replaces_texts(clients: tuple[DevCluster, list[Client]]) -> None:
    cluster, nodes = clients
    spread(cluster.addresses, "big", 3)
    for collection in ("c", "big"):
        nodes[0].push(collection, "b", "o", "an old text")
        with pytest.raises(SonicError):
            nodes[0].upsert(collection, "b", "o", "too early")
        until(lambda: nodes[1].query(collection, "b", "old") == ["o"])  # noqa: B023
    upgrade(cluster.addresses)
    until(lambda: all(map(writes_newest, nodes)))
    for collection in ("c", "big"):
        for node, client in enumerate(nodes):
            client.upsert(collection, "b", "o", f"a new text of node{node}")
            client.upsert(collection, "b", f"o{node}", "many " * 9_000 + f"number{node}")
        rows = [(f"row{number}", f"row {number}") for number in range(50)]
        assert (
            nodes[2].push_many([*rows, ("o", "last of all")], collection=collection, bucket="b", upsert=True).refused
            == []
        )
        for client in nodes:  # nodes that did not take the newest text may be a little behind
            until(lambda: found_in(client, collection) == ([[], [], ["o"], ["o1"]], 54))  # noqa: B023
    for client in nodes:
        assert client.verify() == []


def found_in(client: Client, collection: str) -> tuple[list[Any], int]:
    found = [client.query(collection, "b", word) for word in ("old", "new", "last", "number1")]
    return found, client.count_objects(collection, "b")
