"""Print the CPU time of a command in a turn of a connection in microseconds: everything except the socket.

    python -m benchmarks.turns [ROUNDS]

Each time is the best of ROUNDS rounds. The index is small and committed, so that the cost around it shows.
"""

import asyncio
import tempfile
import time
from typing import NamedTuple

from benchmarks.command_line import parse_count
from sonicpy import Config, Index
from sonicpy.channel.session import Session
from sonicpy.channel.syntax import Limits
from sonicpy.server.connection import Connection
from sonicpy.server.service import Service
from sonicpy.version import VERSION

OBJECTS = 200
COMMANDS = 20_000


class Nowhere(asyncio.Transport):
    """A transport that discards what it should send."""

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
    """A line, and how many copies of it arrive in one packet."""

    name: str
    mode: str
    line: bytes
    pipelined: int


LOADS = [
    Load("PING", "search", b"PING\n", 1),
    Load("PING, fifty in a packet", "search", b"PING\n", 50),
    Load("COUNT, fifty in a packet", "ingest", b"COUNTB m b\n", 50),
    Load("QUERY", "search", b'QUERY m b "number7"\n', 1),
    Load("QUERY, five in a packet", "search", b'QUERY m b "number7"\n', 5),
]


def connect(service: Service, mode: str) -> Connection:
    """Return a connection in `mode`."""
    connection = Connection(service, Session(VERSION, None, Limits(), compat=False))
    connection.connection_made(Nowhere())
    connection.data_received(f"START {mode}\n".encode())
    return connection


async def finish(connection: Connection) -> None:
    """Wait until the connection has executed all it received."""
    while connection._waits():
        await asyncio.sleep(0)


async def cpu_us(connection: Connection, load: Load) -> float:
    """Return the CPU time per command in microseconds."""
    data, times = load.line * load.pipelined, COMMANDS // load.pipelined
    began = time.process_time()
    for _ in range(times):
        connection.data_received(data)
        if connection._waits():
            await finish(connection)
    return (time.process_time() - began) / times / load.pipelined * 1e6


async def main() -> None:
    rounds = parse_count("turns", __doc__, "ROUNDS", 15)
    with tempfile.TemporaryDirectory() as folder, Index(folder, autocommit=False) as index:
        service = Service(index, Config())
        ingest = connect(service, "ingest")
        for number in range(OBJECTS):
            ingest.data_received(f'PUSH m b o{number} "hello world number{number}"\n'.encode())
        await finish(ingest)
        service.commit()
        connections = {"ingest": ingest, "search": connect(service, "search")}
        best = [min([await cpu_us(connections[load.mode], load) for _ in range(rounds)]) for load in LOADS]
    for load, microseconds in zip(LOADS, best, strict=True):
        print(f"{load.name:30}{microseconds:8.2f}")


if __name__ == "__main__":
    asyncio.run(main())
