"""Print the CPU time of a command in a turn of a connection in microseconds: everything except the socket.

    python -m benchmarks.turns [ROUNDS]

Each time is the best of ROUNDS rounds. The index is small and committed, so that most of the cost is that of the
connection.
"""

import asyncio
import socket
import tempfile
import time
from typing import NamedTuple

from benchmarks.command_line import parse_count
from sonicpy import Config, Index
from sonicpy.channel.session import Session
from sonicpy.channel.syntax import Limits
from sonicpy.server.connections.connection import Connection
from sonicpy.server.service import Service
from sonicpy.version import VERSION

OBJECTS = 200
COMMANDS = 20_000


class Counter(asyncio.Transport):
    """A transport without a connection, which counts the lines written to it."""

    def __init__(self) -> None:
        super().__init__({"socket": socket.socket()})
        self.lines = 0

    def write(self, data: bytes) -> None:
        self.lines += data.count(b"\n")

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None: ...
    def pause_reading(self) -> None: ...
    def resume_reading(self) -> None: ...
    def close(self) -> None: ...
    def get_write_buffer_size(self) -> int:
        return 0

    def is_closing(self) -> bool:
        return False


class Load(NamedTuple):
    """A line, and the number of copies of it in one packet."""

    name: str
    mode: str
    line: bytes
    pipelined: int
    reply_lines: int = 1


LOADS = [
    Load("PING", "search", b"PING\n", 1),
    Load("PING, fifty in a packet", "search", b"PING\n", 50),
    Load("COUNT, fifty in a packet", "ingest", b"COUNTB m b\n", 50),
    Load("QUERY", "search", b'QUERY m b "number7"\n', 1, reply_lines=2),
    Load("QUERY, five in a packet", "search", b'QUERY m b "number7"\n', 5, reply_lines=2),
]


class Peer:
    """The client side of a connection without a socket."""

    def __init__(self, service: Service, mode: str) -> None:
        self._sent = Counter()
        self._connection = Connection(service, Session(VERSION, None, Limits(), compat=False))
        self._connection.connection_made(self._sent)
        self._receive(f"START {mode}\n".encode())

    async def ask(self, data: bytes, reply_lines: int) -> None:
        """Pass commands to the connection, and wait until it has answered with `reply_lines` lines."""
        expected = self._sent.lines + reply_lines
        self._receive(data)
        while self._sent.lines < expected:
            await asyncio.sleep(0)

    def _receive(self, data: bytes) -> None:
        self._connection.get_buffer(len(data))[: len(data)] = data
        self._connection.buffer_updated(len(data))


async def cpu_us(peer: Peer, load: Load) -> float:
    """Return the CPU time per command in microseconds."""
    data, times = load.line * load.pipelined, COMMANDS // load.pipelined
    began = time.process_time()
    for _ in range(times):
        await peer.ask(data, load.pipelined * load.reply_lines)
    return (time.process_time() - began) / times / load.pipelined * 1e6


async def main() -> None:
    rounds = parse_count("turns", __doc__, "ROUNDS", 15)
    with tempfile.TemporaryDirectory() as folder, Index(folder, autocommit=False) as index:
        service = Service(index, Config())
        ingest = Peer(service, "ingest")
        for number in range(OBJECTS):
            await ingest.ask(f'PUSH m b o{number} "hello world number{number}"\n'.encode(), 1)
        service.committer.commit()
        peers = {"ingest": ingest, "search": Peer(service, "search")}
        best = [min([await cpu_us(peers[load.mode], load) for _ in range(rounds)]) for load in LOADS]
    for load, microseconds in zip(LOADS, best, strict=True):
        print(f"{load.name:30}{microseconds:8.2f}")


if __name__ == "__main__":
    asyncio.run(main())
