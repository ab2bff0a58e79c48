"""The rights of operations: lists of those that change nothing, and of those that need no password.

An operation that is on neither list counts as a change: it needs the password, and a read-only address refuses it.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple


class Endpoint(NamedTuple):
    """An operation in a request: a method, and the whole path of a route."""

    method: str
    path: str


PAGE_FILES = (
    "api.js", "box.js", "contents.js", "dom.js", "figures.js", "filters.js", "logo.svg", "main.js", "questions.js",
    "request.js", "routes.js", "search.js", "state.js", "style.css", "synonyms.js", "token.js", "welcome.js",
    "why.js",
)  # fmt: skip

KIT_FILES = ("sonicpy-instantsearch.js", "sonicpy-search.js")
"""Modules for pages of other sites."""

HEALTH = Endpoint("GET", "/health")
"""The health check; it is answered for every Host, because load balancers use any name."""
OPEN = frozenset(
    {
        HEALTH,
        Endpoint("GET", "/"),
        Endpoint("GET", "/docs"),
        *(Endpoint("GET", f"/page/{name}") for name in PAGE_FILES),
        *(Endpoint("GET", f"/{name}") for name in KIT_FILES),
    }
)
"""Operations that need no password: the page, which prompts for it, the modules for pages, and health checks."""
READS = OPEN | {
    Endpoint("GET", "/openapi.json"),
    Endpoint("GET", "/v1/about"),
    Endpoint("GET", "/v1/query"),
    Endpoint("POST", "/v1/query"),
    Endpoint("POST", "/v1/query/many"),
    Endpoint("GET", "/v1/search"),
    Endpoint("GET", "/v1/suggest"),
    Endpoint("GET", "/v1/similar"),
    Endpoint("GET", "/v1/synonyms"),
    Endpoint("GET", "/v1/explain"),
    Endpoint("GET", "/v1/facets"),
    Endpoint("GET", "/v1/words"),
    Endpoint("GET", "/v1/objects"),
    Endpoint("GET", "/v1/buckets"),
    Endpoint("GET", "/v1/collections"),
    Endpoint("GET", "/v1/count"),
    Endpoint("GET", "/v1/exists"),
    Endpoint("GET", "/v1/stats"),
    Endpoint("GET", "/v1/figures"),
    Endpoint("POST", "/v1/verify"),
}
"""Operations that change nothing."""
BULK = Endpoint("POST", "/v1/bulk")
"""The operation whose body is a stream of rows of any length."""
UNLIMITED = frozenset(
    {BULK, *(Endpoint("POST", f"/v1/{verb}") for verb in ("consolidate", "backup", "restore", "verify", "flush"))}
)
"""Operations without a time limit."""

GRANTED = "sonicpy.operation"
"""The key of a scope for the operation that passed the gate; a route answers only its own operation."""


class Offered:
    """The operations of an application. A request is for an operation if its path equals that of the route.

    Args:
        routes: the routes of the application. Routes without methods, such as mounts, and routes with parameters in
            their path are left out.
    """

    def __init__(self, routes: Iterable[Any]) -> None:
        self._methods: dict[str, dict[str, Endpoint]] = {}
        for route in routes:
            for method in getattr(route, "methods", None) or ():
                if method != "HEAD" and "{" not in route.path:
                    self._methods.setdefault(route.path, {})[method] = Endpoint(method, route.path)

    def find(self, scope: Mapping[str, Any]) -> Endpoint | None:
        """Return the operation of a request, GET for HEAD; None: there is no such operation."""
        method = "GET" if scope["method"] == "HEAD" else scope["method"]
        return self._methods.get(path_of(scope), {}).get(method)

    def methods_of(self, path: str) -> list[str]:
        """Return the methods of a path, sorted; none if no operation has the path."""
        return sorted(self._methods.get(path, ()))


def path_of(scope: Mapping[str, Any]) -> str:
    """Return the path of a request below the place where the application is mounted."""
    path: str = scope["path"]
    root: str = scope.get("root_path", "")
    return path[len(root) :] if root and path.startswith(f"{root}/") else path
