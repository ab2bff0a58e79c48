"""A node answers every command within one time limit, at worst with an error, so that a client only has to wait longer
than this.
"""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("nats", reason="needs nats-py: pip install nats-py")

from sonicpy.channel.commands import (  # noqa: E402
    Buckets,
    Collections,
    Command,
    Count,
    CountC,
    CountFacets,
    FlushB,
    FlushC,
    FlushO,
    FlushV,
    Objects,
    Pop,
    Query,
    Stats,
    Suggest,
    Tag,
)
from sonicpy.cluster.log import limits  # noqa: E402
from sonicpy.cluster.node import node_service  # noqa: E402
from sonicpy.cluster.node.known_rules import KnownRules  # noqa: E402
from sonicpy.cluster.node.node_service import NodeService, limit_of  # noqa: E402
from sonicpy.cluster.node.places import Places  # noqa: E402
from sonicpy.cluster.registry.registry import Layout  # noqa: E402
from sonicpy.errors import StoreError  # noqa: E402
from sonicpy.http import over_channel  # noqa: E402
from sonicpy.index.search.fitting import Typed  # noqa: E402
from sonicpy.rules import FIRST  # noqa: E402

QUERY = Query("c", "b", "apple", 10, 0, None)
READS: list[Command] = [
    QUERY,
    Suggest("c", "b", "app", 5),
    Objects("c", "b", 10, "", None, None),
    Count("c", "b", "o1"),
    CountFacets("c", "b", "apple", 10, None),
]
OTHERS: list[Command] = [Count("c", None, None), CountC("c"), Collections(10, None), Buckets("c", 10, None), Stats("c")]
CHANGES: list[Command] = [
    Pop("c", "b", "o1", "apple"),
    FlushB("c", "b"),
    FlushC("c"),
    FlushO("c", "b", "o1"),
    Tag("c", "b", "o1", ["red"]),
    FlushV("c", "b"),
]


def silent_service(spread: frozenset[str]) -> Any:
    """Return the service of a node whose cluster never answers."""

    async def ask(*_: object, **__: object) -> bytes:
        await asyncio.Event().wait()
        raise AssertionError

    recorder: Any = SimpleNamespace(
        config=SimpleNamespace(search=SimpleNamespace(ranking="bm25", suggest_order="likely")),
        lexer=SimpleNamespace(rules=FIRST),
    )
    recorder.read_query = lambda *_: ([1], None)
    recorder.read_typed = lambda word, _: Typed([], word.encode(), len(word))
    places = Places(Layout(2, 1, ("n1",), spread=tuple((name, 2) for name in spread)))
    none: Any = None
    desk: Any = SimpleNamespace(
        ask=ask, is_strong=False, acknowledged=tuple, rules=KnownRules(places, {}, none, recorder, ask)
    )
    found: Any = NodeService.__new__(NodeService)
    found.embedding = None
    found.node = SimpleNamespace(desk=desk, places=places)
    found._spread = node_service.Spread(desk, places, recorder)
    return found


@pytest.mark.parametrize("command", [*READS, *OTHERS, *CHANGES], ids=lambda command: type(command).__name__)
def test_no_command_waits_for_ever(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_service, "ANSWER_S", 0.03)
    monkeypatch.setattr(node_service, "RELAYED_S", 0.01)
    with pytest.raises(StoreError, match=r"got no answer in 0\.0. seconds") as caught:
        asyncio.run(asyncio.wait_for(silent_service(frozenset()).execute(command), 20))
    assert ("its outcome is unknown" in str(caught.value)) == (type(command) in map(type, CHANGES))


@pytest.mark.parametrize(
    "command", [QUERY, Suggest("c", "b", "app", 5), Objects("c", "b", 10, "", None, None), FlushB("c", "b")]
)
def test_nor_does_one_about_a_spread_bucket(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_service, "ANSWER_S", 0.03)
    monkeypatch.setattr(node_service, "RELAYED_S", 0.01)
    monkeypatch.setattr("sonicpy.cluster.node.spread.pack_terms", lambda terms: "")
    with pytest.raises(StoreError, match="got no answer in"):
        asyncio.run(asyncio.wait_for(silent_service(frozenset({"c"})).execute(command), 20))


def test_the_limits_fit_each_other() -> None:
    assert limits.GIVE_UP_S < limits.ANSWER_S  # so that a client gets the reason
    assert limits.READ_S + limits.RELAYED_S < limits.ANSWER_S
    assert {limit_of(command) for command in [*OTHERS[1:], *CHANGES]} == {limits.ANSWER_S}
    assert {limit_of(command) for command in READS} == {limits.ANSWER_S - limits.RELAYED_S}
    assert over_channel.ANSWER_S > limits.ANSWER_S
