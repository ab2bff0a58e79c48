"""Reads that a node passes on: their conditions, and the use of the answers of other nodes."""

import asyncio
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("nats", reason="needs nats-py: pip install nats-py")

from sonicpy.channel.commands import Command, Count, Query, Suggest  # noqa: E402
from sonicpy.channel.replies import error  # noqa: E402
from sonicpy.cluster.node import desk as module  # noqa: E402
from sonicpy.cluster.node.desk import Desk  # noqa: E402
from sonicpy.cluster.node.known_rules import KnownRules  # noqa: E402
from sonicpy.cluster.node.node import Node  # noqa: E402
from sonicpy.cluster.node.node_service import NODE_CALLS  # noqa: E402
from sonicpy.cluster.node.places import Places  # noqa: E402
from sonicpy.cluster.node.spread import Spread  # noqa: E402
from sonicpy.cluster.peers.hedging import TakeAnswer  # noqa: E402
from sonicpy.cluster.peers.packed_answers import NotHere, pack_error, unpack_answer  # noqa: E402
from sonicpy.cluster.peers.questions import Question, UnknownQuestion, pack_command, unpack_question  # noqa: E402
from sonicpy.cluster.registry.registry import Layout  # noqa: E402
from sonicpy.cluster.server import with_shared_cache  # noqa: E402
from sonicpy.config import Config  # noqa: E402
from sonicpy.errors import CommandError, InvalidArgument, SonicError, StoreError  # noqa: E402
from sonicpy.index.recorder import Recorder  # noqa: E402
from sonicpy.server.connections.dispatch import Postponed  # noqa: E402
from tests.cluster.stand_ins import ReplicaStandIn
from tests.index.test_spread import Part  # noqa: E402

QUERY = Query("c", "b", "apple", 10, 0, None)
ROUTE = ["a connection"]


class FakePeers:
    """Connections to other nodes, all of which give the same answer."""

    def __init__(self, answer: bytes | None = b"+", *, are_open: bool = True) -> None:
        self.answer = answer
        self.questions: list[bytes] = []
        self._are_open = are_open

    def route(self, nodes: tuple[str, ...]) -> list[str]:
        assert nodes == ("n2", "n3")
        return ROUTE if self._are_open else []

    def ask_along(self, route: list[str], question: bytes, answer: TakeAnswer) -> None:
        assert route is ROUTE
        self.questions.append(question)
        answer(self.answer)


class NotedWrites:
    """The writers of a node that has acknowledged changes up to position 7."""

    def __init__(self, turn: dict[int, str]) -> None:
        self.turn = turn
        self.written = [7]
        self.barriers: list[int] = []

    def note_written(self, partition: int, position: int) -> None:
        self.written[partition] = position

    async def barrier(self, partition: int) -> int:
        self.barriers.append(partition)
        return 10 + len(self.barriers)


def desk_with(
    peers: FakePeers,
    held: dict[int, Any] | None = None,
    *,
    turn: dict[int, str] | None = None,
    is_strong: bool = False,
    is_cut_off: bool = True,
    spread: tuple[tuple[str, int], ...] = (),
    connection: Any = None,
) -> Desk:
    """Return the desk of node n1 in a cluster with one partition, which the node holds only if `held` has it."""
    places = Places(Layout(1, 2, ("n2", "n3"), spread=spread))
    places.holders = [("n2", "n3")]
    writers: Any = NotedWrites(turn or {})
    make_peers: Any = lambda *_: peers  # noqa: E731
    recorder = Recorder(Config())
    return Desk(
        places, held or {}, writers, recorder, connection, make_peers,
        is_strong=is_strong, is_cut_off=lambda: is_cut_off,
    )  # fmt: skip


def node_with(peers: FakePeers, held: dict[int, Any] | None = None, **given: Any) -> Any:
    """Return a node with the methods that calls within a turn need."""
    desk = desk_with(peers, held, **given)
    return SimpleNamespace(
        desk=desk,
        places=desk._places,
        writers=desk._writers,
        replicas=SimpleNamespace(held=desk._held),
        is_strong=desk.is_strong,
    )


