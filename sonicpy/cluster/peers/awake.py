"""Changes at other nodes: one awake node gets the change, and no second one while the first may still carry it out.

A second question could apply a change twice, so a node that is stopped or cut off would delay a change until its time
limit. Therefore every node that holds the partition gets a probe first, and the first to answer gets the question.
While it works, which takes seconds during an election of the brokers, further probes check that it is awake. If a node
cannot answer, the next one is asked.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence

from sonicpy.cluster.peers.hedging import NOT_HERE, Askable
from sonicpy.errors import SonicError

AWAKE_S = 1.0
"""The time in seconds within which a node has to answer a probe to get the question."""
AGAIN_S = 0.5
"""The interval in seconds of probes to a node that has the question: below the allowed silence of a connection."""
PROBE = b""
"""A question that every version of sonicpy refuses at once."""

Lost = Callable[[Askable], None]
"""A function that is called with each connection that gave no answer."""


class Vanished(SonicError):
    """The node that has the question is gone, or silent: the outcome is unknown."""


class NodeReply:
    """The answer of one node. Create it while the loop runs."""

    def __init__(self, lost: Lost) -> None:
        self.future: asyncio.Future[bytes | None] = asyncio.get_running_loop().create_future()
        self._lost = lost

    def take(self, node: Askable, answer: bytes | None) -> None:
        """Take the answer of the node; None: its connection is lost."""
        if answer is None:
            self._lost(node)
        if not self.future.done():
            self.future.set_result(answer)


class Probes:
    """Probes to some nodes, and their answers. Create it while the loop runs."""

    def __init__(self, nodes: Sequence[Askable], lost: Lost) -> None:
        self._loop = asyncio.get_running_loop()
        self._until_s = self._loop.time() + AWAKE_S
        self._missing = len(nodes)
        self._awake: deque[Askable] = deque()
        self._changed = asyncio.Event()
        self._lost = lost
        for node in nodes:
            node.ask(PROBE, self)

    def take(self, node: Askable, answer: bytes | None) -> None:
        """Take the answer of a node; None: its connection is lost."""
        self._missing -= 1
        if answer is None:
            self._lost(node)
        else:
            self._awake.append(node)
        self._changed.set()

    async def next(self) -> Askable | None:
        """Return the next node that answers; None: no further node answers in time."""
        while not self._awake and self._missing:
            self._changed.clear()
            try:
                await asyncio.wait_for(self._changed.wait(), self._until_s - self._loop.time())
            except TimeoutError:
                return None
        return self._awake.popleft() if self._awake else None


async def ask_awake(nodes: Sequence[Askable], question: bytes, limit_s: float, lost: Lost) -> bytes | None:
    """Return the answer of an awake node, or the reason of the last one that could not answer; None: no node is awake.

    Args:
        limit_s: the longest wait for an answer in seconds.

    Raises:
        Vanished: a node has received the question and does not answer.
    """
    probes, refusal = Probes(nodes, lost), None
    while (node := await probes.next()) is not None:
        answer = await _ask(node, question, limit_s, lost)
        if answer[:1] != NOT_HERE:
            return answer
        refusal = answer
    return refusal


async def _ask(node: Askable, question: bytes, limit_s: float, lost: Lost) -> bytes:
    """Return the answer of a node to a question. Raises Vanished."""
    reply, clock = NodeReply(lost), asyncio.get_running_loop().time
    until_s = clock() + limit_s
    node.ask(question, reply)
    while not reply.future.done() and (left_s := until_s - clock()) > 0:
        await asyncio.wait([reply.future], timeout=min(left_s, AGAIN_S))
        if not reply.future.done():
            node.ask(PROBE, NodeReply(lost))  # the connection ends if nothing is heard on it
    if not reply.future.done():
        raise Vanished("the node that was asked gives no answer")
    answer = reply.future.result()
    if answer is None:
        raise Vanished("the node that was asked is silent")
    return answer
