"""The work of HTTP in one pass of the loop: the rest of the server runs between two passes."""

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="needs the extra [http]")
pytest.importorskip("uvicorn", reason="needs the extra [http]")

from sonicpy.server.web.http_protocol import ALLOWED_MAX, Pace

CROWD = 500


def acts_per_pass(play: Callable[[Pace, Callable[[], None]], Coroutine[Any, Any, None]]) -> Counter[int]:
    """Return the number of acts in each pass of a loop; `play` gets the function that counts an act."""

    async def run() -> Counter[int]:
        loop = asyncio.get_running_loop()
        acts: Counter[int] = Counter()
        number = 0

        def begin_pass() -> None:
            nonlocal number
            number += 1
            loop.call_soon(begin_pass)

        def act() -> None:
            acts[number] += 1

        begin_pass()
        await play(Pace(), act)
        return acts

    return asyncio.run(asyncio.wait_for(run(), 60))


def test_packets_that_come_together_begin_few_requests_in_a_pass() -> None:
    async def play(pace: Pace, act: Callable[[], None]) -> None:
        begun = asyncio.Event()
        left = CROWD

        def begin() -> None:
            nonlocal left
            act()
            left -= 1
            if not left:
                begun.set()

        def handle() -> None:
            act()
            if pace.take():
                begin()
            else:
                pace.queue(begin)

        for _ in range(CROWD):
            if pace.take():
                handle()
            else:
                pace.queue(handle)
        await begun.wait()

    acts = acts_per_pass(play)
    assert acts.total() == 2 * CROWD
    assert max(acts.values()) <= 2 * ALLOWED_MAX, "a pass handles what came before its acts, too"


def test_requests_that_waited_for_the_same_go_on_in_turns() -> None:
    async def play(pace: Pace, act: Callable[[], None]) -> None:
        waited: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        async def request() -> None:
            await asyncio.shield(waited)
            await pace.turn()
            act()

        requests = [asyncio.create_task(request()) for _ in range(CROWD)]
        await asyncio.sleep(0)
        waited.set_result(None)
        await asyncio.gather(*requests)

    acts = acts_per_pass(play)
    assert acts.total() == CROWD
    assert max(acts.values()) <= 2 * ALLOWED_MAX


def test_new_requests_do_not_wait_for_those_that_always_go_on() -> None:
    async def play(pace: Pace, act: Callable[[], None]) -> None:
        async def stream() -> None:
            while True:
                await asyncio.sleep(0)
                await pace.turn()

        streams = [asyncio.create_task(stream()) for _ in range(16)]
        await asyncio.sleep(0.01)
        begun = asyncio.Event()
        for _ in range(CROWD):
            pace.queue(act)
        pace.queue(begun.set)
        await begun.wait()
        for task in streams:
            task.cancel()

    assert acts_per_pass(play).total() == CROWD


def test_a_request_that_left_takes_no_turn() -> None:
    async def play(pace: Pace, act: Callable[[], None]) -> None:
        tasks = [asyncio.create_task(pace.turn()) for _ in range(10 * ALLOWED_MAX)]
        await asyncio.sleep(0)
        for task in tasks:
            task.cancel()
        left = asyncio.Event()
        pace.queue(partial(act))
        pace.queue(left.set)
        await left.wait()

    assert acts_per_pass(play).total() == 1


@pytest.mark.parametrize("error", [None, OSError("the disk")])
def test_requests_that_wait_for_one_event_are_resumed_in_turns(error: OSError | None) -> None:
    async def play(pace: Pace, act: Callable[[], None]) -> None:
        event: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        async def request() -> None:
            try:
                await pace.after(event)
            finally:
                act()

        tasks = [asyncio.create_task(request()) for _ in range(CROWD)]
        await asyncio.sleep(0)
        if error is None:
            event.set_result(None)
        else:
            event.set_exception(error)
        assert set(await asyncio.gather(*tasks, return_exceptions=True)) == {error}

    acts = acts_per_pass(play)
    assert acts.total() == CROWD
    assert max(acts.values()) <= ALLOWED_MAX


def test_a_request_that_left_leaves_the_event_to_the_others() -> None:
    async def play(pace: Pace, act: Callable[[], None]) -> None:
        event: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        left, stays = (asyncio.create_task(pace.after(event)) for _ in range(2))
        await asyncio.sleep(0)
        left.cancel()
        await asyncio.sleep(0)
        assert not event.cancelled()
        event.set_result(None)
        await stays
        act()

    assert acts_per_pass(play).total() == 1