def postponed(node: Any, command: Command) -> Postponed:
    with pytest.raises(Postponed) as caught:
        NODE_CALLS[type(command)](node, command)
    return caught.value


@pytest.mark.parametrize("command", [QUERY, Suggest("c", "b", "app", 5), Count("c", "b", "o1")])
def test_a_read_of_what_others_hold_is_passed_on(command: Query | Suggest | Count) -> None:
    peers = FakePeers(b"+EVENT\r\n")
    ask = postponed(node_with(peers), command).ask
    assert ask is not None
    assert not peers.questions  # so far
    taken: list[bytes | SonicError | None] = []
    ask(taken.append)
    assert taken == [b"EVENT\r\n"]
    assert peers.questions == [pack_command(0, command, 7, False)]


@pytest.mark.parametrize(
    ("attributes", "command"),
    [
        ({"turn": {0: "a batch"}}, QUERY),
        ({"spread": (("c", 1),)}, QUERY),
        ({"held": {0: ReplicaStandIn(fault="behind")}}, QUERY),
        ({"held": {0: ReplicaStandIn(held_up="the disk is full", applied=9)}}, QUERY),
        ({}, Count("c", None, None)),
    ],
)
def test_what_is_left_to_the_service(attributes: dict[str, Any], command: Query | Count) -> None:
    assert postponed(node_with(FakePeers(), **attributes), command).ask is None


def test_nobody_is_connected() -> None:
    assert postponed(node_with(FakePeers(are_open=False)), QUERY).ask is None


@pytest.mark.parametrize("answer", [None, b"", b"-behind", b"?unknown", b"*of a later version"])
def test_an_answer_that_is_none(answer: bytes | None) -> None:
    """Without a usable answer, the service asks the node itself and reports the error."""
    taken: list[bytes | SonicError | None] = []
    ask = postponed(node_with(FakePeers(answer)), QUERY).ask
    assert ask is not None
    ask(taken.append)
    assert taken == [None]


def test_a_refusal_comes_as_it_was() -> None:
    taken: list[Any] = []
    refusal = pack_error(CommandError("invalid_format", "no such name"), is_change=False)
    ask = postponed(node_with(FakePeers(refusal)), QUERY).ask
    assert ask is not None
    ask(taken.append)
    assert (type(taken[0]), taken[0].code, taken[0].detail) == (CommandError, "invalid_format", "no such name")


def test_a_refused_argument_keeps_its_sentence() -> None:
    refused = InvalidArgument("limit is 'x';\nallowed are numbers")
    with pytest.raises(InvalidArgument) as raised:
        unpack_answer(pack_error(refused, is_change=False))
    assert error(raised.value) == error(refused) == b"ERR invalid_argument(limit is 'x'; allowed are numbers)\r\n"
    assert str(raised.value) == "limit is 'x'; allowed are numbers"


def test_a_node_that_does_not_know_a_question_lets_others_answer() -> None:
    for is_change in (False, True):
        with pytest.raises(NotHere, match="does not know the question"):
            unpack_answer(pack_error(UnknownQuestion("a node does not know the question X"), is_change=is_change))


def test_an_answer_of_a_later_version_is_named() -> None:
    with pytest.raises(StoreError, match="an answer of a kind that this sonicpy .* does not know: upgrade it"):
        unpack_answer(b"*later")


def answered(peers: FakePeers) -> FakePeers:
    """Make connections also answer callers that wait; return `peers`."""

    async def ask(nodes: tuple[str, ...], question: bytes) -> bytes | None:
        peers.questions.append(question)
        return peers.answer

    peers.ask = ask  # type: ignore[attr-defined]
    return peers


def cut_off_desk(peers: FakePeers) -> Desk:
    """Return the desk of a node that has acknowledged more than its replica has applied, and that reaches no broker."""
    return desk_with(answered(peers), {0: ReplicaStandIn(applied=3)})


