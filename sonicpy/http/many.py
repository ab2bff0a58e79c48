"""Several queries in one request, each with an answer or a problem of its own."""

import asyncio
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Annotated, Any

from pydantic import Field

from sonicpy.errors import SonicError
from sonicpy.http.guarded import PERMIT
from sonicpy.http.models import HitsJson, ProblemJson, QueryBody, Strict
from sonicpy.http.problems import noted_status, said_of
from sonicpy.http.routes import ListedRoute, Operation

QUERIES_MAX = 64
"""The most queries in one request."""

AnswerOne = Callable[[Any], Awaitable[HitsJson]]
"""A function that answers a QueryBody."""


class ManyBody(Strict):
    """Several queries, each with the keys of the body of POST /v1/query."""

    queries: Annotated[list[QueryBody], Field(min_length=1, max_length=QUERIES_MAX)]


class ManyJson(Strict):
    """The answers of several queries, in the order of the queries."""

    answers: list[HitsJson | ProblemJson] = Field(description="of each query its hits, or why it was refused")


def many_operation(answer: AnswerOne) -> Operation:
    """Return the operation that answers several queries.

    Args:
        answer: answers one of them.
    """

    async def query_many(body: ManyBody) -> ManyJson:
        """Return the objects that answer each of several texts. A query that is refused does not affect the others."""
        async with asyncio.TaskGroup() as group:
            tasks = []
            for place, query in enumerate(body.queries):
                tasks.append(group.create_task(_answered(answer, query, is_counted=place == 0)))
                await asyncio.sleep(0)  # one begins in a pass of the loop, so that others are served between them
        return ManyJson(answers=[task.result() for task in tasks])

    return Operation("POST", "/v1/query/many", query_many, id="query_many", route=ListedRoute, omits_unset=True)


async def _answered(answer: AnswerOne, query: Any, *, is_counted: bool) -> HitsJson | ProblemJson:
    """Return the answer of a query.

    Args:
        is_counted: whether the gate has counted this query for the rate of a key, as the first one of the request.
    """
    permit = PERMIT.get()
    try:
        if permit is not None and not is_counted:
            permit.use()
        return await answer(query)
    except SonicError as error:
        status = noted_status(error)
        return ProblemJson(type="about:blank", title=HTTPStatus(status).phrase, status=status, detail=said_of(error))
