"""A node: its replicas, its writers, and the questions between nodes.

Everything here runs on the loop's thread.
"""

import asyncio
import json
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from nats.errors import Error as NatsError
from nats.errors import NoRespondersError

from sonicpy.cluster.log.broker import Epoch
from sonicpy.cluster.log.connection import Connection, leave_silent_brokers
from sonicpy.cluster.log.ending import close, end
from sonicpy.cluster.log.jetstream import JetStream
from sonicpy.cluster.log.lag import Lag
from sonicpy.cluster.log.limits import ANSWER_S, READ_S
from sonicpy.cluster.log.versions import FORMATS, check_version
from sonicpy.cluster.log.writer import LogWriter, OpenBatch
from sonicpy.cluster.node import snapshots
from sonicpy.cluster.node.claim import Claim
from sonicpy.cluster.node.figures import partition_figures
from sonicpy.cluster.node.follower import LogFollower
from sonicpy.cluster.node.moves import Mover
from sonicpy.cluster.node.replica import Answered, Replica, ReplicaTasks
from sonicpy.cluster.peers.awake import Vanished
from sonicpy.cluster.peers.hedging import NOT_HERE
from sonicpy.cluster.peers.peers import Asker, Asleep, Peers
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
from sonicpy.cluster.registry.orders import RECOVERED
from sonicpy.cluster.registry.partitions import partition_of
from sonicpy.cluster.registry.registry import Layout, Registry
from sonicpy.cluster.registry.status import SUBJECT as STATUS
from sonicpy.cluster.registry.upgrade import SUBJECT as UPGRADED
from sonicpy.config import Config
from sonicpy.errors import CommandError, SonicError, StoreError
from sonicpy.index.replica import Recorder, ReplicaIndex
from sonicpy.server.connections.dispatch import Take
from sonicpy.server.server import warn_of_modes
from sonicpy.server.watching.figures import LabelledFigures
from sonicpy.server.watching.statistics import Statistics
from sonicpy.version import VERSION

logger = logging.getLogger(__name__)

TRY_S = 1.5
APPLY_S = 5.0
"""Time limit for a replica to apply acknowledged changes."""
READ_APPLY_S = 1.0
"""APPLY_S for one attempt of a read: afterwards another node is asked, and then this one again."""
CUT_OFF_S = 1.5
"""A log without an answer for this time counts as cut off. Above the time limit of an answer, one second."""
PAUSE_S = 0.05
ANSWER, REFUSAL, FAILED = b"+", b"!", b"?"
"""The first byte of an answer. Behind it: the answer; the code and detail of an error; the reason why a change failed
or its outcome is unknown. Behind NOT_HERE: the reason why another node has to be asked."""


@dataclass(frozen=True, slots=True)
class Held:
    """A running replica: its periodic work, and its subscription for questions."""

    replica: Replica
    task: "asyncio.Task[None]"
    subscription: Subscription


class NotHere(SonicError):
    """This node cannot answer, but another one may; nothing was changed."""


