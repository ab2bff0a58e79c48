"""Carries out the commands of connections at a node.

A PUSH, and a read that a replica of this node can answer at once, are carried out within the turn. A read of a
partition that only other nodes hold is relayed to one of them. All other commands are postponed to `execute`, which may
wait and ask other nodes. The replies of a turn with PUSHes wait until their batches are acknowledged.
"""

import asyncio
import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from sonicpy.bucket_names import name_of
from sonicpy.channel import replies
from sonicpy.channel.commands import (
    Buckets,
    Claim,
    Collections,
    Command,
    Count,
    CountB,
    CountC,
    CountFacets,
    CountO,
    Exists,
    Explain,
    FlushB,
    FlushC,
    FlushO,
    FlushPassing,
    FlushV,
    Info,
    List,
    Objects,
    Pop,
    Push,
    Query,
    SetSynonyms,
    Similar,
    Stats,
    Suggest,
    Synonyms,
    Tag,
    Trigger,
    Upsert,
    Verify,
    filter_of,
)
from sonicpy.cluster.log.limits import ANSWER_S, RELAYED_S
from sonicpy.cluster.node.merge import NAMED_MAX, merge_figures, merge_names
from sonicpy.cluster.node.spread import Spread
from sonicpy.cluster.node.writers import Writers
from sonicpy.cluster.peers.questions import Question, question_of
from sonicpy.config import Config
from sonicpy.errors import InvalidArgument, StoreError
from sonicpy.filters.sorting import NEWEST
from sonicpy.ids import check_collection
from sonicpy.index.engine import Engine
from sonicpy.index.synonym_texts import TOO_MANY_RULES
from sonicpy.server.connections.dispatch import CALLS, SYNONYMS_PAGE, Postponed
from sonicpy.server.connections.dispatch import CHANGES as CHANGING
from sonicpy.server.jobs.readers import ReaderWatch
from sonicpy.server.jobs.sealer import Sealer
from sonicpy.server.service import BaseService
from sonicpy.server.watching.figures import LabelledFigures
from sonicpy.server.watching.server_statistics import ServerStatistics
from sonicpy.store.changing.synonym_writer import TOO_MANY

if TYPE_CHECKING:
    from sonicpy.cluster.node.node import Node


def push(node: "Node", command: Push | Upsert) -> bytes:
    """Add the record of a PUSH, or an UPSERT, to the next batch; return OK. Raises Postponed if it has to wait."""
    rules = node.desk.rules.at_once(command.collection, command.bucket)
    if rules is None or command.vector is not None:
        raise Postponed
    node.writers.add_in_turn(*cut(node, command, rules))
    return replies.OK


def cut(node: "Node", command: Push | Upsert, rules: int) -> tuple[int, bytes]:
    """Return the partition of a PUSH, or an UPSERT, and its record; the rules of the bucket cut the text into words."""
    collection, bucket, oid = command[:3]
    node.recorder.cut_by(rules)
    CHANGING[type(command)](node.recorder, command)
    return node.places.partition_of(collection, bucket, oid), node.recorder.take_record()


def read_here(call: Callable[[Any, Any], bytes]) -> "Callable[[Node, Any], bytes]":
    """Return a call by which a replica of this node answers, if it has all changes that this node has acknowledged.
    Otherwise the call raises Postponed.
    """

    def read(node: "Node", command: Any) -> bytes:
        places, writers = node.places, node.writers
        if command.collection in places.spread:
            raise Postponed
        if getattr(command, "buckets", ()):
            check_together(node, command)
        partition = places.partition_of(command.collection, command.bucket)
        replica = node.replicas.held.get(partition)
        if replica is None and partition not in writers.turn:
            raise Postponed(node.desk.relay(partition, command))
        if (
            replica is None
            or not replica.answers_at(writers.written[partition])
            or partition in writers.turn
            or node.is_strong
        ):
            raise Postponed
        return call(replica.to_read(), command)

    return read


