"""Commands that another process answers: order, refusals, missing answers, and clients that leave meanwhile."""

import asyncio
import socket
import struct
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
import uvloop

from sonicpy.channel.commands import Command, Query
from sonicpy.channel.session import Session
from sonicpy.config import Config
from sonicpy.errors import CommandError, SonicError, StoreError
from sonicpy.server.connections.connection import Connection
from sonicpy.server.connections.dispatch import Postponed, Take
from sonicpy.server.connections.serving import READ_BYTES, Serving, limits_of
from tests.support.patience import WAIT_S, until_in_loop

HOST = "127.0.0.1"


class NoCommitter:
    """A committer for commands that change nothing."""

    def seal(self, connection: object) -> None:
        raise AssertionError("nothing was changed")

    def seal_with_pass(self, connection: object, out: list[bytes], promises: list[int]) -> bool:
        raise AssertionError("nothing was changed")

    def settle(self) -> None:
        pass

    def note_turn_without_changes(self) -> None:
        pass

    async def remove(self) -> None:
        raise AssertionError("nothing was changed")


class Elsewhere(Serving):
    """A server whose queries another process answers, after a moment or when the test chooses."""

    def __init__(self) -> None:
        super().__init__(Config(), {Query: self.query}, None, NoCommitter())
        self.asked: list[tuple[str, Take]] = []
        self.executed: list[str] = []
        self.answer: Callable[[str], bytes | SonicError | None] | None = None
        """Returns the answer to each query; None: the test gives the answers."""

    def query(self, target: None, command: Query) -> bytes:
        def ask(take: Take) -> None:
            self.asked.append((command.text, take))
            if self.answer is not None:
                asyncio.get_running_loop().call_later(0.0001, take, self.answer(command.text))

        raise Postponed(ask)

    async def execute(self, command: Command) -> bytes:
        assert isinstance(command, Query)
        self.executed.append(command.text)
        await asyncio.sleep(0)
        if command.text == "broken":
            raise StoreError("no node answers")
        return f"here {command.text}\r\n".encode()


