"""Reads at other nodes: a node that holds the partition gets the question; if it takes longer than usual, a second one,
too.

"Usual" is the 95th percentile of the answers so far, so about one read in twenty is asked twice. The first answer
counts. If a node is gone, or cannot answer, the next one is asked at once. Changes do not use this file: a second
question could apply them twice.

A question is an object whose methods the connections call: a future and a task for each question would cost more than
the rest of the work.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import Protocol

from sonicpy.cluster.log.limits import READ_S

PERCENTILE = 0.95
STEP = 0.05
"""The share by which one answer moves the estimate of a percentile."""
FIRST_S = 0.02
USUAL_S_MIN, USUAL_S_MAX = 0.001, 0.5
LATE_S = 0.5
"""The interval in seconds of checks for questions that have waited for longer than usual."""
NOT_HERE = b"-"
"""The first byte of the answer of a node that cannot answer."""

TakeAnswer = Callable[[bytes | None], None]
"""A function that takes the answer as bytes; None: all connections are lost."""


class AnswerTaker(Protocol):
    """Gets the answer of a node."""

    def take(self, node: "Askable", answer: bytes | None) -> None:
        """Take the answer of a node; None: its connection is lost."""
        ...


class Askable(Protocol):
    """A connection to a node."""

    def ask(self, question: bytes, asked: AnswerTaker) -> None:
        """Send a question; later call `asked.take` with the answer, or with None if there is none."""
        ...


class Percentile:
    """A running estimate of a percentile of times."""

    def __init__(self) -> None:
        self.seconds = FIRST_S

    def note(self, seconds: float) -> None:
        """Add a measured time, in seconds."""
        moved = PERCENTILE if seconds > self.seconds else PERCENTILE - 1.0
        self.seconds = min(USUAL_S_MAX, max(USUAL_S_MIN, self.seconds * (1.0 + STEP * moved)))


class HedgedQuestion:
    """A question to some nodes, which are asked in their order.

    Attributes:
        first_s: the time at which the first node got the question, in seconds.
        began_s: the time at which the first of the nodes that may still answer got the question, in seconds.
        is_over: no answer is needed any more.
    """

    __slots__ = ("_answer", "_hedging", "_nodes", "_place", "_question", "_refusal", "_waits_for", "began_s", "first_s",
                 "is_over")  # fmt: skip

    def __init__(self, hedging: "Hedging", nodes: Sequence[Askable], question: bytes, answer: TakeAnswer) -> None:
        self.first_s = self.began_s = 0.0
        self.is_over = False
        self._hedging = hedging
        self._nodes = nodes
        self._question = question
        self._answer = answer
        self._place = 0  # of the next node to ask
        self._waits_for = 0  # how many answers
        self._refusal: bytes | None = None

    @property
    def has_more(self) -> bool:
        """Whether there is a node left to ask."""
        return self._place < len(self._nodes)

    @property
    def may_be_hedged(self) -> bool:
        """Whether one node has the question, and another one is left."""
        return not self.is_over and self._waits_for == 1 and self.has_more

    def ask_next(self) -> None:
        """Ask the next node."""
        node = self._nodes[self._place]
        self._place += 1
        self._waits_for += 1
        node.ask(self._question, self)

    def take(self, node: Askable, answer: bytes | None) -> None:
        """Take the answer of a node; None: its connection is lost."""
        self._waits_for -= 1
        if answer is None:
            self._hedging.lost(node)
        if self.is_over:
            return
        if answer is not None and answer[:1] != NOT_HERE:
            self._hedging.note(self)
            self._end(answer)
            return
        self._refusal = answer or self._refusal
        if self.has_more:
            if not self._waits_for:
                self._hedging.begin(self)
        elif not self._waits_for:
            self._end(self._refusal)

    def expire(self) -> None:
        """Give up waiting for answers."""
        self._end(self._refusal)

    def _end(self, answer: bytes | None) -> None:
        self.is_over = True
        self._answer(answer)


class Hedging:
    """Asks one of some nodes, and a second one if the first takes longer than usual. Create it while the loop runs.

    Args:
        lost: called with each connection that gave no answer.

    Attributes:
        hedged: number of questions that went to a second node, too.
    """

    def __init__(self, lost: Callable[[Askable], None]) -> None:
        self.usual = Percentile()
        self.hedged = 0
        self.lost = lost
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[HedgedQuestion] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._late: list[HedgedQuestion] = []
        self._late_timer: asyncio.TimerHandle | None = None
        self._is_closed = False

    def ask(self, nodes: Sequence[Askable], question: bytes, answer: TakeAnswer) -> None:
        """Ask nodes until one can answer; `answer` gets the first answer later.

        Args:
            nodes: the nodes in the order of asking, at least one.
        """
        asked = HedgedQuestion(self, nodes, question, answer)
        self.begin(asked)
        asked.first_s = asked.began_s

    def begin(self, asked: HedgedQuestion) -> None:
        """Send a question to the next node."""
        asked.began_s = self._loop.time()
        asked.ask_next()
        if not self._is_closed:
            self._waiting.append(asked)
            if self._timer is None:  # one for all questions: a timer for each would cost too much
                self._timer = self._loop.call_later(self.usual.seconds, self._look)

    def note(self, asked: HedgedQuestion) -> None:
        """Update the estimate by the time of an answer."""
        self.usual.note(self._loop.time() - asked.began_s)

    def close(self) -> None:
        """Stop asking second nodes."""
        self._is_closed = True
        for timer in (self._timer, self._late_timer):
            if timer is not None:
                timer.cancel()

    def _look(self) -> None:
        """Send the questions that have waited for longer than usual to a second node."""
        self._timer = None
        before_s = self._loop.time() - self.usual.seconds
        waiting, self._waiting = self._waiting, deque()
        for asked in waiting:
            if asked.is_over:
                continue
            if asked.began_s > before_s:
                self._waiting.append(asked)
                continue
            if asked.may_be_hedged:
                self.hedged += 1
                asked.ask_next()
            self._late.append(asked)
        if self._waiting:
            self._timer = self._loop.call_later(self.usual.seconds, self._look)
        if self._late and self._late_timer is None:
            self._late_timer = self._loop.call_later(LATE_S, self._look_at_late)

    def _look_at_late(self) -> None:
        """End questions that have waited for READ_S; a connection that answers other questions stays open."""
        self._late_timer = None
        before_s = self._loop.time() - READ_S
        late, self._late = self._late, []
        for asked in late:
            if asked.is_over:
                continue
            if asked.first_s > before_s:
                self._late.append(asked)
            else:
                asked.expire()
        if self._late:
            self._late_timer = self._loop.call_later(LATE_S, self._look_at_late)