def check_together(node: "Node", command: Any) -> None:
    """Raise InvalidArgument unless all buckets of a command are named, and one partition holds them, so that its
    holders can answer.
    """
    partition = node.places.partition_of(command.collection, command.bucket)
    for name, is_beginning in map(name_of, command.buckets):
        if is_beginning or node.places.partition_of(command.collection, name) != partition:
            refused = f"all buckets that begin with {name[:-1]!r}" if is_beginning else f"the bucket {name!r}"
            raise InvalidArgument(
                f"several buckets are refused: {refused} may lie in other partitions of the cluster than "
                f"{command.bucket!r}; a node searches together the named buckets of one partition"
            )


def count_here(node: "Node", command: Count) -> bytes:
    """Return the reply to COUNT of a bucket or an object. Raises Postponed if other nodes have to answer."""
    if command.bucket is None:
        raise Postponed
    return READ_COUNT(node, command)


READ_COUNT = read_here(CALLS[Count])
READS = (CountB, CountFacets, CountO, Exists, Explain, List, Objects, Query, Similar, Suggest)
NODE_CALLS: dict[type, Callable[[Any, Any], bytes]] = {
    Push: push,
    Upsert: push,
    Count: count_here,
    **{kind: read_here(CALLS[kind]) for kind in READS},
}


CHANGES = (Push, Tag, Pop, FlushB, FlushC, FlushO, Upsert, FlushV, SetSynonyms, Claim)


def limit_of(command: Command) -> float:
    """Return the time limit of a command at this node in seconds: shorter if another node may have tried it before."""
    return ANSWER_S - RELAYED_S if type(command) in NODE_CALLS else ANSWER_S


class TurnSealer(Sealer):
    """Makes the replies of each turn wait for the batches of the turn. Replicas commit and remove as they apply the
    log.
    """

    def __init__(self, writers: Writers) -> None:
        self._writers = writers

    def seal(self, connection: object) -> "asyncio.Future[Any] | None":
        """Return a future for the replies of a turn to wait for; None: they need not wait."""
        return self._writers.end_turn()


