"""The questions about partitions: a node answers its own questions and those of others, or passes them on."""

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError
from nats.errors import NoRespondersError

from sonicpy.cluster.log.ending import end
from sonicpy.cluster.log.limits import ANSWER_S, READ_S
from sonicpy.cluster.node.known_rules import KnownRules
from sonicpy.cluster.node.places import Places
from sonicpy.cluster.node.replica import Replica
from sonicpy.cluster.node.writers import Writers
from sonicpy.cluster.peers.awake import Vanished
from sonicpy.cluster.peers.hedging import NOT_HERE
from sonicpy.cluster.peers.packed_answers import ANSWER, NotHere, answer_or_refusal, pack_error, unpack_answer
from sonicpy.cluster.peers.peers import AnswerLater, AnswerNow, Asker, Peers, PeersAsleep
from sonicpy.cluster.peers.questions import (
    CHANGES,
    Question,
    answer_read,
    is_read,
    make_record,
    pack_command,
    pack_question,
    subject_of_questions,
    unpack_question,
)
from sonicpy.errors import SonicError, StoreError
from sonicpy.index.search.phrases import CheckedTooMany, PhraseChecks
from sonicpy.server.connections.dispatch import Take
from sonicpy.server.connections.phrase_turns import AT_ONCE, PhraseTurns, keeps_orders

if TYPE_CHECKING:
    from sonicpy.index.recorder import Recorder

logger = logging.getLogger(__name__)

TRY_S = 1.5
APPLY_S = 5.0
"""The longest wait in seconds until a replica has applied the acknowledged changes."""
READ_APPLY_S = 1.0
"""The longest wait in seconds for a replica in one try of a read: after it another node is asked, and later this one
again."""
PAUSE_S = 0.05


