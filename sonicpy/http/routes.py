"""Routes whose bodies are read within bounds."""

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.routing import APIRoute

from sonicpy.http.flat import flat_json


class FlatRequest(Request):
    """A request whose JSON is read by flat_json."""

    async def json(self) -> Any:
        """Return what the body holds. Raises JSONDecodeError."""
        return flat_json(await self.body())


class FlatRoute(APIRoute):
    """A route that gets a FlatRequest."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler of the framework, with another request."""
        handle = super().get_route_handler()

        async def handle_flat(request: Request) -> Response:
            return await handle(FlatRequest(request.scope, request.receive))

        return handle_flat


def router(tag: str) -> APIRouter:
    """Return a router for one group of operations."""
    return APIRouter(tags=[tag], route_class=FlatRoute)
