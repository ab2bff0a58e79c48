"""The writers of a node to the logs: the batches of its changes, and the positions up to which its reads have to see
each log.
"""

import asyncio
from typing import TYPE_CHECKING, Any

from sonicpy.cluster.log.agreement import Agreement
from sonicpy.cluster.log.broker import LogKeeper
from sonicpy.cluster.log.writer import LogWriter, OpenBatch, RightToWrite
from sonicpy.cluster.registry.registry import Layout

if TYPE_CHECKING:
    from sonicpy.cluster.node.replica import Answered


class Writers:
    """The writers of all logs. Create it while the loop runs.

    Args:
        name: the name of the node.
        incarnation: a number above those of all earlier starts of the node.
        claim: the claim of the name.

    Attributes:
        each: the writer of each log.
        turn: partition -> the last batch with changes of the turn under way.
        written: partition -> the position up to which this node has acknowledged changes.
    """

    def __init__(self, log: LogKeeper, layout: Layout, name: str, incarnation: int, claim: RightToWrite | None) -> None:
        self.turn: dict[int, OpenBatch] = {}
        self._waits: dict[asyncio.Future[int], None] = {}  # of all batches of the turn: a partition may have several
        self.written = [0] * layout.partitions
        self.each = [
            LogWriter(log, number, name, incarnation, self._note_acknowledged, claim=claim)
            for number in range(layout.logs)
        ]
        self._name = name
        self._log_of = layout.log_of

    @property
    def batches(self) -> int:
        """The number of acknowledged batches of this node."""
        return sum(writer.batches for writer in self.each)

    @property
    def silence_s(self) -> float:
        """The time in seconds that a batch has waited for its acknowledgement; the longest of all logs."""
        return max(writer.gaps.lasting_s for writer in self.each)

    def add(self, partition: int, record: bytes) -> OpenBatch:
        """Add a change to the next batch of the log of a partition, and return the batch. Raises as `LogWriter.add`."""
        return self._writer_of(partition).add(partition, record)

    def add_in_turn(self, partition: int, record: bytes) -> None:
        """Add a change whose reply waits for the end of the turn under way; see `end_turn`."""
        batch = self.turn[partition] = self.add(partition, record)
        self._waits[batch.done] = None

    def end_turn(self) -> "asyncio.Future[Any] | None":
        """End the turn under way; return the future of the acknowledgement of all its changes; None: it changed
        nothing.
        """
        if not self.turn:
            return None
        waits = list(self._waits)
        self.turn, self._waits = {}, {}
        if len(waits) == 1:
            return waits[0]
        return asyncio.gather(*map(asyncio.shield, waits))

    async def barrier(self, partition: int) -> int:
        """Append an entry that changes nothing to the log of a partition; return its position. Raises StoreError."""
        return await asyncio.shield(self._writer_of(partition).barrier().done)

    def write_as(self, agreed: Agreement) -> None:
        """Write later entries as the nodes have agreed; batches under way do not change."""
        for writer in self.each:
            writer.agreed = agreed

    def note_written(self, partition: int, position: int) -> None:
        """Note a position up to which reads of this node have to see the log of a partition."""
        self.written[partition] = max(position, self.written[partition])

    def note_lost(self, partition: int, last: int) -> None:
        """Note that the log of a partition ends at position `last`, behind which reads must not wait for anything."""
        self.written[partition] = min(self.written[partition], last)

    def answered(self, partition: int) -> "Answered":
        """Return the function that a replica of a partition calls with the answers of each batch."""

        def note(writer: str, incarnation: int, number: int, answers: list[int]) -> None:
            if writer == self._name:
                self._writer_of(partition).note_answers(incarnation, number, partition, answers)

        return note

    async def stop(self) -> None:
        """Give up the batches under way, and refuse those that wait."""
        for writer in self.each:
            await writer.stop()

    def _writer_of(self, partition: int) -> LogWriter:
        return self.each[self._log_of(partition)]

    def _note_acknowledged(self, batch: OpenBatch, position: int) -> None:
        for partition in batch.records:
            self.note_written(partition, position)
