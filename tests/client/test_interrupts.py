"""Interrupts of the blocking client at every moment, and cancellations of the asyncio client at every await.

Afterwards the client can use all its connections and locks, and each command gets its own answer.
"""

import contextlib
import gc
import os
import random
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import sonicpy
from sonicpy.errors import CommandError
from tests.client.every_call import BUCKET, COLLECTION, OBJECTS, calls, fill
from tests.client.interrupts import Interrupt, Interrupted
from tests.processes import Server
from tests.support.patience import WAIT_S

# A socket that an interrupt dropped on its way into a variable is closed when Python frees it.
pytestmark = [
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
PATIENCE_S = WAIT_S
PUSHES = 700


@pytest.fixture(autouse=True)
def freed() -> Iterator[None]:
    """Free the objects that tracebacks have held, before the warnings of the next test become errors again."""
    yield
    gc.collect()


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


def ask_all(client: sonicpy.Client, number: int) -> None:
    """Use the only connection of each mode, and check that the answers belong to the commands."""
    assert client.query(COLLECTION, BUCKET, f"w{number}x0", lang="none") == [f"o:{number}"]
    assert client.count_object_words(COLLECTION, BUCKET, f"o:{number}") == number
    assert client.info()["uptime"] >= 0


def read_out(result: Any) -> None:
    """Read a result to its end."""
    if isinstance(result, Iterator):
        list(result)


def moments_of(work: Callable[[], object]) -> int:
    """Return the number of moments in a call at which a signal handler may raise."""
    counted = Interrupt(sys.maxsize)
    counted.run(work)
    return counted.seen


def interrupt(work: Callable[[], object], check: Callable[[int], object], count: int, dice: random.Random) -> int:
    """Interrupt a call at random moments, every other time twice, and check after each; return the number of
    interrupts.
    """
    most = moments_of(work)
    kept: list[BaseException] = []  # tracebacks hold the frames, and so whatever an interrupt left in variables
    given = 0
    for turn in range(count):
        once = Interrupt(dice.randrange(most), dice.randrange(12) if turn % 2 else None)
        try:
            once.run(work)
        except (Interrupted, CommandError) as error:
            kept.append(error)
        given += once.given
        check(turn)
    return given


def interrupt_all(url: str, folder: Path, each: int, seed: int) -> int:
    """Interrupt every method of a client whose pools have room for one connection, so that a lost one is noticed at
    once. Return the number of interrupts.
    """
    dice = random.Random(seed)
    given = 0
    with sonicpy.connect(url, pool_size=1, timeout_s=PATIENCE_S) as client:

        def check(turn: int) -> None:
            ask_all(client, 1 + turn % OBJECTS)

        for call in calls(client).values():
            given += interrupt(lambda call=call: read_out(call(client, folder)), check, each, dice)
    return given


def interrupt_connecting(url: str, count: int, seed: int) -> int:
    """Interrupt connecting and closing; afterwards no descriptor and no thread is left. Return the number of
    interrupts.
    """

    def work() -> None:
        with sonicpy.connect(url):
            pass

    work()
    gc.collect()
    before = open_files()
    given = interrupt(work, lambda turn: None, count, random.Random(seed))
    deadline = time.monotonic() + PATIENCE_S
    while gc.collect() + open_files() > before and time.monotonic() < deadline:
        time.sleep(0.01)  # what lost a race is closed by the thread that opened it
    assert open_files() <= before
    return given


def open_files() -> int:
    return len(os.listdir("/dev/fd"))


def interrupt_batches(url: str, count: int, seed: int) -> int:
    """Interrupt blocks that continue; each push that returned is on the server at the end of the block."""
    dice = random.Random(seed)
    given = 0
    with sonicpy.connect(url, pool_size=1, timeout_s=PATIENCE_S) as client:

        def work() -> None:
            pushed.clear()
            batch.waiting  # noqa: B018 - a property has moments, too
            for number in range(PUSHES):
                batch.push("batch", BUCKET, f"o:{number}", f"text{number}", lang="none")
                pushed.append(number)

        pushed: list[int] = []
        most = PUSHES * 40
        for turn in range(count):
            client.flush("batch")
            once = Interrupt(dice.randrange(most), dice.randrange(12) if turn % 2 else None)
            with client.batch() as batch:
                with contextlib.suppress(Interrupted):
                    once.run(work)
                batch.push("batch", BUCKET, "o:last", "text", lang="none")
            given += once.given
            assert batch.waiting == []
            found = set(client.objects("batch", BUCKET, limit=None))
            assert found >= {"o:last", *(f"o:{number}" for number in pushed)}, (turn, len(pushed), len(found))
    return given


@pytest.mark.full
def test_interrupts_leave_the_client_whole(shared_server: Server, folder: Path) -> None:
    assert interrupt_all(url_of(shared_server), folder, 2, 1) > 60


@pytest.mark.full
def test_interrupts_of_a_client_of_several_servers(shared_server: Server, folder: Path) -> None:
    assert interrupt_all(two_urls(shared_server), folder, 1, 2) > 20


def test_interrupts_while_connecting(shared_server: Server) -> None:
    assert interrupt_connecting(url_of(shared_server), 15, 3) > 10
    assert interrupt_connecting(two_urls(shared_server), 15, 4) > 10


def test_interrupted_batches_forget_nothing(shared_server: Server) -> None:
    assert interrupt_batches(url_of(shared_server), 5, 5) > 2


@pytest.mark.full
def test_two_thousand_interrupts(shared_server: Server, folder: Path) -> None:
    given = interrupt_all(url_of(shared_server), folder, 40, 6) + interrupt_all(two_urls(shared_server), folder, 10, 7)
    given += interrupt_connecting(url_of(shared_server), 200, 8) + interrupt_connecting(two_urls(shared_server), 200, 9)
    given += interrupt_batches(url_of(shared_server), 100, 10)
    assert given > 2_000


def test_a_thread_that_waits_is_not_forgotten(shared_server: Server, folder: Path) -> None:
    """Threads share one connection; one thread is interrupted while it has the connection, waits for it, or gives it
    back.
    """
    with sonicpy.connect(url_of(shared_server), pool_size=1, timeout_s=PATIENCE_S) as client:
        stop = threading.Event()

        def ask() -> int:
            asked = 0
            while not stop.is_set():
                assert client.count_object_words(COLLECTION, BUCKET, "o:5") == 5
                asked += 1
            return asked

        with ThreadPoolExecutor(2) as threads:
            others = [threads.submit(ask) for _ in range(2)]
            try:
                given = interrupt(
                    lambda: client.count_object_words(COLLECTION, BUCKET, "o:3"),
                    lambda turn: ask_all(client, 1 + turn % OBJECTS),
                    30,
                    random.Random(11),
                )
            finally:
                stop.set()
            assert given > 15
            assert all(other.result() > 0 for other in others)


def test_no_more_connections_than_places(shared_server: Server, folder: Path) -> None:
    with sonicpy.connect(url_of(shared_server), pool_size=2, timeout_s=PATIENCE_S) as client:
        before = client.info()["clients_connected"]
        with ThreadPoolExecutor(8) as threads:
            results = threads.map(
                lambda turn: client.count_object_words(COLLECTION, BUCKET, f"o:{1 + turn % OBJECTS}"), range(100)
            )
            assert list(results) == [1 + turn % OBJECTS for turn in range(100)]
            assert client.info()["clients_connected"] <= before + 2
