"""Tables of operations become routes, whose bodies are read within bounds."""

from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from sonicpy.http.flat import flat_json
from sonicpy.http.problems import GIVEN_MAX


class FlatRequest(Request):
    """A request whose JSON is read by flat_json."""

    async def json(self) -> Any:
        """Return what the body holds. Raises JSONDecodeError."""
        return flat_json(await self.body())


class FlatRoute(APIRoute):
    """A route that gets a FlatRequest, and refuses parameters that it does not know."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler of the framework, with another request."""
        handle = super().get_route_handler()
        known = [parameter.alias for parameter in self.dependant.query_params]

        async def handle_flat(request: Request) -> Response:
            if known:  # whoever takes none, such as /health, ignores all
                _expect_known(request, known)
            return await handle(FlatRequest(request.scope, request.receive))

        return handle_flat


def _expect_known(request: Request, known: Sequence[str]) -> None:
    unknown = next((name for name in request.query_params if name not in known), None)
    if unknown is not None:
        raise HTTPException(422, f"{unknown[:GIVEN_MAX]} is not known here; allowed are {', '.join(known)}")


@dataclass(frozen=True, slots=True)
class Operation:
    """A line of a table of operations.

    Attributes:
        handler: its arguments and docstring are those of the operation.
        id: its name in the schema; None: made of the handler's name, the path and the method.
        extra: what the schema says besides.
    """

    method: str
    path: str
    handler: Callable[..., Coroutine[Any, Any, Any]]
    id: str | None = None
    extra: dict[str, Any] | None = None


def router(tag: str, operations: Sequence[Operation]) -> APIRouter:
    """Return a router for one group of operations."""
    routes = APIRouter(tags=[tag], route_class=FlatRoute)
    for operation in operations:
        routes.add_api_route(
            operation.path,
            operation.handler,
            methods=[operation.method],
            operation_id=operation.id,
            openapi_extra=operation.extra,
        )
    return routes
