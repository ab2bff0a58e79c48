"""Print what a command costs in CPU microseconds in a turn of a connection: without a socket, but with everything else.

    python -m benchmarks.turns [ROUNDS]

The best of so many rounds. The index is small, so that what surrounds it shows, and all of it committed.
"""

import asyncio
import sys
import tempfile
import time
from typing import NamedTuple

from sonicpy import Config, Index
from sonicpy.channel.session import Session
from sonicpy.channel.syntax import Limits
from sonicpy.server.connection import Connection
from sonicpy.server.service import Service
from sonicpy.version import VERSION

OBJECTS = 200
COMMANDS = 20_000


class Nowhere(asyncio.Transport):
    """A transport that takes everything and sends nothing."""

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None: ...
    def write(self, data: object) -> None: ...
    def pause_reading(self) -> None: ...
    def resume_reading(self) -> None: ...
    def close(self) -> None: ...
    def get_write_buffer_size(self) -> int:
        return 0

    def is_closing(self) -> bool:
        return False


class Load(NamedTuple):
    """What is sent, again and again."""

    name: str
    mode: str
    line: bytes
    pipelined: int


LOADS = [
    Load("PING", "search", b"PING\n", 1),
    Load("PING, fifty at once", "search", b"PING\n", 50),
    Load("COUNT, fifty at once", "ingest", b"COUNTB m b\n", 50),
    Load("QUERY", "search", b'QUERY m b "number7"\n', 1),
    Load("QUERY, five at once", "search", b'QUERY m b "number7"\n', 5),
]


def receive(connection: Connection, data: bytes) -> None:
    """Let a connection read bytes, as the loop does."""
    connection.get_buffer(len(data))[: len(data)] = data
    connection.buffer_updated(len(data))


def connect(service: Service, mode: str) -> Connection:
    """Return a connection in `mode`."""
    connection = Connection(service, Session(VERSION, None, Limits(), compat=False))
    connection.connection_made(Nowhere())
    receive(connection, f"START {mode}\n".encode())
    return connection


async def answered(connection: Connection) -> None:
    """Let turns that were cut short go on."""
    while connection._is_waiting():
        await asyncio.sleep(0)


async def cpu_us(connection: Connection, load: Load) -> float:
    """Return the CPU time of a command."""
    data, times = load.line * load.pipelined, COMMANDS // load.pipelined
    began = time.process_time()
    for _ in range(times):
        receive(connection, data)
        if connection._is_waiting():
            await answered(connection)
    return (time.process_time() - began) / times / load.pipelined * 1e6


async def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    with tempfile.TemporaryDirectory() as folder, Index(folder, autocommit=False) as index:
        service = Service(index, Config())
        ingest = connect(service, "ingest")
        for number in range(OBJECTS):
            receive(ingest, f'PUSH m b o{number} "hello world number{number}"\n'.encode())
        await answered(ingest)
        service.committer.commit()
        connections = {"ingest": ingest, "search": connect(service, "search")}
        best = [min([await cpu_us(connections[load.mode], load) for _ in range(rounds)]) for load in LOADS]
    for load, microseconds in zip(LOADS, best, strict=True):
        print(f"{load.name:30}{microseconds:8.2f}")


if __name__ == "__main__":
    asyncio.run(main())
