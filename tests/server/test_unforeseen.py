"""An unexpected error ends the connection on which it occurs: its client does not wait for ever, and others are
served. One of a periodic task ends no other task.
"""

import asyncio
import gc
from pathlib import Path

import pytest

from sonicpy.channel.commands import Query
from sonicpy.server.connections.dispatch import CALLS
from sonicpy.server.jobs import tasks
from sonicpy.server.jobs.tasks import ServiceTasks
from sonicpy.server.service import Service
from tests.in_loop import serving, serving_with
from tests.support.patience import WAIT_S, until_in_loop


def fail(*_: object) -> bytes:
    raise RuntimeError("unforeseen")


@pytest.fixture(autouse=True)
def queries_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make QUERY, and commands that take longer than a turn, raise an error that is not a SonicError."""
    monkeypatch.setitem(CALLS, Query, fail)
    monkeypatch.setattr(Service, "execute", fail)


PLACES = [
    (b'START search\nQUERY c b "text"\nPING\n', "at once"),
    (b"START search\n" + b"PING\n" * 20_000 + b'QUERY c b "text"\nPING\n', "in a queued turn"),
    (b"START control\nTRIGGER consolidate\nPING\n", "in a command that takes longer than a turn"),
]


@pytest.mark.parametrize(("sent", "where"), PLACES, ids=[row[1] for row in PLACES])
def test_the_connection_ends(tmp_path: Path, sent: bytes, where: str) -> None:
    ended, answer, errors = asyncio.run(talk(tmp_path, sent))
    assert ended, f"left waiting by an error {where}"
    assert answer == b"PONG\r\n", "the others go on"
    assert errors, "it is reported, not swallowed"


async def talk(folder: Path, sent: bytes) -> tuple[bool, bytes, list[dict[str, object]]]:
    """Return whether the connection that sent this has ended, the answer to another connection, and the reported
    errors.
    """
    errors: list[dict[str, object]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: errors.append(context))
    async with serving(folder) as (_, address):
        reader, writer = await asyncio.open_connection(*address)
        other_reader, other = await asyncio.open_connection(*address)
        writer.write(sent)
        ended = await ends(reader)
        other.write(b"START search\nPING\n")
        greeting_and_start = [await other_reader.readline() for _ in range(2)]
        answer = await asyncio.wait_for(other_reader.readline(), WAIT_S) if all(greeting_and_start) else b""
        for each in (writer, other):
            each.close()
    gc.collect()  # a task's error is reported when the task is deleted
    return ended, answer, errors


async def ends(reader: asyncio.StreamReader) -> bool:
    """Return whether the server closes within WAIT_S."""
    try:
        await asyncio.wait_for(reader.read(), WAIT_S)
    except ConnectionResetError:
        return True
    except TimeoutError:
        return False
    return True


def test_periodic_work_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def work() -> None:
        async with serving_with(tmp_path, {}) as (service, _):
            swept: list[int] = []

            async def sweep() -> None:
                swept.append(1)
                if len(swept) == 1:
                    raise OSError("unforeseen")

            monkeypatch.setattr(service.committer, "sweep", sweep)
            periodic = asyncio.create_task(ServiceTasks(service).run())
            service.index.push("c", "b", "o", "text")
            await until_in_loop(lambda: len(swept) > 2)
            assert not service.index.engine.store.uncommitted
            periodic.cancel()

    monkeypatch.setattr(tasks, "TICK_S", 0.02)
    asyncio.run(work())
    assert caplog.text.count("OSError('unforeseen')") == 1