class Node:
    """One process of a cluster.

    Args:
        name: of the node.
        folder: gets one folder for each replica.
        is_strong: every read sees all changes that any node has acknowledged before.
    """

    def __init__(
        self,
        name: str,
        folder: Path,
        config: Config,
        connection: Connection,
        registry: Registry,
        layout: Layout,
        claim: Claim,
        recorder: Recorder,
        *,
        is_strong: bool,
    ) -> None:
        self.name = name
        self.spread: frozenset[str] = frozenset()
        """The collections whose buckets are spread."""
        self.take_layout(layout)
        self.recorder = recorder
        self.is_strong = is_strong
        self.replicas: dict[int, Replica] = {}
        self.turn: dict[int, OpenBatch] = {}
        """The batches with changes of the turn under way, by partition."""
        self.written = [0] * layout.partitions
        """The position up to which this node has acknowledged changes, by partition."""
        self._folder = folder
        self._config = config
        self._connection = connection
        self._registry = registry
        self._broker = JetStream(connection)
        self.lag = Lag(self._broker, self.replicas, lambda partition: self.layout.log_of(partition))
        self._writers = [
            LogWriter(self._broker, number, name, claim.incarnation, self._note_acknowledged, claim=claim)
            for number in range(layout.logs)
        ]
        self._followers = [LogFollower(number, self._broker) for number in range(layout.logs)]
        self._tasks: list[asyncio.Task[None]] = []
        self._held: dict[int, Held] = {}
        self._answering: set[asyncio.Task[None]] = set()
        self._subscriptions: list[Subscription] = []
        self._claim = claim
        self._mover = Mover(self, connection, registry)
        self._peers = Peers(name, registry, self._answer_now, self._answer_packed)

    @classmethod
    async def open(
        cls, name: str, config: Config, connection: Connection, statistics: Statistics, *, is_strong: bool
    ) -> "Node":
        """Return a node that follows the logs of its partitions and answers other nodes.

        Raises:
            ConfigError: the settings are not those of the cluster.
            NotReady: the brokers do not answer, or not yet.
            StoreError: a replica cannot be opened.
        """
        registry = await Registry.open(connection, within_s=0.0)
        layout = await registry.layout()
        config = with_shared_cache(config, layout.partitions)
        recorder = Recorder(config)
        recorder.lexer.prepare()
        await registry.agree_on_analyzer(recorder.analyzer())
        check_version(version := await registry.entry_version())
        taken = f"--node is {name}; allowed is a name that no running node has, and a running node has this one"
        claim = await Claim.take(connection, registry, name, taken)
        folder = Path(config.store.kv.path)
        node = cls(name, folder, config, connection, registry, layout, claim, recorder, is_strong=is_strong)
        node.write_version(version)
        try:
            await node._start(statistics)
        except BaseException:
            await node.close()
            raise
        return node

    def folder_of(self, partition: int) -> Path:
        """Return the folder of a replica."""
        return self._folder / f"{partition:04}"

    def partition_of(self, collection: str, bucket: str, object: str = "") -> int:
        """Return the number of the partition that holds a bucket, or of a spread bucket the part with an object."""
        if self.spread:
            return self.layout.partition_of(collection, bucket, object)
        return partition_of(collection, bucket, self.layout.partitions)

    def parts_of(self, collection: str, bucket: str) -> list[int]:
        """Return the partitions that hold a bucket."""
        return self.layout.parts_of(collection, bucket)

    def take_layout(self, layout: Layout) -> None:
        """Work by a layout from now on."""
        self.layout = layout
        self._holders = [tuple(layout.holders(number)) for number in range(layout.partitions)]
        self.spread = frozenset(name for name, _ in layout.spread)

    def add(self, partition: int, record: bytes) -> OpenBatch:
        """Add a change to the next batch of a partition."""
        return self._writer_of(partition).add(partition, record)

    def write_version(self, version: int) -> None:
        """Set the version of entries to write; batches under way keep theirs."""
        for writer in self._writers:
            writer.version = version

    def batches(self) -> int:
        """Return the number of acknowledged batches of this node."""
        return sum(writer.batches for writer in self._writers)

    def figures(self) -> list[LabelledFigures]:
        """Return the figures of each partition for the metrics."""
        return partition_figures(self.name, self.replicas, self._writers, self.lag)

    def trouble(self, *, to_search: bool) -> str | None:
        """Return the reason why clients should prefer another node, as a sentence; None: there is no reason.

        Args:
            to_search: for clients that only search.
        """
        if self._claim.loss is not None and not to_search:
            return self._claim.loss
        if self._connection.refusal is not None and not to_search:
            return self._connection.refusal
        return self.lag.trouble(to_search=to_search)

    async def watch(self) -> None:
        """Wait until this node cannot work any more: clients then have to use another node.

        Raises:
            NameLost: another process has its name.
            BrokersGone: the brokers have ended its connection.
        """
        waits = [asyncio.ensure_future(wait()) for wait in (self._claim.wait_for_loss, self._connection.wait_for_end)]
        try:
            done, _ = await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
        done.pop().result()

    async def ask(self, partition: int, question: Question, *, once: bool = False) -> bytes:
        """Answer a question about a partition here, or let another node answer it.

        Args:
            once: give up after the first attempt, because the caller then asks another question.

        Raises:
            CommandError: it was refused.
            StoreError: no node answered; after a change the outcome is unknown.
        """
        began_s = time.monotonic()
        question = question.with_position(self.written[partition], self.is_strong)
        while True:
            try:
                is_here = self._can_answer(partition)
                if is_here and is_read(question) and question.is_strong:  # one barrier for all tries
                    position = max(question.position, await self.barrier(partition))
                    question = question.with_position(position, is_strong=False)
                asked = self._answer if is_here else self._ask_others
                answer = await asked(partition, question)
                return self._note_change(partition, answer) if question.kind in CHANGES else answer
            except (NotHere, Asleep) as error:
                if is_here and is_read(question) and (found := await self._ask_peers(partition, question)) is not None:
                    return found
                limit_s = READ_S if isinstance(error, Asleep) else self._limit_s(partition, question)
                if once or time.monotonic() - began_s > limit_s:
                    raise StoreError(f"no node answers for partition {partition}: {error}") from error
                await asyncio.sleep(PAUSE_S)

    def relay(self, partition: int, command: Any) -> Callable[[Take], None] | None:
        """Return a function that asks another node a command that changes nothing; None: no other node is connected.

        Its argument is called with None if no node has answered: `ask` may still find one.
        """
        route = self._peers.route(self._holders[partition])
        if not route:
            return None
        packed = pack_command(partition, command, self.written[partition], self.is_strong)
        return partial(self._relay, route, packed)

    async def barrier(self, partition: int) -> int:
        """Append an entry that changes nothing; return its position. Raises StoreError."""
        return await asyncio.shield(self._writer_of(partition).barrier().done)

    async def snapshot(self, partition: int) -> int:
        """Store a snapshot of a replica of this node at the brokers; return its position. Raises StoreError."""
        return await snapshots.save(self.replicas[partition], self._broker, self._registry)

    async def wait_for_own(self, replica: Replica) -> None:
        """Wait until a replica has applied the changes that this node has acknowledged. Raises StoreError."""
        await replica.wait_for(self.written[replica.partition], APPLY_S)

    async def close(self) -> None:
        """Stop writing, applying and answering; release the folders."""
        for writer in self._writers:
            await writer.stop()
        for subscription in self._subscriptions:
            if not self._connection.is_closed:
                await subscription.unsubscribe()
        await self._claim.release()
        await self._peers.close()
        await self._mover.stop()
        await asyncio.gather(*(self._connection.leave(held.subscription) for held in self._held.values()))
        for partition in list(self._held):
            await self.release(partition)
        await end([*self._tasks, *self._answering])
        await close(self._connection)

    async def hold(self, partition: int, statistics: Statistics, adopt: Epoch | None = None) -> None:
        """Open the replica of a partition, which then follows the log and answers.

        Args:
            adopt: the new log to continue with, from the first entry on; None: the replica's own log.

        Raises:
            StoreError: it cannot be opened.
        """
        index = await self._open_replica(partition)
        if adopt is not None:
            index.adopt(max(0, adopt.first - 1), adopt.name)
        replica = Replica(partition, index, self._config, statistics, self._answered(partition), self._read_again)
        self.replicas[partition] = replica
        self._follower_of(partition).follow(replica)
        subject = subject_of_questions(partition)
        subscription = await self._connection.subscribe(subject, queue="replicas", cb=self._take)
        self._held[partition] = Held(replica, asyncio.create_task(ReplicaTasks(replica).run()), subscription)

    async def release(self, partition: int, wait_s: float = 0.0) -> None:
        """Stop answering for a partition, and close its replica.

        Args:
            wait_s: time for which it stays open for callers that wait for an answer.
        """
        held = self._held.pop(partition)
        await self._connection.leave(held.subscription)  # before, so that the replica answers what still comes
        self.replicas.pop(partition, None)
        try:
            await asyncio.sleep(wait_s)
        finally:
            self._follower_of(partition).leave(held.replica)
            await end([held.task])
            await held.replica.close()

    # -- inside --------------------------------------------------------------------------------------------------------

    async def _start(self, statistics: Statistics) -> None:
        for follower in self._followers:
            self._tasks.append(asyncio.create_task(follower.run()))
            self._tasks[-1].add_done_callback(follower.note_end)
        self._tasks.append(asyncio.create_task(self.lag.run()))
        self._tasks.append(asyncio.create_task(leave_silent_brokers(self._connection, self._silence_s)))
        await self._mover.start(statistics)
        await self._peers.listen(self._connection)
        self._subscriptions.append(await self._connection.subscribe(STATUS, cb=self._tell_status))
        self._subscriptions.append(await self._connection.subscribe(UPGRADED, cb=self._note_upgrade))
        self._subscriptions.append(await self._connection.subscribe(RECOVERED, cb=self._note_recovery))

    def _is_cut_off(self) -> bool:
        """Whether the brokers may be cut off: reads then ask another node instead of waiting for the log."""
        return not self._connection.is_connected or self.lag.longest_silence_s > CUT_OFF_S

    def _can_answer(self, partition: int) -> bool:
        """Whether a replica of this node answers, or will after catching up."""
        return partition in self.replicas and self.replicas[partition].fault is None

    def _limit_s(self, partition: int, question: Question) -> float:
        """Return the time limit of all attempts, in seconds: longer if this replica or the log may catch up."""
        if question.kind in CHANGES or question.is_strong:
            return ANSWER_S
        return APPLY_S if self._can_answer(partition) and not self._is_cut_off() else READ_S

    def _silence_s(self) -> float:
        return max(self.lag.longest_silence_s, *(writer.gaps.lasting_s for writer in self._writers))

    async def _open_replica(self, number: int) -> ReplicaIndex:
        folder = self.folder_of(number)
        index = ReplicaIndex(folder, self.recorder)
        epoch = await self._broker.epoch_at_last(self.layout.log_of(number))
        if await snapshots.is_needed(index.progress, number, epoch, self._registry):
            access = index.maintainer.access
            index.close()
            await snapshots.replace_folder(number, epoch, self._broker, self._registry, folder, access)
            index = ReplicaIndex(folder, self.recorder)
        warn_of_modes(index)
        return index

    async def _tell_status(self, message: Msg) -> None:
        replicas = {str(number): replica.state() for number, replica in self.replicas.items()}
        answer = {
            "name": self.name,
            "batches": self.batches(),
            "replicas": replicas,
            "entries": sorted(FORMATS),
            "spread": self.layout.spread,
            "start": self._claim.incarnation,
        }
        try:
            await message.respond(json.dumps(answer).encode())
        except (NatsError, OSError) as error:
            logger.warning("a question for the status was not answered: %s", error)

    async def _note_upgrade(self, message: Msg) -> None:
        """Read the version of entries to write from the registry; on failure keep the old one until the next start."""
        try:
            version = await self._registry.entry_version()
            check_version(version)
        except SonicError as error:
            logger.warning("the version of entries stays as it is: %s", error)
            return
        self.write_version(version)
        logger.info("entries of version %d are written from now on", version)

    async def _note_recovery(self, message: Msg) -> None:
        """Forget the acknowledged position of a recovered partition: its log may lack entries that reads wait for."""
        partition = int(message.data)
        try:
            epoch = await self._broker.epoch(self.layout.log_of(partition))
        except SonicError as error:
            logger.warning("reads of partition %d may wait for lost changes: %s", partition, error)
            return
        self.written[partition] = min(self.written[partition], epoch.last)

    def _follower_of(self, partition: int) -> LogFollower:
        return self._followers[self.layout.log_of(partition)]

    def _writer_of(self, partition: int) -> LogWriter:
        return self._writers[self.layout.log_of(partition)]

    def _read_again(self, partition: int) -> None:
        self._follower_of(partition).read_again()

    def _note_acknowledged(self, batch: OpenBatch, position: int) -> None:
        for partition in batch.records:
            self.written[partition] = max(position, self.written[partition])

    def _answered(self, partition: int) -> Answered:
        def note(writer: str, incarnation: int, number: int, answers: list[int]) -> None:
            if writer == self.name:
                self._writer_of(partition).note_answers(incarnation, number, partition, answers)

        return note

    async def _answer(self, partition: int, question: Question) -> bytes:
        """Answer by the replica of this node. Raises as `ask`, and NotHere."""
        replica = self.replicas.get(partition)
        if replica is None or replica.fault is not None:
            raise NotHere("the node does not hold it" if replica is None else str(replica.fault))
        if question.kind in CHANGES:
            return await self._change(partition, question)
        position = question.position
        if question.is_strong:
            position = max(position, await self.barrier(partition))
        if replica.applied < position:
            if not question.is_strong and self._is_cut_off():
                raise NotHere(f"it is at {replica.applied}, {position} is wanted, and no broker answers")
            try:
                await replica.wait_for(position, READ_APPLY_S)
            except StoreError as error:
                raise NotHere(str(error)) from error
        return answer_read(replica.to_read(), replica.committer, question)

    async def _change(self, partition: int, question: Question) -> bytes:
        """Return the result of a change, a number, and its position."""
        record = make_record(self.recorder, question)
        batch = self.add(partition, record)
        place = len(batch.records[partition]) - 1
        try:
            answers = await asyncio.wait_for(asyncio.shield(batch.answers_of(partition)), ANSWER_S)
        except TimeoutError as error:
            raise StoreError("the outcome of a change is unknown: it was not applied in time") from error
        return f"{answers[place]} {await asyncio.shield(batch.done)}".encode()

    def _note_change(self, partition: int, answer: bytes) -> bytes:
        """Note the position of a change, which later reads of this node have to include; return its number."""
        number, position = answer.split()
        self.written[partition] = max(int(position), self.written[partition])
        return number

    def _relay(self, route: Sequence[Asker], packed: bytes, take: Take) -> None:
        def take_packed(answer: bytes | None) -> None:
            take(None if answer is None else answer_or_refusal(answer))

        self._peers.ask_along(route, packed, take_packed)

    async def _ask_others(self, partition: int, question: Question) -> bytes:
        packed = pack_question(partition, question)
        if question.kind in CHANGES:
            return unpack_answer(await self._ask_once(partition, packed))
        answer = await self._peers.ask(self._holders[partition], packed)
        return unpack_answer(answer or await self._ask_brokers(partition, packed, TRY_S, is_change=False))

    async def _ask_once(self, partition: int, packed: bytes) -> bytes:
        """Return the answer of a holder to a change. Raises as `ask`, NotHere, and Asleep."""
        try:
            answer = await self._peers.ask_once(self._holders[partition], packed, ANSWER_S)
        except Vanished as error:
            raise StoreError(f"the outcome of a change is unknown: {error}") from error
        if answer is None:
            return await self._ask_brokers(partition, packed, ANSWER_S, is_change=True)
        return answer

    async def _ask_peers(self, partition: int, question: Question) -> bytes | None:
        """Return the answer of another holder over a direct connection; None: no connection. Raises as `ask`."""
        answer = await self._peers.ask(self._holders[partition], pack_question(partition, question))
        return None if not answer or answer[:1] == NOT_HERE else unpack_answer(answer)

    async def _ask_brokers(self, partition: int, packed: bytes, timeout_s: float, *, is_change: bool) -> bytes:
        """Ask a node that holds a partition through the brokers."""
        try:
            message = await self._connection.request(subject_of_questions(partition), packed, timeout=timeout_s)
        except NoRespondersError as error:
            raise NotHere("no node that holds it is there") from error
        except (NatsError, OSError) as error:
            if is_change:
                raise StoreError("the outcome of a change is unknown: the node that was asked is silent") from error
            raise NotHere("the node that was asked is silent") from error
        return message.data

    async def _take(self, message: Msg) -> None:
        task = asyncio.create_task(self._answer_other(message))
        self._answering.add(task)
        task.add_done_callback(self._answering.discard)

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
            return ANSWER + await self._answer(partition, question)
        except SonicError as error:
            return pack_error(error, is_change=is_change)

    def _answer_now(self, packed: bytes) -> bytes | None:
        """Return the answer to a question of another node as bytes; None: no replica of this node can answer at
        once."""
        try:
            partition, question = unpack_question(packed)
            replica = self.replicas.get(partition)
            if (
                replica is None
                or replica.fault is not None
                or replica.applied < question.position
                or question.is_strong
                or not is_read(question)
            ):
                return None
            return ANSWER + answer_read(replica.to_read(), replica.committer, question)
        except SonicError as error:
            return pack_error(error, is_change=False)


