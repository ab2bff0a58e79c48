"""A node whose disk is full leaves changes, and newer content, to other holders of a partition."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("nats", reason="needs nats-py: pip install nats-py")

from sonicpy.cluster.log.agreement import Agreement  # noqa: E402
from sonicpy.cluster.log.ending import end  # noqa: E402
from sonicpy.cluster.log.versions import LISTED  # noqa: E402
from sonicpy.cluster.node import follower as follower_module  # noqa: E402
from sonicpy.cluster.node.desk import Desk  # noqa: E402
from sonicpy.cluster.node.follower import LogFollower  # noqa: E402
from sonicpy.cluster.node.places import Places  # noqa: E402
from sonicpy.cluster.node.replica import Replica  # noqa: E402
from sonicpy.cluster.node.writers import Writers  # noqa: E402
from sonicpy.cluster.peers.packed_answers import unpack_answer  # noqa: E402
from sonicpy.cluster.peers.peers import AnswerLater, AnswerNow  # noqa: E402
from sonicpy.cluster.peers.questions import Question, pack_question  # noqa: E402
from sonicpy.cluster.registry.registry import Layout  # noqa: E402
from sonicpy.config import Config  # noqa: E402
from sonicpy.errors import StoreError, StoreFull  # noqa: E402
from sonicpy.index.recorder import Recorder  # noqa: E402
from sonicpy.index.replica_index import ReplicaIndex  # noqa: E402
from sonicpy.server.watching.server_statistics import ServerStatistics  # noqa: E402
from sonicpy.store.rows.uses import KNOWN  # noqa: E402
from tests.cluster.memory import MemoryBroker  # noqa: E402
from tests.support.patience import WAIT_S, until_in_loop  # noqa: E402

LAYOUT = Layout(1, 2, ("n1", "n2"))
WORDS_OF_O1 = Question("CountO", ("c", "b", "o1"))


class Link:
    """The connection of a node to the only other one.

    Attributes:
        is_open: whether the other node is there.
        asked: the number of questions.
    """

    def __init__(self, now: AnswerNow, later: AnswerLater) -> None:
        self.answers = (now, later)
        self.is_open = True
        self.asked = 0
        self.other: Link

    async def ask(self, nodes: tuple[str, ...], packed: bytes) -> bytes | None:
        if not self.is_open:
            return None
        self.asked += 1
        now, later = self.other.answers
        return now(packed) or await later(packed)

    async def ask_once(self, nodes: tuple[str, ...], packed: bytes, limit_s: float) -> bytes | None:
        return await self.ask(nodes, packed)


class FullNode:
    """A node with a replica of the only partition, on a disk that a test can fill.

    Attributes:
        refused: the number of times that an entry was not applied because the disk is full.
    """

    def __init__(self, name: str, folder: Path, broker: MemoryBroker) -> None:
        self.recorder = Recorder(Config())
        self.recorder.lexer.prepare()
        self.writers = Writers(broker, LAYOUT, name, 1, None)
        self.writers.write_as(Agreement(LISTED, frozenset(KNOWN)))
        self.replica = Replica(
            0, ReplicaIndex(folder / name, self.recorder), self.recorder.config, ServerStatistics(),
            self.writers.answered(0), lambda _: None,
        )  # fmt: skip
        self.is_full = False
        self.refused = 0
        apply_batch = self.replica.index.apply_batch

        def apply(*given: Any) -> list[int]:
            if self.is_full:
                self.refused += 1
                raise StoreFull("the disk is full")
            return apply_batch(*given)

        self.replica.index.apply_batch = apply  # type: ignore[method-assign]
        follower = LogFollower(0, broker)
        follower.follow(self.replica)
        self.following = asyncio.create_task(follower.run())
        connection: Any = SimpleNamespace(is_connected=False)
        make_peers: Any = Link
        self.desk = Desk(
            Places(LAYOUT), {0: self.replica}, self.writers, self.recorder, connection, make_peers,
            is_strong=False, is_cut_off=lambda: False,
        )  # fmt: skip
        self.link: Any = self.desk.peers

    async def push(self, oid: str, text: str) -> None:
        self.recorder.push("c", "b", oid, text, "eng")
        await self.writers.add(0, self.recorder.take_record()).done

    async def read(self, question: Question = WORDS_OF_O1) -> bytes:
        """Return the answer that a client of this node gets."""
        return await asyncio.wait_for(self.desk.ask(0, question), WAIT_S)

    async def relayed(self, question: Question = WORDS_OF_O1) -> bytes:
        """Return the answer that another node gets here."""
        now, later = self.link.answers
        packed = pack_question(0, question)
        return unpack_answer(now(packed) or await later(packed))

    async def close(self) -> None:
        self.is_full = False
        await end([self.following])
        await self.writers.stop()
        await self.replica.close()


@asynccontextmanager
async def two_nodes(folder: Path) -> AsyncIterator[tuple[FullNode, FullNode, MemoryBroker]]:
    """Yield two nodes and their broker; the disk of the first is full, and it lacks one word of the object o1."""
    broker = MemoryBroker()
    full, whole = (FullNode(name, folder, broker) for name in LAYOUT.nodes)
    full.link.other, whole.link.other = whole.link, full.link
    try:
        await full.push("o1", "red apple")
        for node in (full, whole):
            await node.replica.wait_for(1, WAIT_S)
        full.is_full = True
        await whole.push("o1", "pear")
        await whole.replica.wait_for(2, WAIT_S)
        await until_in_loop(lambda: full.refused)
        yield full, whole, broker
    finally:
        await full.close()
        await whole.close()


def run(test: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(test, WAIT_S))


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(follower_module, "TRY_AGAIN_S", 0.01)


@pytest.mark.parametrize(
    ("change", "result", "left"),
    [
        (Question("FlushO", ("c", "b", "o1")), b"3", b"0"),
        (Question("Pop", ("c", "b", "o1", "red")), b"1", b"2"),
        (Question("Tag", ("c", "b", "o1", ["new"])), b"1", b"3"),
    ],
)
def test_another_node_carries_out_a_change(tmp_path: Path, change: Question, result: bytes, left: bytes) -> None:
    async def test() -> None:
        async with two_nodes(tmp_path) as (full, whole, broker):
            assert await full.read(change) == result
            assert len(broker.logs[0]) == 3, "the full node has appended nothing"
            assert number_in(await full.read()) == number_in(await whole.read()) == left
            full.is_full = False
            await full.replica.wait_for(3, WAIT_S)
            full.link.is_open = False
            assert number_in(await full.read()) == left
            assert await full.read(Question("FlushB", ("c", "b"))) == b"1", "it takes changes again"

    run(test())


def test_a_change_that_no_disk_has_room_for_leaves_the_log_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sonicpy.cluster.node.desk.ANSWER_S", 0.2)

    async def test() -> None:
        async with two_nodes(tmp_path) as (full, whole, broker):
            await fill(whole, broker)
            for node in (full, whole):
                with pytest.raises(StoreError, match="no node answers for partition 0: the disk is full"):
                    await node.read(Question("FlushO", ("c", "b", "o1")))
            assert len(broker.logs[0]) == 3

    run(test())


def test_reads_do_not_alternate_between_old_and_new_content(tmp_path: Path) -> None:
    async def test() -> None:
        async with two_nodes(tmp_path) as (full, whole, _):
            for node in (full, whole) * 2:
                assert number_in(await node.read()) == number_in(await node.relayed()) == b"3"

    run(test())


def test_old_content_is_better_than_none(tmp_path: Path) -> None:
    async def test() -> None:
        async with two_nodes(tmp_path) as (full, whole, broker):
            full.link.is_open = False
            assert number_in(await full.read()) == number_in(await full.relayed()) == b"2"
            full.link.is_open = True
            await fill(whole, broker)  # it lacks another entry, and neither has what both lack
            full.link.asked = whole.link.asked = 0
            assert number_in(await whole.read()) == number_in(await whole.relayed()) == b"3"
            assert (full.link.asked, whole.link.asked) == (0, 2), "a question does not come back"
            assert number_in(await full.read()) == b"3"

    run(test())


async def fill(node: FullNode, broker: MemoryBroker) -> None:
    """Fill the disk of a node, and have a third node push something."""
    node.is_full = True
    node.recorder.push("c", "b", "o2", "plum", "eng")
    third = Writers(broker, LAYOUT, "n3", 1, None)
    await third.add(0, node.recorder.take_record()).done
    await third.stop()
    await until_in_loop(lambda: node.refused)


def number_in(reply: bytes) -> bytes:
    """Return the number of a reply such as b"RESULT 3\\r\\n"."""
    return reply.split()[-1]
