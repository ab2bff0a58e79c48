"""Many callers of one client: each gets its own answers, even when others fail or are cancelled."""

import asyncio
import copy
import os
import pickle
import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import sonicpy
from sonicpy.errors import ClientError, TimedOut
from tests.client.fake import Caller, Fake
from tests.processes import Server
from tests.support.examples import some
from tests.support.patience import WAIT_S

CALLERS = 8


def url_of(server: Server) -> str:
    return f"sonic://{server.host}:{server.port}"


def fill(server: Server, collection: str) -> None:
    """Push objects: `o:n` holds n words that no other object holds."""
    with sonicpy.connect(url_of(server)) as client:
        rows = [(f"o:{n}", " ".join(f"w{n}x{place}" for place in range(n))) for n in range(1, 40)]
        assert client.push_many(rows, collection=collection, bucket="b", lang="none").indexed == len(rows)


@pytest.mark.parametrize("pool_size", some([1, 3, CALLERS], 2))
def test_threads_share_a_client(shared_server: Server, pool_size: int) -> None:
    fill(shared_server, "threads")

    def work(seed: int) -> int:
        chance = random.Random(seed)
        for _ in range(150):
            n = chance.randrange(1, 40)
            assert client.count_object_words("threads", "b", f"o:{n}") == n
            assert client.query("threads", "b", f"w{n}x{n - 1}", lang="none", limit=1) == [f"o:{n}"]
        return seed

    with sonicpy.connect(url_of(shared_server), pool_size=pool_size) as client, ThreadPoolExecutor(CALLERS) as pool:
        assert list(pool.map(work, range(CALLERS))) == list(range(CALLERS))
        assert client.info()["clients_connected"] <= 2 * pool_size + 1


@pytest.mark.full
def test_tasks_share_a_client_and_may_be_cancelled(shared_server: Server) -> None:
    fill(shared_server, "tasks")

    async def ask(client: sonicpy.AsyncClient, n: int) -> None:
        assert await client.count_object_words("tasks", "b", f"o:{n}") == n
        assert await client.query("tasks", "b", f"w{n}x{n - 1}", lang="none", limit=1) == [f"o:{n}"]

    async def work() -> None:
        chance = random.Random(11)
        async with await sonicpy.connect_async(url_of(shared_server), pool_size=2) as client:
            for _ in range(12):
                tasks = [asyncio.create_task(ask(client, chance.randrange(1, 40))) for _ in range(50)]
                cancelled = chance.sample(tasks, 15)
                for _ in range(chance.randrange(4)):
                    await asyncio.sleep(chance.random() * 0.002)
                for task in cancelled:
                    task.cancel()
                ended = await asyncio.gather(*tasks, return_exceptions=True)
                for task, end in zip(tasks, ended, strict=True):
                    assert end is None or (isinstance(end, asyncio.CancelledError) and task in cancelled), end
            assert (await client.info())["clients_connected"] <= 2 * 2 + 1  # none was dropped for being cancelled

    asyncio.run(work(), debug=True)


def long_text(name: str, words: int = 200_000) -> str:
    """Return a text that needs more lines than are in flight at a time, with a word of its own at both ends."""
    return f"first{name} {'between ' * words}last{name}"