class NodeService(BaseService):
    """A node and its connections.

    Args:
        statistics: counts the consolidations of the replicas.
    """

    def __init__(self, node: "Node", config: Config, statistics: ServerStatistics) -> None:
        super().__init__(config, NODE_CALLS, node, TurnSealer(node.writers), statistics)
        self.answer_phrases_in_turns()
        self.node = node
        self._spread = Spread(node.desk, node.places, node.recorder)
        self._refused = StoreError if config.server.compat == "sonic" else InvalidArgument  # Sonic does not say why
        self.where = f"{config.store.kv.path}, and it is the node {node.name} of a cluster"

    def stores(self) -> Sequence[tuple[Engine, ReaderWatch]]:
        """Return the engine of each replica, and the watch over its readers; see `BaseService.stores`."""
        return [(replica.index.engine, replica.readers) for replica in self.node.replicas.held.values()]

    def more_figures(self) -> list[LabelledFigures]:
        """Return the figures of each partition."""
        return self.node.figures()

    def trouble(self, *, to_search: bool) -> str | None:
        """Return the reason why clients should prefer another node; see `BaseService.trouble`."""
        return self.node.trouble(to_search=to_search) or super().trouble(to_search=to_search)

    def note_url(self, url: str) -> None:
        """Publish the URL of this server for processes that try to open a replica's folder."""
        super().note_url(url)
        for replica in self.node.replicas.held.values():
            replica.index.engine.store.note_server(url)

    async def finish(self, seconds: float) -> None:
        """End the embedder; `seconds` is not used. Closing the node ends its other work."""
        if self.embedding is not None:
            await self.embedding.stop()

    async def execute(self, command: Command) -> bytes:
        """Carry out a command that has to wait or that other nodes answer, and return its reply; see
        `BaseService.execute`."""
        limit_s = None if self._is_work(command) else limit_of(command)
        try:
            async with asyncio.timeout(limit_s):
                return await self._execute(command)
        except TimeoutError as error:
            unknown = ", and its outcome is unknown" if type(command) in CHANGES else ""
            raise StoreError(
                f"{type(command).__name__.upper()} got no answer in {limit_s:g} seconds{unknown}"
            ) from error

    def _is_work(self, command: Any) -> bool:
        """Return whether a command is long work by itself, as opposed to waiting for silent brokers or nodes."""
        is_count = isinstance(command, CountC) or (isinstance(command, Count) and command.object is None)
        return isinstance(command, Verify | Trigger | FlushPassing) or (
            is_count and command.collection in self.node.places.spread
        )

    async def _execute(self, command: Command) -> bytes:
        if self.embedding is not None:
            command = await self.embedding.with_vector(command)
        if isinstance(command, Push | Upsert):
            return await self._push(command)
        if isinstance(command, FlushB | FlushC):
            self.node.desk.rules.forget(command.collection)
        if self.node.places.spread and getattr(command, "collection", None) in self.node.places.spread:
            if getattr(command, "bucket", None) is not None and not isinstance(command, FlushPassing | Claim):
                return await self._spread.execute(command)
            if isinstance(command, Count | CountC):
                return replies.result(await self._count_spread(command.collection))
        if getattr(command, "buckets", ()):
            check_together(self.node, command)
        if type(command) in READS:
            return await self._ask(command)
        match command:
            case Count(collection, None) | CountC(collection):
                check_collection(collection)
                return replies.result(sum(await self._ask_all("count_buckets", collection)))
            case Collections(limit, after):
                pages = await self._ask_all("collections_after", after, limit)
                return replies.json_result(merge_names(pages, limit, by_length=True))
            case Buckets(collection, limit, after):
                return replies.json_result(await self._buckets(collection, after, limit))
            case FlushC(collection):
                check_collection(collection)
                return replies.result(int(any(await self._ask_all("FlushC", collection))))
            case SetSynonyms(collection):
                CHANGING[SetSynonyms](self.node.recorder, command)  # checks the rules before any partition has them
                counts = await self._ask_all("SetSynonyms", *command)
                if TOO_MANY in counts:
                    raise InvalidArgument(TOO_MANY_RULES)
                return replies.result(max(counts))
            case Claim():
                await self._claim(command)
                return replies.OK
            case Synonyms(collection, position):
                check_collection(collection)
                found = await self.node.desk.ask(0, Question("synonyms_from", (collection, position, SYNONYMS_PAGE)))
                return replies.json_result(json.loads(found))
            case Tag() | Pop() | FlushB() | FlushO() | FlushV():
                return replies.result(int(await self._ask(command)))
            case FlushPassing(collection, bucket):
                return replies.result(await self._flush_passing(collection, bucket, filter_of(command)))
            case Stats(str(collection), str(bucket)):
                partition = self.node.places.partition_of(collection, bucket)
                found = await self.node.desk.ask(partition, Question("stats", (collection, bucket)))
                return replies.json_result(json.loads(found))
            case Stats(collection):
                return replies.json_result(merge_figures(await self._ask_all("stats", collection)))
            case Info():
                return self._info_of_node()
            case Verify():
                return replies.json_result(await self._verify())
            case Trigger(action="consolidate"):
                replicas = list(self.node.replicas.held.values())
                await asyncio.gather(*map(self.node.desk.wait_for_own, replicas))
                for replica in replicas:
                    await replica.maintenance.consolidate()
                return replies.OK
            case Trigger(action=action):
                raise self._refused(f"TRIGGER {action} is refused: a node of a cluster offers consolidate alone")
        return await self._ask(command)

    async def _flush_passing(self, collection: str, bucket: str, filter: str) -> int:
        """Erase the objects that pass a filter, one by one, after all names have been read; return their number."""
        names: list[str] = []
        page = Query(collection, bucket, "", NAMED_MAX, 0, None, filter=filter, sort=NEWEST)
        while found := (await self._execute(page)).decode().splitlines()[1].split()[3:]:
            names += found
            page = page._replace(after=names[-1])
        for name in names:
            await self._execute(FlushO(collection, bucket, name))
        return len(names)

    async def _claim(self, command: Claim) -> None:
        """Note a mirror in each part of its bucket, one after the other, so that the first part decides between two
        sources. Raises InvalidArgument if another source has the bucket.
        """
        collection, bucket = command[:2]
        noted = Question("claim_state", (collection, bucket, command.meant, command.prefix))
        CHANGING[Claim](self.node.recorder, command)  # checks the arguments
        for partition in self.node.places.parts_of(collection, bucket):
            await self.node.desk.ask(partition, question_of(command))
            state = json.loads(await self.node.desk.ask(partition, noted))
            if isinstance(state, str):
                raise InvalidArgument(state)

    async def _push(self, command: Push | Upsert) -> bytes:
        """Carry out a PUSH, or an UPSERT, if only another node can report the rules of the bucket, or its columns of
        vectors; return the reply.
        """
        if command.vector is not None:
            await self._check_vector(command, command.vector)
        rules = await self.node.desk.rules.find(command.collection, command.bucket)
        await asyncio.shield(self.node.writers.add(*cut(self.node, command, rules)).done)
        return replies.OK

    async def _check_vector(self, command: Push | Upsert, vector: str) -> None:
        """Raise InvalidArgument if the bucket, in its present state, does not take the vectors. Of a spread bucket all
        parts are asked, because the part of the object may have no vectors yet.
        """
        collection, bucket, oid = command[:3]
        own = self.node.places.partition_of(collection, bucket, oid)
        question = Question("vector_refusal", (collection, bucket, vector))

        async def refusal(partition: int) -> str | None:
            try:
                reason: str | None = json.loads(await self.node.desk.ask(partition, question))
            except StoreError:
                if partition == own:
                    raise
                return None  # a part of other objects that is away keeps no object from being stored
            return reason

        for reason in await asyncio.gather(*map(refusal, self.node.places.parts_of(collection, bucket))):
            if reason is not None:
                raise InvalidArgument(reason, "invalid_meta_value", reason)

    async def _count_spread(self, collection: str) -> int:
        """Return the number of buckets in a spread collection; each is in several partitions."""
        names: list[str] = []
        while page := await self._buckets(collection, names[-1] if names else None, NAMED_MAX):
            names += page
        return len(names)

    async def _buckets(self, collection: str, after: str | None, limit: int) -> list[str]:
        return merge_names(await self._ask_all("buckets_after", collection, after, limit), limit)

    async def _ask(self, command: Any) -> bytes:
        partition = self.node.places.partition_of(command.collection, command.bucket)
        return await self.node.desk.ask(partition, question_of(command))

    async def _ask_all(self, kind: str, *fields: Any) -> list[Any]:
        """Return the answers of all partitions.

        Args:
            kind: the kind of the question.
            fields: its fields.

        Raises:
            SonicError: a partition did not answer.
        """
        asked = [
            self.node.desk.ask(number, Question(kind, fields)) for number in range(self.node.places.layout.partitions)
        ]
        found = await asyncio.gather(*asked, return_exceptions=True)
        for answer in found:
            if isinstance(answer, BaseException):
                raise answer
        return [json.loads(answer) for answer in found if isinstance(answer, bytes)]

    async def _verify(self) -> list[str]:
        faults = []
        replicas = list(self.node.replicas.held.values())
        await asyncio.gather(*[self.node.desk.wait_for_own(replica) for replica in replicas if replica.fault is None])
        for replica in replicas:
            if replica.fault is not None:
                faults.append(f"partition {replica.partition}: {replica.fault}")
                continue
            found = await replica.maintenance.verify()
            faults += [f"partition {replica.partition}: {fault}" for fault in found]
        return faults

    def _info_of_node(self) -> bytes:
        replicas = self.node.replicas.held.values()
        engines = [replica.index.engine for replica in replicas]
        return self._info(
            open_collections=len({name for replica in replicas for name in replica.index.collections()}),
            open_graphs=sum(len(engine.graphs) for engine in engines),
            pending_graphs=sum(len(engine.store.pending_buckets()) for engine in engines),
        )
