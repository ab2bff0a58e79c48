"""Makes routes of tables of operations, with limits for the bodies of requests."""

from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from sonicpy.http.access import GRANTED, Endpoint
from sonicpy.http.flat import flat_json, listed_json, not_utf8
from sonicpy.http.models import RULES_MAX
from sonicpy.http.problems import GIVEN_MAX


class FlatRequest(Request):
    """A request whose JSON `flat_json` reads."""

    _value: Callable[[bytes], Any] = staticmethod(flat_json)

    async def json(self) -> Any:
        """Return the value of the body. Raises JSONDecodeError, or HTTPException if it is not UTF-8."""
        try:
            return self._value(await self.body())
        except UnicodeDecodeError as error:
            raise HTTPException(422, f"the body {not_utf8(error)}") from error


class RulesRequest(FlatRequest):
    """A request with a list of rules of synonyms."""

    _value = staticmethod(partial(flat_json, list_max=RULES_MAX + 1))  # the body's model refuses one more, by its name


class ListedRequest(FlatRequest):
    """A request with several bodies, which `listed_json` reads."""

    _value = staticmethod(listed_json)


Handler = Callable[[Request], Coroutine[Any, Any, Response]]


class FlatRoute(APIRoute):
    """A route that gets a FlatRequest. It ignores unknown parameters of the address.

    It answers only requests that passed the gate for this route, even if the framework chooses it for others.
    """

    request: type[FlatRequest] = FlatRequest

    def get_route_handler(self) -> Handler:
        """Return the handler of the framework, which gets a FlatRequest."""
        handle = super().get_route_handler()
        own = {Endpoint(method, self.path) for method in self.methods or ()}

        async def handle_flat(request: Request) -> Response:
            if request.scope.get(GRANTED) not in own:
                raise HTTPException(403, f"{self.path} was not requested by its own path")
            return await handle(self.request(request.scope, request.receive))

        return handle_flat


class StrictRoute(FlatRoute):
    """A FlatRoute that refuses unknown and repeated parameters of the address."""

    def get_route_handler(self) -> Handler:
        """Return the handler of a FlatRoute, behind a check of the parameters."""
        handle = super().get_route_handler()
        known = [parameter.alias for parameter in self.dependant.query_params]
        none = f"{' '.join(self.methods or ())} {self.path} takes no parameters in its address"
        taken = f"allowed are {', '.join(known)}" if known else none

        async def handle_strict(request: Request) -> Response:
            given: set[str] = set()
            for name, _ in request.query_params.multi_items():
                if name not in known:
                    raise HTTPException(422, f"{name[:GIVEN_MAX]} is not known here; {taken}")
                if name in given:
                    raise HTTPException(422, f"{name} is given more than once in the address; allowed is once")
                given.add(name)
            return await handle(request)

        return handle_strict


class RulesRoute(StrictRoute):
    """A StrictRoute whose request has a list of rules of synonyms."""

    request = RulesRequest


class ListedRoute(StrictRoute):
    """A StrictRoute whose request has several bodies."""

    request = ListedRequest


@dataclass(frozen=True, slots=True)
class Operation:
    """A line of a table of operations.

    Attributes:
        handler: its arguments and docstring are those of the operation.
        id: the name of the operation in the schema; None: made of the handler's name, the path and the method.
        extra: additions to the schema.
        is_shown: whether the schema shows the operation.
        omits_unset: whether keys that the handler has not set are left out of the answer.
        route: the class of its route: FlatRoute if proxies and load balancers may add parameters of their own.
    """

    method: str
    path: str
    handler: Callable[..., Coroutine[Any, Any, Any]]
    id: str | None = None
    extra: dict[str, Any] | None = None
    route: type[FlatRoute] = StrictRoute
    is_shown: bool = True
    omits_unset: bool = False


def add_operations(application: FastAPI, tag: str, operations: Sequence[Operation]) -> None:
    """Add the routes of one group of operations to an application."""
    for operation in operations:
        application.router.add_api_route(
            operation.path,
            operation.handler,
            methods=[operation.method],
            tags=[tag],
            operation_id=operation.id,
            openapi_extra=operation.extra,
            route_class_override=operation.route,
            include_in_schema=operation.is_shown,
            response_model_exclude_unset=operation.omits_unset,
        )
