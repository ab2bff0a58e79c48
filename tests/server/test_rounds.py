"""Busy connections queue: turns that were put off are carried out in order, for one round at a time."""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

from sonicpy import Config, Index
from sonicpy.server import service as service_module
from sonicpy.server.service import Service

TURN_S = 0.002


def run(folder: Path, talk: Callable[[Service], None]) -> list[dict[str, object]]:
    """Let `talk` put turns off, and return the faults that were reported until the loop was idle."""
    faults: list[dict[str, object]] = []

    async def serve() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: faults.append(context))
        with Index(folder, autocommit=False) as index:
            talk(Service(index, Config()))
            await asyncio.sleep(0.2)

    asyncio.run(serve())
    return faults


def test_what_has_arrived_is_looked_for_between_rounds(tmp_path: Path) -> None:
    done: list[str] = []

    def turn(name: str) -> None:
        done.append(name)
        time.sleep(TURN_S)

    def talk(service: Service) -> None:
        for number in range(10):
            service.enqueue_turn(lambda number=number: turn(str(number)))  # type: ignore[misc]
        asyncio.get_running_loop().call_soon(done.append, "arrived")

    assert run(tmp_path, talk) == []
    assert [name for name in done if name != "arrived"] == [str(number) for number in range(10)]
    assert done.index("arrived") <= service_module.ROUND_S / TURN_S + 1


def test_a_turn_that_fails_does_not_stop_the_others(tmp_path: Path) -> None:
    done: list[int] = []

    def fail() -> None:
        raise RuntimeError("unforeseen")

    def talk(service: Service) -> None:
        service.enqueue_turn(lambda: done.append(1))
        service.enqueue_turn(fail)
        service.enqueue_turn(lambda: service.enqueue_turn(lambda: done.append(3)))
        service.enqueue_turn(lambda: done.append(2))

    faults = run(tmp_path, talk)
    assert [type(fault["exception"]) for fault in faults] == [RuntimeError]
    assert done == [1, 2, 3]


def test_short_turns_once_a_round_is_used_up(tmp_path: Path) -> None:
    seen: list[bool] = []

    def talk(service: Service) -> None:
        service.spent(service_module.ROUND_S / 2)
        seen.append(service.is_crowded)
        service.spent(service_module.ROUND_S)
        service.spent(service_module.ROUND_S)
        seen.append(service.is_crowded)
        loop = asyncio.get_running_loop()
        loop.call_soon(lambda: seen.append(service.is_crowded))

    assert run(tmp_path, talk) == []
    assert seen == [False, True, False]
