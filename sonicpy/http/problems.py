"""Errors as problem+json (RFC 9457), with the sentences of the library."""

import logging
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from sonicpy.errors import (
    CommandError,
    ConfigError,
    ConnectionLost,
    IndexClosed,
    NotOffered,
    ReadOnly,
    ShuttingDown,
    SonicError,
    StoreFull,
    TimedOut,
    TooLong,
)

logger = logging.getLogger(__name__)

MEDIA_TYPE = "application/problem+json"
STATUSES: Mapping[type[SonicError], int] = {
    TooLong: 413,
    CommandError: 400,
    ConfigError: 400,
    NotOffered: 501,
    ReadOnly: 403,
    StoreFull: 507,
    ShuttingDown: 503,
    IndexClosed: 503,
    TimedOut: 504,
    ConnectionLost: 502,
}
"""By class of error; any other SonicError is 500."""
FAILURES = (400, 401, 403, 408, 413, 422, 429, 500, 501, 502, 503, 504, 507)
CONTENT = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemJson"}}}
RESPONSES: dict[int | str, dict[str, Any]] = {
    status: {"description": HTTPStatus(status).phrase, "content": CONTENT} for status in FAILURES
}
"""Of every operation, for the schema."""


def problem(
    status: int, detail: str, headers: Mapping[str, str] | None = None, request_id: str | None = None
) -> JSONResponse:
    """Return a response that says why a request failed."""
    held = {"type": "about:blank", "title": HTTPStatus(status).phrase, "status": status, "detail": detail}
    if request_id is not None:
        held["request_id"] = request_id
    return JSONResponse(held, status, headers, MEDIA_TYPE)


def add_handlers(app: FastAPI) -> None:
    """Make an application answer every error as a problem."""
    app.add_exception_handler(SonicError, _refused)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _of_http)
    app.add_exception_handler(ClientDisconnect, _gone)
    app.add_exception_handler(Exception, _unforeseen)


def status_of(error: SonicError) -> int:
    """Return the status of an error."""
    return next((status for kind, status in STATUSES.items() if isinstance(error, kind)), 500)


async def _refused(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, SonicError)
    status = status_of(error)
    if status >= 500:
        logger.error("%s", error)
    return problem(status, str(error), request_id=_id(request))


async def _invalid(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    _let_go(error)
    first = error.errors()[0]
    where = " ".join(str(part) for part in first["loc"] if part != "body") or "the body"
    return problem(422, f"{where}: {first['msg']}", request_id=_id(request))


async def _of_http(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    _let_go(error)
    return problem(error.status_code, str(error.detail), error.headers, _id(request))


async def _gone(request: Request, error: Exception) -> JSONResponse:
    """Answer a client that left in the middle of its body; nobody reads it."""
    return problem(400, "the body ended before its end", request_id=_id(request))


async def _unforeseen(request: Request, error: Exception) -> JSONResponse:
    """Say no more than that: the server logs the error."""
    return problem(500, "an error of the server; its log says more", request_id=_id(request))


def _let_go(error: BaseException) -> None:
    """Let an error go from its traceback, whose frames hold the body and the error: a cycle that would stay."""
    error.__traceback__ = error.__cause__ = error.__context__ = None


def _id(request: Request) -> str | None:
    value: str | None = request.scope.get("sonicpy.request_id")
    return value
