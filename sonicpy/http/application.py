"""Makes the application: routes, middleware, and the page."""

from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import Response
from starlette.types import ASGIApp

from sonicpy.access.admission import Keys
from sonicpy.api.shown import Function, shows
from sonicpy.http.access import KIT_FILES, Endpoint, Offered
from sonicpy.http.backend import backend_of
from sonicpy.http.caching import Tagged
from sonicpy.http.control import control_operations
from sonicpy.http.gate import Gate, Refuse, RequestRules
from sonicpy.http.guarded import GuardedBackend
from sonicpy.http.hosts import Hosts
from sonicpy.http.ingest import ingest_operations
from sonicpy.http.lean import COMPRESSED_BYTES, LeanQuery
from sonicpy.http.models import ProblemJson
from sonicpy.http.problems import RESPONSES, add_handlers
from sonicpy.http.routes import FlatRoute, Operation, add_operations
from sonicpy.http.search import search_operations
from sonicpy.version import VERSION

PAGE = Path(__file__).parent / "page"
KIT = Path(__file__).parent / "kit"
MEDIA_TYPES = {"html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}


def app(
    source: Any,
    *,
    password: str | None = None,
    keys: Keys | None = None,
    read_only: bool = False,
    origins: Sequence[str] = (),
    page: bool = True,
    refuse: Refuse | None = None,
    hosts: Sequence[str] | None = None,
    hits: str | Function | None = None,
) -> ASGIApp:
    """Return an ASGI application over an index or a client, to be served or mounted.

    Args:
        source: an Index, or an AsyncClient of a server.
        password: the password that clients send as `Authorization: Bearer`; None: they need none.
        keys: secrets that allow less than the password, sent in its place; None: there are none.
        read_only: answer the operations that change nothing, and refuse all others.
        origins: the origins whose pages may send requests, such as `https://example.com`; "*": all origins.
        page: also serve the page, at `/`.
        refuse: called with the peer after a wrong password, to delay the refusal.
        hosts: values of Host that are accepted without a password, besides IP addresses and localhost; None: all,
            because the surrounding application or a proxy checks them.
        hits: the source of titles, texts and links of objects: a URL with {object}, a file of rows, module:function, or
            a function that gets a collection, a bucket and a list of names, and returns {name: {"title": ..., "text":
            ..., "link": ...}}.

    Raises:
        TypeError: `source` is neither an Index nor an AsyncClient.
        ConfigError: `hits` is none of these, or cannot be read.
    """
    backend = backend_of(source)
    if keys is not None:
        backend = GuardedBackend(backend)
    application = framework(has_password=password is not None)
    add_operations(application, "search", search_operations(backend, None if hits is None else shows(hits)))
    add_operations(application, "ingest", ingest_operations(backend))
    add_operations(application, "control", control_operations(backend, read_only=read_only))
    if page:
        add_operations(application, "page", page_operations())
    add_operations(application, "kit", kit_operations())
    compressed = GZipMiddleware(Tagged(application), COMPRESSED_BYTES)
    known = None if hosts is None else Hosts(hosts)
    rules = RequestRules(password, keys, read_only, refuse, frozenset(origins), known)
    return Gate(compressed, Offered(application.routes), rules, {Endpoint("GET", "/v1/query"): LeanQuery(backend)})


def check_hits(hits: str) -> None:
    """Raise ConfigError if `app` would not take `hits`."""
    shows(hits)


def framework(*, has_password: bool) -> FastAPI:
    """Return an application without operations; its schema describes the form of problems and, with `has_password`, the
    password."""
    application = FastAPI(
        title="sonicpy",
        version=VERSION,
        description="The Sonic search backend over HTTP and JSON.",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        responses=RESPONSES,
    )
    add_handlers(application)
    made = application.openapi

    def openapi() -> dict[str, Any]:
        schema = made()
        components = schema.setdefault("components", {})
        components.setdefault("schemas", {})["ProblemJson"] = ProblemJson.model_json_schema()
        for unused in ("HTTPValidationError", "ValidationError"):
            components["schemas"].pop(unused, None)
        if has_password:
            components["securitySchemes"] = {"password": {"type": "http", "scheme": "bearer"}}
            schema["security"] = [{"password": []}]
        return schema

    application.openapi = openapi  # type: ignore[method-assign]
    return application


def page_operations() -> list[Operation]:
    """Return the operations for the page and its files, which are read once."""
    found = []
    for path in PAGE.iterdir():
        addresses = ("/", "/docs") if path.name == "index.html" else (f"/page/{path.name}",)
        answer = file_at(path)
        found += [Operation("GET", address, answer, route=FlatRoute, is_shown=False) for address in addresses]
    return found


def kit_operations() -> list[Operation]:
    """Return the operations for the modules that pages of other sites load."""
    return [Operation("GET", f"/{name}", file_at(KIT / name), route=FlatRoute, is_shown=False) for name in KIT_FILES]


def file_at(path: Path) -> Callable[[], Coroutine[Any, Any, Response]]:
    """Return a handler that answers with the present content of a file."""
    content = path.read_bytes()

    async def answer() -> Response:
        return Response(content, media_type=MEDIA_TYPES[path.suffix[1:]])

    return answer
