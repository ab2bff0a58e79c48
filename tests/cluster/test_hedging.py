"""Reads at other nodes: a slow one is overtaken by another one, and one that is gone holds nobody up."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import pytest

pytest.importorskip("nats", reason="needs nats-py: pip install nats-py")

from sonicpy.cluster import hedging  # noqa: E402
from sonicpy.cluster.hedging import Asker, Percentile  # noqa: E402

Take = Callable[[Any], Awaitable[None]]
SILENT, GONE = "silent", "gone"


class Message:
    def __init__(self, subject: str, data: bytes, headers: dict[str, str] | None = None) -> None:
        self.subject = subject
        self.data = data
        self.headers = headers


class Brokers:
    """Stands in for a connection: each subject answers as it is told, after its delay."""

    is_closed = False

    def __init__(self, **nodes: tuple[float, Any]) -> None:
        self._nodes = nodes
        self.asked: list[str] = []
        self._takes: list[Take] = []
        self._tasks: list[asyncio.Task[None]] = []

    def new_inbox(self) -> str:
        return "_INBOX.x"

    async def subscribe(self, subject: str, cb: Take) -> "Brokers":
        assert subject == "_INBOX.x.*"
        self._takes.append(cb)
        return self

    async def unsubscribe(self) -> None:
        self._takes.clear()

    async def publish(self, subject: str, payload: bytes, reply: str) -> None:
        self.asked.append(subject)
        self._tasks.append(asyncio.create_task(self._answer(*self._nodes[subject], payload, reply)))

    async def _answer(self, delay_s: float, answer: Any, payload: bytes, reply: str) -> None:
        await asyncio.sleep(delay_s)
        if answer == GONE:
            await self._takes[0](Message(reply, b"", {"Status": "503"}))
        elif answer != SILENT:
            await self._takes[0](Message(reply, answer + payload))


def run(test: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(test, 10))


async def ask(brokers: Brokers, *nodes: str, timeout_s: float = 2.0) -> tuple[bytes | None, Asker]:
    """Ask nodes, the first one first."""
    asker = Asker(brokers)  # type: ignore[arg-type]
    await asker.start()
    hedging.random.sample = lambda some, count: list(reversed(some))  # type: ignore[assignment]
    answer = await asker.ask(nodes, b"?", timeout_s)
    await asker.stop()
    assert not asker._waiting
    return answer, asker


@pytest.fixture(autouse=True)
def _order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hedging, "random", type("Order", (), {"sample": random.sample}))


def test_a_quick_answer_asks_one_node() -> None:
    async def test() -> None:
        brokers = Brokers(a=(0.0, b"+a"), b=(0.0, b"+b"))
        answer, asker = await ask(brokers, "a", "b")
        assert (answer, brokers.asked, asker.questions, asker.hedged) == (b"+a?", ["a"], 1, 0)

    run(test())


def test_a_slow_node_is_overtaken() -> None:
    async def test() -> None:
        brokers = Brokers(a=(5.0, b"+a"), b=(0.0, b"+b"), c=(0.0, b"+c"))
        answer, asker = await ask(brokers, "a", "b", "c")
        assert (answer, brokers.asked, asker.hedged) == (b"+b?", ["a", "b"], 1)
        assert asker.usual.seconds > hedging.FIRST_S  # the next question waits a little longer

    run(test())


def test_the_slow_one_may_still_be_first() -> None:
    async def test() -> None:
        brokers = Brokers(a=(0.06, b"+a"), b=(0.5, b"+b"))
        answer, _ = await ask(brokers, "a", "b")
        assert (answer, brokers.asked) == (b"+a?", ["a", "b"])

    run(test())


@pytest.mark.parametrize("first", [GONE, b"-behind"])
def test_who_cannot_answer_is_followed_at_once(first: Any) -> None:
    async def test() -> None:
        brokers = Brokers(a=(0.0, first), b=(0.0, b"+b"))
        loop = asyncio.get_running_loop()
        began = loop.time()
        answer, asker = await ask(brokers, "a", "b")
        assert (answer, brokers.asked, asker.hedged) == (b"+b?", ["a", "b"], 0)
        assert loop.time() - began < hedging.FIRST_S

    run(test())


def test_nobody_can_answer() -> None:
    async def test() -> None:
        assert (await ask(Brokers()))[0] is None
        assert (await ask(Brokers(a=(0.0, GONE), b=(0.0, GONE)), "a", "b"))[0] is None
        answer, _ = await ask(Brokers(a=(0.0, b"-behind"), b=(0.0, GONE)), "a", "b")
        assert answer == b"-behind?"

    run(test())


def test_all_are_silent() -> None:
    async def test() -> None:
        brokers = Brokers(a=(0.0, SILENT), b=(0.0, SILENT), c=(0.0, SILENT))
        with pytest.raises(TimeoutError):
            await ask(brokers, "a", "b", "c", timeout_s=0.1)
        assert brokers.asked == ["a", "b"]

    run(test())


def test_a_refusal_waits_for_the_other_one_that_was_asked() -> None:
    async def test() -> None:
        brokers = Brokers(a=(0.2, b"+a"), b=(0.0, b"-behind"))
        answer, _ = await ask(brokers, "a", "b")
        assert answer == b"+a?"

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
