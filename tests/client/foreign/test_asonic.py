"""Tests with asonic 2.0.0 from PyPI, unchanged: a client written without knowledge of this server."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest
from asonic import Client
from asonic.connection import Connection
from asonic.enums import Action, Channel
from asonic.exceptions import ServerError

from tests.client.foreign.both import Address
from tests.processes import Server


@asynccontextmanager
async def connected(server: Server | Address, channel: Channel, connections: int = 1) -> AsyncIterator[Client]:
    """A client of one channel whose sockets are closed at the end, because it never closes them itself."""
    client = Client(host=server.host, port=server.port, password=server.password or "", max_connections=connections)
    await client.channel(channel)
    try:
        yield client
    finally:
        idle = client.pool._available_connections
        for connection in (*client.pool._in_use_connections, *(idle.get_nowait() for _ in range(idle.qsize()))):
            await close(connection)


async def close(connection: Connection) -> None:
    connection.writer.close()
    with suppress(ConnectionError):
        await connection.writer.wait_closed()


def run(server: Server, channel: Channel, talk: Callable[[Client], Awaitable[None]], connections: int = 1) -> None:
    async def inside() -> None:
        async with connected(server, channel, connections) as client:
            await talk(client)

    asyncio.run(inside())


def test_ingest(locked_server: Server) -> None:
    async def talk(client: Client) -> None:
        assert await client.ping() == b"PONG"
        assert await client.push("ingest", "b", "o:1", 'Valérianes "pousse" en été\r\net plus') == b"OK"
        assert await client.push("ingest", "b", "o:2", "valérianes fleurissent", locale="fra") == b"OK"
        assert await client.count("ingest") == 1
        assert await client.count("ingest", "b", "o:2") == 2
        assert await client.count("ingest", "b") >= 3
        assert await client.pop("ingest", "b", "o:2", "fleurissent") == 1
        assert await client.count("ingest", "b", "o:2") == 1
        assert await client.flusho("ingest", "b", "o:2") == 1
        assert await client.flushb("ingest", "b") == 1
        assert await client.flushc("ingest") == 1
        assert await client.count("ingest") == 0
        assert (await client.help("commands")).startswith(b"RESULT commands(PUSH, POP, COUNT, ")

    run(locked_server, Channel.INGEST, talk)


def test_search(locked_server: Server) -> None:
    async def fill(client: Client) -> None:
        for number, letter in enumerate("abcdefghijklmnopqrstuvwxyzäöüß"):
            await client.push("search", "b", f"o{number}", f"gemeinsam einzeln{letter}")

    async def talk(client: Client) -> None:
        assert len(await client.query("search", "b", "gemeinsam")) == 10
        assert len(await client.query("search", "b", "gemeinsam", limit=30)) == 30
        pages = [await client.query("search", "b", "gemeinsam", limit=7, offset=offset) for offset in range(0, 35, 7)]
        assert [len(page) for page in pages] == [7, 7, 7, 7, 2]
        assert sorted(sum(pages, [])) == sorted(f"o{number}".encode() for number in range(30))
        assert (await client.query("search", "b", "einzelnä", locale="deu"))[0] == b"o26"
        assert await client.suggest("search", "b", "gemein") == [b"gemeinsam"]
        assert len(await client.suggest("search", "b", "einzeln", limit=20)) == 20
        assert await client.ping() == b"PONG"

    run(locked_server, Channel.INGEST, fill)
    run(locked_server, Channel.SEARCH, talk)


def test_empty_results_and_errors(locked_server: Server) -> None:
    async def talk(client: Client) -> None:
        assert await client.query("nowhere", "b", "nothing") == []
        assert await client.suggest("nowhere", "b", "nothing") == []
        with pytest.raises(ServerError, match="policy_reject"):
            await client.query("search", "b", "too many", limit=1_000)
        with pytest.raises(ServerError, match=r"invalid_argument\(InvalidBucket\)"):
            await client.query("search", "ß", "bad name")

    run(locked_server, Channel.SEARCH, talk, connections=4)  # each error costs it one


def test_control(locked_server: Server) -> None:
    async def talk(client: Client) -> None:
        assert await client.trigger() == b"RESULT actions(consolidate, backup, restore)"
        assert await client.trigger(Action.CONSOLIDATE) == b"OK"
        info = await client.info()
        assert info["clients_connected"] == "1"
        assert {"uptime", "commands_total", "fst_consolidate_count"} <= info.keys()
        assert await client.quit() == b"ENDED quit"

    run(locked_server, Channel.CONTROL, talk)


def test_many_connections_at_once(locked_server: Server) -> None:
    async def talk(client: Client) -> None:
        pushes = (client.push("pool", "b", f"o{number}", f"wort{number}") for number in range(400))
        assert await asyncio.gather(*pushes) == [b"OK"] * 400
        assert await client.count("pool", "b") == 400

    run(locked_server, Channel.INGEST, talk, connections=50)


def test_a_wrong_password_is_refused(locked_server: Server) -> None:
    async def talk() -> None:
        connection = Connection(locked_server.host, locked_server.port, Channel.SEARCH, "wrong")
        await connection.connect()  # it does not look at the answer
        assert await connection.read() == b"", "closed"
        await close(connection)

    asyncio.run(talk())


def test_a_raw_newline_in_a_text_breaks_that_text_only(tmp_path: Path) -> None:
    """asonic sends a newline unescaped, so the text becomes two lines; each line is answered, and the connection stays
    open.
    """

    async def talk(client: Client) -> None:
        with pytest.raises(ServerError, match="invalid_format"):
            await client.push("newline", "b", "o", "before\nafter")
        (connection,) = client.pool._in_use_connections  # an error leaves it there
        with pytest.raises(ServerError, match="unknown_command"):
            await connection.read()
        await connection.write("PING")
        assert await connection.read() == b"PONG"

    with Server(tmp_path) as server:
        run(server, Channel.INGEST, talk)
