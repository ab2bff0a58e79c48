"""Changes of an application over an index that have to wait for another thread do not keep its loop waiting."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="needs the extra [http]")

import sonicpy  # noqa: E402
from sonicpy.http.backend import IndexBackend  # noqa: E402

WAIT_S = 20.0
NAMES = "messages", "default"


@contextmanager
def held_turn(index: sonicpy.Index) -> Iterator[Callable[[], None]]:
    """Make another thread change the index until the returned function is called, or for a long time."""
    begun, end = threading.Event(), threading.Event()

    def change() -> None:
        with index.engine.changing():
            begun.set()
            end.wait(WAIT_S)

    thread = threading.Thread(target=change)
    thread.start()
    assert begun.wait(WAIT_S)
    try:
        yield end.set
    finally:
        end.set()
        thread.join()


CHANGES: list[tuple[str, tuple[Any, ...]]] = [
    ("push", (*NAMES, "message:3", "a third message")),
    ("upsert", (*NAMES, "message:1", "another text")),
    ("tag", (*NAMES, "message:1", ["new"])),
    ("pop", (*NAMES, "message:1", "weather")),
    ("flush", (*NAMES, "message:1")),
    ("flush", ("messages",)),
    ("set_synonyms", ("messages", ["weather, climate"])),
]


@pytest.mark.parametrize(("method", "args"), CHANGES)
def test_a_change_waits_for_its_turn_beside_the_loop(index: sonicpy.Index, method: str, args: tuple[Any, ...]) -> None:
    backend = IndexBackend(index)

    async def change() -> bool:
        with held_turn(index) as end:
            changing = asyncio.create_task(backend.call(method, *args))
            await asyncio.sleep(0.01)
            waited = not changing.done()
            end()
            await changing
        return waited

    before = index.engine.store.log_position
    assert asyncio.run(change())
    assert index.engine.store.log_position > before


def test_changes_that_wait_are_made_in_the_order_of_their_requests(index: sonicpy.Index) -> None:
    backend = IndexBackend(index)
    names = [f"o{number}" for number in range(60)]

    def push(name: str) -> Awaitable[Any]:
        return asyncio.create_task(backend.call("push", "ordered", "b", name, "some words"))

    async def change() -> None:
        with held_turn(index) as end:
            changing = [push(name) for name in names[:20]]
            await asyncio.sleep(0.01)
            end()
            for name in names[20:]:
                changing.append(push(name))
                await asyncio.sleep(0)
            await asyncio.gather(*changing)

    asyncio.run(change())
    assert list(index.iterate_objects("ordered", "b")) == names


def test_a_change_that_waited_and_is_refused_raises(index: sonicpy.Index) -> None:
    backend = IndexBackend(index)

    async def change() -> None:
        with held_turn(index) as end:
            wrong = asyncio.create_task(backend.call("push", "a b", "b", "o", "some words"))
            right = asyncio.create_task(backend.call("push", "ordered", "b", "o", "some words"))
            await asyncio.sleep(0.01)
            end()
            with pytest.raises(sonicpy.InvalidArgument):
                await wrong
            await right

    asyncio.run(change())
    assert index.query("ordered", "b", "words") == ["o"]


def test_a_flush_of_many_objects_does_not_run_on_the_loop(index: sonicpy.Index) -> None:
    index.push_many([("c", "b", f"o{number}", f"word{number}", None) for number in range(3_000)])
    for number in range(0, 3_000, 2):
        index.tag("c", "b", f"o{number}", ["even"])
    backend, passes = IndexBackend(index), 0

    async def flush() -> int:
        nonlocal passes
        flushing = asyncio.create_task(backend.call("flush", "c", "b", None, filter="even"))
        while not flushing.done():
            passes += 1
            await asyncio.sleep(0.001)
        flushed: int = await flushing
        return flushed

    assert asyncio.run(flush()) == 1_500
    assert passes > 2
    assert index.count("c", "b", of="objects") == 1_500
