"""Reads at other nodes: one that holds the partition is asked; when it takes longer than usual, another one, too.

"Usual" is the 95th percentile of the answers so far, so about one read in twenty is asked twice. The first answer
counts. A node that is gone, or cannot answer, is followed by the next one at once. Changes are not asked for here: a
second question would change things twice.
"""

import asyncio
import random
from collections.abc import Sequence
from typing import Any

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from nats.errors import Error as NatsError

PERCENTILE = 0.95
STEP = 0.05
"""How far one answer moves the estimate, as a share of it."""
FIRST_S = 0.02
USUAL_S_MIN, USUAL_S_MAX = 0.001, 0.5
NOT_HERE = b"-"
"""Begins the answer of a node that cannot answer."""


class Percentile:
    """An estimate of a percentile of times, which follows them as they change."""

    def __init__(self) -> None:
        self.seconds = FIRST_S

    def note(self, seconds: float) -> None:
        """Take one time."""
        moved = PERCENTILE if seconds > self.seconds else PERCENTILE - 1.0
        self.seconds = min(USUAL_S_MAX, max(USUAL_S_MIN, self.seconds * (1.0 + STEP * moved)))


class _Question:
    """A question that waits for its first answer."""

    __slots__ = ("answer", "asked", "left", "payload", "refusal", "reply")

    def __init__(self, answer: "asyncio.Future[bytes | None]", left: list[str], payload: bytes, reply: str) -> None:
        self.answer = answer
        self.left = left
        self.payload = payload
        self.reply = reply
        self.asked = 0
        self.refusal: bytes | None = None


class Asker:
    """Asks other nodes. To be made while the loop runs.

    Attributes:
        questions, hedged: how many were asked, and how many of them a second node was asked, too.
    """

    def __init__(self, connection: Client) -> None:
        self._connection = connection
        self._prefix = connection.new_inbox()
        self._loop = asyncio.get_running_loop()
        self._number = 0
        self._waiting: dict[str, _Question] = {}
        self._publishing: set[asyncio.Task[Any]] = set()
        self._subscription: Subscription | None = None
        self.usual = Percentile()
        self.questions = self.hedged = 0

    async def start(self) -> None:
        """Listen for answers."""
        self._subscription = await self._connection.subscribe(f"{self._prefix}.*", cb=self._take)

    async def stop(self) -> None:
        """Listen no more."""
        if self._subscription is not None and not self._connection.is_closed:
            await self._subscription.unsubscribe()
        for task in self._publishing:
            task.cancel()

    async def ask(self, subjects: Sequence[str], payload: bytes, timeout_s: float) -> bytes | None:
        """Return the first answer; None: nobody listens. The answer of the last one, if none of them can answer.

        Args:
            subjects: of the nodes that hold the partition, in any order.

        Raises:
            TimeoutError: those that were asked are silent.
            NatsError: there is no connection.
        """
        self._number += 1
        name = str(self._number)
        order = random.sample(list(subjects), len(subjects))
        reply = f"{self._prefix}.{name}"
        question = self._waiting[name] = _Question(self._loop.create_future(), order, payload, reply)
        self.questions += 1
        began = self._loop.time()
        timer = self._loop.call_later(self.usual.seconds, self._hedge, question)
        try:
            await self._ask_next(question)
            answer = await asyncio.wait_for(question.answer, timeout_s)
            self.usual.note(self._loop.time() - began)
            return answer
        finally:
            timer.cancel()
            del self._waiting[name]

    async def _ask_next(self, question: _Question) -> None:
        """Ask the next node; if there is none and no answer is to come, that is the answer."""
        if question.left:
            question.asked += 1
            await self._connection.publish(question.left.pop(), question.payload, reply=question.reply)
        elif not question.asked and not question.answer.done():
            question.answer.set_result(question.refusal)

    def _hedge(self, question: _Question) -> None:
        if question.left and not question.answer.done():
            self.hedged += 1
            task = self._loop.create_task(self._ask_next(question))
            self._publishing.add(task)
            task.add_done_callback(self._ended)

    def _ended(self, task: "asyncio.Task[Any]") -> None:
        self._publishing.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None and not isinstance(error, NatsError):
            raise error

    async def _take(self, message: Msg) -> None:
        question = self._waiting.get(message.subject.rpartition(".")[2])
        if question is None or question.answer.done():
            return
        is_gone = bool(message.headers) and "Status" in (message.headers or {})
        if not is_gone and message.data[:1] != NOT_HERE:
            question.answer.set_result(message.data)
            return
        question.asked -= 1
        if not is_gone:
            question.refusal = message.data
        await self._ask_next(question)
