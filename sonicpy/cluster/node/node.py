"""A node: it puts its replicas, its writers and its desk together, and reports on them to the operator.

Everything here runs on the loop's thread.

    Places     the layout: the partitions, and their holders
    Writers    changes -> logs
    Replicas   logs -> folders           Mover: opens and closes them by the layout
    Desk       questions <-> answers     Peers: direct connections to other nodes
"""

import asyncio
import json
import logging
from functools import partial
from typing import TYPE_CHECKING

from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from nats.errors import Error as NatsError

from sonicpy.cluster.log.agreement import Agreement
from sonicpy.cluster.log.broker_connection import leave_silent_brokers
from sonicpy.cluster.log.ending import close, end
from sonicpy.cluster.log.lag import Lag
from sonicpy.cluster.log.vault import Vault
from sonicpy.cluster.log.versions import FORMATS, check_agreement
from sonicpy.cluster.node.claim import NameClaim
from sonicpy.cluster.node.desk import Desk
from sonicpy.cluster.node.known_rules import rules_of
from sonicpy.cluster.node.moves import Mover
from sonicpy.cluster.node.partition_figures import partition_figures
from sonicpy.cluster.node.places import Places
from sonicpy.cluster.node.replica import Replica
from sonicpy.cluster.node.replicas import Keepers, OpenIndex, Replicas
from sonicpy.cluster.node.writers import Writers
from sonicpy.cluster.peers.peers import Peers
from sonicpy.cluster.registry.orders import RECOVERED
from sonicpy.cluster.registry.registry import Layout
from sonicpy.cluster.registry.status import SUBJECT as STATUS
from sonicpy.cluster.registry.upgrade import SUBJECT as UPGRADED
from sonicpy.config import Config
from sonicpy.errors import SonicError
from sonicpy.server.watching.figures import LabelledFigures
from sonicpy.server.watching.server_statistics import ServerStatistics
from sonicpy.store.rows.uses import KNOWN

if TYPE_CHECKING:
    from sonicpy.index.recorder import Recorder
from sonicpy.store.rows.uses import ORDER

logger = logging.getLogger(__name__)

CUT_OFF_S = 1.5
"""The time in seconds without an answer after which a log counts as cut off: above the second that an answer may
take.
"""


class Node:
    """One process of a cluster. Create it while the loop runs; `start` begins its work.

    Args:
        keepers: the brokers.
        claim: the claim of the name of the node.
        recorder: makes the records of changes.
        open_index: opens the folder of a replica.
        statistics: counts the consolidations of the replicas.
        is_strong: whether every read sees all changes that any node has acknowledged before.
    """

    def __init__(
        self,
        keepers: Keepers,
        layout: Layout,
        claim: NameClaim,
        recorder: "Recorder",
        open_index: OpenIndex,
        config: Config,
        statistics: ServerStatistics,
        *,
        is_strong: bool,
    ) -> None:
        self.name = claim.name
        self.recorder = recorder
        self.is_strong = is_strong
        held: dict[int, Replica] = {}
        self.lag = Lag(keepers.log, held, layout.log_of)
        self.places = Places(layout)
        self.writers = Writers(keepers.log, layout, self.name, claim.incarnation, claim)
        self.desk = Desk(
            self.places,
            held,
            self.writers,
            recorder,
            keepers.connection,
            partial(Peers, self.name, keepers.registry),
            is_strong=is_strong,
            is_cut_off=self._is_cut_off,
        )
        self.replicas = Replicas(
            held, keepers, self.places, self.writers, open_index, config, statistics, self.desk.take
        )
        self._keepers = keepers
        self._connection = keepers.connection
        self._claim = claim
        self._mover = Mover(self.name, self.places, self.replicas, self.writers, keepers.connection, keepers.registry)
        self._subscriptions: list[Subscription] = []
        self._tasks: list[asyncio.Task[None]] = []

    @property
    def vault(self) -> Vault:
        """The values that the nodes share."""
        return self._keepers.registry.vault

    async def start(self) -> None:
        """Follow the logs of the node's partitions, and answer other nodes.

        Raises:
            NotReady: the brokers do not answer.
            StoreError: a replica cannot be opened.
        """
        self.replicas.start()
        self._tasks.append(asyncio.create_task(self.lag.run()))
        self._tasks.append(asyncio.create_task(leave_silent_brokers(self._connection, self._silence_s)))
        await self._mover.start()
        await self.desk.peers.listen(self._connection)
        for subject, take in (
            (STATUS, self._tell_status),
            (UPGRADED, self._note_upgrade),
            (RECOVERED, self._note_loss),
        ):
            self._subscriptions.append(await self._connection.subscribe(subject, cb=take))

    def write_as(self, agreed: Agreement) -> None:
        """Write later entries, and cut the texts of new buckets, as the nodes have agreed."""
        self.writers.write_as(agreed)
        self.recorder.take_rules(rules_of(agreed), notes_order=ORDER in agreed.names)

    def figures(self) -> list[LabelledFigures]:
        """Return the figures of each partition for the metrics."""
        return partition_figures(self.name, self.replicas.held, self.writers.each, self.lag)

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
        """Wait until this node can work no longer, so that clients have to use another node.

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

    async def close(self) -> None:
        """Stop writing, applying and answering; release the folders."""
        await self.writers.stop()
        for subscription in self._subscriptions:
            if not self._connection.is_closed:
                await subscription.unsubscribe()
        await self._claim.release()
        await self.desk.peers.close()
        await self._mover.stop()
        await self.replicas.close()
        await self.desk.close()
        await end(self._tasks)
        await close(self._connection)

    # -- inside --------------------------------------------------------------------------------------------------------

    def _is_cut_off(self) -> bool:
        """Return whether the brokers may be cut off: reads then ask another node instead of waiting for the log."""
        return not self._connection.is_connected or self.lag.longest_silence_s > CUT_OFF_S

    def _silence_s(self) -> float:
        return max(self.lag.longest_silence_s, self.writers.silence_s)

    async def _tell_status(self, message: Msg) -> None:
        answer = {
            "name": self.name,
            "batches": self.writers.batches,
            "replicas": {str(number): replica.state() for number, replica in self.replicas.held.items()},
            "entries": sorted(FORMATS),
            "uses": sorted(KNOWN),
            "spread": self.places.layout.spread,
            "start": self._claim.incarnation,
        }
        try:
            await message.respond(json.dumps(answer).encode())
        except (NatsError, OSError) as error:
            logger.warning("a question for the status was not answered: %s", error)

    async def _note_upgrade(self, message: Msg) -> None:
        """Read the version of entries to write from the registry; after an error, keep the old one until the next
        start.
        """
        try:
            agreed = await self._keepers.registry.agreement()
            check_agreement(agreed)
        except SonicError as error:
            logger.warning("the version of entries stays as it is: %s", error)
            return
        self.write_as(agreed)
        logger.info("entries of version %d are written from now on", agreed.version)

    async def _note_loss(self, message: Msg) -> None:
        """Forget the acknowledged position of a recovered partition, because its log may lack entries that reads wait
        for.
        """
        partition = int(message.data)
        written = self.writers.written[partition]  # of now: an acknowledgement may come while the brokers are asked
        try:
            epoch = await self._keepers.log.epoch(self.places.layout.log_of(partition))
        except SonicError as error:
            logger.warning("reads of partition %d may wait for lost changes: %s", partition, error)
            return
        if written > epoch.last:
            self.writers.note_lost(partition, epoch.last)