def test_tasks_send_long_texts_over_one_connection(shared_server: Server) -> None:
    """Each text replaces its object as a whole, whatever other tasks send meanwhile."""

    async def held(client: sonicpy.AsyncClient, name: str) -> list[list[str]]:
        options: dict[str, Any] = {"lang": "none", "fuzzy": 0, "complete": False}
        return [[*await client.query("texts", "b", f"{end}{name}", **options)] for end in ("first", "last")]

    async def work() -> None:
        async with await sonicpy.connect_async(url_of(shared_server), pool_size=1) as client:
            rows = [(name, long_text(name)[-120_000:]) for name in ("rowa", "rowb", "rowc")]
            report, *_ = await asyncio.gather(
                client.push_many(rows, collection="texts", bucket="b", lang="none", upsert=True),
                *(client.upsert("texts", "b", name, long_text(name), lang="none") for name in ("a", "b")),
                *(client.upsert("texts", "b", "same", long_text(name), lang="none") for name in ("c", "d")),
                *(client.upsert("texts", "b", f"short{n}", f"word{n}", lang="none") for n in range(20)),
            )
            assert report.indexed == len(rows)
            assert [await held(client, name) for name in ("a", "b")] == [[["a"], ["a"]], [["b"], ["b"]]]
            assert [await held(client, name) for name in ("c", "d")] == [[[], []], [["same"], ["same"]]]
            assert [(await held(client, name))[1] for name, _ in rows] == [[name] for name, _ in rows]
            assert await client.count_objects("texts", "b") == 26

    asyncio.run(work())


def test_a_cancelled_long_text_is_no_loss_for_other_tasks(shared_server: Server) -> None:
    async def work() -> None:
        async with await sonicpy.connect_async(url_of(shared_server), pool_size=1, retry_s=0) as client:
            await client.push("cancelled", "b", "o", "one two three", lang="none")
            long = asyncio.create_task(client.upsert("cancelled", "b", "long", long_text("x", 1_000_000)))
            await asyncio.sleep(0)
            others = [
                asyncio.create_task(client.upsert("cancelled", "b", f"short{n}", f"word{n}", lang="none"))
                for n in range(5)
            ]
            popped = asyncio.create_task(client.pop("cancelled", "b", "o", "two"))
            while not popped.done():
                await asyncio.sleep(0)
            assert not any(task.done() for task in (long, *others))
            last = asyncio.create_task(client.pop("cancelled", "b", "o", "three"))
            for _ in range(3):  # it is sent now
                await asyncio.sleep(0)
            long.cancel()
            assert await asyncio.gather(popped, last, *others) == [1, 1, *(None for _ in others)]
            assert not await client.exists("cancelled", "b", "long")
            assert await client.count_objects("cancelled", "b") == 6

    asyncio.run(work())


def test_a_connection_that_is_being_opened_survives_who_asked_for_it_first() -> None:
    may_open = threading.Event()

    def script(caller: Caller) -> None:
        if caller.number:
            may_open.wait(WAIT_S)
        caller.greet()
        while caller.line():
            caller.say("RESULT 7")

    async def work(url: str) -> None:
        async with await sonicpy.connect_async(url, pool_size=1) as client:
            first = asyncio.create_task(client.count("c"))
            while fake.connections < 2:
                await asyncio.sleep(0.001)
            second = asyncio.create_task(client.count("c"))
            await asyncio.sleep(0.05)
            first.cancel()
            may_open.set()
            assert await second == 7
            with pytest.raises(asyncio.CancelledError):
                await first

    with Fake(script) as fake:
        asyncio.run(work(fake.url))
        assert fake.connections == 2


def test_closing_ends_connections_to_servers_that_stop() -> None:
    """A task waits for a server that stops, while another one has gone on to the next connection."""
    has_ended = threading.Event()

    def script(caller: Caller) -> None:
        caller.greet()
        if caller.number == 1:
            assert caller.line() and caller.line()
            caller.say("ERR shutting_down")
            assert caller.line() == ""
            has_ended.set()
        while caller.line():
            caller.say("RESULT 7")

    async def work(url: str) -> None:
        client = await sonicpy.connect_async(url, pool_size=1, timeout_s=10 * WAIT_S)
        first, second = asyncio.create_task(client.count("c")), asyncio.create_task(client.count("c"))
        assert await first == 7
        assert not second.done() and not has_ended.is_set()
        await client.close()
        assert await asyncio.to_thread(has_ended.wait, WAIT_S / 2)  # sockets of Fake end after WAIT_S
        with pytest.raises(ClientError):
            await second

    with Fake(script) as fake:
        asyncio.run(work(fake.url))


