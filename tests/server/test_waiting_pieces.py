"""Pieces of texts that wait in connections give their memory back, however a connection ends."""

import asyncio
from pathlib import Path

import pytest

from sonicpy.channel import pieces
from sonicpy.config import Config
from sonicpy.server.server import Server
from tests.processes import free_port
from tests.support.patience import WAIT_S

PIECE = "x" * 10_000


class Client:
    """A connection in mode ingest."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self.writer = reader, writer

    @classmethod
    async def open(cls, port: int) -> "Client":
        while True:
            try:
                client = cls(*await asyncio.open_connection("127.0.0.1", port))
            except ConnectionRefusedError:
                await asyncio.sleep(0.05)
                continue
            await client._reader.readline()
            assert (await client.ask("START ingest")).startswith("STARTED")
            return client

    async def ask(self, line: str) -> str:
        self.writer.write(line.encode() + b"\n")
        return (await self._reader.readline()).decode().strip()


@pytest.mark.parametrize("end", ["QUIT", "close", "abort"])
def test_the_end_of_a_connection_makes_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: str) -> None:
    monkeypatch.setattr(pieces, "ALL_PIECES_MAX_BYTES", 100_000)
    port = free_port()
    given = {"channel": {"inet": f"127.0.0.1:{port}"}, "store": {"kv": {"path": str(tmp_path)}}}

    async def talk() -> None:
        first, second = await Client.open(port), await Client.open(port)
        for _ in range(9):
            assert await first.ask(f'UPSERT c b o "{PIECE}" MORE(1)') == "OK"
        assert (await second.ask(f'UPSERT c b p "{PIECE}" MORE(1)')).startswith("ERR policy_reject(the pieces of all")
        if end == "QUIT":
            assert await first.ask("QUIT") == "ENDED quit"
        elif end == "close":
            first.writer.close()
        else:
            first.writer.transport.abort()
        tries = 0
        while await second.ask(f'UPSERT c b p:{tries} "{PIECE}" MORE(1)') != "OK":
            tries += 1
            assert tries < 200
            await asyncio.sleep(0.05)
        assert await second.ask(f'UPSERT c b p:{tries} "the end"') == "OK"
        for client in (first, second):
            client.writer.close()

    async def run() -> None:
        serving = asyncio.create_task(Server(Config.model_validate(given), lambda said: None).run())
        try:
            await asyncio.wait_for(talk(), WAIT_S)
        finally:
            serving.cancel()
            await asyncio.wait([serving])

    asyncio.run(run())
