"""Reads at other nodes: one that holds the partition is asked; when it takes longer than usual, another one, too.

"Usual" is the 95th percentile of the answers so far, so about one read in twenty is asked twice. The first answer
counts. A node that is gone, or cannot answer, is followed by the next one at once. Changes are not asked for here: a
second question would change things twice.
"""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol

PERCENTILE = 0.95
STEP = 0.05
"""How far one answer moves the estimate, as a share of it."""
FIRST_S = 0.02
USUAL_S_MIN, USUAL_S_MAX = 0.001, 0.5
NOT_HERE = b"-"
"""Begins the answer of a node that cannot answer."""


class Askable(Protocol):
    """A connection to a node."""

    def ask(self, question: bytes) -> "asyncio.Future[bytes]":
        """Return the future of an answer; it raises ConnectionError if none comes."""
        ...


class Percentile:
    """An estimate of a percentile of times, which follows them as they change."""

    def __init__(self) -> None:
        self.seconds = FIRST_S

    def note(self, seconds: float) -> None:
        """Take one time."""
        moved = PERCENTILE if seconds > self.seconds else PERCENTILE - 1.0
        self.seconds = min(USUAL_S_MAX, max(USUAL_S_MIN, self.seconds * (1.0 + STEP * moved)))


class _Asked:
    """A question whose answer is awaited.

    Attributes:
        second: the answer of another node, once that is asked, too.
    """

    __slots__ = ("answer", "began_s", "others", "question", "second")

    def __init__(
        self, answer: "asyncio.Future[bytes]", others: Sequence[Askable], question: bytes, began_s: float
    ) -> None:
        self.answer = answer
        self.others = others
        self.question = question
        self.began_s = began_s
        self.second: asyncio.Future[bytes] | None = None


class Hedging:
    """Asks one of some nodes, and another one when that takes long. To be made while the loop runs.

    Args:
        lost: called with each connection that gave no answer.

    Attributes:
        hedged: how many questions a second node was asked, too.
    """

    def __init__(self, lost: Callable[[Askable], None]) -> None:
        self.usual = Percentile()
        self.hedged = 0
        self._lost = lost
        self._loop = asyncio.get_running_loop()
        self._waiting: dict[asyncio.Future[bytes], _Asked] = {}
        self._timer: asyncio.TimerHandle | None = None

    async def ask(self, nodes: Sequence[Askable], question: bytes) -> bytes | None:
        """Return the first answer of a node that can answer; None: all connections are lost.

        Args:
            nodes: the one to ask first, and the others.
        """
        refusal = None
        for place, node in enumerate(nodes):
            asked = self._begin(node, nodes[place + 1 :], question)
            try:
                answer = await self._answer(asked, node)
            finally:
                del self._waiting[asked.answer]
            if answer is not None and answer[:1] != NOT_HERE:
                self.usual.note(self._loop.time() - asked.began_s)
                return answer
            refusal = answer or refusal
        return refusal

    def close(self) -> None:
        """Ask no second node any more."""
        if self._timer is not None:
            self._timer.cancel()

    def _begin(self, node: Askable, others: Sequence[Askable], question: bytes) -> _Asked:
        answer = node.ask(question)
        asked = self._waiting[answer] = _Asked(answer, others, question, self._loop.time())
        if self._timer is None and others:  # one for all questions: a timer for each would cost too much
            self._timer = self._loop.call_later(self.usual.seconds, self._look)
        return asked

    async def _answer(self, asked: _Asked, node: Askable) -> bytes | None:
        """Return the answer that came first; None: the connections are lost."""
        try:
            return await asked.answer
        except ConnectionError:
            self._lost(node)
        if asked.second is None:
            return None
        try:
            return await asked.second
        except ConnectionError:
            return None

    def _look(self) -> None:
        """Ask a second node what has waited for longer than usual."""
        self._timer = None
        before_s = self._loop.time() - self.usual.seconds
        left = False
        for asked in list(self._waiting.values()):
            if asked.second is not None or asked.answer.done() or not asked.others:
                continue
            if asked.began_s > before_s:
                left = True
                continue
            self.hedged += 1
            asked.second = asked.others[0].ask(asked.question)
            asked.second.add_done_callback(partial(take_second, asked))
        if left:
            self._timer = self._loop.call_later(self.usual.seconds, self._look)


def take_second(asked: _Asked, second: "asyncio.Future[bytes]") -> None:
    """Let the answer of the second node be that of the first, unless that came before or the second cannot answer."""
    if second.cancelled() or second.exception() is not None:
        return
    answer = second.result()
    if not asked.answer.done() and answer[:1] != NOT_HERE:
        asked.answer.set_result(answer)
