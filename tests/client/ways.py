"""The two clients behind one face: a test calls methods that block, whichever of them does the work."""

import asyncio
import inspect
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

import sonicpy


class Stepwise:
    """An AsyncClient whose methods block: each runs the event loop until it is done."""

    def __init__(self, url: str, **options: Any) -> None:
        self._loop = asyncio.new_event_loop()
        try:
            self._client = self._loop.run_until_complete(sonicpy.connect_async(url, **options))
        except BaseException:
            self._loop.close()
            raise

    def close(self) -> None:
        """Close the client and its loop."""
        if not self._loop.is_closed():
            self._loop.run_until_complete(self._client.close())
            self._loop.close()

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._client, name)
        if not callable(value):
            return value

        def call(*positional: Any, **named: Any) -> Any:
            result = value(*positional, **named)
            return self._loop.run_until_complete(result) if inspect.isawaitable(result) else result

        return call

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


Connect = Callable[..., Any]
WAYS: dict[str, Connect] = {"blocking": sonicpy.connect, "asyncio": Stepwise}
