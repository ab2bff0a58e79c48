"""Phrases in a cluster, in a plain and in a spread collection, before and after the upgrade."""

import asyncio
import re
from pathlib import Path

import pytest

pytest.importorskip("nats", reason="needs nats-py: pip install nats-py")

import sonicpy
from sonicpy.channel.commands import Query
from sonicpy.client.blocking.connect import connect
from sonicpy.cluster.node import desk as desk_module
from sonicpy.cluster.node.desk import Desk
from sonicpy.cluster.operator.dev import DevCluster
from sonicpy.cluster.operator.spread_collection import spread
from sonicpy.cluster.peers.questions import Question, pack_question, question_of
from sonicpy.cluster.registry.upgrade import upgrade
from sonicpy.config import Config
from sonicpy.index.recorder import Recorder
from sonicpy.index.search.packed_terms import pack_matching, pack_terms
from sonicpy.index.search.plan import Plan, to_plain
from sonicpy.index.search.ranking import PLANNERS
from sonicpy.index.search.statistics import SummedStatistics
from sonicpy.search import Search, asked
from sonicpy.server.connections import phrase_turns
from sonicpy.server.connections.phrase_turns import PhraseTurns
from tests.cluster.clusters import running
from tests.cluster.stand_ins import ReplicaStandIn
from tests.cluster.test_moves import urls
from tests.index.test_spread import Part
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


def test_a_node_looks_for_phrases_of_common_words_in_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(phrase_turns, "AT_ONCE", 20)
    monkeypatch.setattr(desk_module, "AT_ONCE", 20)
    config = Config.model_validate({"store": {"order": True}})
    with Part(tmp_path / "part", config) as part:
        for number in range(60):
            part.push("c", "b", f"o{number}", "red ink" if number % 9 else "ink red", "none")
        desk = Desk.__new__(Desk)
        replica = ReplicaStandIn(to_read=lambda: part)
        desk._held, desk.is_strong = {0: replica}, False  # type: ignore[dict-item]
        search = asked("QUERY", "c", "b", "", {"phrase": "ink red", "total": True})
        plan = to_plain(plan_by(part, search))
        questions = [
            question_of(Query(*search)),
            Question("spread_find", ("c", "b", plan, 10, True)),
            Question("spread_sorted", (list(search._replace(sort="newest")), plan, None)),
        ]
        for question in questions:
            packed = pack_question(0, question)
            desk._phrases = None
            at_once = desk._answer_now(packed)
            assert at_once is not None and b"o54" in at_once
            desk._phrases = asyncio.run(turns())
            assert desk._answer_now(packed) is None
            assert unmarked(asyncio.run(desk._answer_packed(packed))) == unmarked(at_once)


def unmarked(answer: bytes) -> bytes:
    return re.sub(rb"(PENDING|QUERY) \S+", b"", answer)


async def turns() -> PhraseTurns:
    return PhraseTurns()


def plan_by(part: Part, search: Search) -> Plan:
    terms, matching = Recorder(part.config).read_query(search)
    sketch = part.spread_asked("c", "b", pack_terms(terms), pack_matching(matching))
    return PLANNERS["bm25"](SummedStatistics([sketch]), terms, part.config.search, matching)
