"""Makes the application: routes, middleware, and the page."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import Response
from starlette.types import ASGIApp

from sonicpy.http.backend import backend_of
from sonicpy.http.caching import Tagged
from sonicpy.http.control import control_routes
from sonicpy.http.gate import Gate, Refuse, Rules
from sonicpy.http.ingest import ingest_routes
from sonicpy.http.lean import COMPRESSED_BYTES, LeanQuery
from sonicpy.http.models import ProblemJson
from sonicpy.http.problems import RESPONSES, add_handlers
from sonicpy.http.search import search_routes
from sonicpy.version import VERSION

PAGE = Path(__file__).parent / "page"
MEDIA_TYPES = {"html": "text/html", "css": "text/css", "js": "text/javascript"}


def app(
    source: Any,
    *,
    password: str | None = None,
    read_only: bool = False,
    origins: Sequence[str] = (),
    page: bool = True,
    refuse: Refuse | None = None,
) -> ASGIApp:
    """Return an ASGI application over an index or a client, to be served or mounted.

    Args:
        source: an Index, or an AsyncClient of a server.
        password: clients send it as `Authorization: Bearer`; None: they need none.
        read_only: refuse what changes the index.
        origins: pages of these origins may ask, such as `https://example.com`; "*": those of all.
        page: also serve the page, at `/`.
        refuse: called with the peer after a wrong password, to delay the refusal.

    Raises:
        TypeError: `source` is neither an Index nor an AsyncClient.
    """
    backend = backend_of(source)
    application = FastAPI(
        title="sonicpy",
        version=VERSION,
        description="The Sonic search backend over HTTP and JSON.",
        docs_url=None,
        redoc_url=None,
        responses=RESPONSES,
    )
    add_handlers(application)
    for routes in (search_routes(backend), ingest_routes(backend), control_routes(backend)):
        application.include_router(routes)
    if page:
        add_page(application)
    describe(application, password is not None)
    compressed = GZipMiddleware(Tagged(application), COMPRESSED_BYTES)
    rules = Rules(password, read_only, refuse, frozenset(origins))
    gated: ASGIApp = Gate(compressed, rules, {"/v1/query": LeanQuery(backend)})
    if origins:
        headers = ["Authorization", "Content-Type", "If-None-Match", "X-Request-ID"]
        gated = CORSMiddleware(gated, origins, allow_methods=["GET", "POST"], allow_headers=headers,
                               expose_headers=["ETag", "X-Request-ID"])  # fmt: skip
    return gated


def add_page(application: FastAPI) -> None:
    """Serve the page and its files, which are read once."""
    files = {path.name: path.read_bytes() for path in PAGE.iterdir()}

    @application.get("/", include_in_schema=False)
    async def index_page() -> Response:
        return Response(files["index.html"], media_type="text/html")

    @application.get("/page/{name}", include_in_schema=False)
    async def page_file(name: str) -> Response:
        if name not in files:
            raise HTTPException(404, f"the page has no file {name}")
        return Response(files[name], media_type=MEDIA_TYPES[name.rpartition(".")[2]])


def describe(application: FastAPI, has_password: bool) -> None:
    """Complete the schema: the form of problems, and the password."""
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
