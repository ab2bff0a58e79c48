"""Errors as problem+json (RFC 9457), with the sentences of the library."""

import json
import logging
import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from sonicpy.access.grant import NotPermitted, TooOften
from sonicpy.arguments import NO_WORD
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
    sentence_of,
)

logger = logging.getLogger(__name__)

MEDIA_TYPE = "application/problem+json"
STATUSES: Mapping[type[SonicError], int] = {
    TooLong: 413,
    TooOften: 429,
    NotPermitted: 403,
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
"""Class of an error -> HTTP status; 500 for any other SonicError."""
STATUSES_OF_CODES = {"not_permitted": 403, "internal_error": 500}
"""Code of an error that another server answered -> HTTP status."""
SENTENCES_OF_CODES = {
    "internal_error": "the server failed; its log has the reason",
    "query_error": NO_WORD,
}
FAILURES = (400, 401, 403, 408, 413, 415, 422, 429, 500, 501, 502, 503, 504, 507)
CONTENT = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemJson"}}}
RESPONSES: dict[int | str, dict[str, Any]] = {
    status: {"description": HTTPStatus(status).phrase, "content": CONTENT} for status in FAILURES
}
"""HTTP status -> description of the problem that every operation may answer, for the schema."""


def problem(
    status: int, detail: str, headers: Mapping[str, str] | None = None, request_id: str | None = None
) -> JSONResponse:
    """Return a response about a failed request, with an HTTP status, a sentence and, if given, headers and the id of
    the request."""
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
    if type(error) is CommandError and error.code in STATUSES_OF_CODES:
        return STATUSES_OF_CODES[error.code]
    return next((status for kind, status in STATUSES.items() if isinstance(error, kind)), 500)


def said_of(error: SonicError) -> str:
    """Return an error as a sentence, which is the same for an index of this process and for a server."""
    if type(error) is CommandError and error.detail is None:
        return SENTENCES_OF_CODES.get(error.code, str(error))
    return sentence_of(error)


def refusal(error: SonicError, request_id: str | None) -> JSONResponse:
    """Return a response about a request that the backend refused; a failure is logged."""
    return problem(noted_status(error), said_of(error), request_id=request_id)


def noted_status(error: SonicError) -> int:
    """Return the status of an error; a failure is logged."""
    status = status_of(error)
    if status >= 500:
        logger.error("%s", error)
    return status


SENTENCES: Mapping[str, str] = {
    "missing": "{where} is missing",
    "extra_forbidden": "{where} is not known here; /openapi.json lists the keys",
    "json_invalid": "the body is not JSON: {error} at character {place}",
    "model_attributes_type": "the body has to be a JSON object, sent as Content-Type: application/json",
    "object_of_a_list": "{where} is {given}; allowed are JSON objects",
    "string_type": "{where} is {given}; allowed are strings",
    "string_unicode": "{where} is no Unicode text: it holds half of a surrogate pair",
    "string_pattern_mismatch": "{where} is {given}; allowed are {choices}",
    "string_too_short": "{where} is {given}; allowed are at least {min_length} characters",
    "string_too_long": "{where} is longer than {max_length} characters",
    "greater_than_equal": "{where} is {given}; allowed are numbers from {ge} on",
    "less_than_equal": "{where} is {given}; allowed are numbers up to {le}",
    "int_parsing": "{where} is {given}; allowed are whole numbers",
    "int_from_float": "{where} is {given}; allowed are whole numbers",
    "object_type": "{where} is {given}; allowed are strings and whole numbers",
    "object_inexact": "{where} is {given}; allowed are strings and whole numbers, those from 2**53 on as digits alone",
    "value_inexact": "{where} is {given}; allowed are whole numbers, those from 2**53 on as digits alone",
    "vector_type": "{where} is {given}; allowed are at most 1,024 numbers, base 64, and objects of these by column",
    "int_type": "{where} is {given}; allowed are whole numbers",
    "bool_parsing": "{where} is {given}; allowed are true and false",
    "bool_type": "{where} is {given}; allowed are true and false",
    "float_parsing": "{where} is {given}; allowed are numbers",
    "float_type": "{where} is {given}; allowed are numbers",
    "finite_number": "{where} is {given}; allowed are numbers",
    "list_type": "{where} is {given}; allowed are lists",
    "dict_type": "{where} is {given}; allowed are JSON objects",
    "too_short": "{where} is empty; allowed are lists from {min_length} on",
    "too_long": "{where} is too long; allowed are lists of at most {max_length}",
}
"""Type of an error of pydantic -> sentence; other types keep pydantic's sentence."""
PARTED = ("tags", "values", "rules", "queries")
"""The keys of bodies whose values are lists or objects of parts."""
CHOICES = re.compile(r"\^\(([\w|]+)\)\$")
"""The pattern of a parameter that is one of a few words."""
GIVEN_MAX = 60
"""The most characters of a wrong value that an error message shows."""


def _sentence(error: Mapping[str, Any]) -> str:
    """Return a sentence about an error in a request: its place, the value, and the allowed values."""
    places = [part for part in error["loc"] if part not in ("body", "query")]
    where = str(places[0]) if places else "the body"  # behind it: which of several types pydantic tried
    kind = error["type"]
    if len(places) > 2 and isinstance(places[1], int):  # a part of an object in a list
        where = f"{where}[{places[1]}].{places[2]}"
    elif len(places) == 2 and isinstance(places[1], int) and kind == "model_attributes_type":
        where, kind = f"{where}[{places[1]}]", "object_of_a_list"
    elif len(places) > 1 and places[0] in PARTED and places[1] != "[key]":
        where = f"{where}[{places[1]}]" if isinstance(places[1], int) else f"{where}.{places[1]}"
    elif where == "vector" and kind == "string_type":  # the first of the types that pydantic tried
        kind = "vector_type"
    sentence = SENTENCES.get(kind, "{where}: {msg}")
    given = _shown(error["input"])[:GIVEN_MAX]
    context = {"choices": "", **error.get("ctx", {})}
    if kind == "json_invalid":
        context["error"] = context["error"].removesuffix(" starting at")
    if kind == "string_pattern_mismatch":
        words = CHOICES.match(context["pattern"])
        context["choices"] = words[1].replace("|", ", ") if words else "texts without the character NUL"
    return sentence.format(where=where, given=given, place=where, msg=error["msg"], **context)


def _shown(value: object) -> str:
    """Return a value for an error message; null, true and false as in JSON."""
    return json.dumps(value) if value is None or isinstance(value, bool) else repr(value)


async def _refused(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, SonicError)
    return refusal(error, _id(request))


async def _invalid(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    _let_go(error)
    return problem(422, _sentence(error.errors()[0]), request_id=_id(request))


async def _of_http(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    _let_go(error)
    return problem(error.status_code, str(error.detail), error.headers, _id(request))


async def _gone(request: Request, error: Exception) -> JSONResponse:
    """Return the answer for a client that disconnected in the middle of its body."""
    return problem(400, "the body ended before its end", request_id=_id(request))


async def _unforeseen(request: Request, error: Exception) -> JSONResponse:
    """Return the answer 500, without details: the server logs the error."""
    return problem(500, "an error of the server; its log has the details", request_id=_id(request))


def _let_go(error: BaseException) -> None:
    """Clear the traceback of an error, because its frames hold the body and the error, a reference cycle."""
    error.__traceback__ = error.__cause__ = error.__context__ = None


def _id(request: Request) -> str | None:
    value: str | None = request.scope.get("sonicpy.request_id")
    return value