class Desk:
    """Answers questions by a replica of this node or by another node. Create it while the loop runs.

    Args:
        held: partition -> the replica of this node; it may change at any time.
        recorder: makes the records of changes.
        connection: the connection to the brokers, which pass questions on where no node can be reached directly.
        make_peers: makes the direct connections from the two functions by which this node answers on them.
        is_strong: whether every read sees all changes that any node has acknowledged before.
        is_cut_off: returns whether this node may get nothing new from the brokers at present.

    Attributes:
        rules: the rules of buckets by which this node cuts texts.
    """

    def __init__(
        self,
        places: Places,
        held: Mapping[int, Replica],
        writers: Writers,
        recorder: "Recorder",
        connection: Client,
        make_peers: Callable[[AnswerNow, AnswerLater], Peers],
        *,
        is_strong: bool,
        is_cut_off: Callable[[], bool],
    ) -> None:
        self.is_strong = is_strong
        self._places = places
        self._held = held
        self._writers = writers
        self._recorder = recorder
        self._phrases = PhraseTurns() if keeps_orders(recorder.config) else None
        self._connection = connection
        self._is_cut_off = is_cut_off
        self._answering: set[asyncio.Task[None]] = set()
        self.rules = KnownRules(places, held, writers, recorder, self.ask)
        self.peers = make_peers(self._answer_now, self._answer_packed)

    async def ask(self, partition: int, question: Question, *, once: bool = False) -> bytes:
        """Return the answer to a question about a partition, from here or from another node.

        Args:
            once: give up if no node answers at the first try, because the caller can ask another question.

        Raises:
            CommandError: the question was refused.
            StoreError: no node answered; after a change the outcome is unknown.
        """
        began_s = time.monotonic()
        question = question.with_position(self._writers.written[partition], self.is_strong)
        while True:
            try:
                is_here = self._can_answer(partition, question)
                if is_here and is_read(question) and question.is_strong:  # one barrier for all tries
                    position = max(question.position, await self._writers.barrier(partition))
                    question = question.with_position(position, is_strong=False)
                asked = self.answer if is_here else self._ask_others
                answer = await asked(partition, question)
                return self._note_change(partition, answer) if question.kind in CHANGES else answer
            except (NotHere, PeersAsleep) as error:
                if is_here and is_read(question) and (found := await self._ask_peers(partition, question)) is not None:
                    return found
                limit_s = READ_S if isinstance(error, PeersAsleep) else self._limit_s(partition, question)
                if once or time.monotonic() - began_s > limit_s:
                    raise StoreError(f"no node answers for partition {partition}: {error}") from error
                await asyncio.sleep(PAUSE_S)

    async def answer(self, partition: int, question: Question) -> bytes:
        """Return the answer of this node's replica of a partition to a question. Raises as `ask`, and NotHere."""
        replica = self._held.get(partition)
        if replica is None or replica.fault is not None:
            raise NotHere("the node does not hold it" if replica is None else str(replica.fault))
        if question.kind in CHANGES:
            if replica.held_up is not None:  # other replicas would carry it out, and its result would not come
                raise NotHere(replica.held_up)
            return await self._change(partition, question)
        position = question.position
        if question.is_strong:
            position = max(position, await self._writers.barrier(partition))
        if replica.held_up is not None:
            if replica.applied < position:
                raise NotHere(f"it is at {replica.applied}, and {position} is wanted: {replica.held_up}")
            if (found := await self._ask_newer(replica, question)) is not None:
                return found
        elif replica.applied < position:
            if not question.is_strong and self._is_cut_off():
                raise NotHere(f"it is at {replica.applied}, {position} is wanted, and no broker answers")
            try:
                await replica.wait_for(position, READ_APPLY_S)
            except StoreError as error:
                raise NotHere(str(error)) from error
        if self._phrases is None:
            return answer_read(replica.to_read(), replica.committer, question)
        return await self._phrases.ask(replica.to_read(), lambda index: answer_read(index, replica.committer, question))

    def relay(self, partition: int, command: Any) -> Callable[[Take], None] | None:
        """Return a function that has another node answer a command without changes; None: no node is connected.

        Its callback gets None if no node has answered: `ask` may still find one.
        """
        route = self.peers.route(self._places.holders[partition])
        if not route:
            return None
        packed = pack_command(partition, command, self._writers.written[partition], self.is_strong)
        return partial(self._relay, route, packed)

    def acknowledged(self, partitions: Iterable[int]) -> tuple[int, ...]:
        """Return the positions up to which this node has acknowledged changes in partitions."""
        return tuple([self._writers.written[partition] for partition in partitions])

    async def wait_for_own(self, replica: Replica) -> None:
        """Wait until a replica has applied the changes that this node has acknowledged. Raises StoreError."""
        await replica.wait_for(self._writers.written[replica.partition], APPLY_S)

    async def take(self, message: Msg) -> None:
        """Answer a question of another node that the brokers pass on."""
        task = asyncio.create_task(self._answer_other(message))
        self._answering.add(task)
        task.add_done_callback(self._answering.discard)

    async def close(self) -> None:
        """Stop answering questions that the brokers have passed on."""
        await end(self._answering)

    # -- inside: this node answers -------------------------------------------------------------------------------------

    def _can_answer(self, partition: int, question: Question) -> bool:
        """Return whether a replica of this node can answer, now or once it has got the missing entries."""
        replica = self._held.get(partition)
        return replica is not None and replica.fault is None and (replica.held_up is None or is_read(question))

    def _limit_s(self, partition: int, question: Question) -> float:
        """Return the time in seconds for which answers are tried: longer if missing entries may arrive, here or in the
        log.
        """
        if question.kind in CHANGES or question.is_strong:
            return ANSWER_S
        return APPLY_S if self._can_answer(partition, question) and not self._is_cut_off() else READ_S

    async def _change(self, partition: int, question: Question) -> bytes:
        """Return the result of a change, and its position in the log, packed. Raises StoreError if it was not applied
        within ANSWER_S seconds.
        """
        scope = question.fields[:2]
        if question.kind == "Pop":
            self._recorder.cut_by(self._held[partition].to_read().bucket_rules(*scope))
        elif question.kind != "Tag":
            self.rules.forget(scope[0])
        record = make_record(self._recorder, question)
        batch = self._writers.add(partition, record)
        place = len(batch.records[partition]) - 1
        try:
            answers = await asyncio.wait_for(asyncio.shield(batch.answers_of(partition)), ANSWER_S)
        except TimeoutError as error:
            raise StoreError("the outcome of a change is unknown: it was not applied in time") from error
        return f"{answers[place]} {await asyncio.shield(batch.done)}".encode()

    def _note_change(self, partition: int, answer: bytes) -> bytes:
        """Note the position up to which reads of this node have to see the log after a change; return the result of the
        change.
        """
        number, position = answer.split()
        self._writers.note_written(partition, int(position))
        return number

    async def _answer_other(self, message: Msg) -> None:
        try:
            await message.respond(await self._answer_packed(message.data))
        except (NatsError, OSError) as error:
            logger.warning("an answer for another node was not sent: %s", error)

    async def _answer_packed(self, packed: bytes) -> bytes:
        """Return the answer to a question of another node, as bytes."""
        is_change = False
        try:
            partition, question = unpack_question(packed)
            is_change = question.kind in CHANGES
            return ANSWER + await self.answer(partition, question)
        except SonicError as error:
            return pack_error(error, is_change=is_change)

    def _answer_now(self, packed: bytes) -> bytes | None:
        """Return the packed answer of a replica of this node; None: it cannot answer at once."""
        try:
            partition, question = unpack_question(packed)
            replica = self._held.get(partition)
            if (
                replica is None
                or not replica.answers_at(question.position)
                or question.is_strong
                or not is_read(question)
            ):
                return None
            if self._phrases is None:
                return ANSWER + answer_read(replica.to_read(), replica.committer, question)
            with PhraseChecks(AT_ONCE).trying():
                return ANSWER + answer_read(replica.to_read(), replica.committer, question)
        except CheckedTooMany:  # `answer` looks at them in steps
            return None
        except SonicError as error:
            return pack_error(error, is_change=False)

    # -- inside: another node answers ----------------------------------------------------------------------------------

    def _relay(self, route: Sequence[Asker], packed: bytes, take: Take) -> None:
        def take_packed(answer: bytes | None) -> None:
            take(None if answer is None else answer_or_refusal(answer))

        self.peers.ask_along(route, packed, take_packed)

    async def _ask_others(self, partition: int, question: Question) -> bytes:
        packed = pack_question(partition, question)
        if question.kind in CHANGES:
            return unpack_answer(await self._ask_once(partition, packed))
        answer = await self.peers.ask(self._places.holders[partition], packed)
        return unpack_answer(answer or await self._ask_brokers(partition, packed, TRY_S, is_change=False))

    async def _ask_once(self, partition: int, packed: bytes) -> bytes:
        """Return the answer of a holder to a change, which is asked once. Raises as `ask`, NotHere, and PeersAsleep."""
        try:
            answer = await self.peers.ask_once(self._places.holders[partition], packed, ANSWER_S)
        except Vanished as error:
            raise StoreError(f"the outcome of a change is unknown: {error}") from error
        if answer is None:
            return await self._ask_brokers(partition, packed, ANSWER_S, is_change=True)
        return answer

    async def _ask_peers(self, partition: int, question: Question) -> bytes | None:
        """Return the answer of another holder over a direct connection; None: no holder is connected. Raises as
        `ask`.
        """
        answer = await self.peers.ask(self._places.holders[partition], pack_question(partition, question))
        return None if not answer or answer[:1] == NOT_HERE else unpack_answer(answer)

    async def _ask_newer(self, replica: Replica, question: Question) -> bytes | None:
        """Return the answer to a read of another holder that has applied the entry which holds up a replica here; None:
        none answers within READ_APPLY_S seconds, and old content is better than none. Raises as `ask`.

        Each holder that passes the question on wants a later entry than the one before, so it never comes back.
        """
        newer = question.with_position(max(question.position, replica.applied + 1), is_strong=False)
        try:
            return await asyncio.wait_for(self._ask_peers(replica.partition, newer), READ_APPLY_S)
        except TimeoutError:
            return None

    async def _ask_brokers(self, partition: int, packed: bytes, timeout_s: float, *, is_change: bool) -> bytes:
        """Return the answer of a node that holds a partition, to which the brokers pass the question on. Raises NotHere
        if no node answers; if a node has got a change (`is_change`) and is silent for `timeout_s` seconds, StoreError,
        because its outcome is unknown.
        """
        if not self._connection.is_connected:  # nats-py would send a change late, after its outcome was reported
            raise NotHere("no broker is connected")
        try:
            message = await self._connection.request(subject_of_questions(partition), packed, timeout=timeout_s)
        except NoRespondersError as error:
            raise NotHere("no node that holds it is there") from error
        except (NatsError, OSError) as error:
            if is_change:
                raise StoreError("the outcome of a change is unknown: the node that was asked is silent") from error
            raise NotHere("the node that was asked is silent") from error
        return message.data