def with_shared_cache(config: Config, partitions: int) -> Config:
    """Return settings in which the replicas of a process share the memory for the cache of queries."""
    kv = config.store.kv
    share = kv.model_copy(update={"query_cache_mb": max(1, kv.query_cache_mb // partitions)})
    return config.model_copy(update={"store": config.store.model_copy(update={"kv": share})})


def pack_error(error: SonicError, *, is_change: bool) -> bytes:
    """Return the answer to another node's question that failed."""
    if isinstance(error, CommandError):
        return REFUSAL + f"{error.code}\0{error.detail or ''}".encode()
    return (FAILED if is_change and isinstance(error, StoreError) else NOT_HERE) + str(error).encode()


def unpack_answer(packed: bytes) -> bytes:
    """Return the answer of another node. Raises as `Node.ask`, and NotHere."""
    state, answer = packed[:1], packed[1:]
    if state == ANSWER:
        return answer
    if state == NOT_HERE:
        raise NotHere(answer.decode())
    if state == REFUSAL:
        code, _, detail = answer.decode().partition("\0")
        raise CommandError(code, detail or None)
    if state == FAILED:
        raise StoreError(answer.decode())
    raise StoreError(f"a node gave an answer of a kind that this sonicpy {VERSION} does not know: upgrade it")


def answer_or_refusal(packed: bytes) -> bytes | SonicError | None:
    """Return the answer of another node, or the error of a refusal; None: it cannot answer, and another one may."""
    if packed[:1] == ANSWER:
        return packed[1:]
    try:
        return unpack_answer(packed)
    except CommandError as error:
        return error
    except SonicError:
        return None
