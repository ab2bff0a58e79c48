"""One interface for both clients: tests call blocking methods, and either client does the work."""

import asyncio
import inspect
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

import pytest
import uvloop

import sonicpy
from sonicpy.client.aio.bucket import AsyncBucket


class View:
    """Wraps an object of the asyncio client; each call runs the coroutine to its end."""

    def __init__(self, loop: asyncio.AbstractEventLoop, target: Any) -> None:
        self.loop = loop
        self.target = target

    def __getattr__(self, name: str) -> Any:
        value = getattr(self.target, name)
        if not callable(value):
            return value

        def call(*positional: Any, **named: Any) -> Any:
            result = value(*positional, **named)
            if inspect.isawaitable(result):
                return self.loop.run_until_complete(result)
            return View(self.loop, result) if isinstance(result, sonicpy.AsyncClient | AsyncBucket) else result

        return call

    def __enter__(self) -> Self:
        self.loop.run_until_complete(self.target.__aenter__())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.loop.run_until_complete(self.target.__aexit__(kind, error, trace))


def end(loop: asyncio.AbstractEventLoop) -> None:
    """Close a loop as `asyncio.run` does: connections that broke last are first notified of their end."""
    loop.run_until_complete(asyncio.sleep(0))
    loop.run_until_complete(loop.shutdown_asyncgens())
    loop.close()


class Stepwise(View):
    """An AsyncClient whose methods block, with an event loop of its own."""

    new_loop = staticmethod(asyncio.new_event_loop)

    def __init__(self, url: str, **options: Any) -> None:
        loop = self.new_loop()
        try:
            super().__init__(loop, loop.run_until_complete(sonicpy.connect_async(url, **options)))
        except BaseException:
            end(loop)
            raise

    def close(self) -> None:
        """Close the client, but not the loop."""
        self.loop.run_until_complete(self.target.close())

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        super().__exit__(kind, error, trace)
        end(self.loop)


class OnUvloop(Stepwise):
    """An AsyncClient whose methods block, on uvloop, the event loop of the server."""

    new_loop = staticmethod(uvloop.new_event_loop)


Connect = Callable[..., Any]
WAYS: dict[str, Connect] = {"blocking": sonicpy.connect, "asyncio": Stepwise}
ALL_WAYS: dict[str, Connect] = {**WAYS, "uvloop": OnUvloop}
EVERY_WAY = [*WAYS, pytest.param("uvloop", marks=pytest.mark.full)]
"""The keys of ALL_WAYS as parameters of tests."""
ONE_WAY = ["blocking", *(pytest.param(way, marks=pytest.mark.full) for way in ("asyncio", "uvloop"))]
"""The keys of ALL_WAYS for tests that start servers of their own: only one of them outside the full set."""