def test_a_node_that_is_cut_off_asks_another_one_at_once() -> None:
    peers = FakePeers(b"+found")
    assert asyncio.run(cut_off_desk(peers).ask(0, Question("Query", tuple(QUERY)))) == b"found"
    assert len(peers.questions) == 1  # and its replica, which cannot be waited for here, was not waited for


def test_a_refusal_of_another_one_comes_to_a_node_that_is_cut_off() -> None:
    peers = FakePeers(pack_error(CommandError("not_found", "no such object"), is_change=False))
    with pytest.raises(CommandError, match="not_found"):
        asyncio.run(cut_off_desk(peers).ask(0, Question("Objects", ("c", "b", 10, "", "gone", None))))
    assert len(peers.questions) == 1


def test_a_node_that_is_cut_off_says_so_to_others_at_once() -> None:
    desk = cut_off_desk(FakePeers())
    with pytest.raises(NotHere, match="it is at 3, 7 is wanted, and no broker answers"):
        asyncio.run(desk.answer(0, Question("Query", tuple(QUERY), 7)))


class Lagging:
    """A replica that is up to date after a number of waits."""

    fault = held_up = committer = None

    def __init__(self, waits: int) -> None:
        self.applied = 3
        self.waits = waits

    async def wait_for(self, position: int, timeout_s: float) -> None:
        self.waits -= 1
        if self.waits:
            raise StoreError(f"{position} does not come")
        self.applied = position

    def to_read(self) -> None:
        return None


def lagging_desk(peers: FakePeers, monkeypatch: pytest.MonkeyPatch, *, is_strong: bool = False) -> Desk:
    """Return the desk of a node whose replica is up to date only after the time limit of another node's answer."""
    monkeypatch.setattr(module, "READ_S", 0.0)
    monkeypatch.setattr(module, "answer_read", lambda index, committer, question: b"late")
    held: dict[int, Any] = {0: Lagging(4)}
    return desk_with(answered(peers), held, is_strong=is_strong, is_cut_off=False)


@pytest.mark.parametrize("answer", [None, b"-behind, too"])
def test_a_read_waits_for_the_replica_of_its_node(monkeypatch: pytest.MonkeyPatch, answer: bytes | None) -> None:
    peers = FakePeers(answer)
    assert asyncio.run(lagging_desk(peers, monkeypatch).ask(0, Question("Query", tuple(QUERY)))) == b"late"
    assert len(peers.questions) == 3


def test_a_strong_read_takes_one_entry_of_the_log(monkeypatch: pytest.MonkeyPatch) -> None:
    peers = FakePeers(b"-behind, too")
    desk = lagging_desk(peers, monkeypatch, is_strong=True)
    assert asyncio.run(desk.ask(0, Question("Query", tuple(QUERY)))) == b"late"
    assert desk._writers.barriers == [0]  # type: ignore[attr-defined]
    assert desk._held[0].applied == 11
    assert {unpack_question(packed)[1].position for packed in peers.questions} == {11}


def test_a_question_may_be_put_once() -> None:
    """A question may be asked only once: the only other node answers that its version cannot read the question."""
    peers = FakePeers(b"-a node does not know the question")
    desk = desk_with(answered(peers))
    with pytest.raises(StoreError, match="no node answers for partition 0: a node does not know the question"):
        asyncio.run(desk.ask(0, Question("spread_completions", ("c", "b", "app")), once=True))
    assert len(peers.questions) == 1


class BufferingBrokers:
    """A connection to the brokers that is lost until `returns_after` looks at it, and keeps messages meanwhile."""

    def __init__(self, returns_after: int) -> None:
        self.sent: list[bytes] = []
        self._looks_left = returns_after

    @property
    def is_connected(self) -> bool:
        self._looks_left -= 1
        return self._looks_left < 0

    async def request(self, subject: str, payload: bytes, timeout: float) -> Any:
        self.sent.append(payload)
        if self._looks_left >= 0:
            raise TimeoutError
        return SimpleNamespace(data=b"+1 8")


