"""Busy connections queue: queued turns are taken in order, one round at a time."""

import asyncio
import time
from collections.abc import Callable

from sonicpy.server.connections.turns import ROUND_S, Turns

TURN_S = 0.002


def run(talk: Callable[[Turns], None]) -> list[dict[str, object]]:
    """Run `talk`, which enqueues turns, and return the errors that the loop reported until it was idle."""
    errors: list[dict[str, object]] = []

    async def serve() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: errors.append(context))
        talk(Turns())
        await asyncio.sleep(0.05)

    asyncio.run(serve())
    return errors


def test_the_loop_looks_for_new_bytes_between_rounds() -> None:
    done: list[str] = []

    def turn(name: str) -> None:
        done.append(name)
        time.sleep(TURN_S)

    def talk(turns: Turns) -> None:
        for number in range(10):
            turns.enqueue_turn(lambda number=number: turn(str(number)))  # type: ignore[misc]
        asyncio.get_running_loop().call_soon(done.append, "arrived")

    assert run(talk) == []
    assert [name for name in done if name != "arrived"] == [str(number) for number in range(10)]
    assert done.index("arrived") <= ROUND_S / TURN_S + 1


def test_a_turn_that_fails_does_not_stop_the_others() -> None:
    done: list[int] = []

    def fail() -> None:
        raise RuntimeError("unforeseen")

    def talk(turns: Turns) -> None:
        turns.enqueue_turn(lambda: done.append(1))
        turns.enqueue_turn(fail)
        turns.enqueue_turn(lambda: turns.enqueue_turn(lambda: done.append(3)))
        turns.enqueue_turn(lambda: done.append(2))

    errors = run(talk)
    assert [type(error["exception"]) for error in errors] == [RuntimeError]
    assert done == [1, 2, 3]


def test_turns_are_short_once_a_round_is_used_up() -> None:
    seen: list[bool] = []

    def talk(turns: Turns) -> None:
        turns.note_immediate_turn(ROUND_S / 2)
        seen.append(turns.is_backlogged)
        turns.note_immediate_turn(ROUND_S)
        turns.note_immediate_turn(ROUND_S)
        seen.append(turns.is_backlogged)
        asyncio.get_running_loop().call_soon(lambda: seen.append(turns.is_backlogged))

    assert run(talk) == []
    assert seen == [False, True, False]