def test_events_of_old_servers_come_in_any_order() -> None:
    """Several PENDING may be open on one connection; each EVENT goes to the task that sent the command."""

    def script(caller: Caller) -> None:
        caller.greet()
        texts = [caller.line().split('"')[1] for _ in range(6)]
        for text in texts:
            caller.say(f"PENDING m{text}")
        random.Random(3).shuffle(texts)
        for text in texts:
            caller.say(f"EVENT QUERY m{text} {text}")
        caller.line()

    async def work(url: str) -> None:
        async with await sonicpy.connect_async(url, pool_size=1) as client:
            texts = [f"text{n}" for n in range(6)]
            assert await asyncio.gather(*(client.query("c", "b", text) for text in texts)) == [[text] for text in texts]

    with Fake(script) as fake:
        asyncio.run(work(fake.url))


def test_a_client_of_another_event_loop_says_so(shared_server: Server) -> None:
    async def connected() -> sonicpy.AsyncClient:
        client = await sonicpy.connect_async(url_of(shared_server))
        await client.ping()
        return client

    with asyncio.Runner() as first:
        client = first.run(connected())
        with ThreadPoolExecutor(1) as thread, pytest.raises(ClientError, match="belongs to another event loop"):
            thread.submit(lambda: asyncio.run(client.ping())).result()
        first.run(client.ping())
        first.run(client.close())


def test_a_client_is_not_pickled_and_not_copied(shared_server: Server) -> None:
    async def tried() -> None:
        async with sonicpy.connect_async(url_of(shared_server)) as there:
            with pytest.raises(TypeError, match="belongs to its process: connect in each one"):
                pickle.dumps(there.bucket("c", "b"))

    asyncio.run(tried())
    with sonicpy.connect(url_of(shared_server)) as client:
        for take in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(TypeError, match="belongs to its process: connect in each one"):
                take(client)


def test_a_forked_child_uses_connections_of_its_own(shared_server: Server) -> None:
    fill(shared_server, "forked")
    with sonicpy.connect(url_of(shared_server)) as client:
        assert client.count_object_words("forked", "b", "o:3") == 3
        child = os.fork()
        if not child:
            status = 1
            try:
                for _ in range(200):
                    if client.count_object_words("forked", "b", "o:5") != 5:
                        break
                else:
                    status = 0
            finally:
                os._exit(status)
        for _ in range(200):
            assert client.count_object_words("forked", "b", "o:7") == 7
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_who_finds_all_connections_in_use_waits_and_then_says_so() -> None:
    release = threading.Event()

    def script(caller: Caller) -> None:
        caller.greet()
        while caller.line():
            fake.lines.append(caller.mode)
            if caller.mode != "search":
                release.wait(WAIT_S)
            caller.say("OK" if caller.mode == "control" else "RESULT 7")

    with Fake(script) as fake, ThreadPoolExecutor(2) as pool:
        with sonicpy.connect(fake.url, pool_size=1) as client:
            first = pool.submit(client.count, "c")
            time.sleep(0.1)
            second = pool.submit(client.count, "c")
            time.sleep(0.1)
            release.set()
            assert (first.result(), second.result()) == (7, 7)
        release.clear()
        with sonicpy.connect(fake.url, pool_size=1, timeout_s=0.3) as client:
            third = pool.submit(client.count, "c")
            with pytest.raises(TimedOut):
                third.result()
            fourth = pool.submit(client.consolidate)  # may take an hour
            while "control" not in fake.lines:
                time.sleep(0.01)
            with pytest.raises(TimedOut, match="pool_size"):
                client.info()
            release.set()
            fourth.result()


def test_closing_wakes_who_waits() -> None:
    def script(caller: Caller) -> None:
        caller.greet()
        while caller.line():
            pass

    async def work(url: str) -> None:
        client = await sonicpy.connect_async(url)
        waiting = asyncio.create_task(client.count("c"))
        await asyncio.sleep(0.1)
        await client.close()
        with pytest.raises(ClientError):
            await waiting

    with Fake(script) as fake:
        asyncio.run(work(fake.url))