class NoPeers(FakePeers):
    """No other node can be reached directly."""

    async def ask_once(self, *_: object) -> None:
        return None


def test_a_change_that_was_refused_is_not_sent_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ANSWER_S", 0.2)
    brokers = BufferingBrokers(returns_after=1_000_000)
    desk = desk_with(NoPeers(are_open=False), connection=brokers)
    with pytest.raises(StoreError, match="no node answers for partition 0: no broker is connected"):
        asyncio.run(desk.ask(0, Question("FlushB", ("c", "b"))))
    assert brokers.sent == []


def test_a_change_waits_for_a_broker_and_is_sent_once() -> None:
    brokers = BufferingBrokers(returns_after=3)
    desk = desk_with(NoPeers(are_open=False), connection=brokers)
    assert asyncio.run(desk.ask(0, Question("FlushB", ("c", "b")))) == b"1"
    assert len(brokers.sent) == 1


@pytest.mark.parametrize("knows", [True, False])
def test_suggest_of_a_spread_bucket_beside_an_older_node(tmp_path: Path, knows: bool) -> None:
    """A node of an older version only answers `spread_word`; its result is used, without a wait."""
    asked: list[tuple[str, bool]] = []

    async def ask(partition: int, question: Question, *, once: bool = False) -> bytes:
        asked.append((question.kind, once))
        if question.kind == "spread_completions" and not knows:
            raise StoreError("no node answers for partition 0: a node does not know the question spread_completions")
        return json.dumps(getattr(part, question.kind)(*question.fields)).encode()

    places, recorder = Places(Layout(1, 1, ("n1",), spread=(("c", 1),))), Recorder(Config())
    none: Any = None
    desk: Any = SimpleNamespace(
        ask=ask, is_strong=False, acknowledged=tuple, rules=KnownRules(places, {}, none, recorder, ask)
    )
    with Part(tmp_path / "part") as part:
        part.push("c", "b", "o1", "apple apply")
        reply = asyncio.run(Spread(desk, places, recorder).execute(Suggest("c", "b", "appl", 2)))
    assert sorted(reply.split()[-2:]) == [b"apple", b"apply"]
    assert asked == [("spread_completions", True)] + [("spread_word", False)] * (not knows)


def test_a_refused_password_is_why_clients_should_go_elsewhere() -> None:
    node: Any = Node.__new__(Node)
    node.lag = SimpleNamespace(trouble=lambda to_search: None)
    node._claim, node._connection = SimpleNamespace(loss=None), SimpleNamespace(refusal=None)
    assert node.trouble(to_search=False) is None
    node._connection.refusal = "a broker refuses the password"
    assert node.trouble(to_search=False) == "a broker refuses the password"
    assert node.trouble(to_search=True) is None


def test_the_replicas_of_a_node_share_the_cache() -> None:
    config = with_shared_cache(Config.model_validate({"store": {"kv": {"query_cache_mb": 100}}}), 16)
    assert config.store.kv.query_cache_mb == 6
    assert config.store.kv.map_size_mb == Config().store.kv.map_size_mb
    assert with_shared_cache(config, 16).store.kv.query_cache_mb == 1


def test_several_buckets_are_asked_of_the_holders_of_one_partition() -> None:
    named = QUERY._replace(buckets=(QUERY.bucket, '"b"'))
    assert postponed(node_with(FakePeers()), named).ask is not None
    with pytest.raises(InvalidArgument, match="all buckets that begin with 'x' may lie in other partitions"):
        NODE_CALLS[Query](node_with(FakePeers()), QUERY._replace(buckets=("x*",)))
    node = node_with(FakePeers())
    node.places = Places(Layout(64, 1, ("n1",)))
    with pytest.raises(InvalidArgument, match="several buckets are refused: the bucket"):
        NODE_CALLS[Query](node, QUERY._replace(buckets=("one", "two", "three")))
