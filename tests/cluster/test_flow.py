"""A node reads a long log from a real broker, although an answer to its flow control is lost."""

import asyncio
import contextlib
import subprocess
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("nats", reason="needs nats-py: pip install nats-py")

from sonicpy.cluster.log.broker import NotReady  # noqa: E402
from sonicpy.cluster.log.broker_connection import BrokerConnection  # noqa: E402
from sonicpy.cluster.log.ending import close  # noqa: E402
from sonicpy.cluster.log.jetstream import JetStream, connect  # noqa: E402
from sonicpy.cluster.operator.dev import HOST, free_ports  # noqa: E402
from tests.cluster.clusters import broker_program  # noqa: E402
from tests.support.patience import WAIT_S  # noqa: E402

ENTRIES = 120
ENTRY = b"x" * 60_000
"""Entries of this size fill the first window of the broker."""


class Lossy:
    """A connection that loses some answers to flow control.

    Attributes:
        losses: the number of next answers that are lost.
    """

    def __init__(self, connection: BrokerConnection) -> None:
        self.losses = 1
        self._connection = connection

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    async def publish(self, subject: str, *given: Any) -> None:
        if ".FC." in subject and self.losses:
            self.losses -= 1
            return
        await self._connection.publish(subject, *given)


async def opened(address: str) -> BrokerConnection:
    for _ in range(100):
        with contextlib.suppress(NotReady):
            return await connect(address, "test", patient=False)
        await asyncio.sleep(0.1)
    raise TimeoutError


async def read_all(address: str) -> None:
    connection = await opened(address)
    lossy: Any = Lossy(connection)
    log = JetStream(lossy)
    await log.create(0, copies=1)
    for number in range(ENTRIES):
        await log.append(0, ENTRY, str(number))
    numbers = []
    async for number, entry in log.read(0, 0, asyncio.Event()):
        assert entry == ENTRY
        numbers.append(number)
        if number == ENTRIES:
            break
    assert numbers == list(range(1, ENTRIES + 1))
    assert lossy.losses == 0, "an answer was lost"
    await close(connection)


@pytest.mark.full
def test_a_lost_answer_to_flow_control_stops_no_reading(tmp_path: Path) -> None:
    port = free_ports(1)[0]
    command = [str(broker_program()), "-a", HOST, "-p", str(port), "-js", "-sd", str(tmp_path)]
    with subprocess.Popen([*command, "-l", str(tmp_path / "log.txt")]) as broker:
        try:
            asyncio.run(asyncio.wait_for(read_all(f"nats://{HOST}:{port}"), WAIT_S))
        finally:
            broker.terminate()