class Client:
    """A client in mode search."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    def send(self, *lines: str) -> None:
        self.writer.write("".join(f"{line}\n" for line in lines).encode())

    async def line(self) -> str:
        return (await self.reader.readline()).decode().rstrip("\r\n")

    async def lines(self, count: int) -> list[str]:
        return [await self.line() for _ in range(count)]


Test = Callable[[Elsewhere, Client, list[Connection]], Coroutine[Any, Any, None]]


def serve(test: Test) -> None:
    async def run() -> None:
        elsewhere, connections = Elsewhere(), list[Connection]()

        def connection() -> Connection:
            session = Session("test", None, limits_of(elsewhere.config), compat=False)
            connections.append(Connection(elsewhere, session))
            return connections[-1]

        server = await asyncio.get_running_loop().create_server(connection, HOST, 0)
        client = Client(*await asyncio.open_connection(*server.sockets[0].getsockname()[:2]))
        client.send("START search")
        await client.lines(2)
        await test(elsewhere, client, connections)
        client.writer.close()
        server.close()

    uvloop.run(asyncio.wait_for(run(), WAIT_S))


def echo(text: str) -> bytes:
    return f"there {text}\r\n".encode()


def test_answers_come_in_order_between_others() -> None:
    async def test(elsewhere: Elsewhere, client: Client, _: list[Connection]) -> None:
        elsewhere.answer = echo
        lines = [f'QUERY c b "t{number}"' if number % 3 else "PING" for number in range(3000)]
        client.send(*lines)
        expected = [f"there t{number}" if number % 3 else "PONG" for number in range(3000)]
        assert await client.lines(3000) == expected
        assert len(elsewhere.asked) == elsewhere.statistics.tallies[Query].count == 2000
        assert elsewhere.executed == []
        client.send("PING")
        assert await client.line() == "PONG"

    serve(test)


def test_a_line_that_comes_meanwhile_waits() -> None:
    async def test(elsewhere: Elsewhere, client: Client, _: list[Connection]) -> None:
        client.send('QUERY c b "one"')
        await until_in_loop(lambda: elsewhere.asked)
        client.send("PING", 'QUERY c b "two"', "QUIT")
        await asyncio.sleep(0.05)
        elsewhere.asked[0][1](echo("one"))
        assert await client.lines(2) == ["there one", "PONG"]
        await until_in_loop(lambda: len(elsewhere.asked) == 2)
        elsewhere.asked[1][1](echo("two"))
        assert await client.lines(3) == ["there two", "ENDED quit", ""]

    serve(test)


def test_two_reads_at_most_are_held_meanwhile() -> None:
    async def test(elsewhere: Elsewhere, client: Client, connections: list[Connection]) -> None:
        client.send('QUERY c b "one"')
        await until_in_loop(lambda: elsewhere.asked)
        received = elsewhere.statistics.received_bytes
        count = 20 * READ_BYTES // len("PING\n")
        client.send(*["PING"] * count)
        await asyncio.sleep(0.1)
        assert elsewhere.statistics.received_bytes - received <= READ_BYTES
        elsewhere.asked[0][1](echo("one"))
        assert await client.lines(count + 1) == ["there one", *["PONG"] * count]

    serve(test)


def test_a_refusal_is_an_error_and_counts() -> None:
    async def test(elsewhere: Elsewhere, client: Client, _: list[Connection]) -> None:
        elsewhere.answer = lambda text: CommandError("invalid_format", "so it is")
        client.send('QUERY c b "one"', "PING")
        assert await client.lines(2) == ["ERR invalid_format(so it is)", "PONG"]
        assert elsewhere.statistics.errors["invalid_format"] == 1

    serve(test)


@pytest.mark.parametrize(("text", "answer"), [("one", "here one"), ("broken", "ERR internal_error")])
def test_where_nobody_answers_the_server_does(text: str, answer: str) -> None:
    async def test(elsewhere: Elsewhere, client: Client, _: list[Connection]) -> None:
        elsewhere.answer = lambda _: None
        client.send(f'QUERY c b "{text}"', "PING", f'QUERY c b "{text}"')
        assert await client.lines(3) == [answer, "PONG", answer]
        assert elsewhere.executed == [text, text]

    serve(test)


def test_an_answer_to_a_client_that_left_is_dropped() -> None:
    async def test(elsewhere: Elsewhere, client: Client, _: list[Connection]) -> None:
        client.send('QUERY c b "one"')
        await until_in_loop(lambda: elsewhere.asked)
        reset = struct.pack("ii", 1, 0)
        client.writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, reset)
        client.writer.transport.abort()
        await until_in_loop(lambda: not elsewhere.peers)
        elsewhere.asked[0][1](echo("one"))
        assert elsewhere.executed == []

    serve(test)


@pytest.mark.parametrize("more", [["PING"], []])
def test_the_end_of_the_input_waits_for_the_answer(more: list[str]) -> None:
    async def test(elsewhere: Elsewhere, client: Client, _: list[Connection]) -> None:
        client.send('QUERY c b "one"', *more)
        client.writer.write_eof()
        await until_in_loop(lambda: elsewhere.asked)
        await asyncio.sleep(0.02)
        elsewhere.asked[0][1](echo("one"))
        assert await client.lines(len(more) + 2) == ["there one", *["PONG"] * len(more), ""]

    serve(test)


def test_a_server_that_stops_sends_the_answer_first() -> None:
    async def test(elsewhere: Elsewhere, client: Client, connections: list[Connection]) -> None:
        client.send('QUERY c b "one"')
        await until_in_loop(lambda: elsewhere.asked)
        connections[0].shut_down(0.1)
        elsewhere.asked[0][1](echo("one"))
        assert await client.lines(2) == ["there one", ""]

    serve(test)
