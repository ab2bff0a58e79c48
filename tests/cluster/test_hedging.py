"""Reads at other nodes: the answer of another node replaces a slow one, and a lost node causes no delay."""

import asyncio
import random
from collections.abc import Coroutine
from typing import Any

import pytest

from sonicpy.cluster.peers import hedging
from sonicpy.cluster.peers.hedging import Askable, HedgedQuestion, Hedging, Percentile
from tests.support.patience import WAIT_S

GONE, SILENT = b"gone", b"silent"


class Node:
    """A connection to a node that answers after a time."""

    def __init__(self, answer: bytes, delay_s: float = 0.0) -> None:
        self.asked = 0
        self._answer = answer
        self._delay_s = delay_s

    def ask(self, question: bytes, asked: HedgedQuestion) -> None:
        self.asked += 1
        if self._answer != SILENT:
            answer = None if self._answer == GONE else self._answer + question
            asyncio.get_running_loop().call_later(self._delay_s, asked.take, self, answer)


def run(test: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(test, WAIT_S))


async def ask_by(hedged: Hedging, nodes: tuple[Node, ...], question: bytes) -> bytes | None:
    future: asyncio.Future[bytes | None] = asyncio.get_running_loop().create_future()
    hedged.ask(nodes, question, future.set_result)
    return await future


async def ask(*nodes: Node) -> tuple[bytes | None, Hedging, list[Askable]]:
    lost: list[Askable] = []
    hedged = Hedging(lost.append)
    answer = await ask_by(hedged, nodes, b"?")
    hedged.close()
    return answer, hedged, lost


def asked(*nodes: Node) -> list[int]:
    return [node.asked for node in nodes]


@pytest.mark.parametrize("nodes", [[SILENT], [SILENT, SILENT], [b"-behind", SILENT], [GONE, SILENT]])
def test_an_answer_that_does_not_come_is_not_waited_for(nodes: list[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    """A question without an answer is given up, and a connection that answers other questions stays open."""
    monkeypatch.setattr(hedging, "READ_S", 0.05)
    monkeypatch.setattr(hedging, "LATE_S", 0.01)

    async def test() -> None:
        answer, _, _ = await ask(*[Node(answer) for answer in nodes])
        assert answer in (None, b"-behind?")

    run(test())


def test_a_quick_answer_asks_one_node() -> None:
    async def test() -> None:
        nodes = Node(b"+a"), Node(b"+b")
        answer, hedged, lost = await ask(*nodes)
        assert (answer, asked(*nodes), hedged.hedged, lost) == (b"+a?", [1, 0], 0, [])

    run(test())


def test_a_slow_node_is_overtaken() -> None:
    async def test() -> None:
        nodes = Node(b"+a", 5.0), Node(b"+b"), Node(b"+c")
        answer, hedged, lost = await ask(*nodes)
        assert (answer, asked(*nodes), hedged.hedged, lost) == (b"+b?", [1, 1, 0], 1, [])
        assert hedged.usual.seconds > hedging.FIRST_S  # the next question waits a little longer

    run(test())


def test_the_slow_one_may_still_be_first() -> None:
    async def test() -> None:
        nodes = Node(b"+a", 0.08), Node(b"+b", 0.9)
        answer, hedged, _ = await ask(*nodes)
        assert (answer, hedged.hedged) == (b"+a?", 1)

    run(test())


@pytest.mark.parametrize("first", [GONE, b"-behind"])
def test_who_cannot_answer_is_followed_at_once(first: bytes) -> None:
    async def test() -> None:
        nodes = Node(first), Node(b"+b")
        answer, hedged, lost = await ask(*nodes)
        assert (answer, asked(*nodes)) == (b"+b?", [1, 1])
        assert hedged.hedged == 0, "not because the first one took long"
        assert lost == ([nodes[0]] if first == GONE else [])

    run(test())


def test_nobody_can_answer() -> None:
    async def test() -> None:
        assert (await ask(Node(GONE), Node(GONE)))[0] is None
        assert (await ask(Node(b"-behind"), Node(GONE)))[0] == b"-behind?"

    run(test())


def test_a_node_that_dies_after_the_second_was_asked() -> None:
    async def test() -> None:
        nodes = Node(GONE, 0.1), Node(b"+b", 0.2)
        answer, hedged, lost = await ask(*nodes)
        assert (answer, asked(*nodes), hedged.hedged, lost) == (b"+b?", [1, 1], 1, [nodes[0]])

    run(test())


@pytest.mark.parametrize("second", [GONE, b"-behind", SILENT])
def test_a_second_node_that_cannot_answer_changes_nothing(second: bytes) -> None:
    async def test() -> None:
        nodes = Node(b"+a", 0.2), Node(second)
        answer, hedged, _ = await ask(*nodes)
        assert (answer, hedged.hedged) == (b"+a?", 1)

    run(test())


def test_one_timer_serves_many_questions() -> None:
    async def test() -> None:
        slow, quick = Node(b"+a", 5.0), Node(b"+b")
        hedged = Hedging(lambda node: None)
        answers = await asyncio.gather(*(ask_by(hedged, (slow, quick), b"%d" % number) for number in range(50)))
        assert answers == [b"+b%d" % number for number in range(50)]
        assert hedged.hedged == 50
        hedged.close()

    run(test())


def test_the_percentile_follows_the_times() -> None:
    pick = random.Random(1)
    percentile = Percentile()
    for scale in (0.01, 0.1):
        for _ in range(3000):
            percentile.note(pick.random() * scale)
        times = sorted(pick.random() * scale for _ in range(1000))
        assert sum(time > percentile.seconds for time in times) < 150
        assert percentile.seconds < 1.2 * scale
    for _ in range(1000):
        percentile.note(9.0)
    assert percentile.seconds == hedging.USUAL_S_MAX
