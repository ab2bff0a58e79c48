"""Interrupts of the blocking client at every moment, and cancellations of the asyncio client at every await.

Afterwards the client has all its places and locks, and each command gets its own answer.
"""

import asyncio
import inspect
import random
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import sonicpy
from sonicpy.errors import CommandError
from tests.client.every_call import BUCKET, COLLECTION, OBJECTS, Call, calls, fill
from tests.client.interrupts import CancelledAt, Interrupt, Interrupted
from tests.processes import Server

# A socket that an interrupt dropped on its way into a variable is closed when Python frees it.
pytestmark = [
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
PATIENCE_S = 20.0


def url_of(server: Server) -> str:
    return f"sonic://{server.host}:{server.port}"


@pytest.fixture(scope="module")
def folder(shared_server: Server, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("calls")
    with sonicpy.connect(url_of(shared_server)) as client:
        fill(client, folder)
    return folder


def ask_all(client: sonicpy.Client, number: int) -> None:
    """Use the only place of each mode, and check that the answers are those to the questions."""
    assert client.query(COLLECTION, BUCKET, f"w{number}x0", lang="none") == [f"o:{number}"]
    assert client.count_object_words(COLLECTION, BUCKET, f"o:{number}") == number
    assert client.info()["uptime"] >= 0


def read_out(result: Any) -> None:
    """Read a result to its end."""
    if isinstance(result, Iterator):
        list(result)


def batched(client: sonicpy.Client) -> None:
    with client.batch() as batch:
        for number in range(600):
            batch.push("other", BUCKET, f"o:{number}", "text", lang="none")
        batch.pop("other", BUCKET, "o:1", "text")


def moments_of(work: Callable[[], object]) -> int:
    """Return how many moments a call has."""
    counted = Interrupt(sys.maxsize)
    counted.run(work)
    return counted.seen


def interrupt(client: sonicpy.Client, work: Callable[[], object], count: int, dice: random.Random) -> int:
    """Interrupt a call at random moments, half of them twice, and check after each that the client is whole."""
    most = moments_of(work)
    kept: list[BaseException] = []  # tracebacks hold the frames, and so whatever the interrupt left in variables
    given = 0
    for turn in range(count):
        second = dice.randrange(12) if turn % 2 else None
        interrupt = Interrupt(dice.randrange(most), second)
        try:
            interrupt.run(work)
        except (Interrupted, CommandError) as error:
            kept.append(error)
        given += interrupt.given
        ask_all(client, 1 + turn % OBJECTS)
    return given


def interrupt_all(url: str, folder: Path, each: int, seed: int) -> int:
    dice = random.Random(seed)
    given = 0
    with sonicpy.connect(url, pool_size=1, timeout_s=PATIENCE_S) as client:
        for call in calls(client).values():
            given += interrupt(client, lambda call=call: read_out(call(client, folder)), each, dice)
        given += interrupt(client, lambda: batched(client), each, dice)
    return given


def test_interrupts_leave_the_client_whole(shared_server: Server, folder: Path) -> None:
    assert interrupt_all(url_of(shared_server), folder, 2, 1) > 60
