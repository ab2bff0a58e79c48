"""Cancellations of the asyncio client at every await of every method, once and twice.

Afterwards the client can use all its connections, each command gets its own answer, and nothing stays open.
"""

import asyncio
import gc
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import uvloop

import sonicpy
from sonicpy.errors import ClientError, CommandError
from tests.client.every_call import BUCKET, COLLECTION, OBJECTS, calls, fill
from tests.client.fake import Caller, Fake
from tests.client.interrupts import CancelledAt
from tests.processes import Server
from tests.support.patience import WAIT_S

PATIENCE_S = WAIT_S
PUSHES = 700
Work = Callable[[], Awaitable[object]]


def url_of(server: Server) -> str:
    return f"sonic://{server.host}:{server.port}"


def two_urls(server: Server) -> str:
    """Return an address that names one server twice."""
    return f"sonic://{server.host}:{server.port},localhost:{server.port}"


@pytest.fixture(scope="module")
def folder(shared_server: Server, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("calls")
    with sonicpy.connect(url_of(shared_server)) as client:
        fill(client, folder)
    return folder


async def ask_all(client: sonicpy.AsyncClient, number: int) -> None:
    """Use the only connection of each mode, and check that the answers belong to the commands."""
    assert await client.query(COLLECTION, BUCKET, f"w{number}x0", lang="none") == [f"o:{number}"]
    assert await client.count_object_words(COLLECTION, BUCKET, f"o:{number}") == number
    assert (await client.info())["uptime"] >= 0


async def read_out(result: Any) -> None:
    """Read a result to its end."""
    if isinstance(result, AsyncIterator):
        async for _ in result:
            pass
    elif isinstance(result, Awaitable):
        await result


async def cancel(work: Work, place: int, again: int | None = None) -> tuple[int, bool]:
    """Cancel a piece of work where it waits; return the number of its waits, and whether the cancellation ended it."""
    cancelled = CancelledAt(work(), place, again)

    async def wrapped() -> None:
        await cancelled

    task = asyncio.create_task(wrapped())
    await asyncio.wait([task])
    if not task.cancelled() and task.exception() is not None:
        assert isinstance(task.exception(), CommandError), task.exception()
    return cancelled.waits, task.cancelled()


async def cancel_everywhere(work: Work, check: Callable[[int], Awaitable[object]], again: int | None = None) -> int:
    """Cancel a piece of work at each await, and check after each time; return the number of cancellations."""
    waits, _ = await cancel(work, -1)
    count = 0
    for place in range(waits):
        count += (await cancel(work, place, again))[1]
        await check(place)
    return count


async def cancel_all(url: str, folder: Path, again: int | None = None) -> int:
    """Cancel every method of a client whose pools have room for one connection, which is open. Return the number of
    cancellations.
    """
    count = 0
    async with sonicpy.connect_async(url, pool_size=1, timeout_s=PATIENCE_S) as client:

        async def check(place: int) -> None:
            await ask_all(client, 1 + place % OBJECTS)

        for call in calls(client).values():
            count += await cancel_everywhere(lambda call=call: read_out(call(client, folder)), check, again)
    return count


async def cancel_whole_lives(url: str, again: int | None = None) -> int:
    """Cancel connecting, the first command in each mode, a batch and closing; afterwards nothing is open. Return the
    number of cancellations.
    """

    async def life() -> None:
        async with sonicpy.connect_async(url, pool_size=1, timeout_s=PATIENCE_S) as client:
            await asyncio.gather(*(client.count_object_words(COLLECTION, BUCKET, "o:3") for _ in range(3)))
            await client.info()
            async with client.batch() as batch:
                await batch.push("other", BUCKET, "o", "text", lang="none")

    async def nothing(place: int) -> None:
        pass

    await life()
    gc.collect()
    before = open_files()
    count = await cancel_everywhere(life, nothing, again)
    deadline = asyncio.get_running_loop().time() + PATIENCE_S
    while open_files() > before and asyncio.get_running_loop().time() < deadline:
        await asyncio.sleep(0.005)
    assert open_files() <= before
    return count


def open_files() -> int:
    return len(os.listdir("/dev/fd"))


async def cancel_batches(url: str, again: int | None = None) -> int:
    """Cancel inside blocks that continue; each push that returned is on the server at the end of the block."""
    count = 0
    async with sonicpy.connect_async(url, pool_size=1, timeout_s=PATIENCE_S) as client:
        pushed: list[int] = []

        async def work() -> None:
            pushed.clear()
            for number in range(PUSHES):
                await batch.push("batch", BUCKET, f"o:{number}", f"text{number}", lang="none")
                pushed.append(number)
            await batch.count_objects("batch", BUCKET)

        place = 0
        ended = True
        while ended:
            await client.flush("batch")
            async with client.batch() as batch:
                _, ended = await cancel(work, place, again)
                await batch.push("batch", BUCKET, "o:last", "text", lang="none")
            place += 1
            count += ended
            assert batch.waiting == []
            found = set(await client.objects("batch", BUCKET, limit=None))
            assert found >= {"o:last", *(f"o:{number}" for number in pushed)}, (place, len(pushed), len(found))
    return count


@pytest.fixture(params=["asyncio", pytest.param("uvloop", marks=pytest.mark.full)])
def run(request: pytest.FixtureRequest) -> Iterator[Callable[[Any], Any]]:
    """A function that runs coroutines in an event loop."""
    new_loop = uvloop.new_event_loop if request.param == "uvloop" else None
    with asyncio.Runner(loop_factory=new_loop) as runner:
        yield runner.run


@pytest.mark.full
def test_cancellations_leave_the_client_whole(run: Callable[[Any], Any], shared_server: Server, folder: Path) -> None:
    assert run(cancel_all(url_of(shared_server), folder)) > 40


def test_cancelled_lives_leave_nothing_open(run: Callable[[Any], Any], shared_server: Server, folder: Path) -> None:
    assert run(cancel_whole_lives(url_of(shared_server))) > 5
    assert run(cancel_whole_lives(two_urls(shared_server), again=0)) > 5


def test_cancelled_batches_forget_nothing(run: Callable[[Any], Any], shared_server: Server) -> None:
    assert run(cancel_batches(url_of(shared_server))) > 2


async def cancel_long_texts(url: str) -> int:
    """Cancel UPSERTs of texts that are sent in several groups of lines; the next ones over the connection are made."""
    count = 0
    async with sonicpy.connect_async(url, pool_size=1, timeout_s=PATIENCE_S, retry_s=0) as client:

        async def check(place: int) -> None:
            for text in (f"next{place}", f"last{place}"):
                await client.upsert("long", BUCKET, "o:next", text, lang="none")
            assert await client.query("long", BUCKET, f"last{place}", lang="none") == ["o:next"]

        text = "some text " * 150_000
        rows = [(f"o:{number}", text[:500_000]) for number in range(3)]
        for work in (
            lambda: client.upsert("long", BUCKET, "o", text, lang="none"),
            lambda: client.push_many(rows, collection="long", bucket=BUCKET, lang="none", upsert=True),
        ):
            count += await cancel_everywhere(work, check)
    return count


@pytest.mark.full
def test_cancelled_long_texts_are_in_nobodys_way(run: Callable[[Any], Any], shared_server: Server) -> None:
    assert run(cancel_long_texts(url_of(shared_server))) > 5


@pytest.mark.full
def test_cancellations_twice(run: Callable[[Any], Any], shared_server: Server, folder: Path) -> None:
    for again in range(4):
        assert run(cancel_all(two_urls(shared_server), folder, again)) > 40
        assert run(cancel_whole_lives(two_urls(shared_server), again)) > 5
        assert run(cancel_batches(url_of(shared_server), again)) > 2


def greet_the_first(caller: Caller) -> None:
    """Answer the first connection alone; further ones are being opened until the client ends them."""
    if caller.number == 0:
        caller.greet()
    caller.line()


def test_closing_is_no_cancellation_of_who_waits_for_a_connection() -> None:
    async def work(url: str) -> None:
        client = await sonicpy.connect_async(url)
        waiting = asyncio.create_task(client.count("c"))
        while fake.connections < 2:
            await asyncio.sleep(0.001)
        await client.close()
        with pytest.raises(ClientError, match="is closed"):
            await waiting

    with Fake(greet_the_first) as fake:
        asyncio.run(work(fake.url))


async def push(client: sonicpy.AsyncClient) -> None:
    await client.push("c", "b", "o", "text")


async def count(client: sonicpy.AsyncClient) -> None:
    await client.count("c")


@pytest.mark.parametrize("use", [push, count])
@pytest.mark.parametrize("turns", range(6))
def test_closing_is_no_cancellation_of_who_is_about_to_open_a_connection(
    turns: int, use: Callable[[sonicpy.AsyncClient], Awaitable[None]]
) -> None:
    async def work(url: str) -> None:
        client = await sonicpy.connect_async(url)
        waiting = asyncio.ensure_future(use(client))
        for _ in range(turns):
            await asyncio.sleep(0)
        await client.close()
        with pytest.raises(ClientError, match="is closed"):
            await waiting

    with Fake(greet_the_first) as fake:
        asyncio.run(work(fake.url))


def test_who_is_cancelled_at_the_end_of_a_client_is_cancelled() -> None:
    async def work(url: str, turns: int) -> None:
        client = await sonicpy.connect_async(url)
        waiting = asyncio.ensure_future(count(client))
        for _ in range(turns):
            await asyncio.sleep(0)
        waiting.cancel()
        await client.close()
        with pytest.raises(asyncio.CancelledError):
            await waiting

    for turns in range(5):
        with Fake(greet_the_first) as fake:
            asyncio.run(work(fake.url, turns))


def test_nobody_waits_behind_maintenance_that_was_cancelled() -> None:
    def script(caller: Caller) -> None:
        caller.greet()
        while line := caller.line():
            if line.startswith("INFO"):
                caller.say("RESULT uptime(1)")

    async def work(url: str) -> None:
        async with sonicpy.connect_async(url, pool_size=1, timeout_s=PATIENCE_S) as client:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.05):
                    await client.consolidate()
            assert await client.info() == {"uptime": 1}

    with Fake(script) as fake:
        asyncio.run(work(fake.url))
